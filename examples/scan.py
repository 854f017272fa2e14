"""Prefix sums of any length: a work-efficient scan of each block, of the blocks' sums, and so on.

G. Blelloch, "Prefix Sums and Their Applications", 1990; M. Harris, S. Sengupta, J. Owens, "Parallel Prefix Sum (Scan)
with CUDA", GPU Gems 3, chapter 39, 2007.
"""

import sys

import numpy as np

from portagpu import cuda

THREADS = 256
CHUNK = 2 * THREADS  # elements of a block
BANKS = 32
PLACES = CHUNK + CHUNK // BANKS


@cuda.jit(device=True)
def spread(i):
    """Where element i lies in shared memory: gaps keep strides of powers of two off a single bank."""
    return i + i // BANKS


@cuda.jit
def scan_chunks(values, sums, totals):
    """sums = exclusive prefix sums of each chunk of values, totals[block] = sum of the chunk."""
    tree = cuda.shared.array(PLACES, np.int64)
    t = cuda.threadIdx.x
    start = cuda.blockIdx.x * CHUNK
    for i in range(t, CHUNK, THREADS):
        tree[spread(i)] = values[start + i] if start + i < values.size else 0

    distance = 1
    while distance < CHUNK:  # up: sums of pairs, of pairs of pairs, ...
        cuda.syncthreads()
        right = 2 * distance * (t + 1) - 1
        if right < CHUNK:
            tree[spread(right)] += tree[spread(right - distance)]
        distance *= 2
    cuda.syncthreads()
    if t == 0:
        totals[cuda.blockIdx.x] = tree[spread(CHUNK - 1)]
        tree[spread(CHUNK - 1)] = 0
    while distance > 1:  # down: each left child gets its parent's sum, each right child that and the left child's
        distance //= 2
        cuda.syncthreads()
        right = 2 * distance * (t + 1) - 1
        if right < CHUNK:
            left_sum = tree[spread(right - distance)]
            tree[spread(right - distance)] = tree[spread(right)]
            tree[spread(right)] += left_sum
    cuda.syncthreads()

    for i in range(t, CHUNK, THREADS):
        if start + i < sums.size:
            sums[start + i] = tree[spread(i)]


@cuda.jit
def add_to_chunks(sums, before):
    """Add what lies before each chunk."""
    start = cuda.blockIdx.x * CHUNK
    for i in range(start + cuda.threadIdx.x, min(start + CHUNK, sums.size), THREADS):
        sums[i] += before[cuda.blockIdx.x]


def exclusive_scan(values):
    """The sums of all elements before each one of a device vector of integers, as int64."""
    blocks = (values.size + CHUNK - 1) // CHUNK
    sums = cuda.device_array(values.size, np.int64)
    totals = cuda.device_array(blocks, np.int64)
    scan_chunks[blocks, THREADS](values, sums, totals)
    if blocks > 1:
        add_to_chunks[blocks, THREADS](sums, exclusive_scan(totals))
    return sums


def main(n=600_000):
    """Scan random numbers; returns (result, expected)."""
    values = np.random.default_rng(0).integers(-1000, 1000, n, dtype=np.int32)
    result = exclusive_scan(cuda.to_device(values)).copy_to_host()
    expected = np.cumsum(values, dtype=np.int64) - values
    np.testing.assert_array_equal(result, expected)  # integers: exact
    print(f"{cuda.get_current_device().name}: {n} integers")
    print(f"prefix sums exactly as NumPy's, last one {result[-1]}")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
