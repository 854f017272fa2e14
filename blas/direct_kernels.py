"""GEMM for problems too small for tiles: one thread for each element of C; in the dialect."""

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit
def multiply_elements(a, b, c):
    """``c = a @ b``; a: (m, k), b: (k, n), c: (m, n), any strides. A two-dimensional grid covers (n, m)."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = a.dtype.type(0)
        for k in range(np.int32(a.shape[1])):
            total = cuda.fma(a[row, k], b[k, column], total)
        c[row, column] = total
