"""Block reduction: a tree in shared memory, one partial sum for each block, combined by a second launch."""

import numpy as np

from portagpu import cuda

THREADS = 256


@cuda.jit
def sum_blocks(values, partial):
    """partial[block] = sum of the elements that the block's threads walk over."""
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


def main(n=200_000, blocks=64):
    """Sum random numbers in two launches; returns (result, expected)."""
    values = np.random.default_rng(0).random(n, np.float32)
    device_values = cuda.to_device(values)
    partial = cuda.device_array(blocks, np.float32)
    total = cuda.device_array(1, np.float32)
    sum_blocks[blocks, THREADS](device_values, partial)
    sum_blocks[1, THREADS](partial, total)
    result = total.copy_to_host()[0]
    expected = values.sum(dtype=np.float64)
    # all values are positive, so the relative error is at most eps for each addition on the longest path
    additions = n // (blocks * THREADS) + 1 + 2 * int(np.log2(THREADS)) + 1
    np.testing.assert_allclose(result, expected, rtol=additions * np.finfo(np.float32).eps)
    return result, expected


if __name__ == "__main__":
    result, _ = main()
    print(f"sum {result:.6f}, same as NumPy")
