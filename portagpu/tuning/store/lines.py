"""The lines of a store as JSON values: trials, winners, and the axes of the space that they are of."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import Any

from portagpu.errors import StoreError, TuningError
from portagpu.tuning.tunables import outcomes
from portagpu.tuning.tunables.outcomes import Outcome
from portagpu.tuning.tunables.space import Axis, Point
from portagpu.tuning.tunables.values import read_back, read_point

VERSION = 1
AXES = "axes"
"""Type of the line with a space's axes."""

Axes = tuple[tuple[Axis, ...], ...]  # of each space of a union, in their order


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKey:
    """What a winner is the winner of."""

    device: str  # `DeviceRecord.key`, with the driver's version; in shipped stores `device_class`
    kernel: str
    kernel_version: int
    dtype: str
    shape_class: str  # problems whose times can be compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A line of a store: a trial, or a winner (then the outcome is its time)."""

    point: Point
    outcome: Outcome
    at: float = 0.0  # seconds since 1970; 0.0 where it is not known
    portagpu: str = ""  # version that measured
    predicted: float | None = None  # seconds that the model expected
    cost: float | None = None  # seconds that the trial took in all


def timed(record: Record | None) -> tuple[Point, float]:
    """A measured record's point and seconds."""
    assert record is not None and isinstance(record.outcome, outcomes.Measured)
    return record.point, record.outcome.seconds


def is_foreign(values: dict[str, Any]) -> bool:
    """Whether a line is another version's: of another number, or of a type that this one does not know."""
    return bool(values["v"] != VERSION) or values.get("type") not in ("trial", "winner", AXES)


def record_of(values: dict[str, Any]) -> Record:
    """A record from JSON values. Raises `StoreError`, KeyError, TypeError or ValueError for foreign ones."""
    kind = values["type"]
    if kind not in ("trial", "winner"):
        raise StoreError(f"{kind!r} is no line of a store")
    if kind == "trial":
        outcome = outcomes.from_json(values["outcome"])
    else:
        outcome = outcomes.Measured(outcomes.checked_seconds(values["seconds"]))
    record = Record(
        point=read_point(values["point"]),
        outcome=outcome,
        at=float(values.get("at") or 0.0),
        portagpu=str(values.get("portagpu") or ""),
    )
    predicted, cost = values.get("predicted"), values.get("cost")
    return replace(
        record,
        predicted=None if predicted is None else float(predicted),
        cost=None if cost is None else float(cost),
    )


def encoded(line: dict[str, Any]) -> bytes:
    """A line of the file."""
    return json.dumps(line, sort_keys=True).encode() + b"\n"


def trial_line(task: TaskKey, record: Record) -> dict[str, Any]:
    """A trial's line as JSON values."""
    facts = {"predicted": record.predicted, "cost": None if record.cost is None else round(record.cost, 4)}
    known = {name: value for name, value in facts.items() if value is not None}
    return {**_start(task, record), "type": "trial", "outcome": outcomes.to_json(record.outcome), **known}


def winner_line(task: TaskKey, record: Record) -> dict[str, Any]:
    """A winner's line as JSON values."""
    return {**_start(task, record), "type": "winner", "seconds": timed(record)[1]}


def _start(task: TaskKey, record: Record) -> dict[str, Any]:
    facts: dict[str, Any] = {"at": round(record.at, 3)} if record.at else {}
    if record.portagpu:
        facts["portagpu"] = record.portagpu
    return {"v": VERSION, "task": asdict(task), "point": record.point, **facts}


def axes_line(task: TaskKey, axes: Axes) -> dict[str, Any]:
    """The line of a space's axes as JSON values. Lines of this type are skipped by versions that do not know it."""
    values = [[[axis.name, axis.values] for axis in space] for space in axes]
    return {"v": VERSION, "task": asdict(task), "type": AXES, "axes": values}


def axes_of(values: dict[str, Any]) -> Axes:
    """The axes of a line. Raises TypeError, ValueError or `StoreError` for foreign ones."""
    try:
        found = tuple(tuple(Axis(str(n), read_back(list(v))) for n, v in space) for space in values["axes"])
    except TuningError as error:
        raise StoreError(f"{error.message}: no line of a store") from error
    return found
