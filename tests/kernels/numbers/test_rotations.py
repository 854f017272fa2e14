"""Rotations of bits and other idioms of integers that LLVM joins to one instruction."""

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


# what LLVM's optimiser makes an intrinsic of; `x` and `y` are integers of 32 or 64 bits, `w` says how many
_JOINED = (
    "abs(x)",
    "-x if x < 0 else x",
    "x - y if x > y else x - x",  # stops at 0
    "max(x, y) - y",
    "min(x + y, x | y)",
    "(x ^ (x >> (w - 1))) - (x >> (w - 1))",  # absolute, without a branch
    "(x << 3) | (x >> (w - 3))",
    "(x & 127) << 24 | (x & 65280) << 8 | (x >> 8) & 65280 | (x >> 24) & 255",  # bytes the other way round
    "(x >> 1) & 0x55555555 | (x & 0x15555555) << 1",
    "x * y // y if y > 0 else y",  # whether a product overflows
    "1 if y != 0 and x * y // y != x else 0",
)


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_idioms_that_optimisers_join(device, dtype):
    """Oclgrind's interpreter does not know several of the intrinsics; the numbers need no more than 15 bits."""
    body = "\n".join(f"    out[{k}, i] = {expression}" for k, expression in enumerate(_JOINED))
    scope = {"cuda": cuda, "w": np.dtype(dtype).itemsize * 8}
    exec(f"def kernel(a, b, out):\n    i = cuda.threadIdx.x\n    x, y = a[i], b[i]\n{body}", scope)
    rng = np.random.default_rng(1)
    low = -(2**15) if dtype.startswith("i") else 0
    a, b = rng.integers(low, 2**15, (2, 32)).astype(dtype)
    b[:4] = a[:4]
    expected = np.array([[eval(e, {**scope, "x": int(x), "y": int(y)}) for x, y in zip(a, b)] for e in _JOINED])
    out = np.zeros_like(expected).astype(np.int64)
    cuda.jit(scope["kernel"])[1, 32](a, b, out)
    np.testing.assert_array_equal(out, expected)
