"""Rotations of bits, as hashes and generators of random numbers write them."""

import numpy as np
import pytest

from portagpu import cuda


@cuda.jit(device=True)
def rotated(x, places, width):
    return (x << places) | (x >> (width - places))


@cuda.jit
def rotate(values, places, width):
    i = cuda.grid(1)
    if i < values.size:
        values[i] = rotated(values[i], places, width)


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
def test_rotations(device, dtype):
    """Oclgrind's interpreter does not know the instruction that its optimiser makes of the two shifts."""
    width = np.dtype(dtype).itemsize * 8
    values = np.random.default_rng(0).integers(0, 2**width, 50, dtype=dtype)
    result = values.copy()
    rotate[2, 32](result, dtype(11), dtype(width))
    expected = [((int(v) << 11) | (int(v) >> (width - 11))) % 2**width for v in values]
    np.testing.assert_array_equal(result, np.array(expected, dtype))
