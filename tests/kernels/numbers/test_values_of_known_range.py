"""Expressions of known sign or range, beside NumPy: NaN, -0.0 and the least integer are what compilers forget."""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import DeviceRecord

FLOATS = (np.nan, 0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf)
SOURCES = {  # and the numbers to compare with, which no result is near
    "abs(a)": "0 -0.0 -1 2 inf -inf",
    "-abs(a)": "0 -0.0 1 -2 inf -inf",
    "a * a": "0 -0.0 -1 2 inf -inf",
    "a * a + b * b": "0 -0.0 -1 3 inf",
    "abs(a) + abs(b)": "0 -1 3 inf",
    "abs(a) + abs(a)": "0 -1 3 inf",
    "min(abs(a), abs(b))": "0 -1 2",
    "abs(a) if b < c else one": "0 -0.0 -1 2",
    "abs(a) if abs(a) >= zero else -one": "0 -1 -2 2",
    "max(abs(a) if abs(a) >= zero else -one, abs(b) if abs(b) >= zero else -one)": "0 -2 2",
    "np.sqrt(abs(a))": "0 -1 3",
    "np.exp(a)": "0 -1 2",
    "np.exp2(a)": "0 -1 3",
    "np.cos(a)": "-2 2 inf",
    "np.sin(a) + two": "0 4",
    "np.tanh(a)": "-2 2",
    "np.copysign(abs(a), one)": "0 -1",
    "abs(max(a * a, -zero))": "0 -0.0 -1",
}
INTEGERS = {
    "abs(a) < 0": "int64",
    "abs(a) >= zero": "int64",
    "np.float32(abs(a))": "float32",
    "np.float64(np.uint64(abs(a)))": "float64",
    "abs(abs(a))": "int64",
    "abs(a) >> 1": "int64",
    "abs(a) // three": "int64",
    "abs(a) % three": "int64",
    "min(abs(a), three)": "int64",
    "abs(a) > b": "int64",
    "max(a, b) == a": "int64",
    "max(a, b) == b": "int64",
    "max(a, b) != a": "int64",
    "min(a, b) == b": "int64",
    "max(a, three) == three": "int64",
    "max(a, three) == 3": "int64",
    "min(a, three) == three": "int64",
    "max(max(a, b), c) == c": "int64",
    "max(min(a, three), zero) == three": "int64",
    "max(min(a, three), zero) == a": "int64",
    "max(min(a, three), zero) != three": "int64",
    "max(min(a, b), zero) == a": "int64",
    "max(min(a, b), zero) == b": "int64",
    "max(min(a, b), 0) == b": "int64",
    "max(max(a, b), zero) == a": "int64",
    "max(max(a, b), zero) == b": "int64",
    "min(max(a, zero), three) == three": "int64",
    "min(max(a, zero), three) == a": "int64",
    "min(max(a, zero), b) == b": "int64",
    "max(min(a, b), one) == b": "int64",
    "max(a, zero) == a": "int64",
    "np.int16(max(min(a, three), zero)) == 3": "int64",
    "np.int16(max(min(a, three), zero)) == np.int16(a)": "int64",
    "np.uint16(max(min(a, b), zero)) == np.uint16(b)": "int64",
    "np.uint16(max(max(a, b), three)) == np.uint16(a)": "int64",
    "np.int8(max(max(a, three), zero)) == 3": "int64",
    "np.int64(max(min(a, three), zero)) == np.int64(a)": "int64",
    "max(min(a, b), zero) if max(min(a, b), zero) == b else three": "int64",
    "max(min(a - b, c), zero) == c": "int64",
    "c if a == max(min(a, three), zero) else b": "int64",
    "max(a, b) if max(a, b) == a else three": "int64",
}


def _function(name: str, lines: list[str]) -> Any:
    text = "\n".join(["def function(x, y, z, out, i):", "    a, b, c = x[i], y[i], z[i]", *lines]) + "\n"
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {"np": np, "inf": np.inf}
    exec(compile(text, filename, "exec"), scope)
    return scope["function"]


def _constants(dtype: str) -> list[str]:
    return [f"    {name} = np.{dtype}({n})" for n, name in enumerate(("zero", "one", "two", "three"))]


def _assert_as_numpy(
    name: str, lines: list[str], values: np.ndarray, out: np.ndarray, either_zero: bool = False
) -> None:
    """Compares a function of every pair of values and another one, each thread's results a column of ``out``."""
    x, y = (side.ravel() for side in np.meshgrid(values, values))
    z = np.roll(y, 3)
    plain = _function(name, lines)
    device_function = cuda.jit(device=True)(plain)

    @cuda.jit
    def kernel(x, y, z, out):
        i = cuda.grid(1)
        if i < x.size:
            device_function(x, y, z, out, i)

    out, expected = (np.zeros((*out.shape, x.size), out.dtype) for _ in range(2))
    kernel[1, x.size](x, y, z, out)
    with np.errstate(all="ignore"):
        for i in range(x.size):
            plain(x, y, z, expected, i)
    np.testing.assert_array_equal(out, expected)
    if out.dtype.kind == "f" and not either_zero:
        zero = expected == 0
        np.testing.assert_array_equal(np.signbit(out)[zero], np.signbit(expected)[zero])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("source", SOURCES)
def test_comparisons_of_functions(device: DeviceRecord, source: str, dtype: str) -> None:
    """As values, negated, as conditions of a choice, and with the number on the left."""
    lines, n = [*_constants(dtype), f"    v = {source}"], 0
    for number in SOURCES[source].split():
        for operator in ("<", "<=", ">", ">=", "==", "!="):
            compared = f"v {operator} np.{dtype}({number})"
            turned = f"np.{dtype}({number}) {operator} v"
            lines += [
                f"    out[{n}, i] = {compared}",
                f"    out[{n + 1}, i] = 3 if not {compared} else 4",
                f"    out[{n + 2}, i] = 5 if {turned} and b < c else 6",
            ]
            n += 3
    _assert_as_numpy(source, lines, np.array(FLOATS, dtype), np.zeros(n, np.int8))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operator", [">", ">=", "<", "<="])
def test_searches(device: DeviceRecord, operator: str, dtype: str) -> None:
    """The largest or least of so many sizes: the first comparison is with the number that the search begins with."""
    lines = []
    for n, count in enumerate(("1", "2", "4", "5", "8", "x.size // 16")):
        lines += [
            f"    best = np.{dtype}({'-1' if operator.startswith('>') else 'inf'})",
            f"    for j in range({count}):",
            "        v = abs(x[(i + j) % x.size])",
            f"        if v {operator} best:",
            "            best = v",
            f"    out[{n}, i] = best",
        ]
    _assert_as_numpy(f"search {operator}", lines, np.array(FLOATS, dtype), np.zeros(6, dtype))


LIMITED_BELOW = ("max({}, {})", "({0} if {0} > {1} else {1})", "({1} if {0} < {1} else {0})", "np.fmax({}, {})")
LIMITED_ABOVE = ("min({}, {})", "({0} if {0} < {1} else {1})", "({1} if {0} > {1} else {0})", "np.fmin({}, {})")


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("limits", ["0 1", "-0.0 1", "0 2", "-1 1"])
@pytest.mark.parametrize("either_zero", [False, True])  # as the result of fmin and fmax of zeros of both signs
def test_limits(device: DeviceRecord, limits: str, dtype: str, either_zero: bool) -> None:
    """A number, a sum and a product kept between two numbers, the lower limit first and the upper one first."""
    low, high = (f"np.{dtype}({limit})" for limit in limits.split())
    lines, n = [], 0
    for value in ("a", "a * b", "a + b"):
        for below, above in itertools.product(LIMITED_BELOW, LIMITED_ABOVE):
            if either_zero != ("np." in below + above):
                continue
            for (first, one), (second, other) in itertools.permutations(((below, low), (above, high))):
                lines += [f"    v = {value}", f"    v = {first.format('v', one)}"]
                lines.append(f"    out[{n}, i] = {second.format('v', other)}")
                n += 1
    _assert_as_numpy(f"limits {limits}", lines, np.array(FLOATS, dtype), np.zeros(n, dtype), either_zero)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("zero", ["0.0", "-0.0"])
@pytest.mark.parametrize("inverse", [False, True])  # apart: of both, PoCL gets signs wrong (docs/driver-quirks.md)
def test_choices_of_zero(device: DeviceRecord, inverse: bool, zero: str, dtype: str) -> None:
    """A number or the zero that it is compared with, which differ in sign where the number is the other zero."""
    zero = f"np.{dtype}({zero})"
    first, second = (zero, "v") if inverse else ("v", zero)
    forms = [
        f"{first} if {left} {operator} {right} else {second}"
        for left, right in (("v", zero), (zero, "v"))
        for operator in ("<", "<=", ">", ">=")
    ]
    forms += [f"{name}({second}, {first})" for name in ("min", "max")]
    lines: list[str] = []
    for value in ("a", "a * b", "abs(a)"):
        lines += [f"    v = {value}", *(f"    out[{len(lines)} + {n}, i] = {form}" for n, form in enumerate(forms))]
    _assert_as_numpy(f"zero {zero}", lines, np.array(FLOATS, dtype), np.zeros(len(lines), dtype))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_choices_of_constants(device: DeviceRecord, dtype: str) -> None:
    """Each pair of constants with zeros of both signs, plain, negated, and its absolute value."""
    numbers = ("0.0", "-0.0", "1.0", "-1.0", "2.0", "-2.0", "0.5", "inf")
    lines, n = [], 0
    for one in numbers:
        for other in numbers[:2]:
            lines.append(f"    v = np.{dtype}({one}) if a < b else np.{dtype}({other})")
            for form in ("v", "-v", "abs(v)", "abs(v) + c"):
                lines.append(f"    out[{n}, i] = {form}")
                n += 1
    _assert_as_numpy("choices", lines, np.array(FLOATS, dtype), np.zeros(n, dtype))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"])
def test_integers(device: DeviceRecord, dtype: str) -> None:
    """Absolute values, whose least one is negative, and comparisons with minima and maxima."""
    info = np.iinfo(dtype)
    values = np.array([0, 1, 3, 7, 100, info.max, info.min, info.min + 1], dtype)
    for result in ("int64", "float32", "float64"):
        forms = [form for form, kind in INTEGERS.items() if kind == result]
        lines = [*_constants(dtype), *(f"    out[{n}, i] = {form}" for n, form in enumerate(forms))]
        _assert_as_numpy(f"{dtype} {result}", lines, values, np.zeros(len(forms), result))


def test_differences_from_zero(device: DeviceRecord) -> None:
    """A running difference that begins with 0: its first step is a negation, which the least number does not leave."""
    lines = []
    for n, dtype in enumerate(("int8", "int16", "int32")):
        lines += [
            f"    s{n} = np.{dtype}(0)",
            f"    for j in range({n + 1}):",
            f"        s{n} = np.{dtype}(s{n} - np.{dtype}(x[(i + j) % x.size]))",
            f"    out[{n}, i] = s{n}",
            f"    out[{n + 3}, i] = s{n} > 100",
        ]
    values = np.array([0, 1, -1, 100, -128, -32768, -(2**31), 2**31 - 1], np.int32)
    _assert_as_numpy("differences", lines, values, np.zeros(6, np.int64))
