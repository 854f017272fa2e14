"""Triangles of matrices: subtracted, cleared, copied; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit
def subtract_triangles(c, x, n, last, count, is_complex: cuda.constexpr, along: cuda.constexpr):
    """``c -= x`` in lower triangles of matrices of n rows, of which the last one has ``last``; of complex ones the
    diagonal becomes real.

    c, x: each a `Strided`. A thread for each element, those of a row side by side if ``along``, else of a column.
    """
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    line, place = i // n, i % n
    matrix, line = line // n, line % n
    row = line if along else place
    column = place if along else line
    rows = last if matrix + kind(1) == count else n
    if matrix < count and row < rows and column <= row:
        at = c.first + matrix * c.batch + row * c.down + column * c.right
        value = c.memory[at] - x.memory[x.first + matrix * x.batch + row * x.down + column * x.right]
        if is_complex and row == column:
            value = type(value)(value.real)
        c.memory[at] = value


@cuda.jit
def clear_triangles(a, n, m, count, lower: cuda.constexpr, diagonal: cuda.constexpr):
    """Zeros beyond the lower, or the upper, triangles of n x m matrices, with ``diagonal`` ones on their diagonals.

    a: a `Strided`. A thread for each element, a row's side by side.
    """
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    row, column = i // m, i % m
    matrix, row = row // n, row % n
    if matrix < count:
        at = a.first + matrix * a.batch + row * a.down + column * a.right
        if (column > row) if lower else (column < row):
            a.memory[at] = 0
        elif diagonal and column == row:
            a.memory[at] = 1


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
def copy_triangles(source, target, n, count, diagonal: cuda.constexpr):
    """The lower triangles of matrices of n rows, with ``diagonal`` their diagonals, too; a thread for each element."""
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    row, column = i // n, i % n
    matrix, row = row // n, row % n
    if matrix < count and (column < row or (diagonal and column == row)):
        target.memory[target.first + matrix * target.batch + row * target.down + column * target.right] = source.memory[
            source.first + matrix * source.batch + row * source.down + column * source.right
        ]
