"""Vector addition: one thread for each element."""

import numpy as np

from portagpu import cuda


@cuda.jit
def add(a, b, total):
    i = cuda.grid(1)
    if i < total.size:  # the last block has threads to spare
        total[i] = a[i] + b[i]


def main(n=100_000):
    """Add two random vectors; returns (result, expected)."""
    rng = np.random.default_rng(0)
    a, b = rng.random(n, np.float32), rng.random(n, np.float32)
    total = np.zeros_like(a)
    threads = 256
    blocks = (n + threads - 1) // threads
    add[blocks, threads](a, b, total)  # NumPy arrays are copied (or shared) in and back
    np.testing.assert_array_equal(total, a + b)
    return total, a + b


if __name__ == "__main__":
    result, _ = main()
    print(f"added {result.size} elements, same as NumPy")
