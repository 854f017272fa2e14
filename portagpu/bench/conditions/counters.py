"""Counters of energy: those that begin anew, and power as what they gained between two readings."""

from __future__ import annotations

from collections.abc import Callable

_SHORTEST = 0.01  # seconds: counters step about each millisecond, so what a shorter time gained is noise


class Counter:
    """A counter that begins anew at a limit, as one that does not.

    One that falls although no limit is known was reset, or is no counter: from then on it has no value.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self._last: float | None = None
        self._before = 0.0  # what the rounds before this one had
        self._broken = False

    def total(self, value: float | None) -> float | None:
        """The counter's value without its falls; None where there is none."""
        if value is None or value < 0 or self._broken or (self._limit is not None and value > self._limit):
            return None
        if self._last is not None and value < self._last:
            if self._limit is None:
                self._broken = True
                return None
            self._before += self._limit
        self._last = value
        return self._before + value


class MeanPower:
    """Watts as a counter of energy tells them: the mean since the reading before."""

    def __init__(self, energy: Callable[[], float | None], now: Callable[[], float]) -> None:
        self._energy, self._now = energy, now
        self._then: tuple[float, float] | None = None
        self._watts: float | None = None
        self.watts()

    def watts(self) -> float | None:
        """The mean since the last call, or of the time before if that was a moment ago; None where it is unknown."""
        joules, moment = self._energy(), self._now()
        if joules is None:
            self._then = self._watts = None
            return None
        if self._then is None:
            self._then = moment, joules
            return None
        seconds = moment - self._then[0]
        if seconds >= _SHORTEST:
            self._watts = (joules - self._then[1]) / seconds
            self._then = moment, joules
        return self._watts


__all__ = ["Counter", "MeanPower"]
