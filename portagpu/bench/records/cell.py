"""`Cell`: one implementation of one workload on one device, measured, or why it was not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Any

from portagpu.bench.method.statistics import Samples, median
from portagpu.bench.records.workload import Workload


class Memory(Enum):
    """Where the operands are while the clock runs."""

    HOST = "NumPy arrays"  # transfers or wrapping are counted
    DEVICE = "device arrays"


class Caches(Enum):
    """What the device's caches hold when a call begins."""

    HOT = "hot"  # whatever the call before left
    COLD = "cold"  # other data: more than the largest cache was written meanwhile


class Role(Enum):
    """What an implementation is in comparisons."""

    OURS = "ours"
    VENDOR = "vendor"  # the library of the device's maker, or on CPUs the one that NumPy calls
    PEER = "peer"  # any other
    ROOF = "roof"  # a probe of what the device can do


class Status(Enum):
    """What became of a cell; all but MEASURED have a reason in place of numbers."""

    MEASURED = "measured"
    WRONG = "wrong result"
    UNVERIFIED = "not verified"
    UNSUPPORTED = "not supported"
    FAILED = "failed"
    THROTTLED = "throttled"
    OPEN = "open"  # not measured yet: the run was ended, or its worker died


_median = lru_cache(maxsize=1 << 14)(median)  # a report asks for each cell's a hundred times


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One implementation of one workload on one device.

    ``device`` is an index into the run's devices. ``samples``: seconds of a call, by rounds (see
    `portagpu.bench.method`). ``first_call``: seconds of the first call in the process, with compilation if no cache had
    the program. ``device_seconds``: the median of a call by the device's own events. ``error``: the largest of the
    result, relative to what is allowed; at most 1. ``stopped``: which rule ended the measurement. ``conditions``:
    clocks, power, temperature (see `portagpu.bench.conditions`). ``joules`` of a call. ``arithmetic``: the
    implementation's, where it is not the workload's. ``kernel``: hash of the generated program; ``tuning``: where its
    parameters are from. ``repeat``: the command that measures the cell again.
    """

    device: int
    workload: Workload
    implementation: str
    role: Role
    memory: Memory
    status: Status
    caches: Caches = Caches.HOT
    reason: str = ""
    samples: Samples = ()
    first_call: float | None = None
    device_seconds: float | None = None
    error: float | None = None
    stopped: str = ""
    arithmetic: str = ""
    conditions: Mapping[str, Any] = field(default_factory=dict)
    joules: float | None = None
    kernel: str = ""
    tuning: str = ""
    repeat: str = ""

    @property
    def seconds(self) -> float | None:
        """The median of a call; None for cells that show no number."""
        return _median(self.samples) if self.status is Status.MEASURED else None

    @property
    def rate(self) -> float | None:
        """What is shown, in the workload's unit."""
        return None if self.seconds is None else self.workload.shown(self.seconds)

    @property
    def name(self) -> str:
        """The implementation, and its arithmetic where that is another one than asked for."""
        return f"{self.implementation}, {self.arithmetic}" if self.arithmetic else self.implementation


__all__ = ["Caches", "Cell", "Memory", "Role", "Status"]
