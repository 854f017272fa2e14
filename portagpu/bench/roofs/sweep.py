"""Reads of sets that lie in caches, or in local memory: each again and again, every time from another place on.

A set is cut into chunks, which the threads of a block read together. With every pass the first chunk is another one, so
that no compiler can keep in registers what it read before. Sums of whole numbers tell that all was read.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.device import Capabilities, DeviceType

Array = np.ndarray[Any, Any]
TILE = 4096
"""Elements of the set in local memory: 16 KiB, which every device has."""
ITEM = 4


@cuda.jit(device=True)
def _leave(sums, totals, lanes: cuda.constexpr, unrolled: cuda.constexpr):
    """The thread's sum."""
    total = totals[0]
    for part in cuda.unroll(range(1, unrolled)):
        total += totals[part]
    one = total[0]
    for lane in cuda.unroll(range(1, lanes)):
        one += total[lane]
    sums[cuda.grid(1)] = one


@cuda.jit
def sweep(a, sums, apart, chunks, passes, vector: cuda.constexpr, unrolled: cuda.constexpr):
    """Each block reads ``chunks`` (a power of two) from ``blockIdx.x * apart`` on, so many times."""
    lanes = vector.lanes
    threads = np.uint32(cuda.blockDim.x)
    chunk = threads * np.uint32(unrolled * lanes)
    block = np.uint32(cuda.blockIdx.x)
    begin = block * apart + np.uint32(cuda.threadIdx.x) * np.uint32(lanes)
    totals = cuda.local.array(unrolled, vector)
    for part in cuda.unroll(range(unrolled)):
        totals[part] = vector(0)
    for turn in range(np.uint32(0), passes):
        for step in range(np.uint32(0), chunks):
            # blocks that share a set begin in places of their own
            at = begin + ((step + turn + block * np.uint32(7)) & (chunks - np.uint32(1))) * chunk
            for part in cuda.unroll(range(unrolled)):
                totals[part] += cuda.vload(a, at + threads * np.uint32(part * lanes), lanes, aligned=True)
    _leave(sums, totals, lanes, unrolled)


@cuda.jit
def sweep_local(a, sums, apart, chunks, passes, vector: cuda.constexpr, unrolled: cuda.constexpr):
    """The same of a set in local memory, which is filled before; all blocks have the first elements of ``a``."""
    lanes = vector.lanes
    threads = np.uint32(cuda.blockDim.x)
    chunk = threads * np.uint32(unrolled * lanes)
    tile = cuda.shared.array(TILE, np.float32)
    for place in range(np.uint32(cuda.threadIdx.x), np.uint32(TILE), threads):
        tile[place] = a[place]
    cuda.syncthreads()
    mine = np.uint32(cuda.threadIdx.x) * np.uint32(lanes)
    totals = cuda.local.array(unrolled, vector)
    for part in cuda.unroll(range(unrolled)):
        totals[part] = vector(0)
    for turn in range(np.uint32(0), passes):
        for step in range(np.uint32(0), chunks):
            at = ((step + turn) & (chunks - np.uint32(1))) * chunk + mine
            for part in cuda.unroll(range(unrolled)):
                totals[part] += cuda.vload(tile, at + threads * np.uint32(part * lanes), lanes, aligned=True)
    _leave(sums, totals, lanes, unrolled)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Threads of a block, and vectors that each reads at once."""

    lanes: int
    threads: int
    unrolled: int
    blocks: int  # for each compute unit

    @property
    def chunk(self) -> int:
        """Elements that a block reads at once."""
        return self.lanes * self.threads * self.unrolled

    @property
    def text(self) -> str:
        """As tables tell it."""
        return f"vectors of {self.lanes}, {self.unrolled} at once, {self.threads} x {self.blocks} threads a unit"


def forms(caps: Capabilities, elements: int, *, local: bool = False, shared: bool = False) -> list[Form]:
    """What is tried for sets of so many elements, at least two chunks of them.

    Several blocks of a unit have the same set only where all have it: ``shared``.
    """
    if caps.device_type is DeviceType.CPU:
        found = [Form(lanes=16, threads=1, unrolled=u, blocks=1) for u in (4, 8)]
    else:
        sizes = [(1024, 1, 1), (512, 2, 1), (512, 1, 1), (256, 4, 1), (256, 2, 1)]
        if local or shared:
            sizes += [(1024, 1, 2), (512, 2, 4), (256, 2, 4)]
        sizes = [one for one in sizes if one[0] <= caps.max_work_group_size]
        found = [Form(lanes=4, threads=t, unrolled=u, blocks=b) for t, u, b in sizes]
    return [one for one in found if 2 * one.chunk <= elements]


def operand(elements: int, seed: int = 0) -> Array:
    """Whole numbers, few and small: sums of some million of them are exact in float32."""
    part = np.random.default_rng([seed, 13]).integers(-2, 4, min(elements, 1 << 20)).astype(np.float32)
    return np.resize(part, elements)


def error(found: Array, wanted: float) -> float:
    """0 where the sum of all threads is right, else infinite."""
    return 0.0 if float(np.sum(found, dtype=np.float64)) == wanted else np.inf


__all__ = ["ITEM", "TILE", "Form", "error", "forms", "operand", "sweep", "sweep_local"]
