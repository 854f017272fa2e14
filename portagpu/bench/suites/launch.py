"""What launches cost, beside the kernel calls of PyOpenCL, dpctl or cuda-bindings, by back end, and CuPy's
`RawKernel`: the host's time, not the kernel's.

- "1 array", "16 arrays", ...: the time until the call of a launch returns. The queue is kept short: after fifty
  launches it is waited for, which is not counted, so that no launch waits for room in it. The device's speed, and how
  calls are batched, do not matter.
- "round trip": a launch and the wait for it, one after the other: the least that a result costs.
- "first call": parts of a new process's life: the import, the start of the driver with the first copy, the first launch
  of a kernel that is in caches on disk.
- "new kernel": a kernel of a hundred lines that no cache knows, from the Python function to the end of its first
  launch; beside the driver's compiler alone, and CuPy's. "without the compiler" is type inference and rendering.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from portagpu.backends.opencl.plain import VERSION
from portagpu.bench.launching import calls, first_call, native_calls, new_kernel
from portagpu.bench.launching.kernels import gather, scale
from portagpu.bench.method.turns import Call, Enqueued, waited
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Caches, Memory, Role
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Contender, Entry, Options, Timing
from portagpu.device import DeviceRecord
from portagpu.runtime.execution.context import Context

name = "launch"
summary = "what launches, first calls and new kernels cost"

KERNELS: dict[str, tuple[Any, int]] = {
    "1 array": (scale, 1),
    "16 arrays": (gather, 1),
    "16 arrays, two sets in turns": (gather, 2),
    "16 arrays, other ones each time": (gather, 30),  # more sets than a thread's kernels remember
}
"""Kernels, and how many sets of arguments follow each other."""
_QUICK = ("1 array", "16 arrays")


def entries(device: DeviceRecord, options: Options) -> Iterator[Entry]:
    """The workloads of a device."""
    children = first_call.own_children(device)
    theirs = first_call.cupy_children()
    made: list[tuple[Workload, Callable[[Context], Case]]] = [
        *((workload("enqueue", text), partial(_enqueue, text)) for text in (_QUICK if options.quick else KERNELS)),
        (workload("round trip", "1 array"), _round_trip),
        *((workload("first call", p), partial(_first_call, p, children, theirs)) for p in first_call.PHASES),
    ]
    if not options.quick:
        made += [
            (workload("new kernel", "in all"), _new_kernel),
            (workload("new kernel", "without the compiler"), _rendering),
        ]
    for one, make in made:
        yield Entry(path=one.path, workload=one, make=partial(_beside, options, make), caches=(Caches.HOT,))


def _beside(options: Options, make: Callable[[Context], Case], context: Context) -> Iterator[Case]:
    yield make(context).beside(options.peers)


def workload(kind: str, text: str) -> Workload:
    """Microseconds of a launch, or of what comes before it."""
    return Workload(suite=name, name=kind, arithmetic="", size=text, unit=Unit.MICROSECONDS)


def _case(
    made: Workload, contenders: list[Contender], check: Callable[[Any], float], memory: Memory = Memory.DEVICE
) -> Case:
    return Case(workload=made, memory=memory, contenders=tuple(contenders), check=check)


def _launchers(context: Context, kernel: Any, sets: int, timing: Timing) -> list[Contender]:
    """Who launches such a kernel."""
    found = [_contender("PortaGPU", Role.OURS, partial(calls.own, context, kernel, sets), timing)]
    for label, prepare in _native(context.device):
        found.append(_contender(label, Role.PEER, partial(prepare, context, kernel, sets), timing, True))
    cupy = cupy_for(context.device)
    if cupy is not None:
        label = f"CuPy {cupy.__version__} RawKernel"
        found.append(_contender(label, Role.VENDOR, partial(calls.of_cupy, cupy, kernel, sets), timing, True))
    return found


def _native(device: DeviceRecord) -> Iterator[tuple[str, Callable[[Context, Any, int], Call]]]:
    """What programs call where they use the device's interface themselves."""
    if device.backend == "opencl":
        yield f"PyOpenCL {VERSION}", calls.plain
    dpctl, bindings = native_calls.dpctl_for(device), native_calls.bindings_for(device)
    if dpctl is not None:
        yield f"dpctl {dpctl} submit", native_calls.of_dpctl
    if bindings is not None:
        yield f"cuda-bindings {bindings} cuLaunchKernel", native_calls.of_cuda_bindings


def _contender(
    label: str, role: Role, prepare: Callable[[], Call], timing: Timing, is_short: bool = False
) -> Contender:
    if role is not Role.OURS:
        prepare = told(prepare, calls=not is_short)
    return Contender(implementation=label, role=role, prepare=prepare, timing=timing)


def _enqueue(text: str, context: Context) -> Case:
    kernel, sets = KERNELS[text]
    contenders = _launchers(context, kernel, sets, Enqueued)
    return _case(workload("enqueue", text), contenders, partial(calls.error, kernel))


def _round_trip(context: Context) -> Case:
    contenders = _launchers(context, scale, 1, waited)
    return _case(workload("round trip", "1 array"), contenders, partial(calls.error, scale))


def _first_call(phase: str, own: first_call.Children, peers: first_call.Children, context: Context) -> Case:
    found = [_contender("PortaGPU", Role.OURS, own.call, own.timing(phase))]
    cupy = cupy_for(context.device)
    if cupy is not None:
        found.append(_contender(f"CuPy {cupy.__version__}", Role.VENDOR, peers.call, peers.timing(phase)))
    return _case(workload("first call", phase), found, lambda total: 0.0 if total == first_call.RIGHT else float("inf"))


def _new_kernel(context: Context) -> Case:
    found = [
        _contender("PortaGPU", Role.OURS, partial(new_kernel.own, context), waited),
    ]
    if context.device.backend == "opencl":
        alone = partial(new_kernel.driver_alone, context)
        found.append(_contender("the driver's compiler alone", Role.PEER, alone, waited))
    cupy = cupy_for(context.device)
    if cupy is not None:
        label = f"CuPy {cupy.__version__} RawKernel"
        found.append(_contender(label, Role.VENDOR, partial(new_kernel.of_cupy, cupy), waited))
    return _case(workload("new kernel", "in all"), found, new_kernel.error)


def _rendering(context: Context) -> Case:
    ours = _contender("PortaGPU", Role.OURS, partial(new_kernel.without_compiler, context), waited)
    return _case(workload("new kernel", "without the compiler"), [ours], new_kernel.error)


__all__ = ["KERNELS", "entries", "name", "summary", "workload"]
