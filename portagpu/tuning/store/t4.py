"""Tuning results in T4, the open form for results of autotuners that Kernel Tuner and others write and read.

A file has the results of one tunable on one device; times in it are milliseconds, as Kernel Tuner's are. T4 has no
place for the problem that a configuration was measured with, for the tunable's version and for why a configuration
failed: they are measurements with these names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from portagpu.errors import StoreError
from portagpu.files import write_atomically
from portagpu.tuning.store.lines import Record, TaskKey
from portagpu.tuning.store.store import Store
from portagpu.tuning.tunables import outcomes
from portagpu.tuning.tunables.outcomes import Outcome
from portagpu.tuning.tunables.space import point_key

VERSION = "1.0.0"
INVALIDITY: dict[type[Any], str] = {
    outcomes.Measured: "correct",
    outcomes.CompileFailed: "compile",
    outcomes.LaunchFailed: "runtime",
    outcomes.WrongResult: "correctness",
    outcomes.OutOfBounds: "correctness",  # it ran, and did what it should not
    outcomes.TimedOut: "timeout",
    outcomes.Spilled: "constraints",
}
"""T4's words for outcomes."""
_FOLDERS = re.compile(r"(?:/[^\s/:'\"]+)+/")  # in reasons: folders tell of people


def export(store: Store, path: Path, device: str = "") -> list[tuple[Path, int]]:
    """Write all results of a store, of one device (`DeviceRecord.key`) or of each in a file of its own.

    Returns the files of results and how many there are in each; ``NAME.metadata.json`` stands beside each. Where there
    are several devices, a file's name has the device's. Raises `StoreError`.
    """
    tasks: dict[str, list[TaskKey]] = {}
    for task in store.tasks():
        if not device or task.device == device:
            tasks.setdefault(task.device, []).append(task)
    files: list[tuple[Path, int]] = []
    for key, own in tasks.items():
        results = [result for task in own for result in _results(store, task)]
        versions = sorted({record.portagpu for task in own for record in _records(store, task) if record.portagpu})
        if results:
            target = _target(path, key, several=len(tasks) > 1, taken=[file for file, _ in files])
            _write(target, {"results": results, "schema_version": VERSION})
            _write(
                target.with_suffix(".metadata.json"),
                {"metadata": _metadata(key, own[0].kernel, versions), "schema_version": VERSION},
            )
            files.append((target, len(results)))
    if not files:
        raise StoreError(f"{store.path} has no results to export", hint="tune first, or name another device")
    return files


def _target(path: Path, key: str, *, several: bool, taken: Iterable[Path]) -> Path:
    """The file of a device's results."""
    stem = path.with_suffix("") if path.suffix == ".json" else path
    if not several:
        return Path(f"{stem}.json")
    name = re.sub(r"[^A-Za-z0-9.]+", "-", key).strip("-")
    number, found = 1, Path(f"{stem}-{name}.json")
    while found in taken:
        number += 1
        found = Path(f"{stem}-{name}-{number}.json")
    return found


def _write(path: Path, content: dict[str, Any]) -> None:
    try:
        write_atomically(path, (json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error}", hint="name another file") from error


def _records(store: Store, task: TaskKey) -> list[Record]:
    """The trials of a task, and its winner where that was imported without its trial."""
    found = store.records(task)
    winner = store.winner(task)
    if winner is not None and point_key(winner[0]) not in found:
        return [*found.values(), Record(point=winner[0], outcome=outcomes.Measured(winner[1]))]
    return list(found.values())


def _results(store: Store, task: TaskKey) -> Iterator[dict[str, Any]]:
    for record in _records(store, task):
        outcome = record.outcome
        found: dict[str, Any] = {
            "configuration": dict(record.point),
            "times": _times(outcome),
            "invalidity": INVALIDITY[type(outcome)],
            "correctness": 1 if isinstance(outcome, outcomes.Measured) else 0,
            "measurements": list(_measurements(task, record, verified=store.is_verified(task, record.point))),
            "objectives": ["time"],
        }
        if record.at:
            found["timestamp"] = datetime.fromtimestamp(record.at, timezone.utc).isoformat(" ")
        yield found


def _times(outcome: Outcome) -> dict[str, Any]:
    """All repetitions, their median where only that is known; what the first run took longer, it mostly compiled."""
    if not isinstance(outcome, outcomes.Measured):
        return {"runtimes": []}
    runtimes = [_milliseconds(seconds) for seconds in outcome.repetitions or (outcome.seconds,)]
    longer = outcome.first - outcome.seconds
    return {"runtimes": runtimes, **({"compilation_time": _milliseconds(longer)} if longer > 0 else {})}


def _measurements(task: TaskKey, record: Record, *, verified: bool) -> Iterator[dict[str, Any]]:
    outcome = record.outcome
    times: dict[str, float | None] = {"predicted": record.predicted, "trial": record.cost}
    texts: dict[str, str | int] = {"problem": " ".join(filter(None, (task.dtype, task.shape_class)))}
    texts["kernel_version"] = task.kernel_version
    if isinstance(outcome, outcomes.Measured):
        times = {"time": outcome.seconds, "first_run": outcome.first or None, **times}
        texts["verified"] = int(verified)
    else:
        texts["reason"] = _FOLDERS.sub("", outcomes.describe(outcome))
    for name, seconds in times.items():
        if seconds is not None:
            yield {"name": name, "value": _milliseconds(seconds), "unit": "ms"}
    for name, value in texts.items():
        yield {"name": name, "value": value, "unit": ""}


def _milliseconds(seconds: float) -> float:
    return float(f"{seconds * 1e3:.9g}")


def _metadata(key: str, kernel: str, versions: list[str]) -> dict[str, Any]:
    """What the store knows of the device: results may be another machine's, so this one's facts are none of theirs."""
    names = ("platform", "device", "driver_version")
    device = dict(zip(names, key.split("|"), strict=False)) if key.count("|") == 2 else {"device": key}
    return {
        "kernel_name": kernel,
        "hardware": {"hardware_description": [device]},
        "environment": {"device_query": device, "requirements": [f"portagpu=={version}" for version in versions]},
    }


__all__ = ["INVALIDITY", "VERSION", "export"]
