"""The first call in a new process: import, the driver's start, the first launch of a kernel that caches have.

A child process goes through all three and tells what each took; children are started when somebody asks for more
times than there are, and each of them serves all three workloads.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

from portagpu.bench.method.plan import Method
from portagpu.bench.method.turns import Call, Player
from portagpu.device import DeviceRecord

PHASES = ("import", "driver start", "first launch")
"""What is told, in the order of a process's life."""

_OURS = """
import sys, time
begin = time.perf_counter()
import portagpu
from portagpu import cuda
imported = time.perf_counter()
cuda.select_device(sys.argv[1])
from portagpu.bench.launching.kernels import scale
x = cuda.to_device(__import__("numpy").ones(1024, "float32"))
cuda.synchronize()
ready = time.perf_counter()
scale[4, 256](x)
cuda.synchronize()
done = time.perf_counter()
print(imported - begin, ready - imported, done - ready, x.copy_to_host().sum())
"""

_CUPY = """
import time
begin = time.perf_counter()
import cupy
imported = time.perf_counter()
x = cupy.asarray(__import__("numpy").ones(1024, "float32"))
cupy.cuda.Device().synchronize()
ready = time.perf_counter()
kernel = cupy.RawKernel(
    'extern "C" __global__ void scale(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }', "scale")
kernel((4,), (256,), (x,))
cupy.cuda.Device().synchronize()
done = time.perf_counter()
print(imported - begin, ready - imported, done - ready, cupy.asnumpy(x).sum())
"""
_LIMIT = 300.0  # seconds of a child's life: a driver's start may hang
RIGHT = 2048.0
"""The sum that a child finds."""


class Children:
    """Processes that ran a program, with their times."""

    def __init__(self, program: str, argument: str = "") -> None:
        self._command = [sys.executable, "-W", "ignore", "-c", program, argument]
        self._rows: list[tuple[float, ...]] = []

    def row(self, number: int) -> tuple[float, ...]:
        """Seconds of `PHASES` in a child, and the sum that it found. Raises RuntimeError for one that fails."""
        while len(self._rows) <= number:
            self._rows.append(self._run())
        return self._rows[number]

    def _run(self) -> tuple[float, ...]:
        try:
            done = subprocess.run(
                self._command, capture_output=True, text=True, errors="replace", check=False, timeout=_LIMIT
            )
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"a new process did not end within {_LIMIT:g} s") from None
        lines = (done.stderr if done.returncode else done.stdout).strip().splitlines()
        last = lines[-1] if lines else f"it ended with status {done.returncode}"
        if done.returncode:
            raise RuntimeError(f"a new process failed: {last}")
        try:
            return tuple(map(float, last.split()))  # drivers may have printed something before it
        except ValueError:
            raise RuntimeError(f"a new process said no times: {last}") from None

    def call(self) -> Call:
        """One child, for the check of what it found; the first one fills the caches and is not timed."""
        return Call(enqueue=lambda: self.row(0), fetch=lambda: self.row(0)[-1])

    def timing(self, phase: str) -> Callable[[Call, Method, Callable[[], object]], Player]:
        """How a phase is timed."""
        return lambda call, method, look: _Replay(self, PHASES.index(phase), method)


class _Replay:
    """A player that tells the children's times, from the second child on."""

    is_steady = True

    def __init__(self, children: Children, column: int, method: Method) -> None:
        self._children, self._column = children, column
        self._samples = -(-method.least_samples // method.least_rounds)
        self._next = 1

    def turn(self) -> list[float]:
        """Times of some children."""
        first, self._next = self._next, self._next + self._samples
        return [self._children.row(n)[self._column] for n in range(first, self._next)]


def own_children(device: DeviceRecord) -> Children:
    """Processes that use PortaGPU."""
    return Children(_OURS, device.selector)


def cupy_children() -> Children:
    """Processes that use CuPy."""
    return Children(_CUPY)


__all__ = ["PHASES", "RIGHT", "Children", "cupy_children", "own_children"]
