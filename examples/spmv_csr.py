"""Sparse matrix (CSR) times vector: a thread for each row, then a warp for each row with a reduction by shuffles.

N. Bell, M. Garland, "Implementing Sparse Matrix-Vector Multiplication on Throughput-Oriented Processors", SC 2009.
"""

import sys

import numpy as np

from portagpu import cuda

WARP = 32
THREADS = 128


@cuda.jit
def spmv_scalar(starts, columns, values, x, y):
    """A thread for each row: simple, but neighbouring threads read elements that lie a row apart."""
    row = cuda.grid(1)
    if row < y.size:
        total = np.float32(0)
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        y[row] = total


@cuda.jit
def spmv_vector(starts, columns, values, x, y):
    """A warp for each row: its lanes read neighbouring elements, and long rows are shared among 32 threads."""
    lane = cuda.threadIdx.x % WARP
    row = cuda.grid(1) // WARP
    if row < y.size:  # the same for all lanes of a warp
        total = np.float32(0)
        for k in range(starts[row] + lane, starts[row + 1], WARP):
            total += values[k] * x[columns[k]]
        distance = WARP // 2
        while distance > 0:
            total += cuda.shfl_down_sync(0xFFFFFFFF, total, distance)
            distance //= 2
        if lane == 0:
            y[row] = total


def random_matrix(rows, columns, rng):
    """CSR arrays of a matrix whose rows are empty, short, or (a few) long."""
    lengths = np.minimum(rng.geometric(0.1, rows) - 1, columns)
    lengths[rng.integers(0, rows, 1 + rows // 100)] = columns // 2
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    found = [np.sort(rng.choice(columns, length, replace=False)) for length in lengths]
    return starts, np.concatenate(found).astype(np.int32), rng.normal(size=starts[-1]).astype(np.float32)


def main(n=2000):
    """Multiply a random sparse matrix with both kernels; returns (results, expected)."""
    rng = np.random.default_rng(0)
    starts, columns, values = random_matrix(n, n, rng)
    x = rng.normal(size=n).astype(np.float32)
    d_starts, d_columns, d_values, d_x = (cuda.to_device(a) for a in (starts, columns, values, x))

    products = values.astype(np.float64) * x[columns]
    rows = np.repeat(np.arange(n), np.diff(starts))
    expected = np.bincount(rows, products, n)
    # a row of k products: each is rounded once, their sum k times, both relative to the sum of their sizes
    tolerance = (np.diff(starts) + 1) * np.finfo(np.float32).eps * np.bincount(rows, np.abs(products), n)
    results = []
    for kernel, threads in ((spmv_scalar, n), (spmv_vector, n * WARP)):
        y = cuda.device_array(n, np.float32)
        kernel[(threads + THREADS - 1) // THREADS, THREADS](d_starts, d_columns, d_values, d_x, y)
        results.append(y.copy_to_host())
        assert np.all(np.abs(results[-1] - expected) <= tolerance), np.abs(results[-1] - expected).max()
    print(f"{cuda.get_current_device().name}: {n} rows, {values.size} elements, longest row {np.diff(starts).max()}")
    print("products by threads and by warps agree with NumPy within each row's rounding")
    return results, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
