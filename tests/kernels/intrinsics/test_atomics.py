"""Atomics beyond `test_memory_spaces`: NaN, forms of the index, old values of many threads."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelError

pytestmark = pytest.mark.oclgrind
FLOATS = ["float32", "float64"]


def lacks(device, dtype):
    return np.dtype(dtype).itemsize == 8 and not (device.capabilities.int64_atomics and device.capabilities.fp64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
def test_nan_in_memory_and_in_the_operand(device, name, dtype):
    """`max` and `min` leave memory alone where either is NaN; `nanmax` and `nanmin` take NaN for a missing value."""
    if lacks(device, dtype):
        pytest.skip("no 64-bit atomics")
    operation = getattr(cuda.atomic, name)

    @cuda.jit
    def kernel(x, values, olds):
        for k in range(3):
            olds[k] = operation(x, k, values[k])

    x = np.array([np.nan, 4.0, np.nan], dtype)
    before, olds = x.copy(), np.zeros(3, dtype)
    kernel[1, 1](x, np.array([7.0, np.nan, np.nan], dtype), olds)
    np.testing.assert_array_equal(olds, before)
    np.testing.assert_array_equal(x, [7.0 if name.startswith("nan") else np.nan, 4.0, np.nan])


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("name", ["add", "sub", "max", "min", "inc", "dec", "exch"])
def test_old_values_are_those_of_some_order(device, name, dtype):
    if lacks(device, dtype):
        pytest.skip("no 64-bit atomics")
    operation = getattr(cuda.atomic, name)
    operand = {"inc": 1000, "dec": 1000, "max": 0, "min": 0}.get(name, 1)

    @cuda.jit
    def kernel(x, olds):
        i = cuda.grid(1)
        olds[i] = operation(x, (0, 0), operand if operand else i)

    x, olds = np.full((1, 1), 500, dtype), np.zeros(64, dtype)
    kernel[2, 32](x, olds)
    steps = {"add": 500 + np.arange(64), "inc": 500 + np.arange(64)}
    steps |= {"sub": 500 - np.arange(64), "dec": 500 - np.arange(64)}
    if name in steps:
        np.testing.assert_array_equal(np.sort(olds), np.sort(steps[name]))
    elif name == "max":
        assert x[0, 0] == 500 and (olds == 500).all()
    elif name == "min":
        assert x[0, 0] == 0 and olds.max() == 500
    else:
        assert x[0, 0] == 1 and sorted(olds)[-1] == 500 and (np.sort(olds)[:-1] == 1).all()


def test_signed_and_unsigned_extremes(device):
    @cuda.jit
    def kernel(signed, unsigned):
        cuda.atomic.max(signed, 0, -3)
        cuda.atomic.min(signed, 1, -3)
        cuda.atomic.max(unsigned, 0, np.uint32(0xFFFFFFF0))
        cuda.atomic.min(unsigned, 1, np.uint32(0x7FFFFFFF))

    signed = np.array([-9, 5], np.int32)
    unsigned = np.array([1, 0xFFFFFFFF], np.uint32)
    kernel[1, 1](signed, unsigned)
    assert signed.tolist() == [-3, -3]
    assert unsigned.tolist() == [0xFFFFFFF0, 0x7FFFFFFF]


def test_places(device):
    """0-d arrays, views, computed and negative indices, every integer type as an index."""

    @cuda.jit
    def kernel(x, single, view):
        i = cuda.grid(1)
        cuda.atomic.add(x, (np.uint8(i % 2), np.int64(-1)), 1)
        cuda.atomic.add(single, (), 2)
        cuda.atomic.add(view, i % 3, 1)
        cuda.atomic.add(x[1], 0, 1)

    x, single, base = np.zeros((2, 3), np.int32), np.zeros((), np.int32), np.zeros(6, np.int32)
    kernel[2, 15](x, single, base[::2])
    assert x.tolist() == [[0, 0, 15], [30, 0, 15]]
    assert single == 60
    assert base.tolist() == [10, 0, 10, 0, 10, 0]


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_compare_and_swap_in_both_forms(device, dtype):
    if lacks(device, dtype):
        pytest.skip("no 64-bit atomics")

    @cuda.jit
    def kernel(res, ary, fill, olds):
        i = cuda.grid(1)
        if i < res.size:
            olds[i] = cuda.atomic.cas(res, i, fill, ary[i])
            cuda.atomic.compare_and_swap(res[i:], 99, ary[i])

    res = np.array([7, 1, 7, 99, 7, 3], dtype)
    ary = np.arange(100, 106).astype(dtype)
    olds = np.zeros(6, dtype)
    kernel[1, 8](res, ary, np.dtype(dtype).type(7), olds)
    assert res.tolist() == [100, 1, 102, 103, 104, 3]
    assert olds.tolist() == [7, 1, 7, 99, 7, 3]


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_in_shared_memory(device, dtype):
    if lacks(device, dtype):
        pytest.skip("no 64-bit atomics")

    @cuda.jit
    def kernel(x, out):
        total = cuda.shared.array(2, dtype)
        t = cuda.threadIdx.x
        if t < 2:
            total[t] = 0
        cuda.syncthreads()
        cuda.atomic.add(total, t % 2, x[t])
        cuda.syncthreads()
        if t < 2:
            out[t] = total[t]

    x = np.arange(64).astype(dtype)
    out = np.zeros(2, dtype)
    kernel[1, 64](x, out)
    assert out.tolist() == [x[::2].sum(), x[1::2].sum()]


@pytest.mark.parametrize("dtype", FLOATS)
def test_a_thread_reads_what_it_stored_and_then_updated(device, dtype):
    """One CPU compiler took the number that the thread itself had stored, where atomics see it as an integer."""
    if lacks(device, dtype):
        pytest.skip("no 64-bit atomics")

    @cuda.jit
    def kernel(x, out):
        added = cuda.shared.array(64, dtype)
        largest = cuda.shared.array(64, dtype)
        swapped = cuda.shared.array(64, dtype)
        t, i = cuda.threadIdx.x, cuda.grid(1)
        added[t] = x[i]
        olds = cuda.atomic.add(added, t, 3)
        out[0, i] = added[t]
        largest[t] = x[i]
        olds += cuda.atomic.max(largest, t, 300)
        out[1, i] = largest[t]
        swapped[t] = x[i]
        olds += cuda.atomic.cas(swapped, t, x[i], 7)
        out[2, i] = swapped[t]
        out[3, i] = olds

    x = np.arange(256).astype(dtype)
    out = np.zeros((4, 256), dtype)
    kernel[4, 64](x, out)
    np.testing.assert_array_equal(out, [x + 3, np.full_like(x, 300), np.full_like(x, 7), 3 * x])


def test_what_atomics_refuse(device):
    @cuda.jit
    def of_halves(h):
        cuda.atomic.add(h, 0, 1)

    @cuda.jit
    def too_few_indices(m):
        cuda.atomic.add(m, 0, 1)

    with pytest.raises(KernelError, match="float16"):
        of_halves[1, 1](np.zeros(4, np.float16))
    with pytest.raises(KernelError):
        too_few_indices[1, 1](np.zeros((2, 2), np.int32))
