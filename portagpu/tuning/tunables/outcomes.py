"""Outcomes of trials, as values: measured, compile failed, wrong result, timed out, ..."""

from __future__ import annotations

import math
import statistics
from dataclasses import asdict, dataclass
from typing import Any

from portagpu.errors import StoreError


@dataclass(frozen=True, slots=True)
class Measured:
    """The kernel ran, its result was right.

    ``seconds`` is the median of ``repetitions`` (seconds a run, in the order of measuring); ``first`` is what the first
    run took, which compiles, and which counts for nothing else.
    """

    seconds: float
    repetitions: tuple[float, ...] = ()
    first: float = 0.0

    @property
    def spread(self) -> float:
        """Distance of the quartiles over the median; 0.0 where fewer than four repetitions are known."""
        if len(self.repetitions) < 4:
            return 0.0
        low, _, high = statistics.quantiles(self.repetitions, n=4)
        return (high - low) / self.seconds


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
    """The trial, or the verification, did not end in time: a search with a larger limit tries the point again."""

    limit: float  # seconds of a trial
    verified_for: float = 0.0  # seconds that a verification was given which did not end


@dataclass(frozen=True, slots=True)
class Spilled:
    """The compiler kept more than the tunable allows of a thread's registers in memory; the kernel was not timed."""

    bytes: int  # of a thread
    limit: int


@dataclass(frozen=True, slots=True)
class OutOfBounds:
    """The kernel wrote beside an array; its process was replaced."""

    reason: str


Outcome = Measured | CompileFailed | LaunchFailed | WrongResult | TimedOut | Spilled | OutOfBounds
_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (Measured, CompileFailed, LaunchFailed, WrongResult, TimedOut, Spilled, OutOfBounds)
}
_NUMBERS = frozenset({"limit", "bytes", "verified_for"})
_DIGITS = 6  # significant ones that times are stored with
_LONGEST = 4000  # characters of a reason that are stored: of a compiler's log, say


def to_json(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON values."""
    values = {"kind": type(outcome).__name__, **asdict(outcome)}
    if isinstance(outcome, Measured):
        values["repetitions"] = [float(f"{r:.{_DIGITS}g}") for r in outcome.repetitions]
    elif "reason" in values:
        values["reason"] = shortened(str(values["reason"]), _LONGEST)
    elif isinstance(outcome, TimedOut) and not outcome.verified_for:
        del values["verified_for"]  # of the usual kind, which earlier versions read
    return values


def from_json(values: dict[str, Any]) -> Outcome:
    """An outcome from JSON values. Raises `StoreError`."""
    fields = dict(values)
    try:
        outcome: Outcome = _KINDS[fields.pop("kind")](**fields)
    except (KeyError, TypeError) as error:
        raise StoreError(f"{values!r} is no trial outcome") from error
    if isinstance(outcome, Measured):
        repetitions: Any = outcome.repetitions
        first: Any = outcome.first
        if not isinstance(repetitions, list | tuple) or not isinstance(first, int | float):
            raise StoreError(f"{values!r} is no trial outcome")
        return Measured(checked_seconds(outcome.seconds), tuple(checked_seconds(r) for r in repetitions), float(first))
    if not all(isinstance(value, int | float if name in _NUMBERS else str) for name, value in fields.items()):
        raise StoreError(f"{values!r} is no trial outcome")
    return outcome


def checked_seconds(value: object) -> float:
    """A measured time from a JSON value: positive and finite. Raises `StoreError`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value <= 0:
        raise StoreError(f"{value!r} is no measured time")
    return float(value)


def describe(outcome: Outcome) -> str:
    """What happened, in a few words."""
    match outcome:
        case Measured():
            return f"{duration(outcome.seconds)}"
        case TimedOut():
            if outcome.verified_for:
                return f"its verification did not end within {outcome.verified_for:g} s"
            return f"timed out under a trial limit of {outcome.limit:g} s"
        case Spilled():
            return f"spills {outcome.bytes} bytes of registers a thread (limit {outcome.limit})"
        case CompileFailed():
            return f"does not compile: {_short(outcome.reason)}"
        case LaunchFailed():
            return f"failed: {_short(outcome.reason)}"
        case WrongResult():
            return f"wrong result: {_short(outcome.reason)}"
        case OutOfBounds():
            return f"writes out of bounds: {_short(outcome.reason)}"


def duration(seconds: float) -> str:
    """A time with a unit that suits it."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= 0.9995 * scale:  # what rounds to 1
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def shortened(text: str, most: int) -> str:
    """The beginning of a text that is longer than ``most`` characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def _short(text: str) -> str:
    return shortened(text, 160)
