"""Constants that compare equal and are not the same: other dtypes of one number, 0.0 and -0.0."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import ArgumentTypeError, KernelError, KernelTypeError

pytestmark = pytest.mark.one_device

FIVES = (np.int8(5), np.int64(5), np.float32(5), np.uint8(5), np.float64(5))
ZEROS = (0.0, -0.0, np.float32(0.0), np.float32(-0.0))


@dataclass(frozen=True)
class Options:
    """A constant with a field."""

    number: Any


@cuda.jit
def times_100(values):
    return values[0] * 100


@cuda.jit
def field_times_100(options):
    return options.number * 100


@cuda.jit
def sign(values):
    return math.copysign(1.0, values[0])


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(FIVES, 2)))
def test_a_device_function_of_tuples_with_equal_items(device, one, other):
    @cuda.jit
    def kernel(out):
        out[0] = times_100((one, out[3]))  # a value of the launch beside the constant
        out[1] = times_100((other, out[3]))
        out[2] = times_100((one,))
        out[3] = times_100((other,))

    out = np.zeros(4)
    kernel[1, 1](out)
    with np.errstate(over="ignore"):
        wanted = [(value * np.array(100, value.dtype)).item() if value.dtype.kind in "iu" else 500 for value in FIVES]
    by_type = {type(value): number for value, number in zip(FIVES, wanted, strict=True)}
    assert out.tolist() == [by_type[type(one)], by_type[type(other)]] * 2


def test_a_device_function_of_objects_with_equal_fields(device):
    narrow, wide = Options(np.int8(5)), Options(np.int64(5))

    @cuda.jit
    def kernel(out):
        out[0] = field_times_100(narrow)
        out[1] = field_times_100(wide)

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [-12, 500]


def test_objects_with_equal_fields_on_two_paths(device):
    narrow, wide = Options(np.int8(5)), Options(np.int64(5))

    @cuda.jit
    def kernel(x, out):
        if x[0] > 2:
            options = narrow
        else:
            options = wide
        out[0] = options.number * 100

    with pytest.raises(KernelTypeError, match="on one path"):
        kernel[1, 1](np.ones(1), np.zeros(1))


@pytest.mark.parametrize(("one", "other"), list(itertools.permutations(ZEROS, 2)))
def test_a_device_function_of_tuples_of_zeros(device, one, other):
    @cuda.jit
    def kernel(out):
        out[0] = sign((one, out[1]))
        out[1] = sign((other, out[1]))

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [math.copysign(1, one), math.copysign(1, other)]


@pytest.mark.parametrize("negative", [False, True])
def test_zeros_of_two_signs_on_two_paths(device, negative):
    @cuda.jit
    def kernel(x, out):
        if x[0]:
            a = -0.0
            b = (-0.0, 1)
        else:
            a = 0.0
            b = (0.0, 1)
        c = -0.0 if x[0] else 0.0
        for i in range(2):
            if i == 1:
                d = -0.0 if x[0] else 0.0
            else:
                d = 0.0
        out[0], out[1], out[2], out[3] = a, b[0], c, d

    out = np.ones(4)
    kernel[1, 1](np.array([negative]), out)
    assert np.signbit(out).tolist() == [negative] * 4
    assert not out.any()


def test_a_compile_time_complex_zero(device):
    @cuda.jit
    def kernel(out, z: cuda.constexpr):
        out[0] = math.copysign(1.0, z.real)

    out = np.zeros(1)
    for z in (complex(0.0, 1), complex(-0.0, 1)):
        kernel[1, 1](out, z)
        assert out[0] == math.copysign(1, z.real)


TABLE = np.arange(4.0)
ROWS = ((TABLE, 1), (TABLE, 1), (np.arange(4.0), 1))


def test_arrays_in_tuples_on_two_paths(device):
    """Arrays of NumPy's cannot be compared by ``==``: each is the same as itself only."""

    @cuda.jit
    def one(x, out):
        if x[0]:
            row = ROWS[0]
        else:
            row = ROWS[1]
        out[0] = row[0][3] + row[1]

    @cuda.jit
    def two(x, out):
        if x[0]:
            row = ROWS[0]
        else:
            row = ROWS[2]
        out[0] = row[0][3] + row[1]

    out = np.zeros(1)
    one[1, 1](np.array([True]), out)
    assert out[0] == 4
    with pytest.raises(KernelTypeError, match="on one path and"):
        two[1, 1](np.array([True]), out)


@pytest.mark.parametrize("is_set", [False, True])
def test_functions_of_variables_without_values(device, is_set):
    """A message that tells functions apart reads what they capture, which may be set later or never."""

    def made(sign):
        def offset(x):
            return x + sign * later

        if is_set:
            later = 1
        return cuda.jit(device=True)(offset)

    one, other = made(1), made(-1)

    @cuda.jit
    def kernel(x, out):
        if x[0] > 1:
            chosen = one
        else:
            chosen = other
        out[0] = chosen(x[0])

    with pytest.raises(KernelTypeError, match=r"function offset.* sign = 1.* function offset.* sign = -1"):
        kernel[1, 1](np.zeros(1), np.zeros(1))


def _no_comparison(self, other):
    raise RuntimeError("no comparison")


def _no_hash(self):
    raise RuntimeError("no hash")


class _NoTruth:
    def __bool__(self):
        raise RuntimeError("no truth")


COMPARISONS = {
    "raises": {"__eq__": _no_comparison, "__hash__": lambda self: 1},
    "gives an array": {"__eq__": lambda self, other: np.array([True, False]), "__hash__": lambda self: 1},
    "has no truth": {"__eq__": lambda self, other: _NoTruth(), "__hash__": lambda self: 1},
    "no hash": {"__eq__": _no_comparison, "__hash__": None},
    "hash raises": {"__hash__": _no_hash},
}


@cuda.jit
def number_of(thing):
    return thing.number


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_that_fail(device, name):
    """Objects whose ``==`` or hash is of no use are the same as themselves."""
    kind = type("Thing", (), COMPARISONS[name])
    first, second = kind(), kind()
    first.number, second.number = 3, 5

    @cuda.jit
    def captured(r, q):
        thing = first
        for i in range(2):
            r[i] = thing.number
            thing = first
        r[2], r[3], r[4] = number_of(first), number_of(second), number_of(first)
        other = first if q else first  # noqa: RUF034
        r[5] = other.number

    found = np.zeros(6, np.int32)
    captured[1, 1](found, 1)
    assert found.tolist() == [3, 3, 3, 5, 3, 3]

    @cuda.jit
    def joined(r, q):
        if q:
            thing = first
        else:
            thing = second
        r[0] = thing.number

    with pytest.raises(KernelTypeError, match="`thing` is"):
        joined[1, 1](found, 1)

    @cuda.jit
    def bound(r, thing: cuda.constexpr):
        r[0] = thing.number

    if "hash" in name:
        with pytest.raises(ArgumentTypeError, match="must be hashable"):
            bound[1, 1](found, first)
        return
    for thing in (first, second, first, first):
        bound[1, 1](found, thing)
        assert found[0] == thing.number

    @cuda.jit
    def compared(r):
        r[0] = 1 if first == second else 2

    with pytest.raises(KernelError):
        compared[1, 1](found)
