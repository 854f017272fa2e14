"""What the readings of a cell come to, and whether its numbers may be shown.

The policy. A cell is throttled, and shows the reason in place of its numbers, if any reading that counts has

- a thermal slowdown, by software or hardware,
- a hardware slowdown, or a power brake: something outside the chip asked for less.

A power cap is recorded and shown, and is no throttle: large products always run into it, and how fast they are at that
power is what the card can do. So are limits of current and voltage, and clocks that a user or a program has set. Where
no reasons can be read, a clock that lies below 0.8 of the highest of the cell is a throttle. Readings while the device
was idle do not count.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portagpu.bench.conditions.reading import (
    HARDWARE_SLOWDOWN,
    HARDWARE_THERMAL,
    POWER_BRAKE,
    SOFTWARE_THERMAL,
    THERMAL,
    Reading,
)

THROTTLES = frozenset({THERMAL, SOFTWARE_THERMAL, HARDWARE_THERMAL, HARDWARE_SLOWDOWN, POWER_BRAKE})
_STEADY = 0.8  # of the highest clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The least, the median and the most of what was read."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """Under which conditions a cell was measured; None where a thing could not be read.

    ``source``: what read it; ``missing``: what could not be read, and why. ``readings`` are those that count, ``idle``
    those that do not. ``reasons``, in order: None where they cannot be read. ``energy_j`` is of a window of its own,
    ``energy_s`` long, in which the work was done ``energy_runs`` times. ``throttled``: why the cell's numbers must not
    be shown, in words.
    """

    source: str
    missing: str
    readings: int
    idle: int
    core_clock_mhz: Spread | None
    memory_clock_mhz: Spread | None
    power_w: Spread | None
    temperature_c: Spread | None
    reasons: tuple[str, ...] | None
    energy_j: float | None
    energy_s: float | None
    energy_runs: int | None
    throttled: str | None

    @property
    def joules_per_run(self) -> float | None:
        """Energy of doing the work once."""
        if self.energy_j is None or not self.energy_runs:
            return None
        return self.energy_j / self.energy_runs

    @property
    def mean_power_w(self) -> float | None:
        """Power over the window of energy."""
        return self.energy_j / self.energy_s if self.energy_j is not None and self.energy_s else None


def summary(
    readings: Iterable[Reading],
    *,
    source: str = "",
    missing: str = "",
    energy: tuple[float, float, int] | None = None,
) -> Conditions:
    """What readings come to; ``energy``: joules, seconds and runs of a window."""
    everything = tuple(readings)
    counted = [reading for reading in everything if not reading.idle]
    known = [reading.reasons for reading in counted if reading.reasons is not None]
    joules, seconds, runs = energy if energy is not None else (None, None, None)
    return Conditions(
        source=source,
        missing=missing,
        readings=len(counted),
        idle=len(everything) - len(counted),
        core_clock_mhz=_spread([reading.core_clock_mhz for reading in counted]),
        memory_clock_mhz=_spread([reading.memory_clock_mhz for reading in counted]),
        power_w=_spread([reading.power_w for reading in counted]),
        temperature_c=_spread([reading.temperature_c for reading in counted]),
        reasons=tuple(sorted(frozenset().union(*known))) if known else None,
        energy_j=joules,
        energy_s=seconds,
        energy_runs=runs,
        throttled=_throttled(counted),
    )


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    return Spread(least=min(known), median=statistics.median(known), most=max(known)) if known else None


def _throttled(counted: Sequence[Reading]) -> str | None:
    known = [reading.reasons for reading in counted if reading.reasons is not None]
    if not known:
        return _fallen(counted)
    slow = [reasons & THROTTLES for reasons in known if reasons & THROTTLES]
    if not slow:
        return None
    words = frozenset().union(*slow)
    if words & {HARDWARE_THERMAL, POWER_BRAKE}:  # which are hardware slowdowns that say more
        words -= {HARDWARE_SLOWDOWN}
    return f"{', '.join(sorted(words))} in {len(slow)} of {len(known)} readings"


def _fallen(counted: Sequence[Reading]) -> str | None:
    clocks = [reading.core_clock_mhz for reading in counted if reading.core_clock_mhz is not None]
    if not clocks or min(clocks) >= _STEADY * max(clocks):
        return None
    low, high = min(clocks), max(clocks)
    if clocks.index(high) < len(clocks) - 1 - clocks[::-1].index(low):
        return f"clock fell from {high:.0f} to {low:.0f} MHz"
    return f"clock rose from {low:.0f} to {high:.0f} MHz"


__all__ = ["THROTTLES", "Conditions", "Spread", "summary"]
