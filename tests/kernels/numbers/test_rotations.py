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


@cuda.jit(device=True)
def halves_of_neighbour(x, cells, i):
    """Two numbers, no rotation together; there is a barrier, so that the function is inlined."""
    cells[i] = x
    cuda.syncthreads()
    value = cells[i ^ 1]
    cuda.syncthreads()
    return value >> np.uint32(9), value << np.uint32(5)


@cuda.jit
def join_halves(x, turns):
    cells = cuda.shared.array(8, np.uint32)
    i = cuda.threadIdx.x
    for _ in range(turns):
        low, high = halves_of_neighbour(x[i], cells, i)
        x[i] = low + high


@pytest.mark.oclgrind
def test_shifts_beside_inlined_tuples(device):
    """What one driver does not run without optimisation, and shifts for which it is built so."""
    x = np.arange(8, dtype=np.uint32) * np.uint32(0x12345)
    wanted = x.copy()
    for _ in range(3):
        wanted = wanted[np.arange(8) ^ 1]
        wanted = (wanted >> np.uint32(9)) + (wanted << np.uint32(5))
    join_halves[1, 8](x, 3)
    assert np.array_equal(x, wanted)
