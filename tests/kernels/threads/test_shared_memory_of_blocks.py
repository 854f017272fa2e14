"""Blocks that run at the same time have shared memory of their own, also in functions that get a pointer to it."""

import numpy as np
import pytest

from portagpu import cuda

BLOCKS, THREADS, ROUNDS = 64, 64, 400


@cuda.jit(device=True)
def turned(tile, value):
    """What the next thread has; called from two places, so that it is a function in the driver's code, too."""
    t = cuda.threadIdx.x
    tile[t] = value
    cuda.syncthreads()
    found = tile[(t + 1) % tile.size]
    cuda.syncthreads()
    return found


@cuda.jit(device=True)
def own_tile(value):
    tile = cuda.shared.array(THREADS, np.int32)
    return turned(tile, value)


@cuda.jit
def through_function(out):
    tile = cuda.shared.array(THREADS, np.int32)
    wrong = 0
    first = cuda.blockIdx.x * THREADS
    for k in range(ROUNDS):
        wrong += turned(tile, first + cuda.threadIdx.x) != first + (cuda.threadIdx.x + 1) % THREADS
        wrong += turned(tile, k + first) != k + first
    out[cuda.grid(1)] = wrong


@cuda.jit
def through_two_functions(out):
    wrong = 0
    first = cuda.blockIdx.x * THREADS
    for k in range(ROUNDS):
        wrong += own_tile(first + cuda.threadIdx.x) != first + (cuda.threadIdx.x + 1) % THREADS
        wrong += own_tile(k + first) != k + first
    out[cuda.grid(1)] = wrong


@cuda.jit
def votes(out):
    wrong = 0
    for k in range(ROUNDS):
        wrong += cuda.syncthreads_count(cuda.threadIdx.x < cuda.blockIdx.x) != min(cuda.blockIdx.x, THREADS)
        wrong += cuda.syncthreads_and(k % 2) != k % 2
    out[cuda.grid(1)] = wrong


@cuda.jit
def shuffles(out):
    wrong = 0
    first = cuda.blockIdx.x * THREADS
    for k in range(ROUNDS):
        wrong += cuda.shfl_xor_sync(0xFFFFFFFF, first + cuda.threadIdx.x, 1) != first + (cuda.threadIdx.x ^ 1)
        wrong += cuda.shfl_sync(0xFFFFFFFF, first + k, 0) != first + k
    out[cuda.grid(1)] = wrong


@cuda.jit
def atomics(out):
    cells = cuda.shared.array(2, np.float32)
    if cuda.threadIdx.x < 2:
        cells[cuda.threadIdx.x] = 0
    cuda.syncthreads()
    for _ in range(ROUNDS):
        cuda.atomic.add(cells, 0, 1)
        cuda.atomic.max(cells, 1, cuda.blockIdx.x)
    cuda.syncthreads()
    out[cuda.grid(1)] = (cells[0] != ROUNDS * THREADS) + (cells[1] != cuda.blockIdx.x)


@pytest.mark.parametrize("kernel", [through_function, through_two_functions, votes, shuffles, atomics])
def test_shared_memory_of_blocks_at_the_same_time(device, kernel):
    out = np.full(BLOCKS * THREADS, -1, np.int32)
    for _ in range(3):
        kernel[BLOCKS, THREADS](out)
        assert not out.any()
