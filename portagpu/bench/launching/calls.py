"""A launch as a call: PortaGPU's, PyOpenCL's of the same OpenCL C, and that of CuPy's `RawKernel`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.plain import launches
from portagpu.bench.launching.kernels import scale
from portagpu.bench.method.turns import Call
from portagpu.bench.peers.cupy_kernels import launch_of_vectors
from portagpu.runtime.execution.context import Context

SIZE = 64
"""Elements of a vector, and threads of the one block."""
Array = np.ndarray[Any, Any]


def vectors(kernel: Any, sets: int = 1) -> list[list[Array]]:
    """Arguments on the host: so many sets of vectors of whole numbers."""
    count = len(kernel.source.parameters)
    return [[np.arange(n + s, n + s + SIZE, dtype=np.float32) for n in range(count)] for s in range(sets)]


def expected(kernel: Any) -> Array:
    """The first vector of the first set after one launch."""
    first, *others = vectors(kernel)[0]
    found: Array = 2 * first if kernel is scale else np.sum(others, axis=0)
    return found


def error(kernel: Any, found: Array) -> float:
    """0 where a launch did what it should, else infinite."""
    return 0.0 if np.array_equal(found, expected(kernel)) else np.inf


def own(context: Context, kernel: Any, sets: int) -> Call:
    """PortaGPU's launch, with sets of arguments in turns."""
    given = [[cuda.to_device(vector) for vector in one] for one in vectors(kernel, sets)]
    following = itertools.cycle(given)

    def launch() -> None:
        kernel[1, SIZE](*next(following))

    return Call(enqueue=launch, wait=context.synchronize, fetch=given[0][0].copy_to_host)


def compiled_name(context: Context, kernel: Any) -> str:
    """Have the kernel compiled for the context's device; its name in the program."""
    kernel[1, SIZE](*(cuda.to_device(vector) for vector in vectors(kernel)[0]))
    context.synchronize()
    return str(next(iter(kernel.overloads.values())).kernel_source.name)


def plain(context: Context, kernel: Any, sets: int) -> Call:
    """PyOpenCL's ``kernel(queue, ...)`` with the OpenCL C that PortaGPU made of the kernel."""
    given = [[cuda.to_device(vector) for vector in one] for one in vectors(kernel, sets)]
    name = compiled_name(context, kernel)
    source = next(iter(kernel.inspect_opencl().values()))
    launch, finish = launches(context.cl_context, context.device.cl_device, source, name, SIZE)
    # the kernels ask for the size of their first vector only
    buffers = [[one[0].buffer, np.int32(SIZE), *(vector.buffer for vector in one[1:])] for one in given]
    following = itertools.cycle(buffers)
    return Call(enqueue=lambda: launch(*next(following)), wait=finish, fetch=given[0][0].copy_to_host)


def of_cupy(cupy: Any, kernel: Any, sets: int) -> Call:
    """A `RawKernel` of the same arguments."""
    launch, first = launch_of_vectors(cupy, vectors(kernel, sets))
    return Call(enqueue=launch, wait=cupy.cuda.Device().synchronize, fetch=lambda: cupy.asnumpy(first))


__all__ = ["SIZE", "compiled_name", "error", "expected", "of_cupy", "own", "plain", "vectors"]
