"""`math`, NumPy's elementwise functions and Python's builtins in kernels, against references in float64."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_samples import FLOATS, INTEGERS, samples, supported
from scipy import special

from portagpu import cuda

pytestmark = pytest.mark.one_device

_ANY = np.array([-30.5, -3.2, -1, -0.7, -0.25, 0, 0.1, 0.5, 1, 1.75, 2.6, 9, 25.3])
_SMALL = np.array([-5, -1.2, -0.3, 0, 1e-3, 0.4, 1, 3.3, 6])
_UNIT = np.array([-1, -0.9, -0.3, 0, 0.2, 0.77, 1])
_OPEN = np.array([-0.95, -0.5, -0.01, 0, 0.3, 0.9])
_POSITIVE = np.array([1e-3, 0.2, 0.9, 1, 1.5, 7, 123.4])
_ABOVE_ONE = np.array([1, 1.01, 2, 30.5])

# functions that a kernel may call, a reference in float64, values, and how many units of rounding are allowed
UNARY = {
    "sqrt": ((math.sqrt, np.sqrt), np.sqrt, _POSITIVE, 4),
    "exp": ((math.exp, np.exp), np.exp, _SMALL, 8),
    "exp2": ((np.exp2,), np.exp2, _SMALL, 8),
    "expm1": ((math.expm1, np.expm1), np.expm1, _SMALL, 8),
    "log": ((math.log, np.log), np.log, _POSITIVE, 8),
    "log2": ((math.log2, np.log2), np.log2, _POSITIVE, 8),
    "log10": ((math.log10, np.log10), np.log10, _POSITIVE, 8),
    "log1p": ((math.log1p, np.log1p), np.log1p, _POSITIVE, 8),
    "sin": ((math.sin, np.sin), np.sin, _SMALL, 16),
    "cos": ((math.cos, np.cos), np.cos, _SMALL, 16),
    "tan": ((math.tan, np.tan), np.tan, _SMALL, 16),
    "asin": ((math.asin, np.arcsin), np.arcsin, _UNIT, 8),
    "acos": ((math.acos, np.arccos), np.arccos, _UNIT, 8),
    "atan": ((math.atan, np.arctan), np.arctan, _ANY, 10),
    "sinh": ((math.sinh, np.sinh), np.sinh, _SMALL, 8),
    "cosh": ((math.cosh, np.cosh), np.cosh, _SMALL, 8),
    "tanh": ((math.tanh, np.tanh), np.tanh, _SMALL, 10),
    "asinh": ((math.asinh, np.arcsinh), np.arcsinh, _ANY, 8),
    "acosh": ((math.acosh, np.arccosh), np.arccosh, _ABOVE_ONE, 8),
    "atanh": ((math.atanh, np.arctanh), np.arctanh, _OPEN, 10),
    "erf": ((math.erf,), special.erf, _SMALL, 32),
    "erfc": ((math.erfc,), special.erfc, _OPEN, 32),
    "gamma": ((math.gamma,), special.gamma, _POSITIVE[:-1], 64),
    "lgamma": ((math.lgamma,), special.gammaln, np.array([0.3, 0.5, 3.5, 7, 20.2]), 64),
    "cbrt": ((np.cbrt, cuda.cbrt), np.cbrt, _ANY, 8),
    "rsqrt": ((cuda.rsqrt,), lambda x: 1 / np.sqrt(x), _POSITIVE, 8),
    "radians": ((math.radians, np.radians, np.deg2rad), np.radians, _ANY, 8),
    "degrees": ((math.degrees, np.degrees, np.rad2deg), np.degrees, _ANY, 8),
    "floor": ((np.floor,), np.floor, _ANY, 0),
    "ceil": ((np.ceil,), np.ceil, _ANY, 0),
    "trunc": ((np.trunc,), np.trunc, _ANY, 0),
    "rint": ((np.rint,), np.rint, np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 2.6]), 0),
    "fabs": ((abs, math.fabs, np.fabs, np.abs, np.absolute), np.abs, _ANY, 0),
    "sign": ((np.sign,), np.sign, _ANY, 0),
    "square": ((np.square,), np.square, _ANY, 1),
    "negative": ((np.negative,), np.negative, _ANY, 0),
}
BINARY = {
    "atan2": ((math.atan2, np.arctan2), np.arctan2, 8),
    "copysign": ((math.copysign, np.copysign), np.copysign, 0),
    "fmod": ((math.fmod,), np.fmod, 0),
    "hypot": ((math.hypot, np.hypot), np.hypot, 8),
    "minimum": ((np.minimum, np.fmin, min), np.minimum, 0),
    "maximum": ((np.maximum, np.fmax, max), np.maximum, 0),
    "remainder": ((np.remainder,), np.remainder, 0),
    "floor_divide": ((np.floor_divide,), np.floor_divide, 0),
    "add": ((np.add,), np.add, 0),
    "subtract": ((np.subtract,), np.subtract, 0),
    "multiply": ((np.multiply,), np.multiply, 0),
    "divide": ((np.divide,), np.divide, 0),
}


def _close(found, expected, dtype, units):
    if units == 0:
        np.testing.assert_array_equal(found, expected.astype(dtype))
    else:
        eps = float(np.finfo(dtype).eps)
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=units * eps, atol=units * eps)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(device, name):
    functions, reference, values, units = UNARY[name]

    @cuda.jit
    def kernel(x, out, codes):
        i = cuda.grid(1)
        for n, function in enumerate(functions):
            result = function(x[i])
            out[n, i] = result
            codes[n] = result.dtype.num

    for dtype in supported(device, FLOATS):
        x = values.astype(dtype)
        out, codes = np.zeros((len(functions), x.size), dtype), np.zeros(len(functions), np.int64)
        kernel[1, x.size](x, out, codes)
        for row in out:
            _close(row, np.asarray(reference(x.astype(np.float64))), dtype, units)
        assert (codes == np.dtype(dtype).num).all(), "the result has the argument's dtype"


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(device, name):
    functions, reference, units = BINARY[name]

    @cuda.jit
    def kernel(x, y, out, codes):
        i = cuda.grid(1)
        for n, function in enumerate(functions):
            result = function(x[i], y[i])
            out[n, i] = result
            codes[n] = result.dtype.num

    grid = np.meshgrid(np.array([-7.5, -1, 0.5, 3, 100]), np.array([-3.25, -1, 0.75, 2, 9]))
    for dtype in supported(device, FLOATS):
        x, y = (v.ravel().astype(dtype) for v in grid)
        out, codes = np.zeros((len(functions), x.size), dtype), np.zeros(len(functions), np.int64)
        kernel[1, x.size](x, y, out, codes)
        exact = units == 0  # then the reference rounds as the dtype does
        expected = reference(x, y) if exact else reference(x.astype(np.float64), y.astype(np.float64))
        for row in out:
            _close(row, np.asarray(expected), dtype, units)
        assert (codes == np.dtype(dtype).num).all()


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_functions_of_nan_and_infinity(device, name):
    @cuda.jit
    def kernel(x, tests, out):
        i = cuda.grid(1)
        v = x[i]
        found = (math.isnan(v), np.isnan(v), math.isinf(v), np.isinf(v), math.isfinite(v), np.isfinite(v))
        for n, flag in enumerate(found):
            tests[n, i] = flag
        out[0, i] = np.minimum(v, 1)
        out[1, i] = np.maximum(v, 1)
        out[2, i] = np.fmin(v, 1)
        out[3, i] = np.fmax(v, 1)
        out[4, i] = np.sign(v)
        out[5, i] = abs(v)
        out[6, i] = -v
        out[7, i] = np.where(v > 0, v, -1)

    x = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 5], name)
    tests, out = np.zeros((6, x.size), bool), np.zeros((8, x.size), name)
    kernel[1, x.size](x, tests, out)
    expected = [np.isnan(x), np.isnan(x), np.isinf(x), np.isinf(x), np.isfinite(x), np.isfinite(x)]
    np.testing.assert_array_equal(tests, expected)
    one = x.dtype.type(1)
    wanted = [np.minimum(x, one), np.maximum(x, one), np.fmin(x, one), np.fmax(x, one), np.sign(x), abs(x), -x]
    for row, right in zip(out, [*wanted, np.where(x > 0, x, -one)], strict=True):
        np.testing.assert_array_equal(row, right)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions_of_integers(device, dtype):
    @cuda.jit
    def kernel(x, y, out, roots):
        i = cuda.grid(1)
        if i < x.size:
            a, b = x[i], y[i]
            found = (min(a, b), max(a, b), np.minimum(a, b), np.maximum(a, b), np.add(a, b), np.sign(a), np.square(a))
            for n, v in enumerate(found):
                out[n, i] = v
            roots[0, i] = math.sqrt(abs(a) / 2)
            roots[1, i] = math.floor(a)
            roots[2, i] = math.fabs(a)

    x, y = (v.ravel() for v in np.meshgrid(samples(dtype), samples(dtype)))
    out, roots = np.zeros((7, x.size), dtype), np.zeros((3, x.size))
    kernel.forall(x.size)(x, y, out, roots)
    least, most = np.minimum(x, y), np.maximum(x, y)
    np.testing.assert_array_equal(out, [least, most, least, most, x + y, np.sign(x), np.square(x)])
    with np.errstate(invalid="ignore"):  # abs(-128) is -128 in eight bits
        np.testing.assert_allclose(roots[0], np.sqrt(np.abs(x) / 2), rtol=1e-14)
    np.testing.assert_array_equal(roots[1:], [x.astype(np.float64), np.abs(x.astype(np.float64))])


def test_bools_in_builtins(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        out[i, 0] = x[i] + x[i]
        out[i, 1] = abs(x[i]) * 5
        out[i, 2] = int(x[i]) - 3
        out[i, 3] = sum((x[i], True, x[i]))
        out[i, 4] = any((x[i], i > 5)) + 2 * all((x[i], i < 2))
        out[i, 5] = -x[i]
        out[i, 6] = 10 if not x[i] else 20
        out[i, 7] = ~x[i]
        out[i, 8] = np.logical_and(x[i], i == 1) + 2 * np.logical_or(x[i], i == 0) + 4 * np.logical_not(x[i])

    x, out = np.array([False, True]), np.zeros((2, 9), np.int64)
    kernel[1, 2](x, out)
    assert out.tolist() == [[0, 0, -3, 1, 0, 0, 10, 1, 6], [2, 5, -2, 3, 3, -1, 20, 0, 3]]


def test_rounding(device):
    @cuda.jit
    def kernel(x, whole, out):
        i = cuda.grid(1)
        whole[0, i] = round(x[i])
        whole[1, i] = math.floor(x[i])
        whole[2, i] = math.ceil(x[i])
        whole[3, i] = math.trunc(x[i])
        out[0, i] = round(x[i], 1)
        out[1, i] = round(x[i], 0)

    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1.26, -7.94])
    whole, out = np.zeros((4, x.size), np.int64), np.zeros((2, x.size))
    kernel[1, x.size](x, whole, out)
    expected = [[f(v) for v in x.tolist()] for f in (round, math.floor, math.ceil, math.trunc)]
    np.testing.assert_array_equal(whole, expected)
    np.testing.assert_allclose(out, [[round(v, 1) for v in x.tolist()], np.rint(x)])


def test_pow_divmod_and_logarithms(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        quotient, rest = divmod(x[i], 3)
        out[i, 0] = quotient
        out[i, 1] = rest
        out[i, 2] = pow(x[i], 2)
        out[i, 3] = math.pow(x[i], 3)
        out[i, 4] = math.log(abs(x[i]) + 1, 2)
        out[i, 5] = math.ldexp(x[i], 4)
        out[i, 6] = cuda.fma(x[i], 2.0, 1.0)
        out[i, 7] = cuda.selp(x[i] > 0, 5, -5)
        out[i, 8] = math.remainder(x[i], 4.0)

    x = np.array([-7.25, -3, -0.5, 0, 1, 4.75, 10])
    out = np.zeros((x.size, 9))
    kernel[1, x.size](x, out)
    quotient, rest = np.divmod(x, 3)
    logs = np.log2(np.abs(x) + 1)
    nearest = [math.remainder(v, 4.0) for v in x.tolist()]
    expected = [quotient, rest, x**2, x**3, logs, 16 * x, 2 * x + 1, np.where(x > 0, 5, -5), nearest]
    np.testing.assert_allclose(out.T, expected, rtol=1e-14, atol=1e-15)


def test_constants_are_computed_by_python(device):
    @cuda.jit
    def kernel(out):
        out[0] = math.pi * math.sqrt(2) + math.log(10, 3)
        out[1] = 2**100 / 2**98
        out[2] = -7 // 2 + (-7) % 3
        out[3] = len("words") + max(1, 2.5) + float("1e3")
        out[4] = int(1e3) + round(2.567, 1) + abs(-3) + (5 if 3 in (1, 2, 3) else 6)
        out[5] = np.float32(0.1)
        out[6] = np.iinfo(np.int16).max + np.finfo(np.float32).max / 1e38
        out[7] = math.inf

    out = np.zeros(8)
    kernel[1, 1](out)
    expected = [math.pi * math.sqrt(2) + math.log(10, 3), 4, -4 + 2, 5 + 2.5 + 1e3, 1000 + 2.6 + 3 + 5]
    expected += [float(np.float32(0.1)), 32767 + np.finfo(np.float32).max / 1e38, math.inf]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_bits_of_signed_and_unsigned_integers(device, dtype):
    @cuda.jit
    def kernel(x, counts, reversed_):
        i = cuda.grid(1)
        counts[i, 0] = cuda.popc(x[i])
        counts[i, 1] = cuda.clz(x[i])
        counts[i, 2] = cuda.ffs(x[i])
        reversed_[i] = cuda.brev(x[i])

    x = samples(dtype)
    bits = 8 * x.itemsize
    counts, reversed_ = np.zeros((x.size, 3), np.int64), np.zeros_like(x)
    kernel[1, x.size](x, counts, reversed_)
    for value, row, back in zip(x.tolist(), counts.tolist(), reversed_.tolist(), strict=True):
        text = f"{value % 2**bits:0{bits}b}"
        first = text[::-1].find("1") + 1
        assert row == [text.count("1"), bits - len(text.lstrip("0")), first]
        assert back % 2**bits == int(text[::-1], 2)


def test_functions_write_local_arrays_of_their_caller(device):
    point = np.dtype([("x", np.float64), ("n", np.int32)])

    @cuda.jit(device=True)
    def fill(part, start):
        for i in range(len(part)):
            part[i] = start + i

    @cuda.jit(device=True)
    def through(part, start):
        fill(part[1:], start)

    @cuda.jit(device=True)
    def push(stack, top, value):
        stack[top] = value
        return top + 1

    @cuda.jit(device=True)
    def move(p):
        p.x += 2
        p.n -= 1

    @cuda.jit(device=True)
    def own(x):
        scratch = cuda.local.array(2, np.float64)
        scratch[0] = x
        scratch[1] = scratch[0] + 1
        return scratch[1]

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        local = cuda.local.array(4, np.float64)
        fill(local, i)
        through(local[1:], 100)
        top = push(local, 0, 7)
        top = push(local, top, 8) + push(local, top + 1, 9)
        points = cuda.local.array(2, point)
        points[1].x = 1
        points[1].n = 5
        move(points[1])
        for k in range(4):
            out[i, k] = local[k]
        out[i, 4] = top
        out[i, 5] = points[1].x * 10 + points[1].n
        out[i, 6] = own(i)

    out = np.zeros((3, 7))
    kernel[1, 3](out)
    for i in range(3):
        assert out[i].tolist() == [7, 8, 9, 101, 5, 34, i + 1]
