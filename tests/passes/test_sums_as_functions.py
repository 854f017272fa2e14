"""The pass that makes one function of ``1 + tanh(x)``: where it does, and where it must not."""

from __future__ import annotations

import math

import pytest
from test_passes import after, lowered

from portagpu import cuda
from portagpu.dtypes import FLOAT32, FLOAT64
from portagpu.ir.types import ArrayType, Layout, Scalar

FLOATS, DOUBLES = (ArrayType(Scalar(d), 1, Layout.C) for d in (FLOAT32, FLOAT64))


@cuda.jit
def first(x):
    x[0] = 1 + math.tanh(x[0])


@cuda.jit
def second(x):
    x[0] = 0.5 * x[0] * (math.erf(x[0]) + 1.0)


@cuda.jit
def inside(x):
    x[0] = 1 + math.tanh(1 + math.erf(x[0]))


@cuda.jit
def of_two(x):
    x[0] = 2 + math.tanh(x[0])


@cuda.jit
def of_a_difference(x):
    x[0] = 1 - math.tanh(x[0])


@pytest.mark.parametrize("kernel, names", [(first, ["tanh"]), (second, ["erf"]), (inside, ["tanh", "erf"])])
def test_sums_become_functions(kernel, names):
    text = after("sums_with_one", lowered(kernel, FLOATS))
    for name in names:
        assert f"one_plus_{name}(" in text
    assert "add(" not in text


@pytest.mark.parametrize("kernel, kind", [(of_two, FLOATS), (of_a_difference, FLOATS), (first, DOUBLES)])
def test_others_stay(kernel, kind):
    assert "one_plus" not in after("sums_with_one", lowered(kernel, kind))
