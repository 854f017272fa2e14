"""What suites offer: entries, which make cases when their turn comes, of contenders that are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Protocol

from portagpu.bench.method.plan import Method
from portagpu.bench.method.turns import Call, Player
from portagpu.bench.records.cell import Caches, Memory, Role
from portagpu.bench.records.workload import Workload
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

Timing = Callable[[Call, Method, Callable[[], object]], Player]
"""Makes a player of a call; it looks at sensors while the device is at work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """An implementation of a case's workload.

    ``prepare()`` makes its call, and may raise `PortaGPUError`, `RuntimeError`, `MemoryError` or `ImportError` with the
    reason why it cannot. ``arithmetic``: what it computes in, where that is not the workload's. ``check``: of its
    result, where the case's would not be right: of another arithmetic, or of a move of bytes. ``players``: for
    implementations that run elsewhere, as children of this process, with the errors of their results; the fastest one
    that is right counts, and adds its name. ``timing``: how its call is timed with hot caches, where that is neither in
    batches on the device nor one by one on the host. ``tuning()`` tells, after the first call, where its parameters are
    from.
    """

    implementation: str
    role: Role
    prepare: Callable[[], Call] | None = None
    arithmetic: str = ""
    check: Callable[[Any], float] | None = None
    players: Callable[[], list[tuple[str, Player, float]]] | None = None
    timing: Timing | None = None
    tuning: Callable[[], str] = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A workload with operands, and who computes it in which memory.

    ``check(result)``: the largest error of a fetched result, relative to the tolerance; None where nothing says what is
    right, so that no number may be shown, but ``unchecked``, the reason.
    """

    workload: Workload
    memory: Memory
    contenders: tuple[Contender, ...]
    check: Callable[[Any], float] | None
    unchecked: str = "nothing says what is right"

    def beside(self, peers: Peers) -> Case:
        """The case without others' implementations, if none of them is wanted."""
        own = tuple(one for one in self.contenders if one.role in (Role.OURS, Role.ROOF))
        return replace(self, contenders=own) if peers is Peers.NONE else self


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A workload of a suite before its operands are made.

    ``path``: `Workload.path` of what it makes. ``obstacle``: why the device cannot compute it. ``make(context)``: the
    cases, one for each kind of memory. ``command``: the words after ``program`` that name this entry alone; () for its
    suite's with a filter. ``caches``: with which its time means something.
    """

    path: str
    make: Callable[[Context], Iterable[Case]]
    obstacle: str = ""
    workload: Workload | None = None  # where it is known before; needed with an obstacle
    program: tuple[str, ...] = ("portagpu", "bench")
    command: tuple[str, ...] = ()
    caches: tuple[Caches, ...] = (Caches.HOT, Caches.COLD)

    def wanted(self, options: Options) -> tuple[Caches, ...]:
        """With which caches it is measured."""
        return tuple(one for one in self.caches if one is Caches.HOT or options.cold)


class Sizes(Enum):
    """Of which kind of device the sizes are; devices that are to be compared need the same."""

    OWN = "own"
    CPUS = "cpus"
    GPUS = "gpus"


class Peers(Enum):
    """With whom PortaGPU is compared; each implementation costs seconds of every workload."""

    VENDOR = "vendor"  # the library of the device's maker; where there is none for a workload, others
    ALL = "all"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What all suites are asked for.

    ``quick``: fewer workloads; ``small``: sizes that show only whether all works. ``sizes``: those of which kind of
    device, if not its own. ``cold``: with cold caches, too.
    ``core_types``: on CPUs, OpenBLAS with each of its core types in child processes. ``seed``: of random operands.
    ``clblast_tuned``: the folder with files of CLBlast's tuners.
    """

    quick: bool = False
    small: bool = False
    sizes: Sizes = Sizes.OWN
    cold: bool = False
    core_types: bool = True
    seed: int = 0
    peers: Peers = Peers.VENDOR
    clblast_tuned: Path | None = None

    @property
    def beside(self) -> str:
        """Beside whom, as result files tell it: a run goes on with the same ones only."""
        more = "" if self.core_types else ", without core types"
        return f"{self.peers.value}{more}{', CLBlast tuned' if self.clblast_tuned else ''}"

    def are_large(self, device: DeviceRecord) -> bool:
        """Whether a device is measured with sizes that fill a large GPU."""
        return self.sizes is Sizes.GPUS or (self.sizes is Sizes.OWN and device.device_type is not DeviceType.CPU)


class Suite(Protocol):
    """A family of workloads."""

    name: str
    summary: str

    def entries(self, device: DeviceRecord, options: Options) -> Iterable[Entry]:
        """What is measured on a device, in the order of tables."""


__all__ = ["Case", "Contender", "Entry", "Options", "Peers", "Sizes", "Suite", "Timing"]
