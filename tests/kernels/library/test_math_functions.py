"""`math`, NumPy's elementwise functions and Python's builtins on real numbers, against NumPy and `math`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kernel_samples import INTEGERS, samples, supported

from portagpu import cuda
from portagpu.device import DeviceRecord
from portagpu.errors import KernelTypeError, KernelValueError, UnsupportedSyntaxError

FLOATS = ("float32", "float64")
# OpenCL promises 4 ulp for the functions below (16 for pow); compound ones take up to three of them
_ULPS = 16


def _values(name: str) -> np.ndarray[Any, Any]:
    info = np.finfo(name)
    special = [
        0.0,
        -0.0,
        1,
        -1,
        0.5,
        -0.5,
        2.5,
        -2.5,
        100.25,
        float(info.max),
        -float(info.tiny),
        np.inf,
        -np.inf,
        np.nan,
    ]
    random = np.random.default_rng(0)
    return np.concatenate([special, random.normal(size=40) * 10 ** random.uniform(-3, 2, 40)]).astype(name)


def _pairs(name: str) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    a, b = np.meshgrid(_values(name), _values(name))
    return a.ravel(), b.ravel()


def _close(found: np.ndarray[Any, Any], exact: np.ndarray[Any, Any], name: str, what: str) -> None:
    """Within some ulp of the result in higher precision; results too small for full precision within the smallest."""
    info = np.finfo(name)
    with np.errstate(all="ignore"):
        expected = exact.astype(name)
    np.testing.assert_allclose(found, expected, rtol=_ULPS * info.eps, atol=4 * float(info.tiny), err_msg=what)


UNARY = (
    *(np.sqrt, np.exp, np.exp2, np.expm1, np.log, np.log2, np.log10, np.log1p, np.sin, np.cos, np.tan, np.arcsin),
    *(np.arccos, np.arctan, np.sinh, np.cosh, np.tanh, np.arcsinh, np.arccosh, np.arctanh, np.cbrt, np.deg2rad),
    *(np.rad2deg, np.radians, np.degrees, np.floor, np.ceil, np.trunc, np.rint, np.fabs, np.absolute, np.sign),
    *(np.reciprocal, np.positive, np.negative, np.square, np.conj, np.real, np.fix, np.sinc),
)
BINARY = (
    *(np.arctan2, np.hypot, np.copysign, np.fmod, np.logaddexp, np.logaddexp2, np.heaviside, np.minimum, np.maximum),
    *(np.fmin, np.fmax, np.float_power, np.remainder),
)
_EXACT = {np.nextafter}


@cuda.jit
def unary_functions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        for n, f in enumerate(UNARY):
            out[n, i] = f(x[i])


@cuda.jit
def binary_functions(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        for n, f in enumerate(BINARY):
            out[n, i] = f(x[i], y[i])


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_one_number(device: DeviceRecord, name: str) -> None:
    if name not in supported(device):
        return
    x = _values(name)
    # near the poles of tan, or where exp turns a rounding of its argument into many ulp, only moderate values are fair
    x = np.concatenate([x[np.abs(x) < 80], x[~np.isfinite(x)]])
    out = np.zeros((len(UNARY), x.size), name)
    unary_functions.forall(x.size)(x, out)
    with np.errstate(all="ignore"):
        for found, function in zip(out, UNARY, strict=True):
            if function is np.sinc:  # the argument's rounding is an error of the sine's scale
                np.testing.assert_allclose(found, np.sinc(x), atol=4 * float(np.finfo(name).eps))
                continue
            exact = np.trunc if function is np.fix else function  # newer NumPy warns about fix
            _close(found, exact(x.astype(np.longdouble)), name, function.__name__)


@pytest.mark.parametrize("name", FLOATS)
def test_functions_of_two_numbers(device: DeviceRecord, name: str) -> None:
    if name not in supported(device):
        return
    x, y = _pairs(name)
    out = np.zeros((len(BINARY), x.size), name)
    binary_functions.forall(x.size)(x, y, out)
    with np.errstate(all="ignore"):
        for found, function in zip(out, BINARY, strict=True):
            if function is np.float_power:  # always in double precision
                exact = function(x, y).astype(np.longdouble)
                _close(found, exact, name, "float_power")
            elif function is np.remainder:  # NumPy's own rounding of the last step, in the same precision
                keep = np.abs(x) < 1e6
                np.testing.assert_allclose(found[keep], function(x, y)[keep], rtol=1e-5, atol=1e-5)
            elif function in (np.logaddexp, np.logaddexp2):  # terms cancel where the result is near zero
                scale = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)
                error = np.abs(found - function(x.astype(np.longdouble), y.astype(np.longdouble)))
                keep = np.isfinite(x) & np.isfinite(y)
                assert np.all(error[keep] <= 8 * np.finfo(name).eps * scale[keep])
                np.testing.assert_array_equal(found[~keep], function(x, y)[~keep])
            else:
                _close(found, function(x.astype(np.longdouble), y.astype(np.longdouble)), name, function.__name__)


@cuda.jit
def bit_exact(x, y, after, space, sign, near, mantissa, exponent, rest, whole, scaled):
    i = cuda.grid(1)
    if i < x.size:
        after[i] = np.nextafter(x[i], y[i])
        space[i] = np.spacing(x[i])
        sign[i] = np.signbit(x[i])
        near[i] = np.isclose(x[i], y[i]) + 2 * math.isclose(x[i], y[i], rel_tol=0.5)
        mantissa[i], exponent[i] = math.frexp(x[i])
        rest[i], whole[i] = math.modf(x[i])
        scaled[i] = math.ldexp(x[i], i % 9 - 4)


@pytest.mark.parametrize("name", FLOATS)
def test_functions_that_are_exact(device: DeviceRecord, name: str) -> None:
    if name not in supported(device):
        return
    x, y = _pairs(name)
    after, space, mantissa, rest, whole, scaled = (np.zeros_like(x) for _ in range(6))
    sign, near, exponent = np.zeros(x.size, bool), np.zeros(x.size, np.int8), np.zeros(x.size, np.int64)
    bit_exact.forall(x.size)(x, y, after, space, sign, near, mantissa, exponent, rest, whole, scaled)
    with np.errstate(all="ignore"):
        close = [np.isclose(a, b) + 2 * math.isclose(a, b, rel_tol=0.5) for a, b in zip(x, y)]
        next_ones = np.nextafter(x, y)
        for found, expected in (
            (after, next_ones),
            (np.abs(space), np.abs(np.spacing(x))),
            (sign, np.signbit(x)),
            (near, close),
            (mantissa, np.frexp(x)[0]),
            (exponent[np.isfinite(x)], np.frexp(x)[1][np.isfinite(x)]),
            (rest, np.modf(x)[0]),
            (whole, np.modf(x)[1]),
            (scaled, np.ldexp(x, np.arange(x.size) % 9 - 4)),
        ):
            np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(rest), np.signbit(np.modf(x)[0]))
    zeros = after == 0
    np.testing.assert_array_equal(np.signbit(after[zeros]), np.signbit(next_ones[zeros]))


@cuda.jit
def next_ones(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.nextafter(x[i], y[i])


def test_halves_next_to_all_halves(device: DeviceRecord) -> None:
    x = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for y in np.array([0, -0.0, 1, -(2**-24), np.inf, -np.inf, np.nan], np.float16):
        found = np.zeros_like(x)
        next_ones.forall(x.size)(x, np.full_like(x, y), found)
        with np.errstate(all="ignore"):
            expected = np.where(x == y, y, np.nextafter(x, y))  # before NumPy 2.5 the first one of two zeros
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(found[numbers].view(np.uint16), expected[numbers].view(np.uint16))
        assert np.isnan(found[~numbers]).all()


@cuda.jit
def integer_functions(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        a, b = x[i], y[i]
        out[0, i] = np.gcd(a, b)
        out[1, i] = math.gcd(a, b)
        out[2, i] = np.lcm(a, b)
        out[3, i] = np.fmod(a, b)
        out[4, i] = np.invert(a)
        out[5, i] = np.left_shift(a, 1)
        out[6, i] = np.logical_xor(a, b)
        out[7, i] = np.clip(a, 3, b)
        out[8, i], out[9, i] = np.divmod(a, b)
        out[10, i] = np.minimum(a, b)
        out[11, i] = np.signbit(a)
        out[12, i] = round(a)
        out[13, i] = np.round(a, -1)
        out[14, i] = np.positive(a)


@pytest.mark.parametrize("name", INTEGERS)
def test_functions_of_integers(device: DeviceRecord, name: str) -> None:
    values = samples(name)
    values = values[np.abs(values.astype(object)) <= 120]
    x, y = (v.ravel() for v in np.meshgrid(values, values))
    out = np.zeros((15, x.size), name)
    integer_functions.forall(x.size)(x, y, out)
    with np.errstate(all="ignore"):
        tens = [round(int(v), -1) for v in x]
        expected = (
            *(np.gcd(x, y), np.gcd(x, y), np.lcm(x, y), np.fmod(x, y), np.invert(x), np.left_shift(x, 1)),
            *(np.logical_xor(x, y), np.clip(x, 3, y), *np.divmod(x, y), np.minimum(x, y), x < 0, x, tens, x),
        )
    for n, (found, wanted) in enumerate(zip(out, expected, strict=True)):
        if n == 2:  # a multiple that does not fit is any number
            found, wanted = (np.where(np.abs(x.astype(int) * y) < 128, v, 0) for v in (found, wanted))
        np.testing.assert_array_equal(found, np.asarray(wanted).astype(name), str(n))


@cuda.jit
def rounding(x, digits, fixed, given):
    i = cuda.grid(1)
    if i < x.size:
        fixed[0, i] = round(x[i], 2)
        fixed[1, i] = round(x[i], -2)
        fixed[2, i] = np.round(x[i], 1)
        fixed[3, i] = np.around(x[i])
        fixed[4, i] = round(x[i], 0)
        given[i] = round(x[i], digits[i])


def test_rounding_to_digits(device: DeviceRecord) -> None:
    if "float64" not in supported(device):
        return
    x = np.array([0, 1.234567, -2.5, 3.5, 1250, 1350, 149.99, 1e300, -7.0625, np.inf, -np.inf, np.nan, 0.5, 12345.6789])
    digits = np.array([3, 4, 0, 0, -2, -2, 1, 300, 3, 2, -2, 2, 30, -400])
    fixed, given_digits = np.zeros((5, x.size)), np.zeros(x.size)
    rounding.forall(x.size)(x, digits, fixed, given_digits)
    for found, n in zip(fixed, (2, -2, 1, 0, 0), strict=True):
        np.testing.assert_array_equal(found, [round(float(v), n) for v in x])
    np.testing.assert_array_equal(given_digits, [round(float(v), int(n)) for v, n in zip(x, digits)])


@cuda.jit
def builtins_of_numbers(x, out):
    i = cuda.grid(1)
    if i < x.size:
        a = x[i]
        out[0, i] = int(a)
        out[1, i] = float(a)
        out[2, i] = bool(a)
        out[3, i] = min((a, 3, 1))
        out[4, i] = max(a, 3)
        out[5, i] = sum((a, a, 1))
        out[6, i] = pow(int(a), 3, 7)
        total = 0.0
        for left, right in zip((a, 2), (1, a), strict=True):
            total += left * right
        out[7, i] = total
        out[8, i] = np.float32(a)
        out[9, i] = np.int8(a)
        out[10, i] = a / 4


@pytest.mark.parametrize("name", ("bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", *FLOATS))
def test_builtins(device: DeviceRecord, name: str) -> None:
    if name not in supported(device):
        return
    x = (np.array([0, 1, 2, 5, 20]) if name[0] in "bu" else np.array([-20, -3, -1, 0, 1, 2, 20])).astype(name)
    if name in FLOATS:
        x = x + np.array(0.75, name)
    out = np.zeros((11, x.size))
    builtins_of_numbers.forall(x.size)(x, out)
    for i, v in enumerate(x.tolist()):
        expected = (
            *(int(v), float(v), bool(v), min(v, 3, 1), max(v, 3), v + v + 1, pow(int(v), 3, 7), v + 2 * v),
            *(float(v), int(v), v / 4),
        )
        np.testing.assert_allclose(out[:, i], expected, rtol=4 * np.finfo("float32").eps)


@cuda.jit
def sums(x, y, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = np.logaddexp(x[i], y[i])


@given(pairs=st.lists(st.tuples(*[st.floats(-700, 700)] * 2), min_size=1, max_size=16))
def test_logaddexp_of_any_numbers(device: DeviceRecord, pairs: list[tuple[float, float]]) -> None:
    if "float64" not in supported(device):
        return
    x, y = np.array(pairs).T.copy()
    out = np.zeros(x.size)
    sums.forall(x.size)(x, y, out)
    exact = np.logaddexp(x.astype(np.longdouble), y.astype(np.longdouble)).astype(float)
    size = np.maximum(np.maximum(np.abs(x), np.abs(y)), 1)  # the larger operand's rounding is the error's scale
    assert np.all(np.abs(out - exact) <= 8 * np.finfo(float).eps * size)


def test_wrong_uses_say_so(device: DeviceRecord) -> None:
    @cuda.jit
    def gcd_of_floats(x):
        x[0] = math.gcd(x[0], 2)

    @cuda.jit
    def uneven(x):
        for a, b in zip((1, 2), (1, 2, 3), strict=True):
            x[0] = a

    for kernel, kind, text in (
        (gcd_of_floats, KernelTypeError, "gcd needs integers"),
        (uneven, KernelValueError, "zip"),
    ):
        with pytest.raises(kind, match=text):
            kernel[1, 1](np.ones(1, np.float32))


@cuda.jit
def whole_arrays(x, y, m, out, sums, table, whole, rest):
    np.sin(x, out)
    np.add(x, y, out=sums)
    np.multiply(m, x, table)
    np.modf(x, whole, rest)
    np.maximum(sums, 0.5, sums)


def test_ufuncs_of_whole_arrays(device: DeviceRecord) -> None:
    x, m = np.linspace(-3, 3, 7, dtype=np.float32), np.arange(3, dtype=np.float32).reshape(3, 1)
    y = np.array([2], np.int32)
    out, sums, whole, rest, table = *(np.zeros_like(x) for _ in range(4)), np.zeros((3, 7), np.float32)
    whole_arrays[1, 1](x, y, m, out, sums, table, whole, rest)
    np.testing.assert_allclose(out, np.sin(x), rtol=1e-6)
    np.testing.assert_array_equal(sums, np.maximum(x + 2, 0.5))
    np.testing.assert_array_equal(table, m * x)
    np.testing.assert_array_equal((whole, rest), np.modf(x))

    @cuda.jit
    def without_result(x):
        np.sin(x)

    with pytest.raises(UnsupportedSyntaxError, match="needs an array for the result"):
        without_result[1, 1](x)


@cuda.jit
def counts_of_choices(n, k, factorials, permutations, combinations):
    i = cuda.grid(1)
    if i < n.size:
        factorials[i] = math.factorial(n[i])
        permutations[i] = math.perm(n[i], k[i])
        combinations[i] = math.comb(n[i], k[i])


def test_counts_of_choices_of_any_numbers(device: DeviceRecord) -> None:
    """Lower 64 bits of factorials and permutations, combinations that fit, and an end for every number."""
    numbers = [*range(-2, 70), 10**6, 2**31, 3 * 10**9, 2**62, 2**63 - 1, -(2**63)]
    n, k = (side.ravel() for side in np.meshgrid(np.array(numbers, np.int64), np.array(numbers, np.int64)))
    factorials, permutations, combinations = (np.zeros_like(n) for _ in range(3))
    counts_of_choices[(n.size + 63) // 64, 64](n, k, factorials, permutations, combinations)
    results = zip(*(a.view(np.uint64).tolist() for a in (factorials, permutations, combinations)), strict=True)
    for whole, part, result in zip(n.tolist(), k.tolist(), results, strict=True):
        fewer = min(part, whole - part)
        choices = math.comb(whole, fewer) if 0 <= fewer < 34 else 0
        lists = math.perm(whole, part) if 0 <= part <= min(whole, 65) else 0
        product = math.factorial(whole) if 0 <= whole <= 65 else 0
        assert result == (product % 2**64, lists % 2**64, choices if choices < 2**63 else 0), (whole, part)
