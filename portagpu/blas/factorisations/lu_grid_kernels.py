"""LU factors with partial pivoting of some columns of a tall matrix, by all blocks of a grid together; in the dialect.

The rows are spread over the threads of all blocks, and stay in registers until all columns are finished. For each
column the blocks meet once: each leaves the largest magnitude that it has and the row with it, the owner of the row
that the pivot's is exchanged with leaves that one, and after the grid's barrier every block picks the same pivot. What
is left for a column lies apart from that of the next one, so that one barrier is enough. Ties are won by the first row,
as in LAPACK.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.lu_kernels import largest_of_lanes, magnitude

_LANES = 32
_DOUBLINGS = 5  # to a warp's lanes


class GridPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``width``: columns, at most; ``threads``: of a block, 32 << ``doublings``; ``rows``: of a thread; ``number``: an
    element, ``real``: a real number.
    """

    width: int
    threads: int
    doublings: int
    rows: int
    number: Any
    real: Any
    is_complex: bool


class Candidates(NamedTuple):
    """Memory in which blocks leave what they found, twice: for even columns and for odd ones.

    ``values``: (2, blocks) magnitudes; ``places``: (2, blocks) rows; ``lines``: (2, blocks + 1, width) elements of
    these rows, and of the one that the pivot's is exchanged with.
    """

    values: Any
    places: Any
    lines: Any


class _Shared(NamedTuple):
    """Shared memory: what the warps found, the pivot's row, the one that it is exchanged with, and the pivot's row
    with zeros in the place of finished columns."""

    values: Any
    places: Any
    pivot: Any
    displaced: Any
    product: Any


@cuda.jit(device=True)
def _largest_of_block(x, at, m, first, thread, shared, plan: cuda.constexpr):
    """The largest magnitude from row ``at`` on of the block's rows in the first column, and its row; for all threads.

    A block without such rows has -1.
    """
    kind = type(m)
    best = plan.real(-1)
    place = at
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        if row >= at and row < m:
            size = magnitude(x[i, 0], plan.is_complex)
            if size > best:
                best = size
                place = row
    best, place = largest_of_lanes(best, place, _DOUBLINGS)
    if plan.doublings > 0:
        if thread % kind(_LANES) == 0:
            shared.values[thread // kind(_LANES)] = best
            shared.places[thread // kind(_LANES)] = place
        cuda.syncthreads()
        best = shared.values[thread % kind(1 << plan.doublings)]
        place = shared.places[thread % kind(1 << plan.doublings)]
        best, place = largest_of_lanes(best, place, plan.doublings)
    return best, place


@cuda.jit(device=True)
def _leave(x, at, turn, first, found, thread, shared, m, plan: cuda.constexpr):
    """Leave the block's candidate for the pivot, and the row that the pivot's is exchanged with, if it is here."""
    kind = type(at)
    block, blocks = kind(cuda.blockIdx.x), kind(cuda.gridDim.x)
    best, place = _largest_of_block(x, at, m, first, thread, shared, plan)
    own = (turn * (blocks + kind(1)) + block) * kind(plan.width)
    last = (turn * (blocks + kind(1)) + blocks) * kind(plan.width)
    if plan.doublings == 0:  # with more warps there was a barrier since rows of the last column were read
        cuda.syncthreads()
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        if row == place:
            for w in cuda.unroll(range(plan.width)):
                shared.pivot[w] = x[i, w]
        if row == at:
            for w in cuda.unroll(range(plan.width)):
                shared.displaced[w] = x[i, w]
    cuda.syncthreads()
    end = first + kind(plan.threads * plan.rows)
    for w in range(thread, kind(plan.width), kind(plan.threads)):  # by many threads, side by side
        if place >= first and place < end:
            found.lines[own + w] = shared.pivot[w]
        if at >= first and at < end:
            found.lines[last + w] = shared.displaced[w]
    if thread == 0:
        found.values[turn * blocks + block] = best
        found.places[turn * blocks + block] = place


@cuda.jit(device=True)
def _agree(at, turn, found, thread, shared, unfinished, plan: cuda.constexpr):
    """The pivot's row among the candidates of all blocks; its elements and the other row's come to shared memory."""
    kind = type(at)
    blocks = kind(cuda.gridDim.x)
    best = plan.real(-1)
    place = at
    for block in range(thread % kind(_LANES), blocks, kind(_LANES)):
        other = found.values[turn * blocks + block]
        row = found.places[turn * blocks + block]
        if other > best or (other == best and row < place):
            best = other
            place = row
    best, place = largest_of_lanes(best, place, _DOUBLINGS)
    lines = turn * (blocks + kind(1))
    winner = place // kind(plan.threads * plan.rows)
    for w in range(thread, kind(plan.width), kind(plan.threads)):
        value = found.lines[(lines + winner) * kind(plan.width) + w]
        shared.pivot[w] = value
        shared.product[w] = value if w < unfinished else plan.number(0)
        shared.displaced[w] = found.lines[(lines + blocks) * kind(plan.width) + w]
    cuda.syncthreads()
    return place


@cuda.jit(device=True)
def _eliminate(x, at, place, first, thread, shared, plan: cuda.constexpr):
    """Exchange rows ``at`` and ``place``, divide the first column by its pivot, and take its products off the others.

    The columns of ``x`` move on by one, so that the next one is the first; registers have no variable subscripts.
    """
    kind = type(at)
    pivot = shared.pivot[0]
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        if row == place:
            for w in cuda.unroll(range(plan.width)):
                x[i, w] = shared.displaced[w]
        if row == at:
            for w in cuda.unroll(range(plan.width)):
                x[i, w] = shared.pivot[w]
        below = row > at and pivot != 0
        factor = x[i, 0]
        if below:
            factor = factor / pivot
        for w in cuda.unroll(range(1, plan.width)):
            value = x[i, w]
            if below:
                value -= factor * shared.product[w]
            x[i, w - 1] = value
        x[i, plan.width - 1] = factor
    return pivot


@cuda.jit(device=True)
def _turn(x, plan: cuda.constexpr):
    """Move the columns on by one."""
    for i in cuda.unroll(range(plan.rows)):
        value = x[i, 0]
        for w in cuda.unroll(range(1, plan.width)):
            x[i, w - 1] = x[i, w]
        x[i, plan.width - 1] = value


@cuda.jit(device=True)
def _load(x, a, m, n, first, thread, plan: cuda.constexpr):
    """A thread's rows; zeros beyond the matrix."""
    kind = type(m)
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        for w in cuda.unroll(range(plan.width)):
            x[i, w] = plan.number(0)
            if row < m and kind(w) < n:
                x[i, w] = a.memory[a.first + row * a.down + kind(w) * a.right]


@cuda.jit(device=True)
def _store(x, a, m, n, first, thread, plan: cuda.constexpr):
    """A thread's rows back to the matrix."""
    kind = type(m)
    for i in cuda.unroll(range(plan.rows)):
        row = first + kind(i * plan.threads) + thread
        for w in cuda.unroll(range(plan.width)):
            if row < m and kind(w) < n:
                a.memory[a.first + row * a.down + kind(w) * a.right] = x[i, w]


@cuda.jit
def factor_columns_together(a, m, n, before, pivots, info, found, plan: cuda.constexpr):
    """``a = P L U`` for an m x n matrix, m >= n, in place: L below the diagonal of ones, U on and above it.

    a: a `Strided`. pivots: int32: the rows, counted from 0 in the whole matrix, with which row ``before`` and those
    after it were exchanged. info: it becomes, if it is 0, the number of the first pivot that is zero, counted from 1 in
    the whole matrix. found: `Candidates`; plan: a `GridPlan` with ``width >= n``. Blocks, which have to run at the same
    time: as many as have ``threads * rows`` rows each.
    """
    kind = type(m)
    warps = 1 << plan.doublings
    grid = cuda.cg.this_grid()
    x = cuda.local.array((plan.rows, plan.width), plan.number)
    values = cuda.shared.array(warps, plan.real)
    places = cuda.shared.array(warps, kind)
    pivot = cuda.shared.array(plan.width, plan.number, alignment=16)
    displaced = cuda.shared.array(plan.width, plan.number, alignment=16)
    product = cuda.shared.array(plan.width, plan.number, alignment=16)
    shared = _Shared(values, places, pivot, displaced, product)
    thread, block = kind(cuda.threadIdx.x), kind(cuda.blockIdx.x)
    first = block * kind(plan.threads * plan.rows)
    failed = np.int32(0)
    _load(x, a, m, n, first, thread, plan)
    for column in range(plan.width):
        j = kind(column)
        if j < n:
            turn = j % kind(2)
            _leave(x, j, turn, first, found, thread, shared, m, plan)
            grid.sync()
            place = _agree(j, turn, found, thread, shared, kind(plan.width) - j, plan)
            value = _eliminate(x, j, place, first, thread, shared, plan)
            if value == 0 and failed == 0:
                failed = np.int32(j) + 1
            if block == 0 and thread == 0:
                pivots[before + np.int32(j)] = before + np.int32(place)
        else:
            _turn(x, plan)
    _store(x, a, m, n, first, thread, plan)
    if block == 0 and thread == 0 and failed > 0 and info[0] == 0:
        info[0] = before + failed
