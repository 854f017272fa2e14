"""Launch time beside PyOpenCL's own kernel call and CuPy's `RawKernel`, and a process's first launch.

Run as ``python -m portagpu.bench.launch [DEVICE]``.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import itertools
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from portagpu import cuda
from portagpu.backends.opencl.plain import launches
from portagpu.bench.peers.cupy_kernels import cupy_for, launch_of_vectors
from portagpu.bench.program import Program, chosen, device_argument
from portagpu.runtime.execution.context import Context

_ROUNDS = 15
_CALLS = 2000

_FIRST_LAUNCH = """
import sys, time
begin = time.perf_counter()
import portagpu
from portagpu import cuda
imported = time.perf_counter()
cuda.select_device(int(sys.argv[1]))
from portagpu.bench.launch import scale
x = cuda.device_array(1024, "float32")
cuda.synchronize()
ready = time.perf_counter()
scale[4, 256](x)
cuda.synchronize()
print(imported - begin, ready - imported, time.perf_counter() - ready)
"""


@cuda.jit
def scale(x):
    """Double a vector: one array argument, as little work as possible."""
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def gather(a, b, c, d, e, f, g, h, i, j, k, m, n, o, p, q):
    """Sum vectors: sixteen array arguments."""
    t = cuda.grid(1)
    if t < a.size:
        a[t] = b[t] + c[t] + d[t] + e[t] + f[t] + g[t] + h[t] + i[t] + j[t] + k[t] + m[t] + n[t] + o[t] + p[t] + q[t]


_ROWS = (
    ("launch, 1 array", scale, 1),
    ("launch, 16 arrays", gather, 1),
    ("launch, 16 arrays, two sets in turns", gather, 2),
    ("launch, 16 arrays, other ones each time", gather, 30),  # more sets than a thread's kernels remember
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCost:
    """Microseconds for each call, medians over rounds in which both take turns."""

    device: str
    portagpu: float
    pyopencl: float
    cupy: float | None = None

    @property
    def ratio(self) -> float:
        """PortaGPU's cost over PyOpenCL's."""
        return self.portagpu / self.pyopencl


def launch_cost(context: Context, launched: Any = scale, turns: int = 1) -> LaunchCost:
    """Time a kernel of vectors through PortaGPU and the same OpenCL C through PyOpenCL's ``kernel(queue, ...)``.

    Both take turns in one run. ``turns`` is the number of sets of arguments that follow each other.
    """
    count = len(launched.source.parameters)
    with context:
        sets = [[cuda.to_device(np.zeros(64, np.float32)) for _ in range(count)] for _ in range(turns)]
        launched[1, 64](*sets[0])
        source = next(iter(launched.inspect_opencl().values()))
        name = next(iter(launched.overloads.values())).kernel_source.name
        plain, finish = launches(context.cl_context, context.device.cl_device, source, name, 64)
        # the kernels ask for the size of their first vector only
        buffers = [[vectors[0].buffer, np.int32(64), *(v.buffer for v in vectors[1:])] for vectors in sets]
        ours_next, theirs_next = itertools.cycle(sets), itertools.cycle(buffers)

        def ours() -> None:
            launched[1, 64](*next(ours_next))

        def theirs() -> None:
            plain(*next(theirs_next))

        calls = [(ours, context.synchronize), (theirs, finish)]
        cupy = cupy_for(context.device)
        if cupy is not None:
            calls.append((launch_of_vectors(cupy, count, turns), cupy.cuda.Device().synchronize))
        times = [[_time(*call) for call in calls] for _ in range(_ROUNDS)]
    medians = [statistics.median(column) for column in zip(*times, strict=True)]
    return LaunchCost(
        device=context.device.name,
        portagpu=medians[0],
        pyopencl=medians[1],
        cupy=medians[2] if cupy is not None else None,
    )


def _time(call: Callable[[], None], finish: Callable[[], None]) -> float:
    """Microseconds of a call when the queue is kept short, so that no call waits for room in it."""
    spent = 0.0
    for _ in range(_CALLS // 50):
        begin = time.perf_counter()
        for _ in range(50):
            call()
        spent += time.perf_counter() - begin
        finish()
    return spent / (_CALLS // 50 * 50) * 1e6


def first_launch(index: int) -> tuple[float, float, float]:
    """Seconds of: ``import portagpu``, the driver's start, the first launch of a cached kernel; in a new process."""
    rows = []
    for _ in range(4):  # the first fills the caches
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", _FIRST_LAUNCH, str(index)],
            capture_output=True,
            text=True,
            check=True,
        )
        rows.append(tuple(map(float, done.stdout.split())))
    columns = zip(*rows[1:], strict=True)
    a, b, c = (statistics.median(column) for column in columns)
    return a, b, c


@click.command(cls=Program)
@device_argument
def main(selector: str | None) -> None:
    """Print what launches cost on DEVICE: an index, a part of its name, a vendor, gpu or cpu."""
    device = chosen(selector)
    context = Context.for_device(device)
    click.echo(f"{device.name} ({device.platform} {device.driver_version})")
    for label, kernel, turns in _ROWS:
        cost = launch_cost(context, kernel, turns)
        peers = f"PyOpenCL {cost.pyopencl:.1f} us, ratio {cost.ratio:.2f}"
        if cost.cupy is not None:
            peers += f"; CuPy RawKernel {cost.cupy:.1f} us, ratio {cost.portagpu / cost.cupy:.2f}"
        click.echo(f"{label}: PortaGPU {cost.portagpu:.1f} us, {peers}")
    imported, started, launched = first_launch(device.index)
    click.echo(f"import portagpu {imported * 1e3:.0f} ms, driver's start {started * 1e3:.0f} ms")
    click.echo(f"first launch of a cached kernel in a new process {launched * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
