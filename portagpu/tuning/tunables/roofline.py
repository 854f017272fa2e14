"""A roofline model with occupancy and wave quantisation: a launch's expected time, and the limiting resource.

Arithmetic, memory, cache and local memory work at the same time, so the slowest of them counts. Each is slowed by what
the launch leaves idle: compute units without blocks in the last wave, and units with too few threads to hide latency.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
CACM 52(4), 2009. V. Volkov, "Better performance at lower occupancy", GTC 2010: a quarter of the threads is often
enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from portagpu.tuning.tunables.device_rates import DeviceFigures
from portagpu.tuning.tunables.outcomes import duration

_ENOUGH_OCCUPANCY = 0.25
_UNITS_FOR_DRAM = 0.5  # share of the compute units that saturates the memory


class Limit(Enum):
    """What a launch waits for."""

    COMPUTE = "arithmetic"
    DRAM = "memory bandwidth"
    CACHE = "cache bandwidth"
    LOCAL = "local memory"
    LAUNCH = "launch cost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a candidate needs. Counts are of the whole launch, padding included; sizes in bytes."""

    threads: int  # of a block
    blocks: int
    flops: float = 0.0
    dram_bytes: float = 0.0
    cache_bytes: float = 0.0  # between the last-level cache and the compute units
    local_bytes: float = 0.0  # to and from local memory
    registers: int = 32  # 32-bit ones of a thread
    local_memory: int = 0  # of a block
    dtype: str = "float32"
    peak: float | None = None  # operations a second where other units than the dtype's usual ones compute
    efficiency: float = 1.0  # share of the peak that the inner loop can issue
    launches: int = 1

    def nonsense(self) -> str | None:
        """What is no amount: not a number, negative, or an efficiency of 0; None if all is well."""
        amounts = ("flops", "dram_bytes", "cache_bytes", "local_bytes", "launches", "efficiency", "peak")
        values = {name: getattr(self, name) for name in amounts}
        strange = next((f"{n}={v}" for n, v in values.items() if v is not None and not v >= 0), None)
        return strange if self.efficiency else f"efficiency={self.efficiency}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the model expects."""

    seconds: float
    limit: Limit
    bound: float  # seconds below which no launch with this work can be on the device: the roof
    resident: int  # blocks of a compute unit at the same time
    occupancy: float  # threads of a compute unit over what it holds; 1.0 on CPUs
    waves: float  # blocks over what the device holds at the same time
    utilisation: float  # share of the compute units' time that has work, 1.0 without a partial wave
    terms: Mapping[Limit, float]  # seconds of each resource

    def __str__(self) -> str:
        return (
            f"{duration(self.seconds)}, limited by {self.limit.value} (occupancy {self.occupancy:.0%},"
            f" {self.waves:.3g} waves, units {self.utilisation:.0%} busy)"
        )


def obstacle(need: Resources, figures: DeviceFigures) -> str | None:
    """Why a block does not fit a compute unit; None if it does."""
    if not 0 < need.threads <= figures.threads:
        return f"{need.threads} threads a block, the device has {figures.threads}"
    if figures.local_memory and need.local_memory > figures.local_memory:
        return f"{need.local_memory} bytes of local memory, the device has {figures.local_memory}"
    if figures.registers and need.registers * need.threads > figures.registers:
        return f"{need.registers} registers for each of {need.threads} threads, a unit has {figures.registers}"
    return None


def predict(need: Resources, figures: DeviceFigures) -> Prediction | None:
    """The expected time; None for what does not fit (`obstacle` says why)."""
    if need.blocks < 1 or obstacle(need, figures) is not None:
        return None
    resident = _resident(need, figures)
    occupancy = min(1.0, resident * need.threads / figures.threads) if figures.warp > 1 else 1.0
    shares = math.ceil(need.blocks / figures.units)  # blocks that the busiest unit works off
    utilisation = need.blocks / (shares * figures.units)
    active = min(1.0, need.blocks / figures.units)
    # CPUs hide latency by out-of-order execution, not by threads
    here = min(resident, shares) * need.threads / figures.threads
    hiding = min(1.0, here / _ENOUGH_OCCUPANCY) if figures.warp > 1 else 1.0
    padded = math.ceil(need.threads / figures.warp) * figures.warp / need.threads
    peak = need.peak or figures.peak(need.dtype)
    terms = {
        Limit.COMPUTE: _seconds(need.flops * padded, peak * need.efficiency * utilisation * hiding),
        Limit.DRAM: need.dram_bytes / (figures.dram * min(1.0, active / _UNITS_FOR_DRAM) * hiding),
        Limit.CACHE: need.cache_bytes / (figures.cache * utilisation * hiding),
        Limit.LOCAL: need.local_bytes / (figures.local * utilisation),
        Limit.LAUNCH: figures.launch * need.launches,
    }
    limit = max(terms, key=lambda term: terms[term])
    work = max(seconds for term, seconds in terms.items() if term is not Limit.LAUNCH)
    return Prediction(
        seconds=float(max(terms[Limit.LAUNCH] + work, 1e-12)),
        limit=limit,
        bound=float(max(need.flops / peak, need.dram_bytes / figures.dram, 1e-12)),
        resident=resident,
        occupancy=occupancy,
        waves=need.blocks / (figures.units * resident),
        utilisation=utilisation,
        terms=terms,
    )


def _seconds(amount: float, rate: float) -> float:
    """The time of an amount; at no rate it is endless, unless there is nothing to do."""
    if rate:
        return amount / rate
    return math.inf if amount else 0.0


def _resident(need: Resources, figures: DeviceFigures) -> int:
    limits = [figures.blocks, figures.threads // need.threads]
    if figures.registers:
        limits.append(figures.registers // max(1, need.registers * need.threads))
    if figures.local_memory and need.local_memory:
        limits.append(figures.local_memory // need.local_memory)
    return max(1, min(limits))
