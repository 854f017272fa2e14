"""`cuda.libdevice`: CUDA's device functions by name."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import libdevice
from portagpu.errors import KernelNameError

pytestmark = pytest.mark.oclgrind
X = np.array([0.1, 0.75, 1.0, 1.5, 3.25], np.float64)
UNARY = {
    "sin": np.sin,
    "cosf": np.cos,
    "fast_sinf": np.sin,
    "fast_expf": np.exp,
    "sqrtf": np.sqrt,
    "rsqrtf": lambda x: 1 / np.sqrt(x),
    "exp10f": lambda x: 10.0**x,
    "sinpif": lambda x: np.sin(np.pi * x),
    "cospi": lambda x: np.cos(np.pi * x),
    "log1p": np.log1p,
    "logbf": lambda x: np.floor(np.log2(x)),
    "cbrt": np.cbrt,
    "roundf": lambda x: np.floor(x + 0.5),
    "nearbyint": np.rint,
    "float2int_rz": np.trunc,
    "float2int_ru": np.ceil,
    "double2ll_rd": np.floor,
    "isnanf": np.isnan,
    "finitef": np.isfinite,
    "ilogb": lambda x: np.floor(np.log2(x)),
    "signbitd": lambda x: x * 0,
}
BINARY = {
    "powf": np.power,
    "fast_powf": np.power,
    "atan2f": np.arctan2,
    "fminf": np.fmin,
    "fdim": lambda x, y: np.maximum(x - y, 0),
    "fadd_rn": np.add,
    "ddiv_rn": np.divide,
    "fast_fdividef": np.divide,
    "hypotf": np.hypot,
}


def needs(device, name):
    single = name.endswith("f") or name.startswith(("f", "ilogbf", "roundf"))
    if not single and not device.capabilities.fp64:
        pytest.skip("no float64")


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(device, name):
    needs(device, name)
    function = getattr(libdevice, name)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    x = X.astype(np.float32)
    out = np.zeros(x.size, np.float32)
    kernel[1, x.size](x, out)
    np.testing.assert_allclose(out, UNARY[name](x.astype(np.float64)), rtol=2e-6, atol=2e-6)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(device, name):
    needs(device, name)
    function = getattr(libdevice, name)

    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        out[i] = function(x[i], y[i])

    x, y = X.astype(np.float32), X[::-1].astype(np.float32)
    out = np.zeros(x.size, np.float32)
    kernel[1, x.size](x, y, out)
    np.testing.assert_allclose(out, BINARY[name](x.astype(np.float64), y), rtol=4e-6, atol=2e-6)


def test_integers_and_bits(device):
    @cuda.jit
    def kernel(out):
        out[0] = libdevice.mulhi(1 << 30, 12)
        out[1] = libdevice.umulhi(0xFFFFFFFF, 0xFFFFFFFF)
        out[2] = libdevice.popc(0xFF)
        out[3] = libdevice.clzll(1)
        out[4] = libdevice.ffs(8)
        out[5] = libdevice.abs(-5)
        out[6] = libdevice.max(3, -7)
        out[7] = libdevice.float_as_int(1.0)
        out[8] = int(libdevice.int_as_float(0x40490FDB) * 1000)
        out[9] = libdevice.hadd(3, 6)
        out[10] = libdevice.powif(2.0, 5)
        out[11] = libdevice.fmaf(2.0, 3.0, 4.0)

    out = np.zeros(12, np.int64)
    kernel[1, 1](out)
    assert out.tolist() == [3, 0xFFFFFFFE, 8, 63, 4, 5, 3, 0x3F800000, 3141, 4, 32, 10]


def test_two_results(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i], out[1, i] = libdevice.sincosf(x[i])
        fraction, whole = libdevice.modff(x[i])
        out[2, i], out[3, i] = fraction, whole

    x = np.array([0.5, -2.25, 7.0, math.inf], np.float32)
    out = np.zeros((4, 4), np.float32)
    kernel[1, 4](x, out)
    np.testing.assert_allclose(out[0, :3], np.sin(x[:3]), rtol=2e-6)
    np.testing.assert_allclose(out[1, :3], np.cos(x[:3]), rtol=2e-6)
    np.testing.assert_array_equal(out[2:], np.modf(x))


def test_unknown_function(device):
    @cuda.jit
    def kernel(x):
        x[0] = libdevice.sinnf(x[0])

    with pytest.raises(KernelNameError, match="sinf"):
        kernel[1, 1](np.zeros(1, np.float32))
