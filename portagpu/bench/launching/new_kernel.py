"""A kernel of a hundred lines that is new to every cache: from the function to the end of its first launch."""

from __future__ import annotations

import itertools
import linecache
import math
import time
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.plain import compile_and_launch
from portagpu.bench.method.turns import Call
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.c_arguments import scalar_dtype

_STEPS = 14  # seven lines of Python each
_SIZE = 64
_ALPHA = np.float32(2)
Array = np.ndarray[Any, Any]

_PYTHON = """\
def long_kernel(x, y, z, alpha):
    tile = cuda.shared.array(256, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i >= x.size:
        return
    total = np.float32({salt}e-20)
{steps}
    tile[t] = total
    cuda.syncthreads()
    z[i] = tile[0] + total
"""

_PYTHON_STEP = """\
    v{n} = x[i] * np.float32({n}.5) + alpha
    w{n} = math.sin(v{n}) if v{n} > 0 else math.cos(v{n})
    for j in range(4):
        total += w{n} * y[(i + j) % x.size]
        if total > 100:
            total -= {n}
    total = max(total, -v{n})"""

_CUDA = """\
extern "C" __global__ void long_kernel(const float* x, const float* y, float* z, float alpha, int size) {{
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;
    if (i >= size) return;
    float total = {salt}e-20f;
{steps}
    tile[t] = total;
    __syncthreads();
    z[i] = tile[0] + total;
}}
"""

_CUDA_STEP = """\
    float v{n} = x[i] * {n}.5f + alpha, w{n} = v{n} > 0 ? sinf(v{n}) : cosf(v{n});
    for (int j = 0; j < 4; j++) {{
        total += w{n} * y[(i + j) % size];
        if (total > 100) total -= {n};
    }}
    total = fmaxf(total, -v{n});"""

_salts = itertools.count(time.time_ns() // 1000 % (1 << 20) + 1)  # which are far apart as float32, and next to nothing


def operands() -> tuple[Array, Array]:
    """The two vectors that are read."""
    return np.linspace(0, 1, _SIZE, dtype=np.float32), np.linspace(1, 2, _SIZE, dtype=np.float32)


def expected() -> Array:
    """What the kernel computes, in float64."""
    x, y = (one.astype(np.float64) for one in operands())
    total = np.zeros(_SIZE)
    for n in range(_STEPS):
        v = x * (n + 0.5) + float(_ALPHA)
        w = np.where(v > 0, np.sin(v), np.cos(v))
        for j in range(4):
            total = total + w * np.roll(y, -j)
            total = np.where(total > 100, total - n, total)
        total = np.maximum(total, -v)
    found: Array = total[0] + total
    return found


def error(found: Array) -> float:
    """How far a result is off, relative to some hundred roundings of its largest numbers."""
    wanted = expected()
    allowed = 500 * float(np.finfo(np.float32).eps) * float(np.max(np.abs(wanted)))
    return float(np.max(np.abs(found - wanted))) / allowed


def kernel_text() -> str:
    """The Python text of a kernel of about a hundred lines, which differs from all others in a number."""
    return _PYTHON.format(salt=next(_salts), steps="\n".join(_PYTHON_STEP.format(n=n) for n in range(_STEPS)))


def long_kernel() -> Any:
    """A new kernel."""
    text = kernel_text()
    linecache.cache["<long kernel>"] = (len(text), None, text.splitlines(keepends=True), "<long kernel>")
    names: dict[str, Any] = {"cuda": cuda, "np": np, "math": math}
    exec(compile(text, "<long kernel>", "exec"), names)
    return cuda.jit(names["long_kernel"])


def own(context: Context) -> Call:
    """All of it: type inference and rendering, the driver's compiler, the launch."""
    x, y = map(cuda.to_device, operands())
    z = cuda.device_array_like(x)

    def launch() -> None:
        long_kernel()[1, _SIZE](x, y, z, _ALPHA)

    return Call(enqueue=launch, wait=context.synchronize, fetch=z.copy_to_host)


def without_compiler(context: Context) -> Call:
    """From the Python function to OpenCL C; the result is that of an earlier launch of such a kernel."""
    x, y = map(cuda.to_device, operands())
    z = cuda.device_array_like(x)
    kernel = long_kernel()
    kernel[1, _SIZE](x, y, z, _ALPHA)
    types = next(iter(kernel.overloads.values())).signature
    return Call(enqueue=lambda: long_kernel().generate(types, context), fetch=z.copy_to_host, wait=context.synchronize)


def driver_alone(context: Context) -> Call:
    """The driver's compiler for the OpenCL C that PortaGPU makes, without caches, and the launch."""
    x, y = map(cuda.to_device, operands())
    z = cuda.device_array_like(x)
    kernel = long_kernel()
    kernel[1, _SIZE](x, y, z, _ALPHA)
    context.synchronize()
    overload = next(iter(kernel.overloads.values()))
    source = next(iter(kernel.inspect_opencl().values()))
    values: Any = (x, y, z, _ALPHA)
    arguments = overload.compiled.extract(values, 0)
    queue = context.default_stream.queue
    types = [scalar_dtype(p) for p in overload.kernel_source.parameters]

    def compile_it() -> None:
        # a second kernel makes the text new to every cache
        text = f"{source}\n__kernel void salt(__global ulong *p) {{ *p = {next(_salts)}; }}\n"
        compile_and_launch(queue, text, overload.kernel_source.name, types, arguments, _SIZE)

    return Call(enqueue=compile_it, wait=context.synchronize, fetch=z.copy_to_host)


def of_cupy(cupy: Any) -> Call:
    """CuPy's `RawKernel` for the same kernel in CUDA C, new to its caches, and the launch."""
    x, y = map(cupy.asarray, operands())
    z = cupy.empty_like(x)
    steps = "\n".join(_CUDA_STEP.format(n=n) for n in range(_STEPS))

    def compile_it() -> None:
        kernel = cupy.RawKernel(_CUDA.format(salt=next(_salts), steps=steps), "long_kernel")
        kernel((1,), (_SIZE,), (x, y, z, _ALPHA, np.int32(_SIZE)))

    return Call(enqueue=compile_it, wait=cupy.cuda.Device().synchronize, fetch=lambda: cupy.asnumpy(z))


__all__ = [
    "driver_alone",
    "error",
    "expected",
    "kernel_text",
    "long_kernel",
    "of_cupy",
    "operands",
    "own",
    "without_compiler",
]
