"""Steps 1 and 2: a thread for each element of C. They differ in one line: which index runs along ``threadIdx.x``."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda


@cuda.jit
def naive(a, b, c):
    """Threads that run together take elements of one column of C: each reads a row of A of its own."""
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = c.dtype.type(0)
        for k in range(a.shape[1]):
            total = cuda.fma(a[row, k], b[k, column], total)
        c[row, column] = total


@cuda.jit
def coalesced(a, b, c):
    """Threads that run together take elements of one row of C: they read neighbours of B and one element of A."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = c.dtype.type(0)
        for k in range(a.shape[1]):
            total = cuda.fma(a[row, k], b[k, column], total)
        c[row, column] = total
