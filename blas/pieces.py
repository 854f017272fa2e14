"""Sums along k that several blocks compute in pieces: where the pieces go, and the kernel that adds them up."""

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.runtime.array import DeviceNDArray, device_array


def workspace(c: DeviceNDArray, pieces: int, dtype: str) -> DeviceNDArray:
    """Memory for the pieces of every element of c, piece by piece: (pieces, batch, m, n), flat."""
    return device_array((pieces * c.size,), np.dtype(dtype), context=c.context)


@cuda.jit
def sum_pieces(pieces, c, pitch, batch, n, size, total, count, alpha, beta):
    """``c = alpha * (sum of pieces) + beta * c``, always added in the same order.

    pieces: ``count`` times ``total`` elements: matrices of ``size`` elements in rows of n. c: memory of the matrices, in
    rows ``pitch`` and matrices ``batch`` elements apart. Any one-dimensional grid.
    """
    first = np.uint32(cuda.grid(1))
    step = np.uint32(cuda.gridsize(1))
    for i in range(first, total, step):
        value = pieces[i]
        for piece in range(np.uint32(1), count):
            value += pieces[i + piece * total]
        within = i % size
        at = i // size * batch + within // n * pitch + within % n
        value *= alpha
        if beta != 0:
            value += beta * c[at]
        c[at] = value
