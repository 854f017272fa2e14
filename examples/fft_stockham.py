"""Fast Fourier transform: Stockham's radix-2 steps in shared memory, and two passes of them for long vectors.

N. Govindaraju et al., "High Performance Discrete Fourier Transforms on Graphics Processors", SC 2008;
D. Bailey, "FFTs in External or Hierarchical Memory", J. Supercomputing 4, 1990 (the four-step method).
"""

import math
import sys

import numpy as np

from portagpu import cuda

COLUMNS = 8  # of a block: neighbouring threads work on neighbouring columns, so loads are coalesced


@cuda.jit(device=True)
def stockham(lines, column, j, n, roots):
    """Transform lines[column + k * COLUMNS], k < n, in place; its n / 2 threads are j = 0, 1, ..."""
    span = 1
    stride = roots.size // 2
    while span < n:
        k = j & (span - 1)
        even = lines[column + j * COLUMNS]
        odd = lines[column + (j + n // 2) * COLUMNS] * roots[k * stride]
        cuda.syncthreads()  # everybody has read: results may go to their sorted places
        place = 2 * j - k
        lines[column + place * COLUMNS] = even + odd
        lines[column + (place + span) * COLUMNS] = even - odd
        cuda.syncthreads()
        span *= 2
        stride //= 2


@cuda.jit
def transform_columns(matrix, result, roots, twiddled):
    """result = FFT of each column of a matrix; if twiddled, times roots[row * column], and transposed.

    roots[k] = exp(-2 pi i k / size) for the size of the matrix.
    """
    lines = cuda.shared.array(0, np.complex64)
    n = matrix.shape[0]
    column, j = cuda.threadIdx.x, cuda.threadIdx.y
    first = cuda.blockIdx.x * COLUMNS
    for row in range(j, n, n // 2):
        lines[column + row * COLUMNS] = matrix[row, first + column]
    cuda.syncthreads()
    stockham(lines, column, j, n, roots)
    if twiddled:
        # neighbouring threads take neighbouring rows now, since the result is transposed
        for i in range(j * COLUMNS + column, n * COLUMNS, COLUMNS * n // 2):
            row, column = i & (n - 1), i // n
            result[first + column, row] = lines[column + row * COLUMNS] * roots[row * (first + column)]
    else:
        for row in range(j, n, n // 2):
            result[row, first + column] = lines[column + row * COLUMNS]


def fft(values):
    """The discrete Fourier transform of a complex64 device vector; its size is a power of two, 64 or more."""
    size = values.size
    rows = 1 << (int(math.log2(size)) // 2)
    columns = size // rows
    roots = cuda.to_device(np.exp(-2j * math.pi * np.arange(size) / size).astype(np.complex64))
    matrix = values.reshape(rows, columns)
    turned = cuda.device_array((columns, rows), np.complex64)
    result = cuda.device_array((columns, rows), np.complex64)
    item = np.dtype(np.complex64).itemsize
    stream = cuda.stream()
    grid, block = columns // COLUMNS, (COLUMNS, rows // 2)
    transform_columns[grid, block, stream, COLUMNS * rows * item](matrix, turned, roots, True)
    grid, block = rows // COLUMNS, (COLUMNS, columns // 2)
    transform_columns[grid, block, stream, COLUMNS * columns * item](turned, result, roots, False)
    stream.synchronize()
    return result.reshape(size)


def main(n=1 << 14):
    """Transform random numbers; returns (result, expected)."""
    n = 1 << max(6, int(math.log2(n)))  # Stockham's steps are for powers of two
    rng = np.random.default_rng(0)
    values = (rng.normal(size=n) + 1j * rng.normal(size=n)).astype(np.complex64)
    result = fft(cuda.to_device(values)).copy_to_host()
    expected = np.fft.fft(values.astype(np.complex128))
    # the sums of one step round by eps / 2, a product by sqrt(2) eps, a root by eps / 2: less than 3 eps of the
    # length of the vector, in each step and for the factors between the passes (N. Higham, "Accuracy and Stability",
    # chapter 24)
    error = np.linalg.norm(result - expected) / np.linalg.norm(expected)
    tolerance = 3 * (math.log2(n) + 1) * np.finfo(np.float32).eps
    assert error <= tolerance, (error, tolerance)
    print(f"{cuda.get_current_device().name}: {n} complex numbers")
    print(f"transform agrees with NumPy, relative error {error:.1e} (allowed: {tolerance:.1e})")
    return result, expected


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
