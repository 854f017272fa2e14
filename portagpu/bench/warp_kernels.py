"""Algorithms by warp operations and shared atomics, each beside its form with barriers and arrays; see `warps`."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

import numpy as np

from portagpu import cuda

THREADS = 256  # of a block
FULL = 0xFFFFFFFF
BINS = 256
COUNTERS = 64  # threads of a block that counts: each has counters of its own in the form without atomics
STRIDE = 16  # elements that a thread of the shared sum adds up itself


# sums of a warp -----------------------------------------------------------------------------------------------------


@cuda.jit
def sum_down(x, out):
    """Each warp's sum by shfl_down."""
    i = cuda.grid(1)
    value = x[i]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)
    if cuda.laneid == 0:
        out[i // 32] = value


@cuda.jit
def sum_down_array(x, out):
    """The same as a tree in shared memory."""
    tile = cuda.shared.array(THREADS, x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    lane = t % 32
    tile[t] = x[i]
    cuda.syncthreads()
    for offset in (16, 8, 4, 2, 1):
        if lane < offset:
            tile[t] += tile[t + offset]
        cuda.syncthreads()
    if lane == 0:
        out[i // 32] = tile[t]


@cuda.jit
def sum_xor(x, out):
    """Each warp's sum in all of its threads, by shfl_xor."""
    i = cuda.grid(1)
    value = x[i]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(FULL, value, offset)
    out[i] = value


@cuda.jit
def sum_xor_array(x, out):
    """The same between two arrays in turns, a barrier for each step."""
    tiles = cuda.shared.array((2, THREADS), x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    value = x[i]
    turn = 0
    for offset in (16, 8, 4, 2, 1):
        tiles[turn, t] = value
        cuda.syncthreads()
        value += tiles[turn, t ^ offset]
        turn = 1 - turn
    out[i] = value


@cuda.jit
def sum_block(x, out):
    """A block's sum by its warps, then by the first of them."""
    parts = cuda.shared.array(32, x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    value = x[i]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(FULL, value, offset)
    if t % 32 == 0:
        parts[t // 32] = value
    cuda.syncthreads()
    if t < 32:
        value = parts[t] if t < THREADS // 32 else x.dtype.type(0)
        for offset in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(FULL, value, offset)
        if t == 0:
            out[cuda.blockIdx.x] = value


@cuda.jit
def sum_block_array(x, out):
    """The same as one tree in shared memory."""
    tile = cuda.shared.array(THREADS, x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if t < width:
            tile[t] += tile[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]


# scans --------------------------------------------------------------------------------------------------------------


@cuda.jit
def scan_up(x, out):
    """Each warp's inclusive sums by shfl_up."""
    i = cuda.grid(1)
    lane = cuda.laneid
    value = x[i]
    for offset in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(FULL, value, offset)
        if lane >= offset:
            value += other
    out[i] = value


@cuda.jit
def scan_up_array(x, out):
    """The same between two arrays in turns."""
    tiles = cuda.shared.array((2, THREADS), x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    lane = t % 32
    value = x[i]
    turn = 0
    for offset in (1, 2, 4, 8, 16):
        tiles[turn, t] = value
        cuda.syncthreads()
        if lane >= offset:
            value += tiles[turn, t - offset]
        turn = 1 - turn
    out[i] = value


# votes --------------------------------------------------------------------------------------------------------------


@cuda.jit
def compact(x, out):
    """Each warp's positive elements at the front of its part, by ballot and popc."""
    i = cuda.grid(1)
    value = x[i]
    ballot = cuda.ballot_sync(FULL, value > 0)
    if value > 0:
        out[i // 32 * 32 + cuda.popc(ballot & cuda.lanemask_lt())] = value


@cuda.jit
def compact_array(x, out):
    """The same by a scan of flags in shared memory."""
    tiles = cuda.shared.array((2, THREADS), np.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    lane = t % 32
    value = x[i]
    count = np.int32(value > 0)
    turn = 0
    for offset in (1, 2, 4, 8, 16):
        tiles[turn, t] = count
        cuda.syncthreads()
        if lane >= offset:
            count += tiles[turn, t - offset]
        turn = 1 - turn
    if value > 0:
        out[i // 32 * 32 + count - 1] = value


@cuda.jit
def vote(x, out):
    """Whether all of a warp's elements are positive, and whether any is."""
    i = cuda.grid(1)
    positive = x[i] > 0
    out[i] = np.int32(cuda.all_sync(FULL, positive)) + 2 * np.int32(cuda.any_sync(FULL, positive))


@cuda.jit
def vote_tree(x, out):
    """The same as two trees in shared memory."""
    every = cuda.shared.array(THREADS, np.int32)
    some = cuda.shared.array(THREADS, np.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    lane = t % 32
    every[t] = some[t] = x[i] > 0
    cuda.syncthreads()
    for offset in (16, 8, 4, 2, 1):
        if lane < offset:
            every[t] &= every[t + offset]
            some[t] |= some[t + offset]
        cuda.syncthreads()
    out[i] = every[t // 32 * 32] + 2 * some[t // 32 * 32]


@cuda.jit
def vote_loop(x, out):
    """The same by flags, which the first thread of each warp looks through for each vote."""
    flags = cuda.shared.array(THREADS, np.int32)
    found = cuda.shared.array((2, THREADS // 32), np.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    flags[t] = x[i] > 0
    cuda.syncthreads()
    if t % 32 == 0:
        every = np.int32(1)
        for k in range(32):
            every &= flags[t + k]
        found[0, t // 32] = every
    cuda.syncthreads()
    if t % 32 == 0:
        some = np.int32(0)
        for k in range(32):
            some |= flags[t + k]
        found[1, t // 32] = some
    cuda.syncthreads()
    out[i] = found[0, t // 32] + 2 * found[1, t // 32]


@cuda.jit
def match(x, out):
    """How many of a warp's elements equal a thread's own, by match_any."""
    i = cuda.grid(1)
    out[i] = cuda.popc(cuda.match_any_sync(FULL, x[i]))


@cuda.jit
def match_array(x, out):
    """The same by comparing with all of them in shared memory."""
    tile = cuda.shared.array(THREADS, x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    value = x[i]
    tile[t] = value
    cuda.syncthreads()
    mask = np.uint32(0)
    for k in range(32):
        mask |= np.uint32(tile[t // 32 * 32 + k] == value) << np.uint32(k)
    out[i] = cuda.popc(mask)


@cuda.jit
def mirror(x, out):
    """Each warp's elements in the opposite order, twice, through shared memory and syncwarp."""
    tile = cuda.shared.array(THREADS, x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncwarp()
    value = tile[t ^ 31] + 1
    cuda.syncwarp()
    tile[t] = value
    cuda.syncwarp()
    out[i] = tile[t ^ 31]


@cuda.jit
def mirror_array(x, out):
    """The same with barriers of the block."""
    tile = cuda.shared.array(THREADS, x.dtype)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncthreads()
    value = tile[t ^ 31] + 1
    cuda.syncthreads()
    tile[t] = value
    cuda.syncthreads()
    out[i] = tile[t ^ 31]


# shared atomics -----------------------------------------------------------------------------------------------------


@cuda.jit
def count(x, weights, out):
    """Sums of weights by bin, each block its own, by atomic additions to shared memory."""
    bins = cuda.shared.array(BINS, weights.dtype)
    t = cuda.threadIdx.x
    for b in range(t, BINS, COUNTERS):
        bins[b] = 0
    cuda.syncthreads()
    part = x.size // cuda.gridDim.x
    for i in range(cuda.blockIdx.x * part + t, (cuda.blockIdx.x + 1) * part, COUNTERS):
        cuda.atomic.add(bins, x[i], weights[i])
    cuda.syncthreads()
    for b in range(t, BINS, COUNTERS):
        out[cuda.blockIdx.x, b] = bins[b]


@cuda.jit
def count_array(x, weights, out):
    """The same with bins for each thread, which are added up at the end."""
    bins = cuda.shared.array((COUNTERS, BINS), weights.dtype)
    t = cuda.threadIdx.x
    for k in range(COUNTERS):
        for b in range(t, BINS, COUNTERS):
            bins[k, b] = 0
    cuda.syncthreads()
    part = x.size // cuda.gridDim.x
    for i in range(cuda.blockIdx.x * part + t, (cuda.blockIdx.x + 1) * part, COUNTERS):
        bins[t, x[i]] += weights[i]
    cuda.syncthreads()
    for b in range(t, BINS, COUNTERS):
        total = bins[0, b]
        for k in range(1, COUNTERS):
            total += bins[k, b]
        out[cuda.blockIdx.x, b] = total


@cuda.jit
def sum_atomic(x, out):
    """A block's sum: each thread adds up some elements, and their sum to a shared number by an atomic addition."""
    total = cuda.shared.array(1, x.dtype)
    t = cuda.threadIdx.x
    if t == 0:
        total[0] = 0
    cuda.syncthreads()
    own = x.dtype.type(0)
    start = cuda.blockIdx.x * THREADS * STRIDE
    for k in range(STRIDE):
        own += x[start + k * THREADS + t]
    cuda.atomic.add(total, 0, own)
    cuda.syncthreads()
    if t == 0:
        out[cuda.blockIdx.x] = total[0]


@cuda.jit
def sum_atomic_array(x, out):
    """The same with a tree in shared memory."""
    tile = cuda.shared.array(THREADS, x.dtype)
    t = cuda.threadIdx.x
    own = x.dtype.type(0)
    start = cuda.blockIdx.x * THREADS * STRIDE
    for k in range(STRIDE):
        own += x[start + k * THREADS + t]
    tile[t] = own
    cuda.syncthreads()
    width = THREADS // 2
    while width > 0:
        if t < width:
            tile[t] += tile[t + width]
        cuda.syncthreads()
        width //= 2
    if t == 0:
        out[cuda.blockIdx.x] = tile[0]
