"""Matrix multiplication: one thread for each element, then with tiles in shared memory.

For products in earnest use `portagpu.matmul`, which is tuned for the device.
"""

import numpy as np

from portagpu import cuda

TILE = 16


@cuda.jit
def matmul_naive(a, b, c):
    column, row = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        total = np.float32(0)
        for k in range(a.shape[1]):
            total += a[row, k] * b[k, column]
        c[row, column] = total


@cuda.jit
def matmul_tiled(a, b, c):
    """Each block loads tiles of a and b once, and every thread of it reads them TILE times."""
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
        cuda.syncthreads()  # the tiles are complete
        for k in range(TILE):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()  # everybody is done with them
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def main(m=70, n=53, k=90):
    """Multiply random matrices with both kernels; returns (results, expected)."""
    rng = np.random.default_rng(0)
    a, b = rng.random((m, k), np.float32), rng.random((k, n), np.float32)
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    expected = a.astype(np.float64) @ b
    results = []
    for kernel in (matmul_naive, matmul_tiled):
        c = np.zeros((m, n), np.float32)
        kernel[grid, (TILE, TILE)](a, b, c)
        np.testing.assert_allclose(c, expected, rtol=k * np.finfo(np.float32).eps)
        results.append(c)
    return results, expected


if __name__ == "__main__":
    main()
    print("naive and tiled products agree with NumPy")
