"""How a warp group stores sums of which a caller's function is taken; in the dialect.

The matrix units leave a thread pairs of sums in many rows. A function that reads arrays at these places, or a bias,
would access eight rows at a time. So sums go by way of shared memory, a warp's by itself: then the threads of a warp
are side by side in a row when they call the function, and store what it returns straight to the result.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import divided, finished_element, packed_pair, store_element

_ROWS = 16  # of a warp
# bits of a warp's first row and column: compilers then know that no subscript of a function counts from the end
_SMALL = (1 << 30) - 1


class Result(NamedTuple):
    """A result in C order: element [i, row, column] is ``memory[i * batch + row * pitch + column]``.

    pairs: the memory as uint32, where the elements have 16 bits.
    """

    memory: Any
    pairs: Any
    pitch: Any
    batch: Any


class Corner(NamedTuple):
    """Where a warp's sums are: the number of the product, and the first row and column of its result."""

    product: Any
    row: Any
    column: Any


@cuda.jit(device=True)
def _held(place, row, pair, plan: cuda.constexpr):
    """Where a pair of a warp's sums lies in shared memory, whose first is at ``place``.

    Groups of four pairs are permuted by the row's number: neither where pairs come from the matrix units nor where rows
    are read do threads wait for one another.
    """
    group = pair // np.uint32(4) ^ (row & np.uint32(plan.wide // 8 - 1))
    return place + row * np.uint32(plan.wide) + group * np.uint32(8) + pair % np.uint32(4) * np.uint32(2)


@cuda.jit(device=True)
def _leave_pairs(sums, first: cuda.constexpr, memory, place, lane, plan: cuda.constexpr):
    """Write a warp's sums, from those numbered ``first`` on, to ``memory[place:]``: 16 rows."""
    kind = cuda.int32x2 if plan.sums == np.int32 else cuda.float32x2
    for part in cuda.unroll(range(plan.wide // 8)):
        for half in cuda.unroll(range(2)):
            row = lane // np.uint32(4) + np.uint32(half * 8)
            at = _held(place, row, np.uint32(part * 4) + lane % np.uint32(4), plan)
            number = first + part * 4 + half * 2
            cuda.vstore(kind(sums[number], sums[number + 1]), memory, at, aligned=True)


@cuda.jit(device=True)
def _place(c, corner, row, column):
    """Where an element of the result lies."""
    return corner.product * c.batch + row * c.pitch + column


@cuda.jit(device=True)
def _store_one(value, c, corner, row, column, factors, epilogue):
    """Store what one sum becomes."""
    place = _place(c, corner, row, column)
    store_element(value, c.memory, place, corner.product, row, column, factors, epilogue)


@cuda.jit(device=True)
def _unscaled(value, row, column, exponents, plan: cuda.constexpr):
    """A sum divided by its powers of 2, if it has such."""
    if plan.exponents:
        return divided(value, exponents.rows[row] + exponents.columns[column])
    return value


@cuda.jit(device=True)
def _finish_whole(memory, place, c, corner, exponents, lane, factors, epilogue, plan: cuda.constexpr):
    """Store what becomes of the sums in a warp's rows, all of which are the result's."""
    across = plan.wide // 2  # threads of a row
    at_once = 32 // across  # rows
    values = cuda.local.array((_ROWS // at_once, 2), plan.sums)
    # none is stored before the last is there, so that what the calls load overlaps
    first_row, first_column = corner.row & np.uint32(_SMALL), corner.column & np.uint32(_SMALL)
    column = first_column + lane % np.uint32(across) * np.uint32(2)
    for i in cuda.unroll(range(_ROWS // at_once)):
        line = np.uint32(i * at_once) + lane // np.uint32(across)
        row = first_row + line
        pair = cuda.vload(memory, _held(place, line, lane % np.uint32(across), plan), 2, aligned=True)
        for side in cuda.unroll(range(2)):
            at = column + np.uint32(side)
            value = _unscaled(pair[side], row, at, exponents, plan)
            where = _place(c, corner, row, at)
            values[i, side] = plan.sums(
                finished_element(value, c.memory, where, corner.product, row, at, factors, epilogue)
            )
    for i in cuda.unroll(range(_ROWS // at_once)):
        line = np.uint32(i * at_once) + lane // np.uint32(across)
        where = _place(c, corner, first_row + line, column)
        if plan.columns == 64:
            c.pairs[where // type(where)(2)] = packed_pair(values[i, 0], values[i, 1], plan.packed)
        else:
            kind = cuda.int32x2 if plan.sums == np.int32 else cuda.float32x2
            cuda.vstore(kind(values[i, 0], values[i, 1]), c.memory, where, aligned=True)


@cuda.jit(device=True)
def _finish_rows(memory, place, c, corner, extents, exponents, lane, factors, epilogue, plan: cuda.constexpr):
    """Store what becomes of the sums that `_leave_pairs` wrote, as far as they are the result's"""
    across = np.uint32(plan.wide // 2)
    last_row, last_column = corner.row + np.uint32(_ROWS), corner.column + np.uint32(plan.wide)
    if last_row <= np.uint32(extents.m) and last_column <= np.uint32(extents.n):
        _finish_whole(memory, place, c, corner, exponents, lane, factors, epilogue, plan)
    else:
        for line in range(lane // across, np.uint32(_ROWS), np.uint32(32) // across):
            row = corner.row + line
            pair = cuda.vload(memory, _held(place, line, lane % across, plan), 2, aligned=True)
            for side in cuda.unroll(range(2)):
                column = corner.column + lane % across * np.uint32(2) + np.uint32(side)
                if row < np.uint32(extents.m) and column < np.uint32(extents.n):
                    value = _unscaled(pair[side], row, column, exponents, plan)
                    _store_one(value, c, corner, row, column, factors, epilogue)


@cuda.jit(device=True)
def finish_tile(sums, memory, place, c, start, extents, exponents, lane, factors, epilogue, plan: cuda.constexpr):
    """Store what becomes of a warp's sums, as far as they are the result's.

    sums: of each 64 rows of its warp group; memory: shared, of which the warp has 16 x 64 elements from ``place`` on;
    c: a `Result`; start: the warp's first row and column.
    """
    thread = np.uint32(lane)
    for block in cuda.unroll(range(plan.tile_m // plan.consumers // 64)):
        for strip in cuda.unroll(range(plan.tile_n // plan.wide)):
            row, column = start.row + np.uint32(block * 64), start.column + np.uint32(strip * plan.wide)
            corner = Corner(start.product, row, column)
            cuda.syncwarp()
            _leave_pairs(sums[block], strip * (plan.wide // 2), memory, place, thread, plan)
            cuda.syncwarp()
            _finish_rows(memory, place, c, corner, extents, exponents, thread, factors, epilogue, plan)
