"""LU factors with partial pivoting of many small matrices, each in the registers of 16 or 32 threads; in the dialect.

A thread has a row. Rows are not exchanged while a matrix is factored: a thread knows in which place its row is by now,
and leaves it there at the end. Ties are won by the first row, as in LAPACK. Where the elements of a row are side by
side in memory, they come and go by way of shared memory, so that neighbouring threads access neighbouring elements.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.lu_kernels import divisor_of, largest_of_lanes, pivot_size
from portagpu.blas.gemm.kernels.warp_lanes import from_lane

_LANES = 32
_ALL = 0xFFFFFFFF


class SmallPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``rows``: threads of a matrix, 1 << ``doublings``, of which it has at most as many rows and columns; ``chunk``:
    columns that are in shared memory at a time, ``rows`` or a half of it and so on; ``matrices``: of a block;
    ``number``: an element, ``real``: a real number; ``along``: the elements of a row are side by side.
    """

    rows: int
    doublings: int
    chunk: int
    matrices: int
    number: Any
    real: Any
    is_complex: bool
    along: bool


@cuda.jit(device=True)
def _load(x, tile, a, start, group, lane, height, width, plan: cuda.constexpr):
    """A thread's row; zeros beyond the matrix."""
    kind = type(start)
    rows, chunk = plan.rows, plan.chunk
    pitch = np.uint32(chunk + 1)
    if plan.along:
        for part in cuda.unroll(range(rows // chunk)):
            column = part * chunk + np.int32(lane % np.uint32(chunk))
            for step in cuda.unroll(range(chunk)):
                line = step * (rows // chunk) + np.int32(lane // np.uint32(chunk))
                x[part * chunk + step] = plan.number(0)
                if line < height and column < width:
                    x[part * chunk + step] = a.memory[start + kind(line) * a.down + kind(column) * a.right]
            for step in cuda.unroll(range(chunk)):
                line = np.uint32(step * (rows // chunk)) + lane // np.uint32(chunk)
                tile[(group * np.uint32(rows) + line) * pitch + lane % np.uint32(chunk)] = x[part * chunk + step]
            cuda.syncwarp()
            for w in cuda.unroll(range(chunk)):
                x[part * chunk + w] = tile[(group * np.uint32(rows) + lane) * pitch + np.uint32(w)]
            cuda.syncwarp()
    else:
        for w in cuda.unroll(range(rows)):
            x[w] = plan.number(0)
            if np.int32(lane) < height and w < width:
                x[w] = a.memory[start + kind(lane) * a.down + kind(w) * a.right]


@cuda.jit(device=True)
def _store(x, tile, a, start, group, lane, at, height, width, own, plan: cuda.constexpr):
    """A thread's row to its place, if the matrix is the block's ``own``."""
    kind = type(start)
    rows, chunk = plan.rows, plan.chunk
    pitch = np.uint32(chunk + 1)
    if plan.along:
        for part in cuda.unroll(range(rows // chunk)):
            for w in cuda.unroll(range(chunk)):
                tile[(group * np.uint32(rows) + np.uint32(at)) * pitch + np.uint32(w)] = x[part * chunk + w]
            cuda.syncwarp()
            column = part * chunk + np.int32(lane % np.uint32(chunk))
            for step in cuda.unroll(range(chunk)):
                line = step * (rows // chunk) + np.int32(lane // np.uint32(chunk))
                if own and line < height and column < width:
                    a.memory[start + kind(line) * a.down + kind(column) * a.right] = tile[
                        (group * np.uint32(rows) + np.uint32(line)) * pitch + lane % np.uint32(chunk)
                    ]
            cuda.syncwarp()
    else:
        for w in cuda.unroll(range(rows)):
            if own and at < height and w < width:
                a.memory[start + kind(at) * a.down + kind(w) * a.right] = x[w]


@cuda.jit(device=True)
def _pivot_place(size, at, j, plan: cuda.constexpr):
    """The place of the largest of a matrix's magnitudes, -1 where a thread has none; ``at``: a thread's own place."""
    _, place = largest_of_lanes(size, at if size >= 0 else j, plan.doublings)
    return place


@cuda.jit
def factor_small_matrices(a, m, n, count, pivots, info, plan: cuda.constexpr):
    """``a = P L U`` for m x n matrices, in place: L below the diagonal of ones, U on and above it.

    a: a `Strided`; count: matrices. pivots: (count, all) int32: the rows, counted from 0, with which row 0 and those
    after it were exchanged. info: of each matrix the number of the first pivot that is zero, counted from 1, or 0.
    plan: a `SmallPlan`.
    """
    kind = type(m)
    rows = plan.rows
    x = cuda.local.array(rows, plan.number)
    lane = np.uint32(cuda.threadIdx.x) % np.uint32(rows)
    group = np.uint32(cuda.threadIdx.x) // np.uint32(rows)
    given = kind(cuda.blockIdx.x) * kind(plan.matrices) + kind(group)
    matrix = min(given, count - kind(1))
    own = given < count
    start = a.first + matrix * a.batch
    height, width = np.int32(m), np.int32(n)
    tile = cuda.shared.array(plan.matrices * rows * (plan.chunk + 1) if plan.along else 1, plan.number)
    _load(x, tile, a, start, group, lane, height, width, plan)
    at = np.int32(lane)
    pivot_row = np.int32(0)
    failed = np.int32(0)
    least = min(height, width)
    for j in cuda.unroll(range(rows)):
        if j < least:
            size = plan.real(-1)
            if at >= j and at < height:
                size = pivot_size(x[j], at == j, plan.real, plan.is_complex)
            place = _pivot_place(size, at, np.int32(j), plan)
            holders = cuda.ballot_sync(_ALL, at == place)
            if rows < _LANES:
                holders = (holders >> (np.uint32(cuda.threadIdx.x) % np.uint32(_LANES) // np.uint32(rows) * rows)) & (
                    (1 << rows) - 1
                )
            holder = np.int32(cuda.ffs(holders)) - 1
            if rows < _LANES:
                holder += np.int32(np.uint32(cuda.threadIdx.x) % np.uint32(_LANES) // np.uint32(rows) * rows)
            if at == place:
                at = np.int32(j)
            elif at == j:
                at = place
            pivot_row = place if np.int32(lane) == j else pivot_row
            pivot = from_lane(x[j], holder, plan.is_complex)
            if pivot == 0 and failed == 0:
                failed = np.int32(j + 1)
            below = at > j
            if below:
                x[j] = x[j] / divisor_of(pivot)
            for w in cuda.unroll(range(j + 1, rows)):
                top = from_lane(x[w], holder, plan.is_complex)
                if below:
                    x[w] -= x[j] * top
    _store(x, tile, a, start, group, lane, at, height, width, own, plan)
    if own:
        if np.int32(lane) < least:
            pivots[matrix, lane] = pivot_row
        if lane == 0:
            info[matrix] = failed
