"""BLAS routines, factorisations, batches and a product with an epilogue, beside their peers.

On GPUs the peers are cuBLAS and cuSOLVER on device arrays. On CPUs SciPy on NumPy arrays, as it comes and with its
OpenBLAS's best core type (in a child process, `portagpu.bench.peers.core_types`), and CLBlast on device arrays. A
product with an epilogue is compared with the plain product, and with three calls.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.peers import core_types
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.routines import clblast, cublas, epilogue, memory_rate
from portagpu.bench.routines.task import Task, call_of, copies, scipy_call
from portagpu.bench.routines.tasks import PEER_IN_A_CHILD, TASKS
from portagpu.bench.running.case import Case, Contender, Entry, Options
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

name = "blas"
summary = "BLAS 1 to 3, factorisations, batches, a product with an epilogue"
_PLAIN = "the plain product of PortaGPU"
_Prepare = Callable[[Task, Context], Call]


def entries(
    device: DeviceRecord,
    options: Options,
    names: Iterable[str] = (),
    dtypes: tuple[str, ...] = (),
    sizes: tuple[int, ...] = (),
) -> Iterator[Entry]:
    """The routines on a device; ``names``, ``dtypes`` and ``sizes`` in place of those that `TASKS` tells for it."""
    for routine in names or TASKS:
        entry = TASKS[routine]
        for dtype in entry.dtypes_on(device, dtypes):
            for n in sizes or entry.sizes(device, small=options.small):
                yield Entry(
                    path=f"{name}/{routine}/{dtype}/{n}",
                    make=partial(_cases, entry.make, n, dtype, options),
                )


def _cases(make: Callable[[int, str], Task], n: int, dtype: str, options: Options, context: Context) -> Iterator[Case]:
    made = make(n, dtype)
    found = _contenders(made, context)
    for memory in found:
        contenders = [
            Contender(implementation="PortaGPU", role=Role.OURS, prepare=partial(own_call, made, memory, context)),
            *found[memory],
        ]
        if memory is Memory.HOST and options.core_types and made.name != "epilogue":
            contenders += _best_core_type(made, found[memory][0])
        yield Case(
            workload=workload_of(made, n),
            memory=memory,
            contenders=tuple(contenders),
            check=lambda result: _finite(made.error(result)),
        )


def workload_of(made: Task, n: int) -> Workload:
    """A task as a workload."""
    work = {"flops": float(made.work)} if made.unit == "GFLOP/s" else {"nbytes": float(made.work)}
    return Workload(suite=name, name=made.name, arithmetic=made.dtype, size=str(n), unit=Unit(made.unit), **work)


def own_call(made: Task, memory: Memory, context: Context) -> Call:
    """PortaGPU's call on copies of the arrays, NumPy's or the device's."""
    function = getattr(importlib.import_module(f"portagpu.{made.library}"), made.function)
    if memory is Memory.HOST:
        return call_of(function, made, copies(made))
    arrays = {name: to_device(x, context=context) for name, x in made.arrays.items()}
    return call_of(function, made, arrays, context.synchronize, clock_of(context))


def _contenders(made: Task, context: Context) -> dict[Memory, list[Contender]]:
    """The peers of a task, by the memory that they use."""
    device = context.device
    if made.name == "epilogue":
        return _of_epilogue(made, context)
    if device.device_type is not DeviceType.CPU:
        return {Memory.DEVICE: _of_gpu(made, context)}
    found: dict[Memory, list[Contender]] = {Memory.HOST: []}
    if importlib.util.find_spec("scipy") is not None:
        label = made.on_numpy.name if made.on_numpy else f"SciPy {importlib.import_module('scipy').__version__}"
        found[Memory.HOST].append(_peer(label, Role.VENDOR, lambda: scipy_call(made)))
    if made.unit == "GB/s":
        label = f"the memory: NumPy in {memory_rate.cores()} threads"
        found[Memory.HOST].append(
            Contender(implementation=label, role=Role.PEER, prepare=lambda: memory_rate.prepare(made), is_checked=False)
        )
    theirs = _clblast()
    if theirs is not None and made.name in clblast.ROUTINES:
        found[Memory.DEVICE] = [_peer("CLBlast", Role.PEER, lambda: clblast.prepare(theirs, made, context))]
    return {memory: peers for memory, peers in found.items() if peers} or {Memory.HOST: []}


def _of_gpu(made: Task, context: Context) -> list[Contender]:
    cupy = cupy_for(context.device)
    if cupy is None:
        return []
    library = _cublas(cupy)
    return [_peer(f"cuBLAS of CuPy {cupy.__version__}", Role.VENDOR, lambda: cublas.prepare(library, made))]


def _of_epilogue(made: Task, context: Context) -> dict[Memory, list[Contender]]:
    if context.device.device_type is DeviceType.CPU:
        return {
            Memory.HOST: [
                _peer(_PLAIN, Role.PEER, lambda: epilogue.plain_on_host(made, context)),
                _peer(
                    "three calls: the plain product, then NumPy",
                    Role.PEER,
                    lambda: epilogue.three_calls_of_numpy(made, context),
                ),
            ]
        }
    found = [_peer(_PLAIN, Role.PEER, lambda: epilogue.plain_on_device(made, context))]
    cupy = cupy_for(context.device)
    if cupy is not None:
        label = f"three calls of CuPy {cupy.__version__}"
        found.append(_peer(label, Role.VENDOR, lambda: epilogue.three_calls_of_cupy(cupy, made)))
    return {Memory.DEVICE: found}


def _peer(label: str, role: Role, prepare: Callable[[], Call]) -> Contender:
    return Contender(implementation=label, role=role, prepare=prepare)


def _best_core_type(made: Task, first: Contender) -> list[Contender]:
    children = core_types.shared()
    return [
        Contender(
            implementation=f"{first.implementation}, best core type",
            role=Role.VENDOR,
            players=lambda: [
                (player.core_type, player)
                for player in children.players_of(PEER_IN_A_CHILD, made.name, made.n, made.dtype)
            ],
        )
    ]


@cache
def _clblast() -> Any:
    return clblast.opened()


@cache
def _cublas(cupy: Any) -> Any:
    return cublas.CuBlas(cupy)


def _finite(error: float) -> float:
    return math.inf if math.isnan(error) else error


__all__ = ["entries", "name", "own_call", "summary", "workload_of"]
