"""Histogram with atomics: on global memory, then with counts of each block in shared memory."""

import numpy as np

from portagpu import cuda

BINS = 64


@cuda.jit
def histogram(values, counts):
    """counts[b] += number of values in [b / BINS, (b + 1) / BINS)."""
    block_counts = cuda.shared.array(BINS, np.int32)
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


@cuda.jit
def histogram_global(values, counts):
    """The same with one global atomic for each value: simpler, but all blocks contend for the same few counts."""
    for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
        cuda.atomic.add(counts, min(int(values[i] * BINS), BINS - 1), 1)


def main(n=100_000):
    """Count random numbers with both kernels; returns (result, expected)."""
    values = np.random.default_rng(0).random(n, np.float32)
    expected = np.bincount(np.minimum((values * BINS).astype(int), BINS - 1), minlength=BINS)
    for kernel in (histogram, histogram_global):
        counts = np.zeros(BINS, np.int32)
        kernel[32, 128](values, counts)
        np.testing.assert_array_equal(counts, expected)
    return counts, expected


if __name__ == "__main__":
    result, _ = main()
    print(f"{result.sum()} values in {BINS} bins, same as NumPy")
