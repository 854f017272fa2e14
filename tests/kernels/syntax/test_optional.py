"""Variables and results that are None on some paths and numbers on others."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device


@cuda.jit(device=True)
def position_of(values, wanted):
    for n in range(values.size):
        if values[n] == wanted:
            return n
    return None


@cuda.jit(device=True)
def doubled_if_large(x):
    if x > 2:
        return x * 2


@cuda.jit(device=True)
def or_else(x, default):
    return default if x is None else x


@cuda.jit(device=True)
def corner(x):
    if x > 1:
        return x, x + 1
    return None


def test_device_functions_return_none_on_some_paths(device):
    @cuda.jit
    def kernel(values, out):
        i = cuda.grid(1)
        if i < out.size:
            found = position_of(values, i)
            out[i] = -1 if found is None else found

    out = np.zeros(8, np.int64)
    kernel[1, 8](np.array([5, 3, 1]), out)
    assert out.tolist() == [-1, 2, -1, 1, -1, 0, -1, -1]


def test_the_end_of_a_function_is_none(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        found = doubled_if_large(x[i])
        if found is not None:
            out[i] = found

    out = np.full(4, -1, np.float32)
    kernel[1, 4](np.arange(4, dtype=np.float32), out)
    assert out.tolist() == [-1, -1, -1, 6]


def test_variables_start_as_none_in_loops(device):
    @cuda.jit
    def kernel(values, limit, out):
        best = None
        for n in range(values.size):
            if values[n] < limit and (best is None or values[n] > best):
                best = values[n]
        if best == None:  # noqa: E711 - what programs write
            out[0] = -1
        else:
            out[0] = best

    out = np.zeros(1)
    for limit in (0.0, 4.0, 9.0):
        kernel[1, 1](np.array([1.5, 7.0, 3.0]), limit, out)
        assert out[0] == {0.0: -1, 4.0: 3, 9.0: 7}[limit]


def test_variables_become_none_in_loops(device):
    @cuda.jit
    def kernel(values, out):
        last = values[0]
        for n in range(values.size):
            last = None if values[n] == 0 else values[n]
            out[n] = 100 if last is None else last
        while last:
            last = None
        out[values.size] = last is None

    out = np.zeros(4, np.int32)
    kernel[1, 1](np.array([4, 0, 2], np.int32), out)
    assert out.tolist() == [4, 100, 2, 1]


def test_they_are_passed_on_and_compared(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        value = None
        if x[i] > 1:
            value = x[i]
        again = value
        out[i, 0] = or_else(again, np.float32(-7))
        out[i, 1] = value == again
        out[i, 2] = value == 3
        out[i, 3] = value != 0
        out[i, 4] = 1 if value else 0
        out[i, 5] = not value

    out = np.zeros((4, 6), np.float32)
    kernel[1, 4](np.arange(4, dtype=np.float32), out)
    none = [-7, 1, 0, 1, 0, 1]
    assert out.tolist() == [none, none, [2, 1, 0, 1, 1, 0], [3, 1, 1, 1, 1, 0]]


def test_pairs(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        found = corner(x[i])
        if found is not None:
            a, b = found
            out[i] = a * 10 + b

    out = np.zeros(4, np.int64)
    kernel[1, 4](np.arange(4), out)
    assert out.tolist() == [0, 0, 23, 34]


def test_conditional_expressions_with_calls(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        value = doubled_if_large(x[i]) if i != 3 else None
        out[i] = or_else(value, np.int64(-1))

    out = np.zeros(5, np.int64)
    kernel[1, 5](np.arange(5), out)
    assert out.tolist() == [-1, -1, -1, -1, 8]


def test_debug_tells_where_none_is_taken_for_a_number(device):
    @cuda.jit(debug=True, opt=False)
    def kernel(x, out):
        out[0] = doubled_if_large(x[0]) + 1

    out = np.zeros(1)
    kernel[1, 1](np.array([3.0]), out)
    assert out[0] == 7
    with pytest.raises(TypeError, match="expected float64, got None"):
        kernel[1, 1](np.array([1.0]), out)
