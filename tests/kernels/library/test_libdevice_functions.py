"""`cuda.libdevice`'s functions of more than one operation."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import libdevice

NORMAL = NormalDist()
INNER = np.array([-0.999, -0.75, -0.5, -0.1, 1e-5, 0.25, 0.5, 0.9, 0.9999])
CASES = {
    "rcbrt": (np.array([-8.0, 0.001, 27.0]), lambda x: 1 / math.cbrt(x)),
    "normcdf": (np.array([-9.0, -2.5, 0.0, 0.3, 4.0]), lambda x: 0.5 * math.erfc(-x / math.sqrt(2))),
    "normcdfinv": (np.array([1e-9, 0.02, 0.3, 0.7, 0.98]), NORMAL.inv_cdf),
    "erfinv": (INNER, lambda x: NORMAL.inv_cdf((x + 1) / 2) / math.sqrt(2)),
    "erfcinv": (1 - INNER, lambda x: -NORMAL.inv_cdf(x / 2) / math.sqrt(2)),
    "erfcx": (np.array([-3.0, 0.0, 0.5, 5.0]), lambda x: math.exp(x * x) * math.erfc(x)),
}


@pytest.mark.parametrize("end", ["", "f"])
@pytest.mark.parametrize("name", CASES)
def test_functions_of_one_number(device, name, end):
    if not end and not device.capabilities.fp64:
        pytest.skip("no float64")
    function = getattr(libdevice, name + end)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i])

    kind = np.float32 if end else np.float64
    values, expected = CASES[name]
    x = values.astype(kind)
    out = np.zeros_like(x)
    kernel[1, 32](x, out)
    exact = np.array([expected(float(v)) for v in x])
    np.testing.assert_allclose(out, exact, rtol=4e-5 if end else 2e-11, atol=1e-6 if end else 1e-11)


def test_ends_of_the_ranges(device):
    @cuda.jit
    def kernel(x, out):
        out[0] = libdevice.erfinvf(x[0])
        out[1] = libdevice.erfinvf(-x[0])
        out[2] = libdevice.erfcinvf(x[0] + 2)
        out[3] = libdevice.erfcxf(x[0] * 1000)
        out[4] = libdevice.saturatef(x[0] * 3)
        out[5] = libdevice.saturatef(-x[0])
        out[6] = libdevice.frcp_rn(x[0] * 4)
        out[7] = libdevice.frsqrt_rn(x[0] * 4)

    out = np.zeros(8, np.float32)
    kernel[1, 1](np.ones(1, np.float32), out)
    tail = 1 / (1000 * math.sqrt(math.pi))
    np.testing.assert_allclose(out, [math.inf, -math.inf, math.nan, tail, 1, 0, 0.25, 0.5], rtol=1e-5)


def test_integers(device):
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0] = libdevice.sad(x[i], y[i], 7)
            out[i, 1] = libdevice.byte_perm(0x03020100, 0x07060504, x[i] & 0x7777)
            out[i, 2] = libdevice.llrintf(x[i] * np.float32(0.5))
            out[i, 3] = libdevice.llroundf(x[i] * np.float32(0.5))

    x, y = np.array([5, -3, 0x7531, 1], np.int32), np.array([9, -30, 2, 1], np.int32)
    out = np.zeros((4, 4), np.int64)
    kernel[1, 32](x, y, out)
    np.testing.assert_array_equal(out[:, 0], np.abs(x.astype(int) - y) + 7)
    selected = [sum(((int(v) >> 4 * n) & 7) << 8 * n for n in range(4)) for v in x]
    np.testing.assert_array_equal(out[:, 1], selected)
    np.testing.assert_array_equal(out[:, 2], np.rint(x * 0.5))
    np.testing.assert_array_equal(out[:, 3], np.trunc(x * 0.5 + np.copysign(0.5, x)))


def test_pairs(device):
    @cuda.jit
    def kernel(x, y, out, whole):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0], whole[i, 0] = libdevice.frexpf(x[i])
            out[i, 1], whole[i, 1] = libdevice.remquof(x[i], y[i])

    x, y = np.array([7.5, -7.5, 1000, 3], np.float32), np.array([2, 2, -7, 1e9], np.float32)
    out, whole = np.zeros((4, 2), np.float32), np.zeros((4, 2), np.int32)
    kernel[1, 32](x, y, out, whole)
    np.testing.assert_array_equal(out[:, 0], np.frexp(x)[0])
    np.testing.assert_array_equal(whole[:, 0], np.frexp(x)[1])
    np.testing.assert_array_equal(out[:, 1], [math.remainder(a, b) for a, b in zip(x, y, strict=True)])
    np.testing.assert_array_equal(whole[:, 1], [4, -4, -(143 & 7), 0])
