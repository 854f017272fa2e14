"""Atomics on local arrays: they are plain operations with the same old values."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError

pytestmark = pytest.mark.oclgrind
NAMES = ("add", "sub", "max", "min", "nanmax", "nanmin", "and_", "or_", "xor", "inc", "dec", "exch")
BITS = ("and_", "or_", "xor", "inc", "dec")


def _pair(operation, dtype):
    """The same atomic on a global array and on a local one."""

    @cuda.jit
    def kernel(x, values, olds):
        i = cuda.grid(1)
        mine = cuda.local.array((2, 2), dtype)
        mine[1, 0] = x[0, i]
        olds[0, i] = operation(x, (0, i), values[i])
        olds[1, i] = operation(mine, (1, -2), values[i])
        x[1, i] = mine[1, 0]

    return kernel


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32"])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_those_of_global_arrays(device, name, dtype):
    if name in BITS and dtype == "float32":
        pytest.skip("of integers only")
    values = [0, 1, 7, 200, 2**31 - 1] + ([-5] if dtype != "uint32" else [])
    if dtype == "float32":
        values += [np.nan, np.inf]
    pairs = np.array([(a, b) for a in values for b in values]).astype(dtype).T
    x, olds = np.ascontiguousarray(pairs[[0, 0]]), np.zeros_like(pairs)
    _pair(getattr(cuda.atomic, name), dtype)[1, x.shape[1]](x, np.ascontiguousarray(pairs[1]), olds)
    np.testing.assert_array_equal(olds[0], pairs[0])
    np.testing.assert_array_equal(olds[1], olds[0])
    np.testing.assert_array_equal(x[1], x[0])


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_compare_and_swap(device, dtype):
    @cuda.jit
    def kernel(x, olds):
        mine = cuda.local.array(3, dtype)
        for k in range(3):
            mine[k] = x[k]
        olds[0] = cuda.atomic.cas(mine, 1, 5, 50)
        olds[1] = cuda.atomic.cas(mine, 2, 5, 50)
        olds[2] = cuda.atomic.compare_and_swap(mine, 0, 9)
        for k in range(3):
            x[k] = mine[k]

    x, olds = np.array([0, 5, 6], dtype), np.zeros(3, dtype)
    kernel[1, 1](x, olds)
    assert x.tolist() == [9, 50, 6]
    assert olds.tolist() == [5, 6, 0]


def test_bits_decide_whether_floats_are_swapped(device):
    @cuda.jit
    def kernel(x):
        mine = cuda.local.array(2, np.float32)
        mine[0], mine[1] = x[0], x[1]
        cuda.atomic.cas(mine, 0, 0.0, 1.0)
        cuda.atomic.cas(mine, 1, x[1], 1.0)
        x[0], x[1] = mine[0], mine[1]

    x = np.array([-0.0, np.nan], np.float32)
    kernel[1, 1](x)
    assert x.tolist() == [0.0, 1.0] and np.signbit(x[0])


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "bool"])
def test_narrow_elements_are_refused_as_in_the_original(device, dtype):
    @cuda.jit
    def kernel(x):
        cuda.atomic.add(x, 0, 1)

    @cuda.jit
    def of_own(x):
        mine = cuda.local.array(1, dtype)
        mine[0] = x[0]
        cuda.atomic.exch(mine, 0, x[0])

    for each in (kernel, of_own):
        with pytest.raises(KernelTypeError, match="of 32 and 64 bits"):
            each[1, 1](np.zeros(4, dtype))
