"""Integers that wrap around where C leaves overflow undefined: below comparisons, in subscripts, at ends of loops."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

HIGH = 2**31 - 1


@cuda.jit
def compared(q, o):
    p = np.int32(q[0] // np.uint32(2))
    o[0] = np.int64(np.uint8(5) + p)
    o[1] = 1 if np.int8(0) < np.int64(np.uint8(5) + p) else 0
    o[2] = 1 if np.int64(p * p) + np.int64(1) > 0 else 0
    o[3] = 1 if np.int64(-(p + np.int32(1))) < 0 else 0


def test_comparisons(device):
    o = np.zeros(4, np.int64)
    compared[1, 1](np.array([2**32 - 1], np.uint32), o)
    assert o.tolist() == [-2147483644, 0, 1, 1]


@cuda.jit
def subscripts(x, a, o):
    p = x[0]
    o[0] = a[1 if p + np.int32(1) > p else 0]
    o[1] = a[((p + np.int32(1)) >> np.int32(31)) & np.int32(1)]
    o[2] = a[abs(p * np.int32(3)) % np.int32(4)]
    o[3] = a[max(np.int32(2), min(p + p, np.int32(3)))]


def test_subscripts(device):
    o = np.zeros(4, np.int32)
    subscripts[1, 1](np.array([HIGH], np.int32), np.array([10, 20, 30, 40], np.int32), o)
    product = abs(np.int32((HIGH * 3 + 2**31) % 2**32 - 2**31))
    assert o.tolist() == [10, 20, 10 + 10 * (int(product) % 4), 30]


@cuda.jit
def counted(x, step, o):
    n = 0
    for i in range(x[0] - x[1], x[0], step[0]):
        n += 1
        o[1] = i
        if n > 9:
            break
    o[0] = n


@pytest.mark.parametrize("dtype", [np.int32, np.uint32, np.int64, np.uint64])
def test_loops_to_the_ends_of_types(device, dtype):
    high = np.iinfo(dtype).max
    for step in (2, 3, int(high)):
        o = np.zeros(2, dtype)
        counted[1, 1](np.array([high, 5], dtype), np.array([step], dtype), o)
        values = list(range(int(high) - 5, int(high), step))
        assert o.tolist() == [len(values), values[-1]], (dtype, step)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_loops_down_to_the_ends_of_types(device, dtype):
    low = np.iinfo(dtype).min
    o = np.zeros(2, dtype)
    counted[1, 1](np.array([low, -5], dtype), np.array([-2], dtype), o)
    assert o.tolist() == [3, low + 1]


@cuda.jit
def squared(x, o):
    o[0] = x[0] * x[0]


def test_products_of_uint16(device):
    x, o = np.full(1, 2**16 - 1, np.uint16), np.zeros(1, np.uint16)
    squared[1, 1](x, o)
    assert o[0] == 1
