"""Views: what is shown of each place of a matrix, with its interval."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from portagpu.bench.method.statistics import Samples, interval, middle, resampled_medians
from portagpu.bench.records.cell import Cell, Memory, Status
from portagpu.report.matrix import Place
from portagpu.report.roofs import MEMORY

_BEYOND = 0.05
"""By which a problem may be faster than its arithmetic's roof: probes err, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number with its interval at `CONFIDENCE`, or why there is none. ``note``: what it is relative to."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A way to look at places. ``unit`` is "" where each problem has its own; ``share``: 1 is as good as the other."""

    key: str
    title: str
    unit: str
    more_is_better: bool
    share: bool
    of: Callable[[Place], Figure]


def _rate(place: Place) -> Figure:
    return _from_times(place, place.row.workload.shown)


def _bandwidth(place: Place) -> Figure:
    nbytes = place.row.workload.nbytes
    if nbytes is None:
        return Figure(why="bytes are not known")
    return _from_times(place, lambda seconds: nbytes / seconds / 1e9)


def _energy(place: Place) -> Figure:
    if place.ours is None or place.ours.status is not Status.MEASURED:
        return _without(place.ours)
    if place.ours.joules is None:
        return Figure(why="no energy was read")
    flops = place.row.workload.flops
    if not flops:
        return Figure(why="there are no operations that are known")
    return Figure(value=place.ours.joules / flops * 1e12)


def _cold_call(place: Place) -> Figure:
    if place.ours is None or place.ours.status is not Status.MEASURED:
        return _without(place.ours)
    if place.ours.first_call is None:
        return Figure(why="no first call was timed")
    return Figure(value=place.ours.first_call * 1e3)


def _of_vendor(place: Place) -> Figure:
    if place.row.is_roof:
        return Figure(why="a roof")
    return _ratio(place.ours, place.vendor, "no vendor library")


def _of_rival(place: Place) -> Figure:
    if place.row.is_roof:
        return Figure(why="a roof")
    return _ratio(place.ours, place.rival, "no peer")


def _of_roof(place: Place) -> Figure:
    if place.ours is None or place.ours.status is not Status.MEASURED:
        return _without(place.ours)
    if place.row.is_roof:
        return Figure(why="a roof")
    if place.row.memory is Memory.HOST and place.column.device.kind != "cpu":
        return Figure(why="transfers have no roof")
    least = place.column.roofs.least_seconds(place.row.workload)
    if isinstance(least, str):
        return Figure(why=least)
    seconds, limit = least
    if limit != MEMORY and seconds > (1 + _BEYOND) * (place.ours.seconds or seconds):
        return Figure(why=f"faster than the measured roof of {limit}")  # by another unit, which was not probed
    found = _from_times(place, lambda taken: seconds / taken)
    return Figure(value=found.value, low=found.low, high=found.high, note=f"limited by {limit}")


VIEWS = {
    view.key: view
    for view in (
        View(key="rate", title="Rate", unit="", more_is_better=True, share=False, of=_rate),
        View(
            key="vendor", title="Share of the vendor library", unit="", more_is_better=True, share=True, of=_of_vendor
        ),
        View(key="peer", title="Share of the best peer", unit="", more_is_better=True, share=True, of=_of_rival),
        View(key="roof", title="Share of the measured roof", unit="", more_is_better=True, share=True, of=_of_roof),
        View(key="bandwidth", title="Memory rate", unit="GB/s", more_is_better=True, share=False, of=_bandwidth),
        View(key="energy", title="Energy", unit="J/TFLOP", more_is_better=False, share=False, of=_energy),
        View(key="cold", title="First call", unit="ms", more_is_better=False, share=False, of=_cold_call),
    )
}
"""The views by their names on the command line."""


def rate_of(cell: Cell) -> Figure:
    """A cell's rate or time, in its workload's unit, with the interval."""
    return _shown(cell, cell.workload.shown)


def _from_times(place: Place, shown: Callable[[float], float]) -> Figure:
    return _without(place.ours) if place.ours is None else _shown(place.ours, shown)


def _shown(cell: Cell, shown: Callable[[float], float]) -> Figure:
    seconds = cell.seconds
    if seconds is None:
        return _without(cell)
    found = _interval(cell.samples)
    if found is None:
        return Figure(value=shown(seconds))
    low, high = sorted(map(shown, found))
    return Figure(value=shown(seconds), low=low, high=high)


def _without(cell: Cell | None) -> Figure:
    return Figure(why="-") if cell is None else Figure(why=cell.status.value)


def _ratio(ours: Cell | None, other: Cell | None, missing: str) -> Figure:
    """The other's time over ours: how fast we are by its measure."""
    if ours is None or ours.seconds is None:
        return _without(ours)
    if other is None or other.seconds is None:
        return Figure(why=missing if other is None else f"{other.implementation}: {other.status.value}")
    value = other.seconds / ours.seconds
    found = _ratio_interval(ours.samples, other.samples)
    if found is None:
        return Figure(value=value, note=other.name)
    return Figure(value=value, low=min(found[0], value), high=max(found[1], value), note=other.name)


@lru_cache(maxsize=1 << 15)  # a report asks for each several times
def _ratio_interval(ours: Samples, other: Samples) -> tuple[float, float] | None:
    drawn = _drawn(ours, 1), _drawn(other, 2)
    if drawn[0] is None or drawn[1] is None:
        return None
    return middle(drawn[1] / drawn[0])


@lru_cache(maxsize=1 << 15)
def _interval(samples: Samples) -> tuple[float, float] | None:
    return interval(samples)


@lru_cache(maxsize=64)  # for the next rival
def _drawn(samples: Samples, seed: int) -> np.ndarray | None:
    """Resampled medians; None with fewer than three rounds, which tell nothing of the uncertainty."""
    if sum(1 for turn in samples if turn) < 3:
        return None
    return resampled_medians(samples, seed)


__all__ = ["VIEWS", "Figure", "View", "rate_of"]
