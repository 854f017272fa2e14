"""Compilation time of a new kernel: type inference and rendering, the driver's compiler; beside CuPy's.

Run as ``python -m portagpu.bench.compiling [DEVICE]``.
"""

from __future__ import annotations

import linecache
import math
import statistics
import time
from typing import Any

import click
import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.plain import compile_and_launch
from portagpu.bench.peers.cupy_kernels import compile_seconds, cupy_for
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.launch import scalar_dtype

_ROUNDS = 9
_STEPS = 14  # seven lines of Python each: a kernel of a hundred lines

_PYTHON = """\
def long_kernel(x, y, z, alpha):
    tile = cuda.shared.array(256, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i >= x.size:
        return
    total = np.float32(0)
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
    float total = 0; // {salt}
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


def long_kernel() -> Any:
    """A new kernel of about a hundred lines."""
    text = _PYTHON.format(steps="\n".join(_PYTHON_STEP.format(n=n) for n in range(_STEPS)))
    linecache.cache["<long kernel>"] = (len(text), None, text.splitlines(keepends=True), "<long kernel>")
    names: dict[str, Any] = {"cuda": cuda, "np": np, "math": math}
    exec(compile(text, "<long kernel>", "exec"), names)
    return cuda.jit(names["long_kernel"])


def python_seconds(context: Context) -> float:
    """Median seconds from the Python function to OpenCL C, for float32 vectors."""
    with context:
        vector = cuda.to_device(np.ones(64, np.float32))
        types = None
        spent = []
        for _ in range(_ROUNDS + 1):
            kernel = long_kernel()
            if types is None:
                kernel[1, 64](vector, vector, cuda.device_array_like(vector), np.float32(2))
                types = next(iter(kernel.overloads.values())).signature
                continue
            begin = time.perf_counter()
            kernel.generate(types, context)
            spent.append(time.perf_counter() - begin)
    return statistics.median(spent)


def driver_seconds(context: Context) -> float:
    """Median seconds of the driver's compiler for the generated OpenCL C, and of the first launch.

    A second kernel makes the text new to every cache.
    """
    with context:
        vector = cuda.to_device(np.ones(64, np.float32))
        kernel = long_kernel()
        kernel[1, 64](vector, vector, cuda.device_array_like(vector), np.float32(2))
        overload = next(iter(kernel.overloads.values()))
        source = next(iter(kernel.inspect_opencl().values()))
        values: Any = (vector, vector, cuda.device_array_like(vector), np.float32(2))
        arguments = overload.compiled.extract(values, 0)
        queue = context.default_stream.queue
    spent = []
    for _ in range(3):
        text = f"{source}\n__kernel void salt(__global ulong *p) {{ *p = {time.time_ns()}; }}\n"
        begin = time.perf_counter()
        types = [scalar_dtype(p) for p in overload.kernel_source.parameters]
        compile_and_launch(queue, text, overload.kernel_source.name, types, arguments, 64)
        spent.append(time.perf_counter() - begin)
    return statistics.median(spent)


@click.command(cls=Program)
@device_argument
def main(selector: str | None) -> None:
    """Print what a new kernel costs on DEVICE: an index, a part of its name, a vendor, gpu or cpu."""
    device = chosen(selector)
    context = Context.for_device(device)
    click.echo(f"{device.name} ({device.platform} {device.driver_version})")
    click.echo(f"type inference and rendering of a 100-line kernel {python_seconds(context) * 1e3:.1f} ms")
    click.echo(f"the driver's compiler and its first launch {driver_seconds(context) * 1e3:.0f} ms")
    cupy = cupy_for(device)
    if cupy is not None:
        steps = "\n".join(_CUDA_STEP.format(n=n) for n in range(_STEPS))
        spent = statistics.median(
            compile_seconds(cupy, _CUDA.format(salt=f"{time.time_ns()} {n}", steps=steps), "long_kernel")
            for n in range(3)
        )
        click.echo(f"CuPy {cupy.__version__} RawKernel, the same kernel in CUDA C: {spent * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
