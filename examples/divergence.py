"""A divergent kernel: neighbouring threads take different branches and loop counts."""

import numpy as np

from portagpu import cuda


@cuda.jit
def collatz_steps(start, steps):
    """Steps of the Collatz sequence from start[i] down to 1."""
    i = cuda.grid(1)
    if i >= start.size:
        return
    n = start[i]
    count = 0
    while n > 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        count += 1
    steps[i] = count


def collatz(n):
    """The same on the host."""
    count = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        count += 1
    return count


def main(n=2_000):
    """Count steps for 1 ... n; returns (result, expected)."""
    start = np.arange(1, n + 1, dtype=np.int64)
    steps = np.zeros(n, np.int32)
    collatz_steps[(n + 127) // 128, 128](start, steps)
    expected = np.array([collatz(int(v)) for v in start], np.int32)
    np.testing.assert_array_equal(steps, expected)
    return steps, expected


if __name__ == "__main__":
    result, _ = main()
    print(f"longest Collatz sequence below {result.size}: {result.max()} steps")
