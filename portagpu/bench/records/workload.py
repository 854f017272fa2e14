"""`Workload`: what is computed in a cell, by whichever implementation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Unit(Enum):
    """What a cell shows: a rate, or the time of a call."""

    GFLOPS = "GFLOP/s"
    GBYTES = "GB/s"
    MICROSECONDS = "us"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A problem of a suite: ``path`` is its name on the command line, in tables and in filters.

    ``arithmetic``: the dtype, or dtypes and precision; "" where there is none, as for launches. ``size`` as text.
    ``flops`` and ``nbytes``: operations of one call, and bytes that must move between the device and its memory; None
    where nobody knows. ``unit`` is what is shown of it.
    """

    suite: str
    name: str
    arithmetic: str
    size: str
    unit: Unit
    flops: float | None = None
    nbytes: float | None = None

    def __post_init__(self) -> None:
        """What a rate is made from is there."""
        if {Unit.GFLOPS: self.flops, Unit.GBYTES: self.nbytes, Unit.MICROSECONDS: 1.0}[self.unit] is None:
            raise ValueError(f"{self.name} has no work to be shown in {self.unit.value}")

    @property
    def path(self) -> str:
        """``gemm/matmul/float32/4096``: parts have no blanks."""
        parts = (self.suite, self.name, self.arithmetic, self.size)
        return "/".join(part.replace(" x ", "x").replace(", ", ",").replace(" ", "-") for part in parts if part)

    @property
    def intensity(self) -> float | None:
        """Operations for each byte; None where one of both is unknown."""
        return self.flops / self.nbytes if self.flops and self.nbytes else None

    def shown(self, seconds: float) -> float:
        """The rate or time, in ``unit``, of a call that takes so many seconds."""
        if self.unit is Unit.MICROSECONDS:
            return seconds * 1e6
        work = self.flops if self.unit is Unit.GFLOPS else self.nbytes
        assert work is not None  # see `__post_init__`
        return work / seconds / 1e9

    @property
    def more_is_better(self) -> bool:
        """Whether larger numbers are faster."""
        return self.unit is not Unit.MICROSECONDS


__all__ = ["Unit", "Workload"]
