"""Small things that NumPy or the original do: 0-d arrays as indices, bools, halves, rounding, quotients."""

from __future__ import annotations

import cmath
import math

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError

pytestmark = pytest.mark.oclgrind


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_arrays_without_axes_are_indices(device, dtype):
    @cuda.jit
    def kernel(x, i, out):
        out[0] = x[i, 0]
        x[i, 1] = 70
        x[1, i] += 5
        cuda.atomic.add(x, (i, 0), 100)
        out[1] = x[i][1]

    x, out = np.arange(16, dtype=np.int32).reshape(4, 4), np.zeros(2, np.int32)
    kernel[1, 1](x, np.array(3, dtype), out)
    assert out.tolist() == [12, 70]
    assert x[3].tolist() == [112, 70, 14, 15] and x[1, 3] == 12


def test_negative_index_in_an_array_without_axes(device):
    @cuda.jit
    def kernel(x, i, out):
        out[0] = x[i]

    out = np.zeros(1, np.int32)
    kernel[1, 1](np.arange(5, dtype=np.int32), np.array(-2), out)
    assert out[0] == 3


def test_floats_without_axes_are_no_indices(device):
    @cuda.jit
    def kernel(x, i):
        x[i] = 1

    with pytest.raises(KernelTypeError, match="must be integers"):
        kernel[1, 1](np.zeros(3), np.array(1.0, np.float32))


def test_sums_and_products_of_bools(device):
    @cuda.jit
    def kernel(x, y, out, sums, products):
        out[0] = np.add(x[0], y[0])
        out[1] = np.multiply(x[0], y[1])
        out[2] = x[0] + y[0]
        np.add(x, y, sums)
        np.multiply(x, y, products)

    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    out, sums, products = np.zeros(3, np.int32), np.zeros(4, np.int32), np.zeros(4, np.int32)
    kernel[1, 1](x, y, out, sums, products)
    assert out.tolist() == [1, 0, 2]
    assert sums.tolist() == (x | y).tolist() and products.tolist() == (x & y).tolist()


def test_moments_of_halves(device):
    """Added in single precision; in half, the sum would soon stop growing."""
    if not (device.capabilities.fp16 or device.capabilities.fp16_storage):
        pytest.skip("no float16")

    @cuda.jit
    def kernel(x, out):
        out[0], out[1], out[2] = x.mean(), x.var(), np.std(x)
        out[3] = x.mean().dtype.num

    x = (np.random.default_rng(1).normal(size=(60, 5)) * 3 + 100).astype(np.float16)
    out = np.zeros(4, np.float32)
    kernel[1, 1](x, out)
    np.testing.assert_allclose(out[:3], [x.mean(), x.var(), x.std()], rtol=2e-3)
    assert out[3] == np.dtype(np.float16).num


def test_round_scales_in_double_precision(device):
    if not device.capabilities.fp64:
        pytest.skip("no float64")

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = round(x[i], 2)

    x = np.array([0.125, 0.375, 2.675, 1.005, -0.285, 1.115, 0.145, 1e30], np.float32)
    out = np.zeros_like(x)
    kernel[1, x.size](x, out)
    assert out.tolist() == [float(np.float32(round(float(v), 2))) for v in x]


def test_rect_of_nothing_at_an_infinite_angle(device):
    if not device.capabilities.fp64:
        pytest.skip("no float64")

    @cuda.jit
    def kernel(r, phi, out):
        out[0] = cmath.rect(r, phi)
        out[1] = cmath.rect(1.0, phi)

    out = np.zeros(2, np.complex128)
    kernel[1, 1](0.0, -math.inf, out)
    assert out[0] == cmath.rect(0.0, -math.inf) == 0
    assert np.isnan(out[1])


def test_debug_and_fastmath(device):
    """As in the original, quotients of float32 are not checked then, but others are."""

    @cuda.jit(debug=True, opt=False, fastmath=True)
    def singles(x):
        x[0] = x[1] / x[2]

    @cuda.jit(debug=True, opt=False, fastmath=True)
    def integers(x):
        x[0] = x[1] // x[2]

    x = np.array([0, 1, 0], np.float32)
    singles[1, 1](x)
    assert not np.isfinite(x[0])
    with pytest.raises(ZeroDivisionError):
        integers[1, 1](np.array([0, 1, 0], np.int32))
