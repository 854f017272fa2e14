"""Kernels whose work is known."""

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda

TILE = 8


@cuda.jit
def vector_add(a, b, total):
    i = cuda.grid(1)
    if i < total.size:
        total[i] = a[i] + b[i]


@cuda.jit
def saxpy(a, x, y):
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]


@cuda.jit
def fused_saxpy(a, x, y):
    i = cuda.grid(1)
    if i >= x.size:
        return
    y[i] = cuda.fma(a, x[i], y[i])


@cuda.jit
def five_points(source, target):
    row, column = cuda.grid(2)
    rows, columns = source.shape
    if row >= rows or column >= columns:
        return
    if row == 0 or column == 0 or row == rows - 1 or column == columns - 1:
        target[row, column] = source[row, column]
    else:
        around = source[row - 1, column] + source[row + 1, column] + source[row, column - 1] + source[row, column + 1]
        target[row, column] = np.float32(0.25) * around


@cuda.jit
def transposed(source, target):
    tile = cuda.shared.array((TILE, TILE + 1), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + y, cuda.blockIdx.x * TILE + x
    if row < source.shape[0] and column < source.shape[1]:
        tile[y, x] = source[row, column]
    cuda.syncthreads()
    row, column = cuda.blockIdx.x * TILE + y, cuda.blockIdx.y * TILE + x
    if row < target.shape[0] and column < target.shape[1]:
        target[row, column] = tile[x, y]


@cuda.jit
def naive_product(a, b, c):
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def tiled_product(a, b, c):
    ours, theirs = cuda.shared.array((TILE, TILE), np.float32), cuda.shared.array((TILE, TILE), np.float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    column, row = cuda.grid(2)
    total = np.float32(0)
    for first in range(0, a.shape[1], TILE):
        ours[y, x] = a[row, first + x] if row < a.shape[0] and first + x < a.shape[1] else np.float32(0)
        theirs[y, x] = b[first + y, column] if first + y < b.shape[0] and column < b.shape[1] else np.float32(0)
        cuda.syncthreads()
        for k in range(TILE):
            total += ours[y, k] * theirs[k, x]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def block_sums(x, sums):
    tile = cuda.shared.array(64, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = x[i] if i < x.size else np.float32(0)
    cuda.syncthreads()
    width = cuda.blockDim.x // 2
    while width > 0:
        if t < width:
            tile[t] += tile[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


@cuda.jit
def histogram(values, counts):
    mine = cuda.shared.array(16, np.int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t < 16:
        mine[t] = 0
    cuda.syncthreads()
    if i < values.size:
        cuda.atomic.add(mine, values[i], 1)
    cuda.syncthreads()
    if t < 16 and mine[t] > 0:
        cuda.atomic.add(counts, t, mine[t])


@cuda.jit
def mandelbrot(steps, width, height, most):
    i, j = cuda.grid(2)
    if i >= height or j >= width:
        return
    real, imag = np.float32(j) * np.float32(0.1) - np.float32(2), np.float32(i) * np.float32(0.1) - np.float32(1)
    x = y = np.float32(0)
    count = 0
    while count < most and x * x + y * y < np.float32(4):
        x, y = x * x - y * y + real, np.float32(2) * x * y + imag
        count += 1
    steps[i, j] = count


@cuda.jit(device=True)
def horner(coefficients, x):
    total = np.float64(0)
    for n in range(coefficients.size):
        total = total * x + coefficients[n]
    return total


@cuda.jit(device=True)
def twice(x):
    return x + x


@cuda.jit(device=True)
def lower_bits(n):
    return n & 7


@cuda.jit(device=True)
def beyond(x, limit):
    return twice(x) * x > limit and lower_bits(cuda.grid(1)) < 8


@cuda.jit
def guarded(x, y):
    """Device functions in conditions that decide what else is computed, and in each lane of a vector."""
    i = cuda.grid(1)
    if i >= y.size:
        return
    k = 0
    while beyond(x[i], np.float32(k)) and x[i] * np.float32(2) > np.float32(k):
        k += 1
    y[i] = twice(x[i]) if beyond(x[i], np.float32(9)) or x[i] < np.float32(-2) else np.float32(k)


@cuda.jit
def twice_in_lanes(x, y):
    v = cuda.vload(x, 0, 4)
    cuda.vstore(cuda.float32x4(twice(v[0]), twice(v[1]), twice(v[2]), twice(v[3])), y, 0)


@cuda.jit
def polynomial(coefficients, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = math.sqrt(horner(coefficients, x[i])) / x[i]


@cuda.jit
def complex_step(z, c):
    i = cuda.grid(1)
    if i < z.size:
        z[i] = z[i] * z[i] + c[i]


@cuda.jit
def warp_sums(x, sums):
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(0)
    for width in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, width)
    if cuda.laneid == 0:
        sums[i // 32] = value


@cuda.jit
def vectors(x, y):
    i = cuda.grid(1)
    if i < x.size // 4:
        cuda.vstore(cuda.vload(x, 4 * i, 4) * np.float32(2), y, 4 * i)


@cuda.jit
def first_negative(x, places):
    """Left early, skipped, and short circuits: each row until its first negative number."""
    row = cuda.grid(1)
    if row >= x.shape[0]:
        return
    k = 0
    while k < x.shape[1] and x[row, k] >= np.float32(0):
        k += 1
        if k % 2 == 0:
            continue
        if x[row, k - 1] > np.float32(100):
            break
    places[row] = k
