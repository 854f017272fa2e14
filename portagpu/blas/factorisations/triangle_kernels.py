"""Triangles of matrices: subtracted, cleared, copied; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.level3.tiles import place, thread_of, tile_of_matrix


@cuda.jit(device=True)
def columns_up_to(row, column0, columns):
    """Of a tile's columns, how many are not beyond column ``row``, the last one that counts."""
    kind = type(row)
    return min(columns, row + kind(1) - min(row + kind(1), column0))


@cuda.jit
def subtract_triangles(
    c, x, n, last, count, is_complex: cuda.constexpr, along: cuda.constexpr, threads: cuda.constexpr
):
    """``c -= x`` in lower triangles of matrices of n rows, of which the last one has ``last``; of complex ones the
    diagonal becomes real.

    c, x: each a `Strided`, neighbours of a row of which are so in memory if ``along``. A block for each tile of each
    matrix, with ``threads``.
    """
    kind = type(n)
    matrix, row0, column0, height, width = tile_of_matrix(n, n, count)
    first_c, first_x = c.first + matrix * c.batch, x.first + matrix * x.batch
    across, down = thread_of(kind, threads)
    rows = last if matrix + kind(1) == count else n
    height = min(height, rows - min(rows, row0))
    for line in range(down, height if along else width, kind(threads.lines)):
        if along:
            begin, end = kind(0), columns_up_to(row0 + line, column0, width)
        else:
            before = column0 + line
            begin, end = min(height, before - min(before, row0)), height
        for step in range(begin + across, end, kind(threads.across)):
            row, column = (row0 + line, column0 + step) if along else (row0 + step, column0 + line)
            at = place(c, first_c, row, column, False)
            value = c.memory[at] - x.memory[place(x, first_x, row, column, False)]
            if is_complex and row == column:
                value = type(value)(value.real)
            c.memory[at] = value


@cuda.jit
def clear_triangles(
    a,
    n,
    m,
    count,
    lower: cuda.constexpr,
    diagonal: cuda.constexpr,
    along: cuda.constexpr,
    threads: cuda.constexpr,
):
    """Zeros beyond the lower, or the upper, triangles of n x m matrices, with ``diagonal`` ones on their diagonals.

    a: a `Strided`, neighbours of a row of which are so in memory if ``along``. A block for each tile of each matrix,
    with ``threads``.
    """
    kind = type(n)
    matrix, row0, column0, height, width = tile_of_matrix(n, m, count)
    first = a.first + matrix * a.batch
    across, down = thread_of(kind, threads)
    for line in range(down, height, kind(threads.lines)):
        row = row0 + line
        inner = columns_up_to(row, column0, width)  # with the diagonal
        is_here = row >= column0 and inner > row - min(row, column0)
        if lower:
            begin, end = inner, width
        else:
            begin, end = kind(0), inner - kind(is_here)
        for step in range(begin + across, end, kind(threads.across)):
            a.memory[place(a, first, row, column0 + step, along)] = 0
        if diagonal and is_here and across == 0:
            a.memory[place(a, first, row, row, along)] = 1


@cuda.jit
def find_first_zero(a, n, info, threads: cuda.constexpr):
    """Of each matrix the first row whose diagonal element is 0, counted from 1, or 0 if none is, to info.

    a: a `Strided`. A block of ``threads`` for each matrix.
    """
    kind = type(n)
    found = cuda.shared.array(threads, kind)
    thread = kind(cuda.threadIdx.x)
    matrix = kind(cuda.blockIdx.x)
    first = n
    for row in range(thread, n, kind(threads)):
        if first == n and a.memory[a.first + matrix * a.batch + row * (a.down + a.right)] == 0:
            first = row
    found[thread] = first
    cuda.syncthreads()
    if thread == 0:
        for t in range(kind(threads)):
            first = min(first, found[t])
        info[matrix] = np.int32(first) + 1 if first < n else np.int32(0)


@cuda.jit
def copy_triangles(source, target, n, count, diagonal: cuda.constexpr, threads: cuda.constexpr):
    """The lower triangles of matrices of n rows, with ``diagonal`` their diagonals, too.

    source, target: each a `Strided`. A block for each tile of each matrix, with ``threads``.
    """
    kind = type(n)
    matrix, row0, column0, height, width = tile_of_matrix(n, n, count)
    first, begin = target.first + matrix * target.batch, source.first + matrix * source.batch
    across, down = thread_of(kind, threads)
    for line in range(down, height, kind(threads.lines)):
        row = row0 + line
        inner = columns_up_to(row, column0, width)
        if not diagonal and inner > 0 and column0 + inner > row:
            inner -= kind(1)
        for step in range(across, inner, kind(threads.across)):
            column = column0 + step
            target.memory[place(target, first, row, column, False)] = source.memory[
                place(source, begin, row, column, False)
            ]
