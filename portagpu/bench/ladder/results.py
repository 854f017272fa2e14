"""What a run of the ladder found: values, files, and what became slower since an earlier file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from portagpu.bench.reading import check_machine, check_number, check_size, check_text, read_object
from portagpu.errors import StoreError
from portagpu.escaping import visible
from portagpu.files import write_atomically

SCHEMA = 1
_KIND = "ladder"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """One step on one device; speeds are medians."""

    name: str
    gflops: float | None
    error: float | None  # largest error relative to the tolerance; at most 1 for a right result
    problem: str | None  # why there is no speed
    global_intensity: float | None = None  # operations for each byte that blocks load from global memory
    shared_intensity: float | None = None  # operations for each byte that threads load from shared memory
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderResult:
    """All steps of one run, with the vendor library of the same run."""

    machine: dict[str, str]
    device: str
    driver: str
    dtype: str
    size: int
    peer: str
    peer_gflops: float
    steps: tuple[StepResult, ...]

    def share(self, step: StepResult) -> float | None:
        """The step's speed over the vendor library's."""
        return None if step.gflops is None else step.gflops / self.peer_gflops


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A step that an earlier run had at a higher speed."""

    name: str
    reason: str


def save(path: Path, result: LadderResult) -> None:
    """Write a result file atomically."""
    data = {"schema": SCHEMA, "kind": _KIND, **asdict(result)}
    write_atomically(path, (json.dumps(data, indent=1) + "\n").encode())


def load(path: Path) -> LadderResult:
    """Read a result file. Raises `StoreError` for another kind of file, a damaged one or one of a newer version."""
    try:
        data = read_object(path)
        if "kind" not in data:
            raise ValueError("it names no kind, as those of `portagpu bench`, which are another one")
        schema, kind = int(data.pop("schema")), data.pop("kind")
    except (OSError, ValueError, TypeError, OverflowError) as error:
        raise StoreError(
            f"{path} is no result of the ladder: {error}", hint="make one with `portagpu bench ladder -o FILE`"
        ) from error
    if kind != _KIND:
        raise StoreError(f"{path} is a result of {visible(str(kind), 60)!r}, not of the ladder")
    if schema > SCHEMA:
        raise StoreError(
            f"{path} has schema {schema}; this version of PortaGPU reads up to {SCHEMA}", hint="update PortaGPU"
        )
    try:
        steps = tuple(StepResult(**_checked_step(step)) for step in data.pop("steps"))
        result = LadderResult(**data, steps=steps)
        check_machine(result.machine)
        for name in ("device", "driver", "dtype", "peer"):
            check_text(name, getattr(result, name))
        check_size("size", result.size)
        if not check_number("peer_gflops", result.peer_gflops) > 0:
            raise ValueError("the vendor library's speed is not positive")
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(f"{path} is damaged: {visible(str(error), 200)}") from error
    return result


def _checked_step(values: dict[str, Any]) -> dict[str, Any]:
    for name in ("name", "note"):
        check_text(name, values.get(name, ""))
    if values["problem"] is not None:
        check_text("problem", values["problem"])
    for name in ("gflops", "error", "global_intensity", "shared_intensity"):
        if values.get(name) is not None:
            check_number(name, values[name])
    return values


def check_comparable(old: LadderResult, device: str, dtype: str, size: int) -> None:
    """Raises `StoreError` where an earlier result is of another device, dtype or size."""
    for what, before, after in (("device", old.device, device), ("dtype", old.dtype, dtype), ("size", old.size, size)):
        if before != after:
            raise StoreError(
                f"the results cannot be compared: {what} {before} there, {after} here",
                hint="measure with the same --device, --dtype and --size",
            )


def losses(old: LadderResult, new: LadderResult, tolerance: float) -> Iterator[Loss]:
    """Steps that lost more than ``tolerance`` (a fraction) against an earlier run, or that no longer run.

    Shares of the vendor library are compared, since both sides of a share were measured at the same clock and load;
    where the libraries differ, speeds. Steps that only one of the runs has, or that the old run had no speed for, do
    not count. Raises `StoreError` where device, dtype or size differ.
    """
    check_comparable(old, new.device, new.dtype, new.size)
    same_peer = old.peer == new.peer
    now = {step.name: step for step in new.steps}
    for before_step in old.steps:
        after_step = now.get(before_step.name)
        if before_step.gflops is None or after_step is None:
            continue
        if after_step.gflops is None:
            yield Loss(name=before_step.name, reason=f"no longer runs: {after_step.problem}")
            continue
        scales = (old.peer_gflops, new.peer_gflops) if same_peer else (1.0, 1.0)
        ratio = (after_step.gflops / scales[1]) / (before_step.gflops / scales[0])
        if ratio < 1 - tolerance:
            unit = f"of {new.peer}" if same_peer else "in GFLOP/s"
            yield Loss(
                name=before_step.name,
                reason=f"{100 * (1 - ratio):.0f}% less {unit}"
                f" ({before_step.gflops:.4g} GFLOP/s then, {after_step.gflops:.4g} now)",
            )


__all__ = ["SCHEMA", "LadderResult", "Loss", "StepResult", "check_comparable", "load", "losses", "save"]
