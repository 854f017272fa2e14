"""Sums of two matrices, transposed, conjugated, scaled, and products with diagonal matrices; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level3.tiles import TILE, place, read_tile, scaled, thread_of, tile_of_matrix

NO_DIAGONAL, ROWS, COLUMNS = range(3)
"""Of a diagonal matrix in a product: there is none, it scales rows (it is on the left), or columns."""


NO_TILE, OWN_TILE, SHARED_TILE = range(3)
"""Where what lies across the target is turned: nowhere, in the tile of a block of one thread, in one threads share."""


class Addend(NamedTuple):
    """A matrix of a sum as it is known when the kernel is compiled.

    ``form``: of its factor, see `tiles.factor_form`; 0: it is not read. ``along``: neighbours of a row are so in
    memory. ``across``: neighbours of the target are so in the other direction, so that it is turned in the tile.
    """

    form: int
    along: bool
    across: bool
    conjugate: bool


class Combination(NamedTuple):
    """What is known when `combine` is compiled."""

    threads: Any
    number: Any
    is_complex: bool
    first: Addend
    second: Addend
    tile: int
    diagonal: int
    target_along: bool


@cuda.jit(device=True)
def _own_tile(plan: cuda.constexpr):
    """The tile of a block of one thread, or a number where nothing is turned."""
    if plan.tile == NO_TILE:
        return plan.number(0)
    return cuda.local.array((TILE, TILE), plan.number)


@cuda.jit(device=True)
def _value(matrix, tile, start, at, own, factor, addend: cuda.constexpr, turned: cuda.constexpr, plan: cuda.constexpr):
    """A term of the sum: element ``at`` (row, column), which is ``own`` in the tile where the term is ``turned``."""
    if addend.form == 0:
        return plan.number(0)
    if turned:
        value = tile[own[0], own[1]]
    else:
        value = matrix.memory[place(matrix, start, at[0], at[1], addend.along)]
    if plan.is_complex and addend.conjugate:
        value = value.conjugate()
    return scaled(value, factor, addend.form, plan.is_complex)


@cuda.jit(device=True)
def _sum(a, b, tile, starts, at, own, factors, turned: cuda.constexpr, plan: cuda.constexpr):
    """An element of the sum; turned: whether what lies across is in the tile."""
    value = _value(a, tile, starts[0], at, own, factors[0], plan.first, turned and plan.first.across, plan)
    if plan.second.form > 0:
        second = _value(b, tile, starts[1], at, own, factors[1], plan.second, turned and plan.second.across, plan)
        value = value + second
    return value


@cuda.jit
def combine(a, b, diagonal, target, sizes, alpha, beta, plan: cuda.constexpr):
    """``target = alpha * a + beta * b``, rows or columns times a diagonal; sizes: rows, columns, matrices.

    a, b, diagonal (one column), target: each a `Strided`; plan: a `Combination`. The grid is one-dimensional: for each
    matrix of a batch, a block for each tile. A block reads its elements before it writes any, and no other's. The tile
    is a term's, or, of two that lie across the target, their sum's.
    """
    rows, columns, count = sizes
    kind = type(rows)
    threads = plan.threads
    tile = cuda.shared.array((TILE, TILE + 1), plan.number) if plan.tile == SHARED_TILE else _own_tile(plan)
    matrix, row0, column0, height, width = tile_of_matrix(rows, columns, count)
    extents = height, width
    thread = thread_of(kind, threads)
    x, y = thread
    starts = a.first + matrix * a.batch, b.first + matrix * b.batch
    if plan.first.across and plan.second.across:
        for line in range(y, extents[1] if plan.target_along else extents[0], kind(threads.lines)):
            for step in range(x, extents[0] if plan.target_along else extents[1], kind(threads.across)):
                r, c = (step, line) if plan.target_along else (line, step)
                at = row0 + r, column0 + c
                tile[r, c] = _sum(a, b, tile, starts, at, (r, c), (alpha, beta), False, plan)
    elif plan.first.across:
        read_tile(tile, a, starts[0], (row0, column0), extents, thread, plan.first.along, threads)
    elif plan.second.across:
        read_tile(tile, b, starts[1], (row0, column0), extents, thread, plan.second.along, threads)
    if plan.tile == SHARED_TILE:
        cuda.syncthreads()
    factors, start = diagonal.first + matrix * diagonal.batch, target.first + matrix * target.batch
    for line in range(y, extents[0] if plan.target_along else extents[1], kind(threads.lines)):
        for step in range(x, extents[1] if plan.target_along else extents[0], kind(threads.across)):
            r, c = (line, step) if plan.target_along else (step, line)
            row, column = row0 + r, column0 + c
            if plan.first.across and plan.second.across:
                value = tile[r, c]
            else:
                value = _sum(a, b, tile, starts, (row, column), (r, c), (alpha, beta), True, plan)
            if plan.diagonal > 0:
                index = row if plan.diagonal == ROWS else column
                value = value * diagonal.memory[factors + index * diagonal.down]
            target.memory[place(target, start, row, column, plan.target_along)] = value
