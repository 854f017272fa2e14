"""Triangular systems of few rows by substitution on GPUs with warps, for few right sides; in the dialect.

Four neighbouring threads of a warp share a column of the right sides, in registers: thread p has the rows p, p + 4,
p + 8, ... Four rows of the solution are found at a time, by all four threads alike, from what these tell each other.
The whole triangle is in shared memory, so that threads wait for memory once. `triangular_kernels` has less to do for
each column, and waits more often: it suits batches that keep all of a GPU busy.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.warp_lanes import from_lane
from portagpu.blas.level3.triangular_kernels import coefficient

QUAD = 4
"""Threads of a column, and rows that are found at a time."""
_AT_ONCE = 16  # loads of a thread
_LANES = 32


class QuadPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``rows``: the most rows, a power of two; ``columns``: of a block, which has four times as many threads;
    ``number``: of an element. ``is_complex``; ``unit``: ones on the diagonal, which is not read then; ``conjugate``: of
    the triangle; ``a_along``: neighbours of its rows are side by side.
    """

    rows: int
    columns: int
    number: Any
    is_complex: bool
    unit: bool
    conjugate: bool
    a_along: bool


@cuda.jit(device=True)
def _place(row, column, plan: cuda.constexpr):
    """Where an element of the triangle is in shared memory: four columns after four, each from its own rows on."""
    kind = type(row)
    strip = column // kind(QUAD)
    before = kind(QUAD) * (strip * kind(plan.rows) + kind(2) * strip) - kind(2 * QUAD) * strip * strip
    return before + (row - strip * kind(QUAD)) * kind(QUAD) + column % kind(QUAD)


@cuda.jit(device=True)
def _stage(triangle, a, start, n, thread, plan: cuda.constexpr):
    """The triangle to shared memory, that of a unit matrix beyond its rows; loads come in groups."""
    kind = type(n)
    threads = QUAD * plan.columns
    at_once = max(1, min(_AT_ONCE, plan.rows * plan.rows // threads))
    part = cuda.local.array(at_once, plan.number)
    for turn in range(max(1, plan.rows * plan.rows // (threads * at_once))):
        for u in cuda.unroll(range(at_once)):
            number = (kind(turn) * kind(at_once) + kind(u)) * kind(threads) + thread
            row = number // kind(plan.rows) if plan.a_along else number % kind(plan.rows)
            column = number % kind(plan.rows) if plan.a_along else number // kind(plan.rows)
            part[u] = coefficient(a, start, row, column, n, plan)
        for u in cuda.unroll(range(at_once)):
            number = (kind(turn) * kind(at_once) + kind(u)) * kind(threads) + thread
            row = number // kind(plan.rows) if plan.a_along else number % kind(plan.rows)
            column = number % kind(plan.rows) if plan.a_along else number // kind(plan.rows)
            if row < kind(plan.rows) and column < kind(plan.rows) and column // kind(QUAD) <= row // kind(QUAD):
                triangle[_place(row, column, plan)] = part[u]


@cuda.jit(device=True)
def _find_four(x, found, strip: cuda.constexpr, triangle, lane, plan: cuda.constexpr):
    """Four rows of the solution, from what rows before left of the right sides; for all four threads of a column."""
    kind = type(lane)
    own = lane % np.int32(QUAD)
    for q in cuda.unroll(range(QUAD)):
        found[q] = from_lane(x[strip], lane - own + np.int32(q), plan.is_complex)
    for q in cuda.unroll(range(QUAD)):
        for p in cuda.unroll(range(q)):
            factor = triangle[_place(kind(strip * QUAD + q), kind(strip * QUAD + p), plan)]
            found[q] = multiply_add(-factor, found[p], found[q], plan.is_complex)
        if not plan.unit:
            found[q] = found[q] / triangle[_place(kind(strip * QUAD + q), kind(strip * QUAD + q), plan)]
    mine = found[0]
    for q in cuda.unroll(range(1, QUAD)):
        mine = found[q] if own == np.int32(q) else mine
    x[strip] = mine


@cuda.jit(device=True)
def _take_off(x, found, strip: cuda.constexpr, triangle, lane, plan: cuda.constexpr):
    """Take these four rows' products off the rows below."""
    own = lane % np.int32(QUAD)
    for r in cuda.unroll(range(strip + 1, plan.rows // QUAD)):
        at = _place(np.int32(r * QUAD), np.int32(strip * QUAD), plan) + own * np.int32(QUAD)
        if plan.is_complex:
            for q in cuda.unroll(range(QUAD)):
                x[r] = multiply_add(-triangle[at + np.int32(q)], found[q], x[r], True)
        else:
            factors = cuda.vload(triangle, at, QUAD, aligned=True)
            for q in cuda.unroll(range(QUAD)):
                x[r] = multiply_add(-factors[q], found[q], x[r], False)


@cuda.jit
def substitute_in_quads(a, b, n, m, scale, plan: cuda.constexpr):
    """``b = inv(a) @ (scale * b)`` for lower triangles ``a`` of n <= ``plan.rows`` rows; b has m columns.

    a, b: each a `Strided`; plan: a `QuadPlan`. The grid is one-dimensional: for each matrix, a block for each strip of
    columns.
    """
    kind = type(n)
    rows = plan.rows
    strips_of_rows = rows // QUAD
    x = cuda.local.array(strips_of_rows, plan.number)
    found = cuda.local.array(QUAD, plan.number)
    cells = 2 * QUAD * strips_of_rows * (strips_of_rows + 1)
    triangle = cuda.shared.array(cells, plan.number, alignment=64)
    thread = kind(cuda.threadIdx.x)
    lane = np.int32(cuda.threadIdx.x) % np.int32(_LANES)
    strips = (m + kind(plan.columns - 1)) // kind(plan.columns)
    block = kind(cuda.blockIdx.x)
    matrix = block // strips
    column = block % strips * kind(plan.columns) + thread // kind(QUAD)
    start = b.first + matrix * b.batch + column * b.right
    for r in cuda.unroll(range(strips_of_rows)):
        row = kind(r * QUAD) + thread % kind(QUAD)
        x[r] = plan.number(0)
        if row < n and column < m:
            x[r] = b.memory[start + row * b.down]
    _stage(triangle, a, a.first + matrix * a.batch, n, thread, plan)
    for r in cuda.unroll(range(strips_of_rows)):
        x[r] = x[r] * scale
    cuda.syncthreads()
    for strip in cuda.unroll(range(strips_of_rows)):
        if kind(strip * QUAD) < n:
            _find_four(x, found, strip, triangle, lane, plan)
            _take_off(x, found, strip, triangle, lane, plan)
    for r in cuda.unroll(range(strips_of_rows)):
        row = kind(r * QUAD) + thread % kind(QUAD)
        if row < n and column < m:
            b.memory[start + row * b.down] = x[r]
