"""Operations as entries of a run: ours and the peer's calls in turns, on the device that a context is of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from portagpu.bench.arrays.library import Library, numpy, own, peer
from portagpu.bench.arrays.operations import LARGE, LITTLE, SMALL, Operation, expected, operand
from portagpu.bench.method.turns import Call
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Caches, Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Entry, Options
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.execution.context import Context

SUITE = "arrays"
DTYPES = ("float32", "float64")
_PROGRAM = ("python", "-m", "portagpu.bench.arrays")
_ON_GPU, _ON_CPU = (1 << 26,), (1 << 16, 1 << 22)  # 2^26 are 8192 x 8192
_FUSED_ON_CPUS = 2.0
NAMES = tuple(one.name for one in (*LARGE, *LITTLE))
Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An operation on so many elements of a dtype; small ones have 8 x 8."""

    operation: Operation
    n: int
    dtype: str

    @property
    def workload(self) -> Workload:
        """What the file calls it; blanks in names would be signs of paths."""
        return Workload(
            suite=SUITE, name=self.operation.name, arithmetic=self.dtype, size=str(self.n), unit=Unit.MICROSECONDS
        )


def problems(
    device: DeviceRecord, sizes: Iterable[int] = (), dtypes: Iterable[str] = (), names: Iterable[str] = ()
) -> Iterator[Problem]:
    """Those that are asked for; what is not named is as it comes for the kind of the device."""
    wanted = tuple(names)
    counts = tuple(sizes) or (_ON_CPU if device.device_type is DeviceType.CPU else _ON_GPU)
    kinds = tuple(dtypes) or DTYPES
    places = [(LARGE, n) for n in counts] + [(LITTLE, SMALL * SMALL)]
    for operations, n in places:
        for dtype in kinds:
            for operation in operations:
                if not wanted or operation.name in wanted:
                    yield Problem(operation=operation, n=n, dtype=dtype)


def entry(problem: Problem, options: Options) -> Entry:
    """A problem before its operands are made."""
    name, made = problem.operation.name, problem.workload
    size = () if problem.operation in LITTLE else ("--size", str(problem.n))
    return Entry(
        path=made.path,
        workload=made,
        make=partial(_cases, problem, options),
        program=_PROGRAM,
        command=("--operation", name, "--dtype", problem.dtype, *size),
        caches=(Caches.HOT,),
    )


def target(operation: Operation, device_type: DeviceType, vendor: str) -> float | None:
    """What the peer's time over ours is to be at least; None for overheads beside NumPy, whose calls need no driver."""
    if operation in LITTLE and vendor.startswith("NumPy"):
        return None
    return _FUSED_ON_CPUS if operation.fused and device_type is DeviceType.CPU else 1.0


def _cases(problem: Problem, options: Options, context: Context) -> Iterator[Case]:
    operation = problem.operation
    operands = tuple(operand(letter, problem.n, problem.dtype, options.seed) for letter in operation.operands)
    right = expected(operation, numpy(), operands)
    contenders = tuple(_contender(one, operation, operands) for one in (own(context), peer(context.device)))
    made = Case(
        workload=problem.workload,
        memory=Memory.DEVICE,
        contenders=contenders,
        check=lambda found: operation.check(operation.seen(found, *operands), right, operands[0].size),
    )
    yield made.beside(options.peers)


def _contender(library: Library, operation: Operation, operands: tuple[Array, ...]) -> Contender:
    prepare = partial(_prepared, library, operation, operands)
    is_ours = library.role is Role.OURS
    return Contender(
        implementation=library.label,
        role=library.role,
        prepare=prepare if is_ours else told(prepare, calls=False),
    )


def _prepared(library: Library, operation: Operation, operands: tuple[Array, ...]) -> Call:
    """The operation on a library's own arrays."""
    arrays = tuple(map(library.put, operands))
    call, compute = operation.call, library.compute
    held: list[Any] = [None]

    def enqueue() -> None:
        held[0] = found = call(library, *arrays)
        compute(found)

    return Call(enqueue=enqueue, wait=library.wait, fetch=lambda: library.get(held[0]), clock=library.clock)


__all__ = ["DTYPES", "NAMES", "SUITE", "Problem", "entry", "problems", "target"]
