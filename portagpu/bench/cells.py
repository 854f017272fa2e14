"""Cells of a benchmark: a problem, an implementation, and the result, as values."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import Enum

from portagpu.bench.problems import shape_text
from portagpu.blas.gemm.core.problem import Problem

Samples = tuple[tuple[float, ...], ...]  # seconds of each repetition (NumPy arrays) or batch (device arrays), by rounds
_STEADY = 0.1  # of the median: quartiles that lie further apart tell of a disturbed machine


class Memory(Enum):
    """Where the operands are while the clock runs."""

    HOST = "NumPy arrays"  # transfers or wrapping are counted
    DEVICE = "device arrays"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One product measured on one device by PortaGPU and a peer, in the same run."""

    device: str  # its name; where the machine has several of one name, also its index
    driver: str
    dtype: str
    m: int
    n: int
    k: int
    memory: str
    peer: str
    gflops: float | None  # median
    peer_gflops: float | None
    error: float | None  # largest error relative to the tolerance; at most 1 for a right result
    problem: str | None  # why numbers are missing
    batch: int = 1
    out: str = ""  # dtype of the result; "": the default for dtype
    precision: str = ""
    peer_arithmetic: str = ""  # where it is another one than PortaGPU's
    peer_error: float | None = None  # relative to the tolerance of its own arithmetic
    samples: Samples = ()
    peer_samples: Samples = ()

    @property
    def product(self) -> Problem:
        """The problem that was measured."""
        return Problem(
            m=self.m,
            n=self.n,
            k=self.k,
            batch=self.batch,
            dtype=self.dtype,
            out=self.out,
            precision=self.precision,
        )

    @property
    def arithmetic(self) -> str:
        """Dtypes and precision as a text."""
        return self.product.arithmetic

    @property
    def shape(self) -> str:
        """The sizes as a text."""
        return shape_text(self.product)

    @property
    def rival(self) -> str:
        """The peer, and its arithmetic where that is another one."""
        return f"{self.peer}, {self.peer_arithmetic}" if self.peer_arithmetic else self.peer

    @property
    def ratio(self) -> float | None:
        """PortaGPU's speed over the peer's."""
        if self.gflops is None or not self.peer_gflops:
            return None
        return self.gflops / self.peer_gflops

    @property
    def unsteady(self) -> bool:
        """Whether PortaGPU's times vary so much that the median says little."""
        return _varies(self.samples)

    @property
    def peer_unsteady(self) -> bool:
        """Whether the peer's do."""
        return _varies(self.peer_samples)


def all_of(samples: Samples) -> list[float]:
    """The seconds of all rounds."""
    return [seconds for turn in samples for seconds in turn]


def quartiles(samples: Samples) -> tuple[float, float, float] | None:
    """First quartile, median and third quartile in seconds; None without samples."""
    seconds = all_of(samples)
    if len(seconds) < 2:
        return (seconds[0], seconds[0], seconds[0]) if seconds else None
    first, median, third = statistics.quantiles(seconds, n=4, method="inclusive")
    return first, median, third


def _varies(samples: Samples) -> bool:
    found = quartiles(samples)
    return found is not None and found[2] - found[0] > _STEADY * found[1]


def worst(cells: tuple[Cell, ...]) -> Cell | None:
    """The cell with the smallest ratio; None if no cell has one."""
    measured = [(cell.ratio, index) for index, cell in enumerate(cells) if cell.ratio is not None]
    return cells[min(measured)[1]] if measured else None


__all__ = ["Cell", "Memory", "Samples", "all_of", "quartiles", "worst"]
