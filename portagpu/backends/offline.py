"""What offline compilation gives: figures and text of a kernel for hardware that is not present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from portagpu.device.capabilities import Capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineFigures:
    """Needs of one kernel.

    ``registers``: vector registers of a thread (of 4 bytes a lane), or of a hardware thread where those hold whole
    vectors, or those that a CPU's code names; None where nobody tells. ``matrix_registers``: those of them that only
    matrix units accumulate in; ``scalar_registers``: None where there are none. ``spilled``: vector registers that went
    to memory, None where the compiler counts bytes only. ``scratch_bytes``: private memory outside registers, of a
    thread or (``lanes`` threads) of a hardware thread. ``local_bytes``: local memory of a work-group. ``lanes``: width
    of a subgroup, of a CPU's widest vector instruction in float32. ``occupancy``: subgroups that are resident at once
    on one vector unit, as far as registers and local memory allow; None where there is no such number.
    """

    registers: int | None
    matrix_registers: int
    scalar_registers: int | None
    spilled: int | None
    scratch_bytes: int
    local_bytes: int
    lanes: int
    occupancy: int | None

    @property
    def spills(self) -> bool:
        """Whether the kernel keeps anything in memory that should be in registers."""
        return bool(self.spilled) or self.scratch_bytes > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What an offline compiler made of a program with one kernel. ``remark``: what is missing for all figures."""

    figures: OfflineFigures
    log: str
    assembly: str | None  # where the compiler gives text
    remark: str | None = None


class OfflineTarget(Protocol):
    """Hardware that kernels can be compiled for without it."""

    @property
    def name(self) -> str:
        """What its compiler calls it."""

    @property
    def title(self) -> str:
        """What its maker calls it."""

    @property
    def backend(self) -> str:
        """The back end that compiles for it."""

    @property
    def is_gpu(self) -> bool:
        """Whether registers are all that its threads have: a CPU's spilled ones stay in its caches."""

    @property
    def capabilities(self) -> Capabilities:
        """What code may use."""
