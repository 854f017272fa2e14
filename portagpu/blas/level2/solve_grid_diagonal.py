"""A block's unknowns in `portagpu.blas.level2.solve_grid_kernels`, from its part of the diagonal; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.warp_lanes import from_lane

WIDTH = 64
"""Unknowns of a block."""
LANES = 32
HALVES = WIDTH // LANES
_QUAD = 4  # unknowns that are found at a time
TRIANGLE = WIDTH * (WIDTH + 1) // 2
"""Elements of the diagonal's block in shared memory: columns one after the other, each from the diagonal on."""


class GridSolve(NamedTuple):
    """What is known of a solve when its kernel is compiled.

    ``warps``: of a block, 2 at least; ``rows``: elements of a row lie side by side, else those of a column; ``number``:
    an element, ``real``: a real number, ``words``: an element's 32-bit words; ``warp``: threads tell each other numbers
    by warp instructions, else in shared memory; ``slices``: sums of a row by different threads that shared memory has;
    ``least``: an element of the diagonal of this magnitude, up to its reciprocal, has a normal reciprocal.
    """

    warps: int
    rows: bool
    number: Any
    real: Any
    words: int
    is_complex: bool
    warp: bool
    slices: int
    least: float


class Shared(NamedTuple):
    """Shared memory: the diagonal's block, and its diagonal's reciprocals; the right side; two times unknowns of other
    blocks; sums of terms; what is left of the right side; the block's own unknowns; ticket and number of the solve."""

    triangle: Any
    reciprocals: Any
    given: Any
    unknowns: Any
    sums: Any
    left: Any
    found: Any
    ticket: Any


@cuda.jit(device=True)
def of_triangle(row, column):
    """Where an element of the diagonal's block is in shared memory; another one where it is above the diagonal."""
    kind = type(column)
    return column * kind(WIDTH - 1) - column * (column - kind(1)) // kind(2) + kind(row)


@cuda.jit(device=True)
def _rest(i, shared, plan: cuda.constexpr):
    """What all those terms leave of a row's right side."""
    kind = type(i)
    total = shared.sums[i]
    for s in cuda.unroll(range(1, plan.slices)):
        total += shared.sums[kind(s * WIDTH) + i]
    return shared.given[i] - total


@cuda.jit(device=True)
def _find_quads(left, lane, shared, plan: cuda.constexpr):
    """The unknowns, four at a time: each lane has two rows' right sides, which become their unknowns; by a warp.

    All lanes find the same four, from what these rows' lanes tell: they tell less often than with one at a time.
    """
    kind = type(lane)
    found = cuda.local.array(_QUAD, plan.number)
    for half in cuda.unroll(range(HALVES)):
        for quad in range(LANES // _QUAD):
            first = kind(quad) * kind(_QUAD)
            column = kind(half * LANES) + first
            for q in cuda.unroll(range(_QUAD)):
                found[q] = from_lane(left[half], np.int32(first) + np.int32(q), plan.is_complex)
            for q in cuda.unroll(range(_QUAD)):
                for p in cuda.unroll(range(q)):
                    factor = shared.triangle[of_triangle(column + kind(q), column + kind(p))]
                    found[q] = multiply_add(-factor, found[p], found[q], plan.is_complex)
                found[q] = found[q] * shared.reciprocals[column + kind(q)]
            for h in cuda.unroll(range(half, HALVES)):
                row = kind(h * LANES) + lane
                value = left[h]
                for q in cuda.unroll(range(_QUAD)):
                    factor = shared.triangle[of_triangle(row, column + kind(q))]
                    value = multiply_add(-factor, found[q], value, plan.is_complex)
                left[h] = value if row >= column + kind(_QUAD) else left[h]
                for q in cuda.unroll(range(_QUAD)):
                    left[h] = found[q] if row == column + kind(q) else left[h]


@cuda.jit(device=True)
def _find_by_division(left, lane, shared, plan: cuda.constexpr):
    """As `_find_quads`, one after the other, where reciprocals are not normal numbers."""
    kind = type(lane)
    for half in cuda.unroll(range(HALVES)):
        for step in range(LANES):
            column = kind(half * LANES) + kind(step)
            known = from_lane(left[half], np.int32(step), plan.is_complex)
            known = known / shared.triangle[of_triangle(column, column)]
            for h in cuda.unroll(range(half, HALVES)):
                row = kind(h * LANES) + lane
                factor = shared.triangle[of_triangle(row, column)]
                value = multiply_add(-factor, known, left[h], plan.is_complex)
                left[h] = value if row > column else known if row == column else left[h]


@cuda.jit(device=True)
def find_in_warp(divides, lane, shared, plan: cuda.constexpr):
    """The block's unknowns, by a warp."""
    kind = type(lane)
    left = cuda.local.array(HALVES, plan.number)
    for h in cuda.unroll(range(HALVES)):
        left[h] = _rest(kind(h * LANES) + lane, shared, plan)
    if divides:
        _find_by_division(left, lane, shared, plan)
    else:
        _find_quads(left, lane, shared, plan)
    for h in cuda.unroll(range(HALVES)):
        shared.found[kind(h * LANES) + lane] = left[h]
    cuda.syncwarp()


@cuda.jit(device=True)
def find_in_block(thread, shared, plan: cuda.constexpr):
    """The block's unknowns, by all its threads, in shared memory."""
    kind = type(thread)
    if thread < kind(WIDTH):
        shared.left[thread] = _rest(thread, shared, plan)
    for step in range(WIDTH):
        column = kind(step)
        cuda.syncthreads()
        known = shared.left[column] / shared.triangle[of_triangle(column, column)]
        if thread == column:
            shared.found[column] = known
        if thread > column and thread < kind(WIDTH):
            factor = shared.triangle[of_triangle(thread, column)]
            shared.left[thread] = multiply_add(-factor, known, shared.left[thread], plan.is_complex)
    cuda.syncthreads()
