"""2-D stencil: heat spreading on a plate (Jacobi iteration), two arrays that change roles on the device."""

import numpy as np

from portagpu import cuda


@cuda.jit
def relax(old, new):
    """new = mean of the four neighbours inside; the border stays."""
    x, y = cuda.grid(2)
    rows, columns = old.shape
    if 0 < y < rows - 1 and 0 < x < columns - 1:
        new[y, x] = 0.25 * (old[y - 1, x] + old[y + 1, x] + old[y, x - 1] + old[y, x + 1])


def main(rows=100, columns=130, iterations=50):
    """Relax a plate with one hot edge; returns (result, expected)."""
    plate = np.zeros((rows, columns), np.float32)
    plate[0, :] = 1.0
    old, new = cuda.to_device(plate), cuda.to_device(plate)
    block = (32, 8)
    grid = ((columns + block[0] - 1) // block[0], (rows + block[1] - 1) // block[1])
    for _ in range(iterations):
        relax[grid, block](old, new)
        old, new = new, old
    result = old.copy_to_host()

    expected = plate.copy()
    for _ in range(iterations):
        inner = 0.25 * (expected[:-2, 1:-1] + expected[2:, 1:-1] + expected[1:-1, :-2] + expected[1:-1, 2:])
        expected[1:-1, 1:-1] = inner
    np.testing.assert_allclose(result, expected, atol=iterations * np.finfo(np.float32).eps)
    return result, expected


if __name__ == "__main__":
    result, _ = main()
    print(f"after 50 steps the centre has {result[50, 65]:.2e}, same as NumPy")
