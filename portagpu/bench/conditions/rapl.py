"""RAPL: counters of the energy that processor packages took, which Linux shows below ``/sys/class/powercap``.

Kernels since 5.10 let root alone read them, because power tells of secrets (CVE-2020-8694).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from portagpu.bench.conditions import sysfs
from portagpu.bench.conditions.counters import Counter

_ZONE = re.compile(r".*-rapl:[0-9]+")  # of a whole package: parts of it have a second number, and are counted in it
_MICRO = 1e-6


class Rapl:
    """Energy of all processor packages together; None where one of them cannot be read.

    ``missing`` says why nothing can be read; it is empty where all can.
    """

    least_window_s = 0.05  # the counters step each millisecond

    def __init__(self, root: Path = Path("/")) -> None:
        folder = root / "sys/class/powercap"
        zones = [
            zone
            for zone in sysfs.matching(folder, "*-rapl:*")
            if _ZONE.fullmatch(zone.name) and (sysfs.text(zone / "name") or "").startswith("package")
        ]
        self._counters = [(zone / "energy_uj", Counter(_limit(zone))) for zone in zones]
        self.missing = ""
        if not zones:
            self.missing = f"RAPL is not there: no package in {folder} (a virtual machine, a container, or no driver)"
        else:
            unread = [path for path, _ in self._counters if sysfs.number(path) is None]
            if unread:
                self.missing = _why(unread[0])

    def energy(self) -> float | None:
        """Joules since some moment."""
        if not self._counters:
            return None
        totals = [counter.total(sysfs.number(path)) for path, counter in self._counters]
        known = [total for total in totals if total is not None]
        return sum(known) * _MICRO if len(known) == len(totals) else None


def _limit(zone: Path) -> float | None:
    value = sysfs.number(zone / "max_energy_range_uj")
    return value if value is not None and value > 0 else None


def _why(path: Path) -> str:
    if path.exists() and not os.access(path, os.R_OK):
        return f"RAPL: {path} is for root alone; `sudo chmod a+r {path}` lets others read it until the next boot"
    return f"RAPL: {path} has no number"
