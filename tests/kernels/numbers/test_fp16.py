"""float16: native, or computed in float32 and rounded; `cuda.fp16`."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.oclgrind


def test_arithmetic_rounds_as_numpy_does(device):
    @cuda.jit
    def kernel(a, b, out):
        i = cuda.grid(1)
        if i < a.size:
            out[0, i] = a[i] + b[i]
            out[1, i] = a[i] - b[i]
            out[2, i] = a[i] * b[i]
            out[3, i] = a[i] / b[i]
            out[4, i] = -a[i] + 1
            out[5, i] = a[i] + b[i] - a[i]

    rng = np.random.default_rng(4)
    a, b = (rng.uniform(-9, 9, 300).astype(np.float16) for _ in range(2))
    a[:3], b[:3] = [1000, 60000, 1e-7], [0.01, 60000, 0.5]
    out = np.zeros((6, a.size), np.float16)
    kernel[10, 32](a, b, out)
    with np.errstate(over="ignore"):
        expected = [a + b, a - b, a * b, a / b, -a + np.float16(1), a + b - a]
    np.testing.assert_array_equal(out, expected)


def test_float16_is_supported(device):
    caps = device.capabilities
    assert cuda.is_float16_supported() == (caps.fp16 or caps.fp16_storage)


def test_memory_of_halves(device):
    """Shared, local, captured and view memory, device functions and scalar arguments."""
    table = np.array([0.5, 1.5, -2.25], np.float16)

    @cuda.jit(device=True)
    def scaled(x, factor):
        return x * factor, x

    @cuda.jit
    def kernel(a, factor, out, n):
        tile = cuda.shared.array(32, np.float16)
        own = cuda.local.array(2, np.float16)
        t = cuda.threadIdx.x
        if t >= n:
            return
        tile[t] = a[t]
        cuda.syncthreads()
        both = scaled(tile[n - 1 - t], factor)
        for k in range(2):
            own[k] = both[0] + k
        total = own[0]
        for k in range(1, 2):
            total += own[k]
        out[::2][t] = total + table[t % 3]
        out[2 * t + 1] = np.float16(t) if t % 2 else both[1]

    n = 20
    a = np.linspace(-3, 3, n).astype(np.float16)
    out = np.zeros(64, np.float16)
    factor = np.float16(1.1)
    kernel[1, 32](a, factor, out, n)
    scaled_values = a[::-1] * factor
    expected = scaled_values + (scaled_values + np.float16(1)) + table[np.arange(n) % 3]
    np.testing.assert_array_equal(out[: 2 * n : 2], expected)
    np.testing.assert_array_equal(out[1 : 2 * n : 2], np.where(np.arange(n) % 2, np.arange(n), a[::-1]))


def test_conversions(device):
    @cuda.jit
    def kernel(h, f, i, out):
        t = cuda.grid(1)
        f[t] = h[t] + np.float32(0.125)
        i[t] = int(h[t] * 3)
        out[t] = np.float16(f[t]) if h[t] > 0 else i[t]

    h = np.array([1.5, -2.25, 100.0, 0.0], np.float16)
    f, i, out = np.zeros(4, np.float32), np.zeros(4, np.int32), np.zeros(4, np.float16)
    kernel[1, 4](h, f, i, out)
    np.testing.assert_array_equal(f, h.astype(np.float32) + np.float32(0.125))
    np.testing.assert_array_equal(i, (h * 3).astype(np.int32))
    np.testing.assert_array_equal(out, np.where(h > 0, f, i).astype(np.float16))


UNARY = {
    "hneg": np.negative,
    "habs": np.abs,
    "hsin": np.sin,
    "hcos": np.cos,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: 10.0**x,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hsqrt": np.sqrt,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
    "hrcp": lambda x: 1 / x,
    "hfloor": np.floor,
    "hceil": np.ceil,
    "hrint": np.rint,
    "htrunc": np.trunc,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_half(device, name):
    function = getattr(cuda.fp16, name)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = function(x[i])

    x = np.array([0.25, 0.5, 1.0, 1.5, 2.5, 3.75, 0.1], np.float16)
    out = np.zeros_like(x)
    kernel[1, x.size](x, out)
    expected = UNARY[name](x.astype(np.float64)).astype(np.float16)
    np.testing.assert_allclose(out.astype(np.float64), expected, rtol=2**-9, atol=2**-11)  # two units in the last place


def test_functions_of_two_and_three(device):
    @cuda.jit
    def kernel(a, b, out, flags):
        out[0] = cuda.fp16.hadd(a[0], b[0])
        out[1] = cuda.fp16.hsub(a[0], b[0])
        out[2] = cuda.fp16.hmul(a[0], b[0])
        out[3] = cuda.fp16.hdiv(a[0], b[0])
        out[4] = cuda.fp16.hfma(a[0], b[0], a[1])
        out[5] = cuda.fp16.hmax(a[0], b[0])
        out[6] = cuda.fp16.hmin(a[0], b[0])
        out[7] = cuda.fp16.hmax(a[0], b[1])
        flags[0] = cuda.fp16.heq(a[0], b[0])
        flags[1] = cuda.fp16.hne(a[0], b[0])
        flags[2] = cuda.fp16.hgt(a[0], b[0])
        flags[3] = cuda.fp16.hge(a[0], a[0])
        flags[4] = cuda.fp16.hlt(a[0], b[0])
        flags[5] = cuda.fp16.hle(a[0], b[0])

    a, b = np.array([3.1, 2.0], np.float16), np.array([-1.7, math.nan], np.float16)
    out, flags = np.zeros(8, np.float16), np.zeros(6, np.bool_)
    kernel[1, 1](a, b, out, flags)
    x, y = a[0], b[0]
    fused = np.float16(float(x) * float(y) + 2.0)
    np.testing.assert_array_equal(out, [x + y, x - y, x * y, x / y, fused, x, y, x])
    np.testing.assert_array_equal(flags, [0, 1, 1, 1, 0, 0])


def test_math_of_halves(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = math.sqrt(x[i])
        out[1, i] = math.floor(x[i])
        out[2, i] = max(x[i], np.float16(1))
        out[3, i] = x[i] % np.float16(0.75)
        out[4, i] = math.isnan(x[i])

    x = np.array([0.25, 2.6, 1.9, 7.0], np.float16)
    out = np.zeros((5, 4), np.float16)
    kernel[1, 4](x, out)
    expected = [np.sqrt(x), np.floor(x), np.maximum(x, np.float16(1)), x % np.float16(0.75), np.zeros(4)]
    np.testing.assert_array_equal(out, np.array(expected, np.float16))
