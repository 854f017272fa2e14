"""Lambdas that share a line are told apart, by their places or by what they do."""

from __future__ import annotations

import ast
import re

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError, UnsupportedSyntaxError
from portagpu.frontend.source.lambdas import lambda_tree

pytestmark = pytest.mark.one_device

# fmt: off
ORDERS = (lambda f, x: f(x) + f(x * 2), lambda f, x: f(x * 2) + f(x))
BRANCHES = (lambda x: x if x > 1 else -x, lambda x: -x if x > 1 else x)
INNER = (lambda a: lambda b: b * 3 + 1)(0)
LINES = (lambda x: x * 2 +
         1, lambda x: 2 * x)
PAIR = [cuda.jit(device=True)(f) for f in (lambda x: x * 2 - 1, lambda x: 1 - x * 2)]
# fmt: on


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (ORDERS[0], "f(x) + f(x * 2)"),
        (ORDERS[1], "f(x * 2) + f(x)"),
        (BRANCHES[0], "x if x > 1 else -x"),
        (BRANCHES[1], "-x if x > 1 else x"),
        (INNER, "b * 3 + 1"),
        (LINES[0], "x * 2 + 1"),
        (LINES[1], "2 * x"),
    ],
)
def test_the_right_one_is_found(function, text):
    assert ast.unparse(lambda_tree(function)[0].body[0]) == f"return {text}"


def test_same_ones_need_not_be_told_apart():
    _, second = (lambda: 1), (lambda: 1)
    assert ast.unparse(lambda_tree(second)[0].body[0]) == "return 1"


def test_kernels_call_both(device):
    first, second = PAIR

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i, 0], out[i, 1] = first(i), second(i)

    out = np.zeros((4, 2), np.int64)
    kernel[1, 4](out)
    assert out.tolist() == [[-1, 1], [1, -1], [3, -3], [5, -5]]


def test_an_error_where_they_cannot_be():
    first, _ = (lambda a=1: 7), (lambda a=2: 7)
    first.__code__ = first.__code__.replace(co_linetable=b"")  # as in Python 3.10, which keeps no columns
    with pytest.raises(UnsupportedSyntaxError, match="several lambdas"):
        lambda_tree(first)


def _adding(n):
    def function(x):
        return x + n

    return function


FIRST, SECOND = _adding(1), _adding(2)
DEVICE_FUNCTIONS = tuple(cuda.jit(device=True)(f) for f in (FIRST, SECOND))


def lambdas_of_branches(r, q):
    if q:
        f = lambda x: x + 1  # noqa: E731
    else:
        f = lambda x: x * 2  # noqa: E731
    r[0] = f(3)


def lambdas_of_an_expression(r, q):
    f = (lambda x: x + 1) if q else (lambda x: x * 2)
    r[0] = f(3)


def lambdas_of_a_loop(r, q):
    f = lambda x: x + 1  # noqa: E731
    for i in range(q):
        r[i] = f(i)
        f = lambda x: x * 2  # noqa: E731


def closures(r, q):
    f = FIRST if q else SECOND
    r[0] = f(3)


def device_functions(r, q):
    if q:
        f = DEVICE_FUNCTIONS[0]
    else:
        f = DEVICE_FUNCTIONS[1]
    r[0] = f(3)


@pytest.mark.parametrize(
    "function", [lambdas_of_branches, lambdas_of_an_expression, lambdas_of_a_loop, closures, device_functions]
)
def test_errors_tell_functions_of_one_name_apart(device, function):
    """A function that is chosen at run time is an error, which says where both are."""
    with pytest.raises(KernelTypeError) as caught:
        cuda.jit(function)[1, 1](np.zeros(2), 1)
    first, second = re.findall(r"the function \w+ of (test_lambdas\.py:\d+(?::\d+)?(?:, n = \d)?)", str(caught.value))
    assert first != second


def test_functions_that_are_chosen_at_compile_time(device):
    def kernel(r, q: cuda.constexpr):
        f = (lambda x: x + 1) if q else (lambda x: x * 2)
        g = DEVICE_FUNCTIONS[0] if q else DEVICE_FUNCTIONS[1]
        r[0], r[1] = f(3), g(3)

    found = np.zeros(2)
    for q, expected in ((True, [4, 4]), (False, [6, 5])):
        cuda.jit(kernel)[1, 1](found, q)
        assert found.tolist() == expected
