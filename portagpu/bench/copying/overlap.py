"""Tasks of a copy to the device, a kernel and a copy back: on one stream, and spread over several.

On one stream each step waits for the one before it. On several, copies of one task can run beside kernels of another:
the ratio of both times is the overlap. All host memory is page-locked, for other memory is copied while the call waits.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.bench.method.turns import Call, waited
from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.peers.foreign_errors import told
from portagpu.bench.records.cell import Role
from portagpu.bench.running.case import Contender
from portagpu.device import Capabilities, DeviceType
from portagpu.runtime.execution.context import Context

Array = np.ndarray[Any, Any]
TASKS = 8
THREADS = 256
_BUS = 2e10  # bytes a second that a bus is taken to move, so that a kernel takes about as long as a copy
_FACTOR, _ADDEND = np.uint32(1664525), np.uint32(1013904223)
_LEAST_STEPS, _MOST_STEPS = 4, 4096

_CUDA = """\
extern "C" __global__ void stir(const unsigned* x, unsigned* y, unsigned steps) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, v = x[i];
    for (unsigned n = 0; n < steps; n++) v = v * 1664525u + 1013904223u;
    y[i] = v;
}
"""


@cuda.jit
def stir(x, y, steps):
    """So many steps of a congruential generator for each element."""
    i = cuda.grid(1)
    v = x[i]
    for _step in range(steps):
        v = v * np.uint32(1664525) + np.uint32(1013904223)
    y[i] = v


def elements(caps: Capabilities, *, small: bool = False) -> int:
    """Of a task's array."""
    return 1 << 10 if small else 1 << 18 if caps.device_type is DeviceType.CPU else 1 << 21


def steps(caps: Capabilities, *, small: bool = False) -> int:
    """Of the kernel, which is to take about as long as a copy."""
    if small:
        return _LEAST_STEPS
    each = 4 / _BUS * caps.measured_gflops * 1e9 / 8  # a step is a multiplication of integers, rarely at full rate
    return int(min(max(each, _LEAST_STEPS), _MOST_STEPS))


def source(count: int, seed: int = 0) -> Array:
    """Random numbers for all tasks."""
    return np.random.default_rng([seed, 23]).integers(0, 1 << 32, (TASKS, count), np.uint32)


def expected(given: Array, count: int) -> Array:
    """What the kernel makes of them."""
    value: Array = given.copy()
    for _ in range(count):
        value = value * _FACTOR + _ADDEND
    return value


def contenders(given: Array, count: int, streams: int, context: Context) -> list[Contender]:
    """Who does the tasks on so many streams."""
    found = [_contender("PortaGPU", Role.OURS, partial(own, given, count, streams, context))]
    cupy = cupy_for(context.device)
    if cupy is not None:
        found.append(_contender(f"CuPy {cupy.__version__}", Role.VENDOR, partial(of_cupy, cupy, given, count, streams)))
    return found


def _contender(label: str, role: Role, prepare: Callable[[], Call]) -> Contender:
    prepare = prepare if role is Role.OURS else told(prepare)
    return Contender(implementation=label, role=role, prepare=prepare, timing=waited)


def own(given: Array, count: int, streams: int, context: Context) -> Call:
    """PortaGPU's streams."""
    there, back = cuda.pinned_array(given.shape, np.uint32), cuda.pinned_array(given.shape, np.uint32)
    there[...], back[...] = given, 0
    queues = [cuda.stream() for _ in range(streams)]
    arrays = [(cuda.device_array_like(there[0]), cuda.device_array_like(there[0])) for _ in range(TASKS)]
    grid = given.shape[1] // THREADS

    def run() -> None:
        for task, (x, y) in enumerate(arrays):
            queue = queues[task % streams]
            x.copy_to_device(there[task], stream=queue)
            stir[grid, THREADS, queue](x, y, np.uint32(count))
            y.copy_to_host(back[task], stream=queue)

    return Call(enqueue=run, wait=context.synchronize, fetch=back.copy)


def of_cupy(cupy: Any, given: Array, count: int, streams: int) -> Call:
    """CuPy's streams, with the same kernel in CUDA C."""
    held = [cupy.cuda.alloc_pinned_memory(given.nbytes) for _ in range(2)]
    there, back = (np.frombuffer(one, np.uint32, given.size).reshape(given.shape) for one in held)
    there[...], back[...] = given, 0
    queues = [cupy.cuda.Stream(non_blocking=True) for _ in range(streams)]
    arrays = [(cupy.empty(given.shape[1], cupy.uint32), cupy.empty(given.shape[1], cupy.uint32)) for _ in range(TASKS)]
    kernel = cupy.RawKernel(_CUDA, "stir")
    grid = given.shape[1] // THREADS

    def run() -> None:
        for task, (x, y) in enumerate(arrays):
            queue = queues[task % streams]
            with queue:
                x.set(there[task], stream=queue)
                kernel((grid,), (THREADS,), (x, y, np.uint32(count)))
                y.get(stream=queue, out=back[task], blocking=False)

    return Call(enqueue=run, wait=cupy.cuda.Device().synchronize, fetch=back.copy)


__all__ = ["TASKS", "contenders", "elements", "expected", "source", "steps", "stir"]
