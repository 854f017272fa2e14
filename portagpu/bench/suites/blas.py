"""BLAS routines, factorisations and batches, beside their peers.

On GPUs the peers are cuBLAS and cuSOLVER on device arrays. On CPUs SciPy on NumPy arrays, as it comes and with its
OpenBLAS's best core type (in a child process, `portagpu.bench.peers.core_types`). With all peers, CLBlast on device
arrays, torch for factorisations, and the memory's rate.
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
from portagpu.bench.peers import clblast_library, core_types
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.routines import clblast, cublas, memory_rate, torch_solvers
from portagpu.bench.routines.task import Task, call_of, copies, scipy_call
from portagpu.bench.routines.tasks import PEER_IN_A_CHILD, TASKS
from portagpu.bench.running.case import Case, Contender, Entry, Options, Peers
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

name = "blas"
summary = "BLAS 1 to 3, factorisations, batches"
_QUICK = ("axpy", "dot", "gemv", "symv", "trsv", "syrk", "trsm", "potrf", "getrf")
_OF_SOLVER = ("potrf", "getrf", "potrf-batch")


def entries(
    device: DeviceRecord,
    options: Options,
    names: Iterable[str] = (),
    dtypes: tuple[str, ...] = (),
    sizes: tuple[int, ...] = (),
) -> Iterator[Entry]:
    """The routines on a device; ``names``, ``dtypes`` and ``sizes`` in place of those that `TASKS` tells for it."""
    wanted = dtypes or (("float32",) if options.quick else ())
    for routine in names or (_QUICK if options.quick else TASKS):
        entry = TASKS[routine]
        own = entry.small if options.small else entry.on_gpus if options.are_large(device) else entry.on_cpus
        for dtype in entry.dtypes_on(device, wanted):
            for n in sizes or own:
                yield Entry(
                    path=f"{name}/{routine}/{dtype}/{n}",
                    make=partial(_cases, entry.make, n, dtype, options),
                    command=(name, "--routine", routine, "--dtype", dtype, "--size", str(n)),
                )


def _cases(make: Callable[[int, str], Task], n: int, dtype: str, options: Options, context: Context) -> Iterator[Case]:
    made = make(n, dtype)
    found = _chosen(_contenders(made, options, context), options.peers)
    for memory in found:
        contenders = [
            Contender(implementation="PortaGPU", role=Role.OURS, prepare=partial(own_call, made, memory, context)),
            *found[memory],
        ]
        first = next((one for one in found[memory] if one.role is Role.VENDOR), None)
        if memory is Memory.HOST and options.core_types and first is not None:
            contenders += _best_core_type(made, first)
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


def _chosen(found: dict[Memory, list[Contender]], peers: Peers) -> dict[Memory, list[Contender]]:
    """Of all contenders those that are wanted: without any, ours is measured where the first ones would be."""
    if peers is Peers.ALL:
        return found
    of_vendors = {memory: [one for one in some if one.role is Role.VENDOR] for memory, some in found.items()}
    of_vendors = {memory: some for memory, some in of_vendors.items() if some} or found
    return of_vendors if peers is Peers.VENDOR else {next(iter(of_vendors)): []}


def _contenders(made: Task, options: Options, context: Context) -> dict[Memory, list[Contender]]:
    """The peers of a task, by the memory that they use."""
    if context.device.device_type is not DeviceType.CPU:
        return {Memory.DEVICE: [*_of_gpu(made, options, context), *_of_clblast(made, options, context)]}
    found = {Memory.HOST: _of_cpu(made), Memory.DEVICE: _of_clblast(made, options, context)}
    return {memory: peers for memory, peers in found.items() if peers} or {Memory.HOST: []}


def _of_cpu(made: Task) -> list[Contender]:
    found = []
    if importlib.util.find_spec("scipy") is not None:
        label = made.on_numpy.name if made.on_numpy else f"SciPy {importlib.import_module('scipy').__version__}"
        found.append(_peer(label, Role.VENDOR, lambda: scipy_call(made)))
    if made.unit == "GB/s":
        label = f"the memory: NumPy in {memory_rate.cores()} threads"
        found.append(
            Contender(
                implementation=label,
                role=Role.PEER,
                prepare=lambda: memory_rate.prepare(made),
                check=lambda is_moved: 0.0 if is_moved else math.inf,
            )
        )
    return found


def _of_clblast(made: Task, options: Options, context: Context) -> list[Contender]:
    """CLBlast as it comes, and with its tuners' results."""
    library = clblast_library.opened()
    if library is None or context.device.backend != "opencl" or made.name not in clblast.ROUTINES:
        return []
    label = clblast_library.label()
    folders = {label: None, **({f"{label}, tuned": options.clblast_tuned} if options.clblast_tuned else {})}
    return [
        _peer(name, Role.PEER, partial(clblast.prepare, library, made, context, folder))
        for name, folder in folders.items()
    ]


def _of_gpu(made: Task, options: Options, context: Context) -> list[Contender]:
    """The libraries of the GPU's maker: through CuPy, else, for factorisations, through torch."""
    cupy = cupy_for(context.device)
    found = []
    if cupy is not None:
        library = "cuSOLVER" if made.name in _OF_SOLVER else "cuBLAS"
        label = f"{library} of CuPy {cupy.__version__}"
        found.append(_peer(label, Role.VENDOR, told(lambda: cublas.prepare(_cublas(cupy), made))))
    if made.name in torch_solvers.ROUTINES and (cupy is None or options.peers is Peers.ALL):
        role = Role.PEER if found else Role.VENDOR
        for place in torch_solvers.places(context.device):
            label = f"torch.linalg {place.version}"
            found.append(_peer(label, role, told(partial(torch_solvers.prepare, place, made))))
    return found


def _peer(label: str, role: Role, prepare: Callable[[], Call]) -> Contender:
    return Contender(implementation=label, role=role, prepare=prepare)


def _best_core_type(made: Task, first: Contender) -> list[Contender]:
    children = core_types.shared()
    return [
        Contender(
            implementation=f"{first.implementation}, best core type",
            role=Role.VENDOR,
            players=lambda: [
                (player.core_type, player, player.error)
                for player in children.players_of(PEER_IN_A_CHILD, made.name, made.n, made.dtype)
            ],
        )
    ]


@cache
def _cublas(cupy: Any) -> Any:
    return cublas.CuBlas(cupy)


def _finite(error: float) -> float:
    return math.inf if math.isnan(error) else error


__all__ = ["entries", "name", "own_call", "summary", "workload_of"]
