"""In-block reversal: dynamic shared memory, sized at the launch."""

import numpy as np

from portagpu import cuda


@cuda.jit
def reverse_blocks(values):
    """Reverse each block's elements in place."""
    tile = cuda.shared.array(0, np.int32)  # shape 0: the size comes with the launch
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    tile[t] = values[i]
    cuda.syncthreads()
    values[i] = tile[cuda.blockDim.x - 1 - t]


def main(blocks=16, threads=64):
    """Reverse blocks of a counting vector; returns (result, expected)."""
    values = np.arange(blocks * threads, dtype=np.int32)
    expected = values.reshape(blocks, threads)[:, ::-1].reshape(-1)
    shared_bytes = threads * values.itemsize
    reverse_blocks[blocks, threads, 0, shared_bytes](values)
    np.testing.assert_array_equal(values, expected)
    return values, expected


if __name__ == "__main__":
    main()
    print("16 blocks reversed")
