"""Streams through a device's memory: copy, read, write, triad, in McCalpin's count of bytes.

Every array is counted once for each time that a program names it: a copy reads one and writes one, a triad reads two
and writes one. What a processor moves besides, as lines that it reads before it writes them, is not counted.

J. McCalpin, "Memory Bandwidth and Machine Balance in Current High Performance Computers", 1995; T. Deakin et al.,
"GPU-STREAM: Benchmarking the achievable memory bandwidth of GPUs", 2015.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.device import Capabilities, DeviceType

Array = np.ndarray[Any, Any]

SCALAR = np.float32(0.4)
"""The triad's factor."""
FILL = np.float32(1.25)
"""What the write writes."""
PASSES = {"copy": 2, "read": 1, "write": 1, "triad": 3}
"""Arrays that are read or written, by the kernels' names."""


@cuda.jit(device=True)
def _place(step, near: cuda.constexpr, steps):
    """The vector of a thread's step: neighbours of other threads' ones, or of its own."""
    if near:
        threads = np.uint32(cuda.blockDim.x)
        return np.uint32(cuda.blockIdx.x) * (threads * steps) + step * threads + np.uint32(cuda.threadIdx.x)
    return np.uint32(cuda.grid(1)) * steps + step


@cuda.jit
def copy(a, b, c, sums, steps, vector: cuda.constexpr, near: cuda.constexpr):
    """``c = a``."""
    for step in range(np.uint32(0), steps):
        i = _place(step, near, steps) * np.uint32(vector.lanes)
        cuda.vstore(cuda.vload(a, i, vector.lanes, aligned=True), c, i, aligned=True)


@cuda.jit
def write(a, b, c, sums, steps, vector: cuda.constexpr, near: cuda.constexpr):
    """``c = FILL``."""
    for step in range(np.uint32(0), steps):
        cuda.vstore(vector(FILL), c, _place(step, near, steps) * np.uint32(vector.lanes), aligned=True)


@cuda.jit
def triad(a, b, c, sums, steps, vector: cuda.constexpr, near: cuda.constexpr):
    """``c = a + SCALAR * b``."""
    for step in range(np.uint32(0), steps):
        i = _place(step, near, steps) * np.uint32(vector.lanes)
        x, y = cuda.vload(a, i, vector.lanes, aligned=True), cuda.vload(b, i, vector.lanes, aligned=True)
        cuda.vstore(x + y * vector(SCALAR), c, i, aligned=True)


@cuda.jit
def read(a, b, c, sums, steps, vector: cuda.constexpr, near: cuda.constexpr):
    """The sum of what each thread reads."""
    total = vector(0)
    for step in range(np.uint32(0), steps):
        total += cuda.vload(a, _place(step, near, steps) * np.uint32(vector.lanes), vector.lanes, aligned=True)
    one = total[0]
    for lane in cuda.unroll(range(1, vector.lanes)):
        one += total[lane]
    sums[cuda.grid(1)] = one


KERNELS = {"copy": copy, "read": read, "write": write, "triad": triad}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """How an array is shared out: vectors of so many ``lanes``, ``steps`` of them for each thread of a block.

    ``near``: the threads of a block read neighbours; else each has a run of memory of its own.
    """

    lanes: int
    threads: int
    steps: int
    near: bool

    @property
    def block(self) -> int:
        """Elements of a block."""
        return self.lanes * self.threads * self.steps

    @property
    def text(self) -> str:
        """As tables tell it."""
        how = "neighbouring threads" if self.near else "runs of memory"
        return f"vectors of {self.lanes}, {self.steps} for each of {self.threads} threads, {how}"


def forms(caps: Capabilities, count: int) -> list[Form]:
    """What is tried for arrays of ``count`` elements, a power of two; the fastest is the device's roof."""
    if caps.device_type is DeviceType.CPU:
        blocks = 8 * 2 ** max(0, (caps.compute_units - 1).bit_length())
        # in a virtual machine on a Xeon, 16 lanes at once wrote 13 GB/s, four 19, from C as well
        found = [Form(lanes=n, threads=1, steps=max(1, count // blocks // n), near=False) for n in (16, 8, 4)]
        return [one for one in found if one.block <= count]
    found = [Form(lanes=4, threads=t, steps=s, near=True) for t, s in ((256, 1), (256, 4), (512, 2), (1024, 4))]
    return [one for one in found if one.block <= count] or [Form(lanes=4, threads=64, steps=1, near=True)]


def operands(count: int, seed: int = 0) -> tuple[Array, Array]:
    """Whole numbers as float32, so that sums of them are exact in any order."""
    part = np.random.default_rng([seed, 11]).integers(-8, 9, (2, min(count, 1 << 20))).astype(np.float32)
    return np.resize(part[0], count), np.resize(part[1], count)


def error(name: str, found: Array, a: Array, b: Array) -> float:
    """How far a kernel's result is off, relative to what is allowed."""
    if name == "read":
        return 0.0 if float(np.sum(found, dtype=np.float64)) == float(np.sum(a, dtype=np.float64)) else np.inf
    if name == "triad":
        allowed = 4 * float(np.finfo(np.float32).eps) * 8 * 1.4
        return float(np.max(np.abs(found.astype(np.float64) - (a + np.float64(SCALAR) * b)))) / allowed
    return 0.0 if np.array_equal(found, np.broadcast_to(FILL if name == "write" else a, found.shape)) else np.inf


__all__ = ["FILL", "KERNELS", "PASSES", "SCALAR", "Form", "error", "forms", "operands"]
