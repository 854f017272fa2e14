"""Kernels that tests export: each with a signature, what the host program is told, and the block it launches."""

import math

import numpy as np

from portagpu import cuda


@cuda.jit("void(float32[::1], float32[::1], float32, int32)")
def scaled(x, y, factor, n):
    """Two arrays and two numbers."""
    i = cuda.grid(1)
    if i < n and i < y.size:
        y[i] = factor * x[i] + math.sqrt(x[i])


@cuda.jit
def product(a, b, c):
    """Layouts, two axes, static shared memory and barriers."""
    tile = cuda.shared.array((8, 8), np.float32)
    i, j = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for first in range(0, a.shape[1], 8):
        tile[x, y] = a[i, first + y] if i < a.shape[0] and first + y < a.shape[1] else 0
        cuda.syncthreads()
        for k in range(8):
            if first + k < b.shape[0] and j < b.shape[1]:
                total += tile[x, k] * b[first + k, j]
        cuda.syncthreads()
    if i < c.shape[0] and j < c.shape[1]:
        c[i, j] = total


@cuda.jit
def reversed_blocks(x):
    """Dynamic shared memory."""
    tile = cuda.shared.array(0, np.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncthreads()
    x[i] = tile[cuda.blockDim.x - 1 - t]


@cuda.jit
def many_types(h, b, z, flags, counts, w):
    """Halves, bits of bfloat16, complex numbers, bools, 64-bit atomics, a complex number."""
    i = cuda.grid(1)
    if i < h.size:
        h[i] = h[i] * 2
        b[i] = b[i] + 1
        z[i] = z[i] * w
        flags[i] = not flags[i]
        cuda.atomic.add(counts, 0, i)


@cuda.jit(debug=True, opt=False)
def checked(x, limit):
    """An exception."""
    i = cuda.grid(1)
    if i < x.size:
        if x[i] > limit:
            raise ValueError("too large")
        x[i] += 1


@cuda.jit
def warps(x):
    """Warp operations, which go through shared memory."""
    i = cuda.grid(1)
    x[i] = cuda.shfl_down_sync(0xFFFFFFFF, x[i], 1)
