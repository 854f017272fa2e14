"""Window sum: each block stages its part of the input and a halo in shared memory."""

import numpy as np

from portagpu import cuda

BLOCK = 128
RADIUS = 3
WIDTH = BLOCK + 2 * RADIUS


@cuda.jit
def window_sum(values, sums):
    """sums[i] = values[i - RADIUS] + ... + values[i + RADIUS], zeros outside."""
    tile = cuda.shared.array(WIDTH, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    n = values.size

    tile[t + RADIUS] = values[i] if i < n else 0.0
    if t < RADIUS:  # the first threads also fetch the halo on both sides
        left = i - RADIUS
        right = i + BLOCK
        tile[t] = values[left] if left >= 0 else 0.0
        tile[t + RADIUS + BLOCK] = values[right] if right < n else 0.0
    cuda.syncthreads()

    if i < n:
        total = np.float32(0)
        for offset in range(2 * RADIUS + 1):
            total += tile[t + offset]
        sums[i] = total


def main(n=10_000):
    """Sum windows of a random vector; returns (result, expected)."""
    values = np.random.default_rng(0).random(n, np.float32)
    sums = np.zeros_like(values)
    window_sum[(n + BLOCK - 1) // BLOCK, BLOCK](values, sums)
    expected = np.convolve(values.astype(np.float64), np.ones(2 * RADIUS + 1), mode="same")
    np.testing.assert_allclose(sums, expected, rtol=8 * float(np.finfo(np.float32).eps))
    return sums, expected


if __name__ == "__main__":
    result, _ = main()
    print(f"{result.size} windows of {2 * RADIUS + 1} values, same as NumPy")
