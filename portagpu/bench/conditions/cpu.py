"""Processors, as Linux tells of them: clocks, temperature, throttling, and energy by RAPL."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from portagpu.bench.conditions import sysfs
from portagpu.bench.conditions.counters import MeanPower
from portagpu.bench.conditions.rapl import Rapl
from portagpu.bench.conditions.reading import POWER_CAP, THERMAL, Reading, plausible, unread

_MOST_CPUS = 16  # that are looked at: some kernels take milliseconds to tell a clock
_CHIPS = ("coretemp", "k10temp", "zenpower", "cpu_thermal", "cpu-thermal", "scpi_sensors")
_ZONES = ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "soc-thermal", "soc_thermal", "acpitz")
_COUNTS = {
    "core_throttle_count": THERMAL,
    "package_throttle_count": THERMAL,
    "core_power_limit_count": POWER_CAP,
    "package_power_limit_count": POWER_CAP,
}
_LEAST_BUSY = 0.5  # CPUs: with less to do, a processor is idle
_LEAST_TICKS = 5  # of 10 ms: over a shorter time, nobody knows


class CpuSensors:
    """All processors of the machine.

    The clock is that of the fastest CPU: those that rest have low ones. Reasons are what throttling was counted since
    the reading before. In a virtual machine ``/proc/cpuinfo`` tells a constant, which is left out.
    """

    least_window_s = Rapl.least_window_s

    def __init__(self, root: Path = Path("/"), now: Callable[[], float] = time.monotonic) -> None:
        self._root = root
        self._rapl = Rapl(root)
        self._power = MeanPower(self._rapl.energy, now)
        cpus = sysfs.matching(root / "sys/devices/system/cpu", "cpu[0-9]*")
        step = -(-len(cpus) // _MOST_CPUS) or 1
        self._cpus = cpus[::step]
        self._counts = self._throttles()
        self._busy = self._busy_ticks()
        self._idle = False
        self.name = "Linux" if self._rapl.missing else "Linux and RAPL"
        without = ("memory clock", "power", "energy") if self._rapl.missing else ("memory clock",)
        self.missing = "; ".join(part for part in (self._rapl.missing, unread(self, without=without)) if part)

    def read(self) -> Reading:
        """How things are now, and what was counted since the last time."""
        return plausible(
            core_clock_mhz=self._clock(),
            power_w=self._power.watts(),
            temperature_c=self._temperature(),
            reasons=self._reasons(),
            idle=self._is_idle(),
        )

    def energy(self) -> float | None:
        """Joules of all packages."""
        return self._rapl.energy()

    def _clock(self) -> float | None:
        found = [sysfs.number(cpu / "cpufreq/scaling_cur_freq") for cpu in self._cpus]
        clocks = [kilohertz / 1000 for kilohertz in found if kilohertz is not None and kilohertz > 0]
        if not clocks:
            told = sysfs.text(self._root / "proc/cpuinfo") or ""
            if not re.search(r"^flags\s*:.*\bhypervisor\b", told, re.MULTILINE):
                clocks = [float(mhz) for mhz in re.findall(r"^cpu MHz\s*:\s*([0-9]+\.?[0-9]*)$", told, re.MULTILINE)]
        return max(clocks, default=None)

    def _temperature(self) -> float | None:
        """The hottest sensor of the processors."""
        found: list[float | None] = []
        for chip in sysfs.matching(self._root / "sys/class/hwmon", "hwmon*"):
            if sysfs.text(chip / "name") in _CHIPS:
                found += [sysfs.number(path) for path in sysfs.matching(chip, "temp*_input")]
        if not any(value is not None for value in found):
            zones = sysfs.matching(self._root / "sys/class/thermal", "thermal_zone*")
            found = [sysfs.number(zone / "temp") for zone in zones if sysfs.text(zone / "type") in _ZONES]
        return max((value / 1000 for value in found if value is not None and value < 200_000), default=None)

    def _throttles(self) -> dict[tuple[str, str], float]:
        found = {
            (cpu.name, name): sysfs.number(cpu / "thermal_throttle" / name) for cpu in self._cpus for name in _COUNTS
        }
        return {key: value for key, value in found.items() if value is not None}

    def _reasons(self) -> frozenset[str] | None:
        before, self._counts = self._counts, self._throttles()
        if not self._counts:
            return None
        return frozenset(_COUNTS[key[1]] for key, count in self._counts.items() if count > before.get(key, count))

    def _busy_ticks(self) -> tuple[float, float] | None:
        """Ticks of one CPU, were all one: busy ones, and those that went by."""
        told = sysfs.text(self._root / "proc/stat") or ""
        words = told.partition("\n")[0].split()
        ticks = [float(word) for word in words[1:9] if word.isascii() and word.isdigit()]
        if len(ticks) < 5 or words[0] != "cpu":
            return None
        cpus = len(re.findall(r"^cpu[0-9]+ ", told, re.MULTILINE)) or 1
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks) / cpus  # without idle, and waiting for a disk

    def _is_idle(self) -> bool:
        now = self._busy_ticks()
        if now is None or self._busy is None:
            return False
        busy, passed = now[0] - self._busy[0], now[1] - self._busy[1]
        if passed >= _LEAST_TICKS:
            self._busy = now
            self._idle = busy / passed < _LEAST_BUSY
        return self._idle
