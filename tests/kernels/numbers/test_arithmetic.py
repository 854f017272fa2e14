"""Operators over every pair of dtypes, against NumPy: result types, wrapping, signs, division by zero."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from kernel_samples import ALL, INTEGERS, pairs, samples, supported

from portagpu import cuda
from portagpu.device import DeviceRecord
from portagpu.errors import MissingCapabilityError

Operator = Callable[[Any, Any], Any]
_ARITHMETIC: tuple[Operator, ...] = (
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
)
_COMPARISONS: tuple[Operator, ...] = (*(operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne),)
_BITS: tuple[Operator, ...] = (operator.and_, operator.or_, operator.xor)


@cuda.jit
def arithmetic(x, rights, ints, floats, codes):
    i = cuda.grid(1)
    if i >= x.shape[1]:
        return
    for k, right in enumerate(rights):
        a, b = x[k, i], right[i]
        for n, r in enumerate((a + b, a - b, a * b, a / b, a // b, a % b)):
            codes[k, n] = r.dtype.num
            if r.dtype.kind == "f":
                floats[k, n, i] = r
            else:
                ints[k, n, i] = r


@cuda.jit
def comparisons(x, rights, out):
    i = cuda.grid(1)
    if i >= x.shape[1]:
        return
    for k, right in enumerate(rights):
        a, b = x[k, i], right[i]
        for n, r in enumerate((a < b, a <= b, a > b, a >= b, a == b, a != b)):
            out[k, n, i] = r


@cuda.jit
def bitwise(x, rights, ints, codes):
    i = cuda.grid(1)
    if i >= x.shape[1]:
        return
    for k, right in enumerate(rights):
        a, b = x[k, i], right[i]
        for n, r in enumerate((a & b, a | b, a ^ b)):
            codes[k, n] = r.dtype.num
            ints[k, n, i] = r


def _columns(left: str, rights: list[str]) -> tuple[np.ndarray[Any, Any], list[np.ndarray[Any, Any]], list[int]]:
    """Left operands as rows of one array, right operands as arrays, and how many of each row count."""
    found = [pairs(left, right) for right in rights]
    width = max(len(a) for a, _ in found)
    x = np.ones((len(rights), width), left)
    for row, (a, _) in zip(x, found, strict=True):
        row[: len(a)] = a
    padded = [np.concatenate([b, np.ones(width - len(b), b.dtype)]) for _, b in found]
    return x, padded, [len(a) for a, _ in found]


def _expected(function: Operator, a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """NumPy's result, except that bools are integers in arithmetic, as in Python."""
    if a.dtype == b.dtype == np.bool_ and function not in _BITS and function not in _COMPARISONS:
        a, b = a.astype(np.int64), b.astype(np.int64)
    with np.errstate(all="ignore"):
        return np.asarray(function(a, b))


def _same(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], what: str) -> None:
    if expected.dtype.kind == "f":
        np.testing.assert_array_equal(found.astype(expected.dtype), expected, what)
    else:
        np.testing.assert_array_equal(found, expected.astype(np.int64), what)


@pytest.mark.parametrize("left", ALL)
def test_arithmetic_of_all_pairs_of_dtypes(device: DeviceRecord, left: str) -> None:
    rights = supported(device)
    if left not in rights:
        ints, floats, codes = np.ones((1, 6, 1), np.int64), np.ones((1, 6, 1)), np.ones((1, 6), np.int64)
        with pytest.raises(MissingCapabilityError, match=f"this device has no {left}"):
            arithmetic.specialize(np.ones((1, 1), left), (np.ones(1, np.int8),), ints, floats, codes)
        return
    x, padded, counts = _columns(left, rights)
    ints = np.zeros((len(rights), len(_ARITHMETIC), x.shape[1]), np.int64)
    floats, codes = np.zeros(ints.shape), np.zeros(ints.shape[:2], np.int64)
    arithmetic.forall(x.shape[1])(x, tuple(padded), ints, floats, codes)
    for k, (right, count) in enumerate(zip(rights, counts, strict=True)):
        for n, function in enumerate(_ARITHMETIC):
            what = f"{function.__name__}({left}, {right})"
            expected = _expected(function, x[k, :count], padded[k][:count])
            assert codes[k, n] == expected.dtype.num, f"{what}: {codes[k, n]}, not {expected.dtype}"
            _same((floats if expected.dtype.kind == "f" else ints)[k, n, :count], expected, what)


@pytest.mark.parametrize("left", ALL)
def test_comparisons_of_all_pairs_of_dtypes(device: DeviceRecord, left: str) -> None:
    rights = supported(device)
    if left not in rights:
        return
    x, padded, counts = _columns(left, rights)
    out = np.zeros((len(rights), len(_COMPARISONS), x.shape[1]), np.bool_)
    comparisons.forall(x.shape[1])(x, tuple(padded), out)
    for k, (right, count) in enumerate(zip(rights, counts, strict=True)):
        for n, function in enumerate(_COMPARISONS):
            expected = _expected(function, x[k, :count], padded[k][:count])
            np.testing.assert_array_equal(out[k, n, :count], expected, f"{function.__name__}({left}, {right})")


@pytest.mark.parametrize("left", ("bool", *INTEGERS))
def test_bit_operators_of_all_pairs_of_integers(device: DeviceRecord, left: str) -> None:
    rights = [r for r in ("bool", *INTEGERS) if np.promote_types(left, r).kind != "f"]
    x, padded, counts = _columns(left, rights)
    ints = np.zeros((len(rights), len(_BITS), x.shape[1]), np.int64)
    codes = np.zeros(ints.shape[:2], np.int64)
    bitwise.forall(x.shape[1])(x, tuple(padded), ints, codes)
    for k, (right, count) in enumerate(zip(rights, counts, strict=True)):
        for n, function in enumerate(_BITS):
            expected = _expected(function, x[k, :count], padded[k][:count])
            assert codes[k, n] == expected.dtype.num
            _same(ints[k, n, :count], expected, f"{function.__name__}({left}, {right})")


@cuda.jit
def shifts(x, counts, lefts, rights):
    i = cuda.grid(1)
    if i < x.size:
        lefts[i] = x[i] << counts[i]
        rights[i] = x[i] >> counts[i]


@pytest.mark.parametrize("name", INTEGERS)
def test_shifts(device: DeviceRecord, name: str) -> None:
    bits = 8 * np.dtype(name).itemsize
    x, counts = np.meshgrid(samples(name), np.array([0, 1, 3, bits - 1, bits, bits + 1, 100], name))
    x, counts = x.ravel(), counts.ravel()
    lefts, rights = np.zeros_like(x), np.zeros_like(x)
    shifts.forall(x.size)(x, counts, lefts, rights)
    np.testing.assert_array_equal(lefts, x << counts)
    np.testing.assert_array_equal(rights, x >> counts)


@cuda.jit
def signs(x, negatives, inverted, absolute):
    i = cuda.grid(1)
    if i < x.size:
        negatives[i] = -x[i]
        inverted[i] = ~x[i]
        absolute[i] = abs(x[i])


@pytest.mark.parametrize("name", INTEGERS)
def test_unary_operators(device: DeviceRecord, name: str) -> None:
    x = samples(name)
    found = [np.zeros_like(x) for _ in range(3)]
    signs.forall(x.size)(x, *found)
    for result, expected in zip(found, (-x, ~x, np.abs(x)), strict=True):
        np.testing.assert_array_equal(result, expected)


@cuda.jit
def integer_powers(x, y, out, squares, cubes, fourths, tens):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] ** y[i]
        squares[i] = x[i] ** 2
        cubes[i] = x[i] ** 3
        fourths[i] = x[i] ** 4
        tens[i] = x[i] ** 10


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_powers_wrap_as_in_numpy(device: DeviceRecord, name: str) -> None:
    x, y = np.meshgrid(samples(name), np.array([0, 1, 2, 3, 5, 11, 40], name))
    x, y = x.ravel(), y.ravel()
    found = [np.zeros_like(x) for _ in range(5)]
    integer_powers.forall(x.size)(x, y, *found)
    for result, expected in zip(found, (x**y, x**2, x**3, x**4, x**10), strict=True):
        np.testing.assert_array_equal(result, expected)


@cuda.jit
def float_powers(x, y, out, squares, roots, inverse):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] ** y[i]
        squares[i] = x[i] ** 2
        roots[i] = x[i] ** 0.5
        inverse[i] = x[i] ** -1


@pytest.mark.parametrize("name", ("float32", "float64"))
def test_float_powers(device: DeviceRecord, name: str) -> None:
    x, y = np.meshgrid(np.array([0.25, 1, 2, 3.5, 10], name), np.array([-2, -0.5, 0, 0.3, 1, 2, 7], name))
    x, y = x.ravel(), y.ravel()
    found = [np.zeros_like(x) for _ in range(4)]
    float_powers.forall(x.size)(x, y, *found)
    for result, expected in zip(found, (x**y, x**2, x**0.5, x**-1.0), strict=True):
        np.testing.assert_allclose(result, expected, rtol=8 * np.finfo(name).eps)


@cuda.jit
def constant_divisors(x, out):
    i = cuda.grid(1)
    if i < x.size:
        a = x[i]
        for n, r in enumerate((a // 1, a % 1, a // 2, a % 2, a // 8, a % 8, a // 3, a % 3, a // 100, a % 100)):
            out[n, i] = r


@pytest.mark.parametrize("name", INTEGERS)
def test_division_by_constants(device: DeviceRecord, name: str) -> None:
    x = samples(name)
    out = np.zeros((10, x.size), name)
    constant_divisors.forall(x.size)(x, out)
    expected = [f(x, np.array(d, name)) for d in (1, 2, 8, 3, 100) for f in (operator.floordiv, operator.mod)]
    np.testing.assert_array_equal(out, expected)


@cuda.jit
def negative_divisors(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = x[i] // -3
        out[1, i] = x[i] % -3
        out[2, i] = x[i] // -8
        out[3, i] = x[i] % -8
        out[4, i], out[5, i] = divmod(x[i], -7)


def test_division_by_negative_constants_has_pythons_signs(device: DeviceRecord) -> None:
    x = np.arange(-20, 21, dtype=np.int32)
    out = np.zeros((6, x.size), np.int32)
    negative_divisors.forall(x.size)(x, out)
    np.testing.assert_array_equal(out, [x // -3, x % -3, x // -8, x % -8, x // -7, x % -7])


@cuda.jit
def augmented(x, out):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        v += 5
        v -= 2
        v *= 3
        v //= 2
        v %= 1000
        v <<= 2
        v >>= 1
        v |= 1
        v &= 0xFF
        v ^= 0x55
        v **= 2
        out[i] = v
        out[i] += 1
        out[i] *= 2
        out[i] -= x[i]
        out[i] //= 3


def test_augmented_assignment(device: DeviceRecord) -> None:
    x = np.arange(-50, 50, dtype=np.int64)
    out = np.zeros_like(x)
    augmented.forall(x.size)(x, out)
    v = (((((x + 5 - 2) * 3) // 2) % 1000) << 2) >> 1
    v = (((v | 1) & 0xFF) ^ 0x55) ** 2
    np.testing.assert_array_equal(out, ((v + 1) * 2 - x) // 3)


@cuda.jit
def weak_literals(x, codes):
    a = x[0]
    for n, r in enumerate((a + 1, a * 1.5, 2 * a, a / 2, 1.0 - a, a > 0, a + True, a % 3)):
        codes[n] = r.dtype.num


@pytest.mark.parametrize("name", ALL)
def test_literals_are_weak(device: DeviceRecord, name: str) -> None:
    if name not in supported(device):
        return
    codes = np.zeros(8, np.int64)
    weak_literals[1, 1](np.ones(1, name), codes)
    a = np.ones(1, name)
    expected = [(r.dtype.num) for r in (a + 1, a * 1.5, 2 * a, a / 2, 1.0 - a, a > 0, a + True, a % 3)]
    if name == "bool":
        expected[6] = np.dtype(np.int64).num  # bools are integers in arithmetic
    assert codes.tolist() == expected


@cuda.jit
def indices_are_weak_against_floats(x, codes, n):
    i = cuda.grid(1)
    codes[0] = (x[0] * i).dtype.num
    codes[1] = (x[0] + n).dtype.num
    codes[2] = (x[0] * x.size).dtype.num
    for k in range(2):
        codes[3] = (x[0] * k).dtype.num


def test_python_integers_do_not_widen_float32(device: DeviceRecord) -> None:
    codes = np.zeros(4, np.int64)
    indices_are_weak_against_floats[1, 1](np.ones(1, np.float32), codes, 3)
    assert codes.tolist() == [np.dtype(np.float32).num] * 4


@cuda.jit
def indices_meet_integers(x, out):
    i = cuda.grid(1)
    out[i] = x[i] * i * 100000


def test_thread_indices_meet_integers_in_64_bits(device: DeviceRecord) -> None:
    x, out = np.full(64, 40000, np.int32), np.zeros(64, np.int64)
    indices_meet_integers[2, 32](x, out)
    np.testing.assert_array_equal(out, 40000 * np.arange(64) * 100000)


@cuda.jit
def out_of_range_comparisons(x, out):
    v = x[0]
    out[0] = v < 300
    out[1] = v > -1
    out[2] = v == 256
    out[3] = v != -5
    out[4] = v >= 300
    out[5] = v > -1


def test_comparison_with_a_literal_that_does_not_fit(device: DeviceRecord) -> None:
    out = np.zeros(6, np.bool_)
    out_of_range_comparisons[1, 1](np.array([200], np.uint8), out)
    assert out.tolist() == [True, True, False, True, False, True]


@cuda.jit
def conversions(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = np.int8(x[i])
        out[1, i] = np.uint8(x[i])
        out[2, i] = np.int32(x[i])
        out[3, i] = np.uint32(x[i])
        out[4, i] = int(np.float32(x[i]))
        out[5, i] = bool(x[i])
        out[6, i] = cuda.int16(x[i])
        out[7, i] = np.uint64(x[i]) >> 60


def test_conversions(device: DeviceRecord) -> None:
    x = np.array([0, 1, -1, 127, 128, -129, 255, 256, 65536 + 3, -70000, 2**31, -(2**33)], np.int64)
    out = np.zeros((8, x.size), np.int64)
    conversions.forall(x.size)(x, out)
    expected = [x.astype(t) for t in (np.int8, np.uint8, np.int32, np.uint32)]
    expected += [
        x.astype(np.float32).astype(np.int64),
        x != 0,
        x.astype(np.int16),
        x.astype(np.uint64) >> np.uint64(60),
    ]
    for found, wanted in zip(out, expected, strict=True):
        np.testing.assert_array_equal(found, wanted.astype(np.int64))


@cuda.jit
def float_to_integer(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[0, i] = int(x[i])
        out[1, i] = round(x[i])
        out[2, i] = x[i]


def test_floats_become_integers_by_truncation(device: DeviceRecord) -> None:
    x = np.array([0.5, -0.5, 1.5, 2.5, -2.5, 1e9 + 0.7, -3.999])
    out = np.zeros((3, x.size), np.int64)
    float_to_integer.forall(x.size)(x, out)
    np.testing.assert_array_equal(out, [[int(v) for v in x], [round(v) for v in x], np.trunc(x)])


_MEETING = (
    ("uint64", "int64"),
    ("int8", "uint64"),
    ("int64", "uint32"),
    ("uint32", "int32"),
    ("uint8", "int16"),
    ("uint64", "uint16"),
)


@pytest.mark.parametrize("third", ["float16", "float32", "uint64", "int64"])
def test_what_two_integers_become_meets_a_third_number(device, third):
    """The dtype of a sum, a maximum or a choice of two integers is NumPy's, whatever it meets next."""
    if not device.capabilities.fp64:
        pytest.skip("there, uint64 and signed integers meet in float32")

    @cuda.jit
    def k(a, b, c, out):
        if a.shape[0] == 3:
            out[0] = (a[0] + b[0]) + c[0]
            out[1] = np.maximum(a[0], b[0]) + c[0]
            out[2] = min(a[0], b[0]) + c[0]
            out[3] = (a[0] * b[0]) - c[0]
            v = a[1]
            if b[0] < 9:
                v = b[1]
            out[4] = v + c[0]
            out[5] = (a[0] if b[0] < 9 else b[0]) + c[0]

    for first, second in _MEETING:
        a, b, c = (np.arange(3).astype(t) + 1 for t in (first, second, third))
        for x in (a, b):
            x[0] = 2**36 + 1 if x.itemsize == 8 else 3
        common = np.result_type(a, b)
        wide_a, wide_b = a.astype(common), b.astype(common)
        with np.errstate(over="ignore"):
            expected = [
                (a[0] + b[0]) + c[0],
                np.maximum(a[0], b[0]) + c[0],
                np.minimum(a[0], b[0]) + c[0],
                (a[0] * b[0]) - c[0],
                (wide_b if b[0] < 9 else wide_a)[1] + c[0],
                (wide_a if b[0] < 9 else wide_b)[0] + c[0],
            ]
        out = np.zeros(6)
        k[1, 1](a, b, c, out)
        np.testing.assert_array_equal(out, np.asarray(expected, np.float64), err_msg=f"{first} {second}")
