"""What a launch costs beside PyOpenCL's own kernel call, and what the first launch of a process costs.

Run as ``python -m portagpu.bench.launch [DEVICE]``.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyopencl as cl

from portagpu import cuda
from portagpu.device import default_device, find_device
from portagpu.runtime.context import Context

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchCost:
    """Microseconds for each call, medians over rounds in which both take turns."""

    device: str
    portagpu: float
    pyopencl: float

    @property
    def ratio(self) -> float:
        """PortaGPU's cost over PyOpenCL's."""
        return self.portagpu / self.pyopencl


def launch_cost(context: Context) -> LaunchCost:
    """Time `scale` through PortaGPU and the same OpenCL C through PyOpenCL's ``kernel(queue, ...)`` in one run."""
    with context:
        x = cuda.to_device(np.zeros(64, np.float32))
        queue = context.default_stream.queue
        scale[1, 64](x)
        source = next(iter(scale.inspect_opencl().values()))
        kernel: Any = cl.Kernel(cl.Program(context.cl_context, source).build(), "scale")
        size = np.int32(x.size)

        def ours() -> None:
            scale[1, 64](x)

        def theirs() -> None:
            kernel(queue, (64,), (64,), x.buffer, size)

        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(_ROUNDS):
            for call, kept in ((ours, times[0]), (theirs, times[1])):
                kept.append(_time(call, queue))
    return LaunchCost(
        device=context.device.name, portagpu=statistics.median(times[0]), pyopencl=statistics.median(times[1])
    )


def _time(call: Callable[[], None], queue: cl.CommandQueue) -> float:
    """Microseconds of a call when the queue is kept short, so that no call waits for room in it."""
    spent = 0.0
    for _ in range(_CALLS // 50):
        begin = time.perf_counter()
        for _ in range(50):
            call()
        spent += time.perf_counter() - begin
        queue.finish()
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


def main() -> None:
    """Print the figures of one device."""
    device = find_device(sys.argv[1]) if len(sys.argv) > 1 else default_device()
    cost = launch_cost(Context.for_device(device))
    print(f"{device.name} ({device.platform} {device.driver_version})")
    print(f"launch: PortaGPU {cost.portagpu:.1f} us, PyOpenCL {cost.pyopencl:.1f} us, ratio {cost.ratio:.2f}")
    imported, started, launched = first_launch(device.index)
    print(f"import portagpu {imported * 1e3:.0f} ms, driver's start {started * 1e3:.0f} ms")
    print(f"first launch of a cached kernel in a new process {launched * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
