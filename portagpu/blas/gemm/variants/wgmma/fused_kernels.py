"""How a warp group stores sums of which a caller's function is taken; in the dialect.

The matrix units leave a thread pairs of sums in many rows. A function that reads arrays at these places, or a bias,
would access eight rows at a time. So sums go by way of shared memory, a warp's by itself: then the threads of a warp
are side by side in a row when they call the function, and store what it returns straight to the result.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import divided, finished_inside

_ROWS = 16  # of a warp
_TOGETHER = 8  # rows whose calls overlap


class Corner(NamedTuple):
    """Where a warp's sums are: the number of the product, and the first row and column of its result."""

    product: Any
    row: Any
    column: Any


@cuda.jit(device=True)
def leave_pairs(sums, first: cuda.constexpr, memory, place, lane, plan: cuda.constexpr):
    """Write a warp's sums, from those numbered ``first`` on, to ``memory[place:]``: 16 rows.

    Pairs of a row are permuted, in groups of four, by the row's number: neither here nor where a row is read do
    threads wait for one another.
    """
    wide = plan.wide
    pair = cuda.int32x2 if plan.sums == np.int32 else cuda.float32x2
    for part in cuda.unroll(range(wide // 8)):
        for half in cuda.unroll(range(2)):
            row = lane // np.uint32(4) + np.uint32(half * 8)
            group = np.uint32(part) ^ (row & np.uint32(wide // 8 - 1))
            cuda.vstore(
                pair(sums[first + part * 4 + half * 2], sums[first + part * 4 + half * 2 + 1]),
                memory,
                place + row * np.uint32(wide) + group * np.uint32(8) + lane % np.uint32(4) * np.uint32(2),
                aligned=True,
            )


@cuda.jit(device=True)
def _becomes(memory, place, line, column, c, corner, exponents, factors, epilogue, plan: cuda.constexpr):
    """What one sum becomes; line, column: its place among the warp's."""
    wide = np.uint32(plan.wide)
    group = column // np.uint32(8) ^ (line & (wide // np.uint32(8) - np.uint32(1)))
    value = memory[place + line * wide + group * np.uint32(8) + column % np.uint32(8)]
    if plan.exponents:
        value = divided(value, exponents.rows[corner.row + line] + exponents.columns[corner.column + column])
    return finished_inside(value, c, corner.product, corner.row + line, corner.column + column, factors, epilogue)


@cuda.jit(device=True)
def _put(value, c, corner, line, column):
    """Store an element of the result."""
    if c.ndim == 3:
        c[corner.product, corner.row + line, corner.column + column] = value
    else:
        c[corner.row + line, corner.column + column] = value


@cuda.jit(device=True)
def finish_rows(memory, place, c, corner, extents, exponents, lane, factors, epilogue, plan: cuda.constexpr):
    """Store what becomes of the sums that `leave_pairs` wrote, as far as they are the result's."""
    wide = plan.wide
    sides = wide // 32
    values = cuda.local.array((_TOGETHER, sides), plan.sums)
    for begin in range(np.uint32(0), np.uint32(_ROWS), np.uint32(_TOGETHER)):
        last_row, last_column = corner.row + begin + np.uint32(_TOGETHER), corner.column + np.uint32(wide)
        if last_row <= np.uint32(extents.m) and last_column <= np.uint32(extents.n):
            # stored after all of them, so that what the calls load overlaps
            for i in cuda.unroll(range(_TOGETHER)):
                for side in cuda.unroll(range(sides)):
                    line, column = begin + np.uint32(i), np.uint32(side * 32) + lane
                    values[i, side] = _becomes(
                        memory, place, line, column, c, corner, exponents, factors, epilogue, plan
                    )
            for i in cuda.unroll(range(_TOGETHER)):
                for side in cuda.unroll(range(sides)):
                    _put(values[i, side], c, corner, begin + np.uint32(i), np.uint32(side * 32) + lane)
        else:
            for line in range(begin, begin + np.uint32(_TOGETHER)):
                for side in cuda.unroll(range(sides)):
                    column = np.uint32(side * 32) + lane
                    if corner.row + line < np.uint32(extents.m) and corner.column + column < np.uint32(extents.n):
                        value = _becomes(memory, place, line, column, c, corner, exponents, factors, epilogue, plan)
                        _put(value, c, corner, line, column)
