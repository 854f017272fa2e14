"""What a trial can come to: values, not exceptions."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from portagpu.errors import StoreError


@dataclass(frozen=True, slots=True)
class Measured:
    """The kernel ran, its result was right; ``seconds`` is the median of its repetitions."""

    seconds: float


@dataclass(frozen=True, slots=True)
class CompileFailed:
    """The driver refused the kernel, or it needs more than the device has."""

    reason: str


@dataclass(frozen=True, slots=True)
class LaunchFailed:
    """The kernel or its process died."""

    reason: str


@dataclass(frozen=True, slots=True)
class WrongResult:
    """The kernel ran, but its result is outside the error bound."""

    reason: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The trial did not end within its limit."""

    limit: float  # seconds


Outcome = Measured | CompileFailed | LaunchFailed | WrongResult | TimedOut
_KINDS: dict[str, type[Any]] = {c.__name__: c for c in (Measured, CompileFailed, LaunchFailed, WrongResult, TimedOut)}


def to_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON values."""
    return {"kind": type(outcome).__name__, **asdict(outcome)}


def from_json(values: dict[str, Any]) -> Outcome:
    """An outcome from JSON values. Raises `StoreError`."""
    fields = dict(values)
    try:
        outcome: Outcome = _KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError) as error:
        raise StoreError(f"{values!r} is no trial outcome") from error
    if isinstance(outcome, Measured):
        return Measured(checked_seconds(outcome.seconds))
    return outcome


def checked_seconds(value: object) -> float:
    """A measured time from a JSON value: positive and finite. Raises `StoreError`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise StoreError(f"{value!r} is no measured time")
    return float(value)
