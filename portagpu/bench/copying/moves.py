"""One copy as a call, by PortaGPU and by others: host to device, back, or within the device.

Every copy is waited for. What is copied is random, and what arrived is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.plain import VERSION, copies
from portagpu.bench.method.turns import Call, waited
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Role
from portagpu.bench.running.case import Contender
from portagpu.device import DeviceType
from portagpu.runtime.execution.context import Context

Array = np.ndarray[Any, Any]
TO_DEVICE, TO_HOST, WITHIN = "host to device", "device to host", "device to device"
PAGEABLE, PINNED = "pageable", "pinned"


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """A copy: which way, of what kind of host memory ("" within the device), how many bytes."""

    way: str
    memory: str
    nbytes: int


def source(move: Move, seed: int = 0) -> Array:
    """Random bytes."""
    return np.random.default_rng([seed, 19]).integers(0, 256, move.nbytes, np.uint8)


def error(given: Array, found: Array) -> float:
    """0 where all bytes arrived, else infinite."""
    return 0.0 if np.array_equal(given, found) else np.inf


def contenders(move: Move, given: Array, context: Context) -> list[Contender]:
    """Who makes such a copy."""
    found = [_contender("PortaGPU", Role.OURS, partial(own, move, given, context))]
    if context.device.backend == "opencl":
        name = f"PyOpenCL {VERSION} enqueue_copy"
        found.append(_contender(name, Role.PEER, partial(plain, move, given, context)))
    if context.device.device_type is DeviceType.CPU and move.memory != PINNED:
        found.append(_contender(f"NumPy {np.__version__} copyto", Role.PEER, partial(of_numpy, given)))
    cupy = cupy_for(context.device)
    if cupy is not None:
        found.append(_contender(f"CuPy {cupy.__version__}", Role.VENDOR, partial(of_cupy, cupy, move, given)))
    return found


def _contender(label: str, role: Role, prepare: Callable[[], Call]) -> Contender:
    prepare = prepare if role is Role.OURS else told(prepare)
    return Contender(implementation=label, role=role, prepare=prepare, timing=waited)


def host_array(move: Move, given: Array | None = None) -> Array:
    """An array of the move's kind of memory, all of whose pages exist."""
    made = np.empty(move.nbytes, np.uint8) if move.memory != PINNED else cuda.pinned_array(move.nbytes, np.uint8)
    made[...] = 0 if given is None else given
    return made


def own(move: Move, given: Array, context: Context) -> Call:
    """PortaGPU's copy, on the default stream."""
    device = cuda.to_device(np.zeros(move.nbytes, np.uint8))
    if move.way == TO_DEVICE:
        host = host_array(move, given)
        return Call(enqueue=lambda: device.copy_to_device(host), wait=context.synchronize, fetch=device.copy_to_host)
    origin = cuda.to_device(given)
    if move.way == TO_HOST:
        host = host_array(move)
        return Call(enqueue=lambda: origin.copy_to_host(host), wait=context.synchronize, fetch=host.copy)
    return Call(enqueue=lambda: device.copy_to_device(origin), wait=context.synchronize, fetch=device.copy_to_host)


def plain(move: Move, given: Array, context: Context) -> Call:
    """PyOpenCL's copy between the same kinds of memory, on a queue of its own."""
    copy, finish = copies(context.cl_context, context.device.cl_device)
    device = cuda.to_device(np.zeros(move.nbytes, np.uint8))
    origin = cuda.to_device(given)
    context.synchronize()
    if move.way == TO_DEVICE:
        host = host_array(move, given)
        return Call(enqueue=lambda: copy(device.buffer, host), wait=finish, fetch=device.copy_to_host)
    if move.way == TO_HOST:
        host = host_array(move)
        return Call(enqueue=lambda: copy(host, origin.buffer), wait=finish, fetch=host.copy)
    return Call(enqueue=lambda: copy(device.buffer, origin.buffer), wait=finish, fetch=device.copy_to_host)


def of_numpy(given: Array) -> Call:
    """NumPy's copy from array to array, in one thread: to a CPU both ends are memory of the host."""
    target = np.zeros_like(given)
    return Call(enqueue=lambda: np.copyto(target, given), fetch=target.copy)


def of_cupy(cupy: Any, move: Move, given: Array) -> Call:
    """CuPy's copy, on its current stream."""
    wait = cupy.cuda.get_current_stream().synchronize
    origin, device = cupy.asarray(given), cupy.zeros(move.nbytes, cupy.uint8)
    host = np.empty(move.nbytes, np.uint8)
    if move.memory == PINNED:
        pinned = cupy.cuda.alloc_pinned_memory(move.nbytes)
        host = np.frombuffer(pinned, np.uint8, move.nbytes)
    host[...] = given if move.way == TO_DEVICE else 0
    if move.way == TO_DEVICE:
        return Call(enqueue=lambda: device.set(host), wait=wait, fetch=lambda: cupy.asnumpy(device))
    if move.way == TO_HOST:
        return Call(enqueue=lambda: origin.get(out=host), wait=wait, fetch=host.copy)
    return Call(enqueue=lambda: cupy.copyto(device, origin), wait=wait, fetch=lambda: cupy.asnumpy(device))


__all__ = ["PAGEABLE", "PINNED", "TO_DEVICE", "TO_HOST", "WITHIN", "Move", "contenders", "error", "source"]
