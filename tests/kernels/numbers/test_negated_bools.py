"""Integers that are 0 or -1, made of comparisons, as floats: one compiler makes 1.0 of -1."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

NUMBERS = np.array([-128, -5, -1, 0, 1, 3, 5, 127])


@cuda.jit(device=True)
def less_one(flag):
    return flag - 1


@cuda.jit
def scalars(a, kept, out):
    i = cuda.grid(1)
    x = a[i]
    b = x >= 1
    n = np.int32(-1) if b else np.int32(0)
    here = cuda.local.array(2, np.int32)
    here[0] = -1 if b else 0
    kept[i] = -1 if b else 0
    last = 0
    for j in range(3):
        if x > j:
            last = -1
    out[i, 0] = b - 1
    out[i, 1] = -(b + 0)
    out[i, 2] = -1 if b else 0
    out[i, 3] = np.int8(b) - np.int8(1)
    out[i, 4] = np.sign(x)
    out[i, 5] = here[0]
    out[i, 6] = kept[i]
    out[i, 7] = last
    out[i, 8] = less_one(b)
    out[i, 9] = n * 1.5
    out[i, 10] = np.complex64(n).real
    out[i, 11] = complex(n, n).imag
    out[i, 12] = np.float16(n)
    out[i, 13] = -1 if x > 3 or x < -3 else 0
    out[i, 14] = (x > 0) - (x < 0)
    out[i, 15] = np.int64(x) >> 63


@cuda.jit
def vectors(a, out):
    i = cuda.grid(1)
    x = cuda.int32x2(-1 if a[i] >= 1 else 0, -1 if a[i] > 3 else 0)
    y = cuda.float32x2(x)
    out[i, 0] = y.x
    out[i, 1] = y.y


def expected(x):
    b = x >= 1
    n = -b.astype(int)
    signs = np.sign(x)
    values = [b - 1, n, n, b - 1, signs, n, n, n, b - 1, n * 1.5, n, n, n, -(np.abs(x) > 3).astype(int), signs, x >> 63]
    return np.stack(values, axis=1)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
@pytest.mark.parametrize("target", [np.float16, np.float32, np.float64])
def test_scalars(device, dtype, target):
    if not device.capabilities.fp64 and target is np.float64:
        pytest.skip("no float64")
    out = np.zeros((len(NUMBERS), 16), target)
    scalars[1, len(NUMBERS)](NUMBERS.astype(dtype), np.zeros(len(NUMBERS), np.int32), out)
    np.testing.assert_array_equal(out, expected(NUMBERS))


def test_vectors(device):
    out = np.zeros((len(NUMBERS), 2), np.float32)
    vectors[1, len(NUMBERS)](NUMBERS.astype(np.int32), out)
    np.testing.assert_array_equal(out, -np.stack([NUMBERS >= 1, NUMBERS > 3], axis=1).astype(int))


@pytest.mark.parametrize("target", [np.float32, np.float64])
def test_arrays(device, target):
    if not device.capabilities.fp64 and target is np.float64:
        pytest.skip("no float64")
    x = cuda.to_device(NUMBERS.astype(np.int32))
    b = NUMBERS > 0
    for found, wanted in (
        ((-((x > 0).astype(np.int32))).astype(target), -b.astype(int)),
        (((x > 0).astype(np.int64) - 1).astype(target), b - 1),
        (np.where(x > 0, np.int32(-1), np.int32(0)).astype(target), -b.astype(int)),
        (np.sign(x.astype(np.int8)).astype(target), np.sign(NUMBERS)),
    ):
        np.testing.assert_array_equal(np.asarray(found), wanted)
