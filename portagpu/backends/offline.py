"""What offline compilation gives: figures and text of a kernel for hardware that is not present."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from portagpu.device.capabilities import Capabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionMix:
    """Instructions of a kernel's text, each counted once, however often a loop runs it.

    ``form``: what was counted, such as "PTX" or "x86". ``matrix``: of matrix units. ``loads`` and ``stores``: of global
    memory, by the bytes that a lane moves (a block access of a subgroup: its bytes for each lane). ``scalar_loads``:
    one for a whole subgroup. ``local``: accesses of local memory; ``scratch``: of private memory outside registers;
    ``fma``: multiplications with an addition; ``special``: roots, exponentials, sines; ``asynchronous``: copies of
    global to local memory that registers have no part in.
    """

    form: str
    total: int = 0
    matrix: int = 0
    loads: Mapping[int, int] = field(default_factory=dict)
    stores: Mapping[int, int] = field(default_factory=dict)
    scalar_loads: int = 0
    local: int = 0
    fma: int = 0
    special: int = 0
    atomics: int = 0
    asynchronous: int = 0
    barriers: int = 0
    branches: int = 0
    scratch: int = 0

    @property
    def matrix_unit_used(self) -> bool:
        """Whether any instruction is one of matrix units."""
        return self.matrix > 0

    @property
    def widest_load_bytes(self) -> int:
        """Bytes that a lane gets by the widest load of global memory; 0 where there is none."""
        return max(self.loads, default=0)

    @property
    def widest_store_bytes(self) -> int:
        """Bytes that a lane puts into global memory by the widest store; 0 where there is none."""
        return max(self.stores, default=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OfflineFigures:
    """Needs of one kernel.

    ``registers``: vector registers of a thread (of 4 bytes a lane), or of a hardware thread where those hold whole
    vectors, or those that a CPU's code names; None where nobody tells. ``matrix_registers``: those of them that only
    matrix units accumulate in; ``scalar_registers``: None where there are none. ``spilled``: vector registers that went
    to memory, None where the compiler counts bytes only. ``scratch_bytes``: private memory outside registers, of a
    thread or (``lanes`` threads) of a hardware thread. ``local_bytes``: local memory of a work-group. ``lanes``: width
    of a subgroup, of a CPU's widest vector instruction in float32. ``occupancy``: subgroups that are resident at once
    on one vector unit, as far as registers and local memory allow; None where there is no such number. ``slots``: the
    most that can be; ``limiter``: what allows no more (see `Residency`). ``mix``: None where nobody shows instructions.
    """

    registers: int | None
    matrix_registers: int
    scalar_registers: int | None
    spilled: int | None
    scratch_bytes: int
    local_bytes: int
    lanes: int
    occupancy: int | None
    slots: int | None = None
    limiter: str | None = None
    mix: InstructionMix | None = None

    @property
    def spills(self) -> bool:
        """Whether the kernel keeps anything in memory that should be in registers."""
        return bool(self.spilled) or self.scratch_bytes > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Residency:
    """What is resident at once. ``subgroups``: on one vector unit, of ``slots``; ``limiter``: what allows no more:
    "registers", "scalar registers", "local memory", "block size" (a larger number of these blocks does not fit, a
    smaller block would), "blocks" (so many and no more), or "subgroup slots", which is the best that can be."""

    subgroups: int
    slots: int
    limiter: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """What an offline compiler made of a program with one kernel.

    ``remark``: what is missing for all figures. ``scratch_lines``: lines of the program (1-based) whose code accesses
    private memory outside registers, with the number of such instructions; empty where nobody tells.
    """

    figures: OfflineFigures
    log: str
    assembly: str | None  # where the compiler gives text
    remark: str | None = None
    scratch_lines: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CompilerVersion:
    """Which compiler made something."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


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
    def platform(self) -> str:
        """What its usual driver calls itself."""

    @property
    def is_gpu(self) -> bool:
        """Whether registers are all that its threads have: a CPU's spilled ones stay in its caches."""

    @property
    def capabilities(self) -> Capabilities:
        """What code may use."""

    def residency(self, figures: OfflineFigures, block: int | None) -> Residency | None:
        """What is resident at once of blocks of so many threads; of a block that is not known, what registers allow.

        None where there is no such number.
        """
