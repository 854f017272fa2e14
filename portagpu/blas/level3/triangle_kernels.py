"""Triangles of matrices: expanded to full matrices, filled from sums, scaled; in the dialect.

All kernels know lower triangles; an upper one is the lower one of the transposed view. Grids are one-dimensional: for
each matrix of a batch, a block for each tile on or below the diagonal.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level3.tiles import (
    TILE,
    inside,
    place,
    read_tile,
    scaled,
    thread_of,
    tile_of_matrix,
    tile_of_triangle,
)

SYMMETRIC, HERMITIAN, ZEROS = range(3)
"""What is beyond the diagonal of an expanded triangle: the transposed elements, their conjugates, or zeros."""

NOTHING, SUMS, WITH_TRANSPOSED, WITH_ADJOINT = range(4)
"""What is added to a triangle: nothing, sums, sums and their transpose, or sums and their conjugate transpose."""


class Expansion(NamedTuple):
    """What is known when `expand_triangle` is compiled.

    ``beyond``: of SYMMETRIC and so on; ``unit``: ones are on the diagonal, which is not read; ``conjugate``: of all;
    ``source_along``, ``full_along``: neighbours of a row are so in memory.
    """

    threads: Any
    number: Any
    beyond: int
    unit: bool
    conjugate: bool
    is_complex: bool
    source_along: bool
    full_along: bool


class Update(NamedTuple):
    """What is known when `update_triangle` is compiled.

    ``added``: of NOTHING and so on; ``beta_form``: of `tiles.factor_form`; ``strict``: without the diagonal;
    ``real_diagonal``: its imaginary parts are not read, and become zero.
    """

    threads: Any
    number: Any
    added: int
    beta_form: int
    strict: bool
    real_diagonal: bool
    is_complex: bool
    sums_along: bool
    target_along: bool


@cuda.jit(device=True)
def _tile(plan: cuda.constexpr):
    """A tile of a block's own."""
    if plan.threads.across * plan.threads.lines == 1:
        return cuda.local.array((TILE, TILE), plan.number)
    return cuda.shared.array((TILE, TILE + 1), plan.number)


@cuda.jit(device=True)
def _mirrored(tile, r, c, plan: cuda.constexpr):
    """Element [c, r] of the full matrix, whose [r, c] is below the diagonal."""
    if plan.beyond == ZEROS:
        return plan.number(0)
    if plan.is_complex and plan.conjugate != (plan.beyond == HERMITIAN):
        return tile[r, c].conjugate()
    return tile[r, c]


@cuda.jit(device=True)
def _named(tile, r, c, plan: cuda.constexpr):
    """Element [r, c] below the diagonal."""
    return tile[r, c].conjugate() if plan.is_complex and plan.conjugate else tile[r, c]


@cuda.jit(device=True)
def _of_diagonal_tile(tile, r, c, plan: cuda.constexpr):
    """Element [r, c] of a tile on the diagonal."""
    if r > c:
        return _named(tile, r, c, plan)
    if r < c:
        return _mirrored(tile, c, r, plan)
    if plan.unit:
        return plan.number(1)
    if plan.beyond == HERMITIAN:
        return plan.number(tile[r, c].real)
    return _named(tile, r, c, plan)


@cuda.jit
def expand_triangle(source, full, n, count, plan: cuda.constexpr):
    """``full``: the matrices of n rows that the lower triangles of ``source`` stand for; each element is read once.

    source, full: each a `Strided`; count: matrices; plan: an `Expansion`.
    """
    kind = type(n)
    threads = plan.threads
    one = threads.across * threads.lines == 1
    tile = _tile(plan)
    x, y = thread_of(kind, threads)
    tiles = (n + kind(TILE - 1)) // kind(TILE)
    half = (tiles + kind(1)) // kind(2)
    blocks = half * (kind(2) * half + kind(1))
    block = kind(cuda.blockIdx.x)
    matrix = block // blocks
    i, j = tile_of_triangle(block - matrix * blocks, tiles)
    row0, column0 = i * kind(TILE), j * kind(TILE)
    rows, columns = inside(n, row0), inside(n, column0)
    start, target = source.first + matrix * source.batch, full.first + matrix * full.batch
    if i != j:
        read_tile(tile, source, start, (row0, column0), (rows, columns), (x, y), plan.source_along, threads)
    else:
        for line in range(y, columns, kind(threads.lines)):
            for step in range(x, columns, kind(threads.across)):
                r, c = (line, step) if plan.source_along else (step, line)
                if c < r or (c == r and not plan.unit):
                    tile[r, c] = source.memory[place(source, start, row0 + r, column0 + c, plan.source_along)]
    if not one:
        cuda.syncthreads()
    if i == j:
        for line in range(y, rows, kind(threads.lines)):
            for step in range(x, rows, kind(threads.across)):
                r, c = (line, step) if plan.full_along else (step, line)
                at = place(full, target, row0 + r, column0 + c, plan.full_along)
                full.memory[at] = _of_diagonal_tile(tile, r, c, plan)
    elif plan.full_along:
        for r in range(y, rows, kind(threads.lines)):
            for c in range(x, columns, kind(threads.across)):
                full.memory[place(full, target, row0 + r, column0 + c, True)] = _named(tile, r, c, plan)
        for c in range(y, columns, kind(threads.lines)):
            for r in range(x, rows, kind(threads.across)):
                full.memory[place(full, target, column0 + c, row0 + r, True)] = _mirrored(tile, r, c, plan)
    else:
        for c in range(y, columns, kind(threads.lines)):
            for r in range(x, rows, kind(threads.across)):
                full.memory[place(full, target, row0 + r, column0 + c, False)] = _named(tile, r, c, plan)
        for r in range(y, rows, kind(threads.lines)):
            for c in range(x, columns, kind(threads.across)):
                full.memory[place(full, target, column0 + c, row0 + r, False)] = _mirrored(tile, r, c, plan)


@cuda.jit(device=True)
def _sum_at(sums, start, at, tile, own, plan: cuda.constexpr):
    """What is added to element ``at`` (row, column), which is ``own`` in the transposed tile."""
    r, c = own
    value = sums.memory[place(sums, start, at[0], at[1], plan.sums_along)]
    if plan.added == WITH_TRANSPOSED:
        return value + tile[c, r]
    if plan.added == WITH_ADJOINT:
        return value + tile[c, r].conjugate()
    return value


@cuda.jit(device=True)
def _updated(target, at, beta, added, on_diagonal, plan: cuda.constexpr):
    """The new value of an element: what is added, and beta times the old one."""
    value = added
    if plan.beta_form > 0:
        old = target.memory[at]
        if plan.real_diagonal:
            old = plan.number(old.real) if on_diagonal else old
        value = added + scaled(old, beta, plan.beta_form, plan.is_complex)
    if plan.real_diagonal:
        value = plan.number(value.real) if on_diagonal else value
    return value


@cuda.jit
def update_triangle(sums, target, n, count, beta, plan: cuda.constexpr):
    """``target = sums (+ its transpose) + beta * target`` in the lower triangles of matrices of n rows.

    sums, target: each a `Strided`; count: matrices; plan: an `Update`, which says whether ``sums`` or the old elements
    are read at all.
    """
    kind = type(n)
    threads = plan.threads
    turned = plan.added >= WITH_TRANSPOSED
    tile = _tile(plan) if turned else plan.number(0)
    x, y = thread_of(kind, threads)
    tiles = (n + kind(TILE - 1)) // kind(TILE)
    half = (tiles + kind(1)) // kind(2)
    blocks = half * (kind(2) * half + kind(1))
    block = kind(cuda.blockIdx.x)
    matrix = block // blocks
    i, j = tile_of_triangle(block - matrix * blocks, tiles)
    row0, column0 = i * kind(TILE), j * kind(TILE)
    rows, columns = inside(n, row0), inside(n, column0)
    start, first = sums.first + matrix * sums.batch, target.first + matrix * target.batch
    if turned:
        read_tile(tile, sums, start, (column0, row0), (columns, rows), (x, y), plan.sums_along, threads)
        if threads.across * threads.lines > 1:
            cuda.syncthreads()
    for line in range(y, rows if plan.target_along else columns, kind(threads.lines)):
        for step in range(x, columns if plan.target_along else rows, kind(threads.across)):
            r, c = (line, step) if plan.target_along else (step, line)
            row, column = row0 + r, column0 + c
            if column < row or (column == row and not plan.strict):
                at = place(target, first, row, column, plan.target_along)
                if plan.added == NOTHING:
                    added = plan.number(0)
                else:
                    added = _sum_at(sums, start, (row, column), tile, (r, c), plan)
                target.memory[at] = _updated(target, at, beta, added, row == column, plan)


@cuda.jit
def set_identity(a, n, m, count, along: cuda.constexpr, threads: cuda.constexpr):
    """Ones on the diagonals of n x m matrices, zeros elsewhere.

    a: a `Strided`, neighbours of a row of which are so in memory if ``along``. A block for each tile of each matrix,
    with ``threads``.
    """
    matrix, row0, column0, height, width = tile_of_matrix(n, m, count)
    first = a.first + matrix * a.batch
    across, down = thread_of(type(n), threads)
    for line in range(down, height, type(n)(threads.lines)):
        for step in range(across, width, type(n)(threads.across)):
            row, column = row0 + line, column0 + step
            a.memory[place(a, first, row, column, along)] = 1 if row == column else 0
