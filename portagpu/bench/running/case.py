"""What suites offer: entries, which make cases when their turn comes, of contenders that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from portagpu.bench.method.plan import Method
from portagpu.bench.method.turns import Call, Player
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Workload
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context

Timing = Callable[[Call, Method, Callable[[], object]], Player]
"""Makes a player of a call; it looks at sensors while the device is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """An implementation of a case's workload.

    ``prepare()`` makes its call, and may raise `PortaGPUError`, `RuntimeError`, `MemoryError` or `ImportError` with the
    reason why it cannot. ``arithmetic``: what it computes in, where that is not the workload's; such results are not
    held against the workload's tolerance. ``is_checked``: whether its result is; False only for what computes nothing,
    as the move of bytes. ``players``: for implementations that run elsewhere, as children of this process; the fastest
    one counts, and adds its name. ``timing``: how its call is timed with hot caches, where that is neither in batches
    on the device nor one by one on the host. ``tuning()`` tells, after the first call, where its parameters are from.
    """

    implementation: str
    role: Role
    prepare: Callable[[], Call] | None = None
    arithmetic: str = ""
    is_checked: bool = True
    players: Callable[[], list[tuple[str, Player]]] | None = None
    timing: Timing | None = None
    tuning: Callable[[], str] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A workload with operands, and who computes it in which memory.

    ``check(result)``: the largest error of a fetched result, relative to the tolerance; None where nothing says what is
    right, so that no number may be shown.
    """

    workload: Workload
    memory: Memory
    contenders: tuple[Contender, ...]
    check: Callable[[Any], float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A workload of a suite before its operands are made.

    ``path``: `Workload.path` of what it makes. ``obstacle``: why the device cannot compute it. ``make(context)``: the
    cases, one for each kind of memory.
    """

    path: str
    make: Callable[[Context], Iterable[Case]]
    obstacle: str = ""
    workload: Workload | None = None  # where it is known before; needed with an obstacle


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What all suites are asked for.

    ``quick``: fewer workloads; ``small``: sizes that show only whether all works. ``cold``: with cold caches, too.
    ``core_types``: on CPUs, OpenBLAS with each of its core types in child processes. ``seed``: of random operands.
    """

    quick: bool = False
    small: bool = False
    cold: bool = False
    core_types: bool = True
    seed: int = 0
    extra: dict[str, Any] = field(default_factory=dict)


class Suite(Protocol):
    """A family of workloads."""

    name: str
    summary: str

    def entries(self, device: DeviceRecord, options: Options) -> Iterable[Entry]:
        """What is measured on a device, in the order of tables."""


__all__ = ["Case", "Contender", "Entry", "Options", "Suite", "Timing"]
