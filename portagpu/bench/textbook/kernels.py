"""The kernels of GPU textbooks, as the dialect's users write them; `cuda_texts` has each in CUDA C."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

import math

import numpy as np

from portagpu import cuda
from portagpu.cuda.random import xoroshiro128p_uniform_float32

TILE = 16  # rows and columns of a block's tile of a product
SIDE = 32  # of a tile that is transposed, by blocks of SIDE x ROWS threads
ROWS = 8
BODIES = 128  # threads of a block that share a tile of bodies
BINS = 64
THREADS = 256  # of a block that adds or sorts
CHUNK = 2 * THREADS
STEPS = 1024  # of the chain
SOFTENING = 0.01


@cuda.jit
def saxpy(a, x, y):
    """``y = a * x + y``, a thread for each element."""
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@cuda.jit
def saxpy_strided(a, x, y):
    """The same with a grid-stride loop."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        y[i] = a * x[i] + y[i]


@cuda.jit
def stencil(old, new):
    """Half of each element and an eighth of its four neighbours."""
    x, y = cuda.grid(2)
    rows, columns = old.shape
    if 0 < y < rows - 1 and 0 < x < columns - 1:
        around = old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1]
        new[y, x] = 0.5 * old[y, x] + 0.125 * around


@cuda.jit
def transpose(source, target):
    """Through a tile in shared memory, whose rows are an element longer, so that columns lie in different banks."""
    tile = cuda.shared.array((SIDE, SIDE + 1), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * SIDE + tx, cuda.blockIdx.y * SIDE + ty
    for j in range(0, SIDE, ROWS):
        if x < source.shape[1] and y + j < source.shape[0]:
            tile[ty + j, tx] = source[y + j, x]
    cuda.syncthreads()
    x, y = cuda.blockIdx.y * SIDE + tx, cuda.blockIdx.x * SIDE + ty
    for j in range(0, SIDE, ROWS):
        if x < target.shape[1] and y + j < target.shape[0]:
            target[y + j, x] = tile[tx, ty + j]


@cuda.jit
def matmul_naive(a, b, c):
    """``c = a @ b``, a thread for each element."""
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def matmul_tiled(a, b, c):
    """The same with tiles of both operands in shared memory."""
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    column, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, a.shape[1], TILE):
        inside_a = row < a.shape[0] and start + tx < a.shape[1]
        inside_b = column < b.shape[1] and start + ty < b.shape[0]
        tile_a[ty, tx] = a[row, start + tx] if inside_a else 0.0
        tile_b[ty, tx] = b[start + ty, column] if inside_b else 0.0
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


@cuda.jit
def n_body(bodies, acceleration):
    """All pairs, in tiles of shared memory."""
    tile = cuda.shared.array((BODIES, 4), np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = bodies.shape[0]
    me = min(i, n - 1)
    x, y, z = bodies[me, 0], bodies[me, 1], bodies[me, 2]
    ax = ay = az = np.float32(0)
    for start in range(0, n, BODIES):
        for axis in range(4):
            tile[t, axis] = bodies[start + t, axis] if start + t < n else np.float32(0)
        cuda.syncthreads()
        for k in range(BODIES):
            dx, dy, dz = tile[k, 0] - x, tile[k, 1] - y, tile[k, 2] - z
            squared = dx * dx + dy * dy + dz * dz + SOFTENING
            strength = tile[k, 3] / (squared * math.sqrt(squared))
            ax += strength * dx
            ay += strength * dy
            az += strength * dz
        cuda.syncthreads()
    if i < n:
        acceleration[i, 0], acceleration[i, 1], acceleration[i, 2] = ax, ay, az


@cuda.jit(device=True)
def normal_cdf(x):
    """The normal distribution."""
    return 0.5 * math.erfc(-x * math.sqrt(0.5))


@cuda.jit
def black_scholes(price, strike, years, rate, volatility, call, put):
    """Prices of options in a grid-stride loop."""
    for i in range(cuda.grid(1), price.size, cuda.gridsize(1)):
        s, x, t = price[i], strike[i], years[i]
        spread = volatility * math.sqrt(t)
        d1 = (math.log(s / x) + (rate + 0.5 * volatility * volatility) * t) / spread
        d2 = d1 - spread
        discounted = x * math.exp(-rate * t)
        call[i] = s * normal_cdf(d1) - discounted * normal_cdf(d2)
        put[i] = discounted * normal_cdf(-d2) - s * normal_cdf(-d1)


@cuda.jit(device=True)
def escape_time(c_re, c_im, most):
    """Iterations until z = z * z + c leaves the circle of radius 2."""
    z_re = z_im = np.float32(0)
    for i in range(most):
        z_re, z_im = z_re * z_re - z_im * z_im + c_re, 2.0 * z_re * z_im + c_im
        if z_re * z_re + z_im * z_im >= 4.0:
            return i
    return most


@cuda.jit
def mandelbrot(left, top, step, image, most):
    """A thread for each pixel."""
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        image[y, x] = escape_time(left + np.float32(x) * step, top + np.float32(y) * step, most)


@cuda.jit
def histogram(values, counts):
    """Counts of each block in shared memory, then of all."""
    block_counts = cuda.shared.array(BINS, np.int32)
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        block_counts[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        b = min(int(values[i] * BINS), BINS - 1)
        cuda.atomic.add(block_counts, b, 1)
    cuda.syncthreads()
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, block_counts[b])


@cuda.jit
def sum_blocks(values, partial):
    """partial[block] = sum of what the block's threads walk over, by a tree in shared memory."""
    cache = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    cache[t] = total
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if t < width:
            cache[t] += cache[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = cache[0]


@cuda.jit
def sum_warps(values, partial):
    """partial[warp] = sum of what the warp's threads walk over, by shuffles."""
    total = np.float32(0)
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        total += values[i]
    delta = 16
    while delta > 0:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, delta)
        delta //= 2
    if cuda.laneid == 0:
        partial[cuda.grid(1) // 32] = total


@cuda.jit
def bitonic_blocks(source, target):
    """Each block sorts its chunk in shared memory."""
    chunk = cuda.shared.array(CHUNK, np.float32)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * CHUNK
    chunk[t] = source[start + t]
    chunk[t + THREADS] = source[start + t + THREADS]
    run = 2
    while run <= CHUNK:
        distance = run // 2
        while distance > 0:
            cuda.syncthreads()
            low = 2 * t - (t & (distance - 1))
            high = low + distance
            upwards = low & run == 0
            if (chunk[low] > chunk[high]) == upwards:
                chunk[low], chunk[high] = chunk[high], chunk[low]
            distance //= 2
        run *= 2
    cuda.syncthreads()
    target[start + t] = chunk[t]
    target[start + t + THREADS] = chunk[t + THREADS]


@cuda.jit
def chain(x, y):
    """Dependent steps in float64."""
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        for _ in range(STEPS):
            v = v * 0.999 + 0.001
        y[i] = v


@cuda.jit
def count_inside(states, inside, samples):
    """Random points of a square that lie inside of the circle."""
    i = cuda.grid(1)
    if i < inside.size:
        hits = 0
        for _ in range(samples):
            x = xoroshiro128p_uniform_float32(states, i)
            y = xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= 1.0:
                hits += 1
        inside[i] = hits
