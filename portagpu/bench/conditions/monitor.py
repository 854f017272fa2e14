"""Readings while a cell is measured, taken when one is told to, so that no thread disturbs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from portagpu.bench.conditions.reading import Reading, Sensors, attempt, within
from portagpu.bench.conditions.summary import Conditions, summary


class EnergyWindow:
    """Energy between two moments. ``runs``: how often the work was done in it, which whoever does it says.

    ``joules`` is None where the counter cannot be read, or the window was too short for it; ``problem`` says which.
    """

    def __init__(self) -> None:
        self.runs = 0
        self.joules: float | None = None
        self.seconds = 0.0
        self.problem = ""


class Monitor:
    """Takes readings of a device's sensors, and measures energy over a window.

    A cell calls `begin` when its warm-up is done, `look` between its samples, while the device still has work or has
    just had it, and `conditions` at the end.
    """

    def __init__(self, sensors: Sensors, now: Callable[[], float] = time.perf_counter) -> None:
        self.sensors = sensors
        self._now = now
        self._readings: list[Reading] = []
        self._energy: tuple[float, float, int] | None = None

    def begin(self) -> None:
        """Begin a cell: what was counted until now, of energy and of throttling, is not of it."""
        attempt(self.sensors.read)
        self._readings, self._energy = [], None

    def look(self) -> Reading:
        """Take a reading, and keep it."""
        found = attempt(self.sensors.read)
        reading = found if isinstance(found, Reading) else Reading()
        self._readings.append(reading)
        return reading

    @contextmanager
    def energy(self) -> Iterator[EnergyWindow]:
        """Measure the energy of a block, which must wait for the device before it ends.

        It should last ``sensors.least_window_s`` at least, and say in ``runs`` how often it did the work. A window in
        which an exception is raised has no energy.
        """
        window = EnergyWindow()
        before, start = self._counted(), self._now()
        yield window
        end, after = self._now(), self._counted()
        window.seconds = end - start
        if before is None or after is None or after < before:
            window.problem = self.sensors.missing or f"{self.sensors.name} tells no energy"
        elif window.seconds < self.sensors.least_window_s:
            least = self.sensors.least_window_s
            window.problem = f"{window.seconds:.3f} s are too short for {self.sensors.name}, which needs {least:g} s"
        else:
            window.joules = after - before
            self._energy = window.joules, window.seconds, window.runs

    def conditions(self) -> Conditions:
        """What the readings, and the last window of energy, come to; none of them is kept for the next cell."""
        found = summary(self._readings, source=self.sensors.name, missing=self.sensors.missing, energy=self._energy)
        self._readings, self._energy = [], None
        return found

    def _counted(self) -> float | None:
        return within(attempt(self.sensors.energy), 0, 1e300)


__all__ = ["EnergyWindow", "Monitor"]
