"""What a device can do, by its own probes, and what of it a problem can reach: the roofline model.

S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for multicore architectures",
CACM 52 (2009).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from portagpu.bench.records.cell import Cell
from portagpu.bench.records.workload import Unit, Workload

SUITE = "roofs"
"""The suite of probes: their rates are shown, and compared with nobody's."""

MEMORY = "memory"
"""What limits a problem whose bytes take longer than its operations."""

_STREAMS = frozenset({"read", "write", "triad"})  # other ways through the same memory as "copy"

UNIT_SUFFIX = " matrix unit"
"""Of the arithmetic of roofs that instructions of matrix units reach."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofs:
    """Measured rates: ``peaks`` in FLOP/s by arithmetic, ``bandwidths`` in bytes/s by the memory's level.

    ``copy`` among the bandwidths is that of the device's memory.
    """

    peaks: dict[str, float] = field(default_factory=dict)
    bandwidths: dict[str, float] = field(default_factory=dict)

    def peak(self, arithmetic: str) -> float | None:
        """The largest rate of instructions that compute in an arithmetic; None where none was measured."""
        computed = arithmetic.partition(">")[0] if "/" not in arithmetic else arithmetic.rpartition("/")[2]
        names = {arithmetic, computed}
        found = [self.peaks[known] for name in names for known in (name, name + UNIT_SUFFIX) if known in self.peaks]
        return max(found, default=None)

    @property
    def levels(self) -> dict[str, float]:
        """The bandwidths that a plot shows: that of the memory, and those of what is nearer."""
        return {name: rate for name, rate in self.bandwidths.items() if name not in _STREAMS}

    @property
    def memory(self) -> float | None:
        """Bytes/s of the device's memory."""
        return self.bandwidths.get("copy")

    def least_seconds(self, workload: Workload) -> tuple[float, str] | str:
        """How long a problem takes at least, and the roof that limits it; or which roof is missing.

        That is the longer of operations over the peak and bytes over the bandwidth: min(peak, intensity * bandwidth)
        as a rate.
        """
        times = []
        if workload.unit is Unit.GFLOPS and not workload.arithmetic:
            return "the arithmetic is not known"
        if workload.flops is not None and workload.arithmetic:
            peak = self.peak(workload.arithmetic)
            if peak is not None:
                times.append((workload.flops / peak, workload.arithmetic))
            elif workload.unit is Unit.GFLOPS:
                return f"no roof of {workload.arithmetic} was measured"
        if workload.nbytes is not None:
            if self.memory is None:
                return "no roof of the memory was measured"
            times.append((workload.nbytes / self.memory, MEMORY))
        return max(times, default="neither operations nor bytes are known")


def roofs(cells: Iterable[Cell]) -> Roofs:
    """The roofs that cells measured; the largest of each."""
    found = Roofs()
    for cell in cells:
        workload, seconds = cell.workload, cell.seconds
        if seconds is None:
            continue
        if workload.name == "flops" and workload.flops is not None:
            _raise_to(found.peaks, cell.arithmetic or workload.arithmetic, workload.flops / seconds)
        elif workload.nbytes is not None:
            _raise_to(found.bandwidths, workload.name, workload.nbytes / seconds)
    return found


def _raise_to(rates: dict[str, float], name: str, rate: float) -> None:
    rates[name] = max(rate, rates.get(name, 0.0))


__all__ = ["MEMORY", "SUITE", "UNIT_SUFFIX", "Roofs", "roofs"]
