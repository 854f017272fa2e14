"""What iterative refinement asks beside products and systems: conversions, sums, norms; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.level3.tiles import place, thread_of, tile_of_matrix


@cuda.jit(device=True)
def _size(value, is_complex: cuda.constexpr):
    return abs(value.real) + abs(value.imag) if is_complex else abs(value)


@cuda.jit
def convert(
    source,
    target,
    n,
    m,
    count,
    adds: cuda.constexpr,
    number: cuda.constexpr,
    along: cuda.constexpr,
    threads: cuda.constexpr,
):
    """``target = source``, or with ``adds`` ``target += source``, in the target's type.

    source, target: each a `Strided`, neighbours of a row of the target are so in memory if ``along``. A block for each
    tile of each matrix, with ``threads``.
    """
    kind = type(n)
    matrix, row0, column0, height, width = tile_of_matrix(n, m, count)
    begin, first = source.first + matrix * source.batch, target.first + matrix * target.batch
    across, down = thread_of(kind, threads)
    for line in range(down, height, kind(threads.lines)):
        for step in range(across, width, kind(threads.across)):
            row, column = row0 + line, column0 + step
            value = number(source.memory[place(source, begin, row, column, False)])
            at = place(target, first, row, column, along)
            target.memory[at] = target.memory[at] + value if adds else value


@cuda.jit
def sum_rows(a, n, count, sums, real: cuda.constexpr, is_complex: cuda.constexpr):
    """Of each row of square matrices the sum of magnitudes: ``sums[matrix * n + row]``; a thread for each row."""
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    matrix, row = i // n, i % n
    if matrix < count:
        total = real(0)
        for column in range(n):
            value = a.memory[a.first + matrix * a.batch + row * a.down + column * a.right]
            total += _size(value, is_complex)
        sums[i] = total


@cuda.jit
def compare_columns(r, x, n, m, count, norms, tolerance, far, is_complex: cuda.constexpr):
    """``far[matrix * m + column]``: 1 unless a residual is small beside its solution, 0 if it is.

    r, x: (n, m); norms: (count, n), sums of rows of the matrices, the largest of which is the norm. Small: the largest
    magnitude of r is at most ``tolerance`` times the norm times the largest one of x. A thread for each column.
    """
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    matrix, column = i // m, i % m
    if matrix < count:
        residual, solution, norm = type(tolerance)(0), type(tolerance)(0), type(tolerance)(0)
        known = True
        for row in range(n):
            one = _size(r.memory[r.first + matrix * r.batch + row * r.down + column * r.right], is_complex)
            other = _size(x.memory[x.first + matrix * x.batch + row * x.down + column * x.right], is_complex)
            if not one < np.inf or not other < np.inf:  # infinite, or NaN
                known = False
            residual, solution = max(residual, one), max(solution, other)
            norm = max(norm, norms[matrix * n + row])
        far[i] = 0 if known and residual <= tolerance * norm * solution else 1
