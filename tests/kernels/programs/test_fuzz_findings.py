"""What random kernels found, see tests/fuzz."""

from __future__ import annotations

import math

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import DeviceRecord


@cuda.jit
def extreme_of_a_choice(x, small, signed):
    i = cuda.grid(1)
    small[i] = min(np.uint8(1) if x[i] > 0 else np.uint8(200), 100)
    signed[i] = max(np.int16(x[i]) if x[i] > 0 else np.int16(-7), np.int16(2))


def test_a_choice_of_small_integers_keeps_their_width(device):
    """In C it is an int, and ``min(int, uchar)`` is no function of OpenCL."""
    x = np.array([5, -5], np.int32)
    small, signed = np.zeros(2, np.uint8), np.zeros(2, np.int16)
    extreme_of_a_choice[1, 2](x, small, signed)
    assert small.tolist() == [1, 100]
    assert signed.tolist() == [5, 2]


@cuda.jit
def constants_that_wrap(out):
    out[0] = np.uint8(-2)
    out[1] = np.int16(40000)
    out[2] = np.uint64(-3) == np.uint64(18446744073709551613)


def test_constants_wrap_as_variables_do(device):
    out = np.zeros(3, np.int64)
    constants_that_wrap[1, 1](out)
    assert out.tolist() == [254, 40000 - 65536, 1]


@cuda.jit
def constants_outside_of_domains(out):
    out[0] = math.sqrt(-1.0)
    out[1] = math.asin(np.float32(100.0))
    out[2] = math.log(0.0)
    out[3] = math.exp(1000.0)


def test_functions_of_constants_give_nan_where_python_raises(device):
    out = np.zeros(4)
    constants_outside_of_domains[1, 1](out)
    np.testing.assert_array_equal(out, [np.nan, np.nan, -np.inf, np.inf])


def test_local_arrays_of_one_name_in_nested_loops(device):
    """Found with seed 42000000: the inner loop's first guess was that no type holds both arrays."""

    @cuda.jit
    def kernel(o, n):
        for i in range(n):
            if i > 1:
                part = cuda.local.array(3, np.int64)
                part[0] = i
                o[0] += part[0]
            m = 0
            while m < 3:
                m += 1
                part = cuda.local.array(8, np.float32)
                part[1] = m
                o[1] += part[1]

    o = np.zeros(2)
    kernel[1, 1](o, 4)
    assert o.tolist() == [5, 24]


def test_the_items_of_a_loop_are_those_of_before_it(device):
    """Found with seeds 100000001, 200000032 and 200000089: what the loop set changed items that were still to come."""

    @cuda.jit
    def kernel(o, p):
        for item in (p % 3, p | 1, p + 1):
            p = item * 10
            o[0] = o[0] * 100 + item
        for n, item in enumerate((p + 1, p + 2)):
            p = 0
            o[1] += n + item

    o = np.zeros(2, np.int64)
    kernel[1, 1](o, 4)
    assert o.tolist() == [10505, 50 + 1 + 50 + 2 + 1]


def test_constants_divided_by_zero(device):
    """Found with seed 100000010: that was an error of the compiler. Constant divisors are refused: tests/messages."""

    @cuda.jit
    def kernel(o, zero):
        o[0] = 1.5 / zero
        o[1] = -3 / zero
        o[2] = 0 / zero
        o[3] = 7 // zero
        o[4] = 7 % zero
        o[5] = -1.0 // float(zero)

    o = np.ones(6)
    kernel[1, 1](o, 0)
    np.testing.assert_array_equal(o, [np.inf, -np.inf, np.nan, 0, 0, -np.inf])

    checked = cuda.jit(debug=True, opt=False)(kernel.py_func)
    with pytest.raises(ZeroDivisionError, match="division by zero"):
        checked[1, 1](o, 0)


@cuda.jit
def compared_with_indices(x, out):
    t = cuda.threadIdx.x
    out[t, 0] = -t <= x[t]
    out[t, 1] = x[t] < 3 - t
    out[t, 2] = -t == x[t]


def test_negative_indices_are_below_every_unsigned_number(device: DeviceRecord) -> None:
    x = np.array([0, 1, 2, 2**63, 2**64 - 4, 2**64 - 1], np.uint64)
    out = np.zeros((6, 3), np.bool_)
    compared_with_indices[1, 6](x, out)
    expected = [(-t <= int(v), int(v) < 3 - t, -t == int(v)) for t, v in enumerate(x)]
    np.testing.assert_array_equal(out, expected)


@cuda.jit
def negated_shifts(out):
    b = cuda.blockIdx.x
    out[b] = -(b << 63)


def test_the_smallest_integer_is_negated_to_itself(device: DeviceRecord) -> None:
    out = np.ones(2, np.int64)
    negated_shifts[2, 1](out)
    np.testing.assert_array_equal(out, [0, -(2**63)])


@cuda.jit
def leaving_a_common_branch(x, out, n, again):
    tile = cuda.shared.array(16, np.int64)
    t = cuda.threadIdx.x
    if n > 1:
        if x[t] < 0:
            out[t] = -1
            return
        tile[t] = x[t]
        cuda.syncthreads()
        if x[t ^ 1] >= 0:
            out[t] = tile[t ^ 1]
        if again:
            cuda.syncthreads()
            tile[t] = n
            return
    out[t] += 100


@pytest.mark.parametrize("n", (1, 2))
@pytest.mark.parametrize("again", (False, True))
def test_returns_under_a_branch_of_the_whole_block(device: DeviceRecord, n: int, again: bool) -> None:
    x = np.arange(16)
    x[[3, 8]] = -7
    out = np.zeros(16, np.int64)
    leaving_a_common_branch[1, 16](x, out, n, again)
    expected = np.where(x[np.arange(16) ^ 1] >= 0, x[np.arange(16) ^ 1], 0) * (n > 1)
    expected += 0 if again and n > 1 else 100
    np.testing.assert_array_equal(out, np.where((x < 0) & (n > 1), -1, expected))
