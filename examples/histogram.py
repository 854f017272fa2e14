"""Histogram with atomics: each block counts in shared memory first, then adds to the global counts."""

import numpy as np

from portagpu import cuda

BINS = 64


@cuda.jit
def histogram(values, counts):
    """counts[b] += number of values in [b / BINS, (b + 1) / BINS)."""
    block_counts = cuda.shared.array(BINS, cuda.int32)
    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        block_counts[b] = 0
    cuda.syncthreads()

    # a grid-stride loop: any grid covers any number of values
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        b = min(int(values[i] * BINS), BINS - 1)
        cuda.atomic.add(block_counts, b, 1)
    cuda.syncthreads()

    for b in range(cuda.threadIdx.x, BINS, cuda.blockDim.x):
        cuda.atomic.add(counts, b, block_counts[b])


def main(n=100_000):
    """Count random numbers; returns (result, expected)."""
    values = np.random.default_rng(0).random(n, np.float32)
    counts = np.zeros(BINS, np.int32)
    histogram[32, 128](values, counts)
    expected = np.bincount(np.minimum((values * BINS).astype(int), BINS - 1), minlength=BINS)
    np.testing.assert_array_equal(counts, expected)
    return counts, expected


if __name__ == "__main__":
    result, _ = main()
    print(f"{result.sum()} values in {BINS} bins, same as NumPy")
