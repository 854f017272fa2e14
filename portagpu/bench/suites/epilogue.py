"""A product with an epilogue, a part of the products' suite: beside the plain product, and beside separate calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from portagpu.bench.device_clock import clock_of
from portagpu.bench.method.turns import Call
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.routines import epilogue, torch_solvers
from portagpu.bench.routines.task import Task, call_of, copies
from portagpu.bench.running.case import Case, Contender, Entry, Options, Peers
from portagpu.blas.matmul import matmul
from portagpu.device import DeviceRecord, DeviceType
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

_ON_GPUS, _ON_CPUS, _SMALL = 4096, 1024, 60
_PLAIN = "the plain product of PortaGPU"


def entries(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """The products with an epilogue on a device."""
    n = _SMALL if options.small else _ON_GPUS if options.are_large(device) else _ON_CPUS
    is_gpu = device.device_type is not DeviceType.CPU
    for dtype in ("float32", "float16") if is_gpu and not options.quick else ("float32",):
        made = workload(n, dtype)
        command = ("gemm", "--set", "epilogue", "--filter", made.path)
        yield Entry(path=made.path, workload=made, make=partial(_cases, n, dtype, options), command=command)


def workload(n: int, dtype: str) -> Workload:
    """The operations of the product alone are counted."""
    return Workload(
        suite="gemm", name="epilogue", arithmetic=dtype, size=str(n), unit=Unit.GFLOPS, flops=epilogue.flops(n)
    )


def _cases(n: int, dtype: str, options: Options, context: Context) -> Iterator[Case]:
    task = epilogue.epilogue(n, dtype, options.seed)
    is_cpu = context.device.device_type is DeviceType.CPU
    memory = Memory.HOST if is_cpu else Memory.DEVICE
    peers = _on_host(task, context) if is_cpu else _on_device(task, options, context)
    if options.peers is Peers.NONE:
        peers = []
    ours = Contender(implementation="PortaGPU", role=Role.OURS, prepare=partial(_own, task, memory, context))
    yield Case(workload=workload(n, dtype), memory=memory, contenders=(ours, *peers), check=task.error)


def _own(task: Task, memory: Memory, context: Context) -> Call:
    if memory is Memory.HOST:
        return call_of(matmul, task, copies(task))
    arrays = {name: to_device(x, context=context) for name, x in task.arrays.items()}
    return call_of(matmul, task, arrays, context.synchronize, clock_of(context))


def _on_host(task: Task, context: Context) -> list[Contender]:
    return [
        _peer(_PLAIN, Role.PEER, lambda: epilogue.plain_on_host(task, context)),
        _peer("NumPy in separate calls", Role.VENDOR, lambda: epilogue.calls_of_numpy(task)),
    ]


def _on_device(task: Task, options: Options, context: Context) -> list[Contender]:
    found = [_peer(_PLAIN, Role.PEER, lambda: epilogue.plain_on_device(task, context))]
    cupy = cupy_for(context.device)
    if cupy is not None:
        label = f"CuPy {cupy.__version__} in separate calls"
        found.append(_peer(label, Role.VENDOR, told(lambda: epilogue.calls_of_cupy(cupy, task))))
    if cupy is None or options.peers is Peers.ALL:
        for solvers in torch_solvers.places(context.device):
            label = f"torch {solvers.version} in separate calls"
            found.append(_peer(label, Role.VENDOR, told(partial(epilogue.calls_of_torch, solvers.place, task))))
    return found


def _peer(label: str, role: Role, prepare: Callable[[], Call]) -> Contender:
    return Contender(implementation=label, role=role, prepare=prepare)


__all__ = ["entries", "workload"]
