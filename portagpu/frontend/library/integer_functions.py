"""Lowering of integer functions of `math` and NumPy, of tests for infinities and NaN, and of `operator`."""

from __future__ import annotations

import ast
import math
import operator
from typing import Any

import numpy as np

from portagpu.dialect.names import INTRINSICS
from portagpu.dtypes import BOOL, UINT8
from portagpu.frontend.core.convert import as_number, common_type, convert, describe, number_type
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.registry import TABLE, Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.library.builtins import integer_result, scalar
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.complex_numbers import is_complex, make, parts_of
from portagpu.frontend.operations.environment import tuple_items
from portagpu.frontend.source.callables import LibraryFunction
from portagpu.ir.nodes import Operation
from portagpu.ir.types import PYINT, Scalar

_popc: Any = INTRINSICS["popc"]
_clz: Any = INTRINSICS["clz"]


@LibraryFunction
def integer_root(n: Any) -> Any:
    """`math.isqrt` by Newton's method, from above; of negative numbers 0."""
    if n <= 0:
        return n * 0
    root = n.dtype.type(1) << n.dtype.type((65 - _clz(n)) // 2)
    better = (root + n // root) // 2
    while better < root:
        root = better
        better = (root + n // root) // 2
    return root


@LibraryFunction
def factorial(n: Any) -> Any:
    """`math.factorial`, which wraps around beyond 20; 0 where Python raises."""
    if n < 0:
        return n * 0
    result = n * 0 + 1
    for k in range(2, n + 1):
        result *= k
    return result


@LibraryFunction
def permutations(n: Any, k: Any) -> Any:
    """`math.perm`; 0 where Python raises."""
    if k < 0 or k > n:
        return n * 0
    result = n * 0 + 1
    for i in range(k):
        result *= n - i
    return result


@LibraryFunction
def combinations(n: Any, k: Any) -> Any:
    """`math.comb`; 0 where Python raises. Each step is a binomial coefficient, too, so that divisions are exact."""
    if k < 0 or k > n:
        return n * 0
    result = n * 0 + 1
    for i in range(min(k, n - k)):
        whole = result // (i + 1)  # kept apart from the rest, since the product may not fit
        rest = result - whole * (i + 1)
        result = whole * (n - i) + rest * (n - i) // (i + 1)
    return result


@LibraryFunction
def number_of(x: Any, missing: Any, above: Any, below: Any) -> Any:
    """`numpy.nan_to_num`."""
    if math.isnan(x):
        return missing
    if math.isinf(x):
        return above if x > 0 else below
    return x


@LibraryFunction
def count_bits(x: Any) -> Any:
    """Ones of the absolute value."""
    size = abs(x)
    if size.dtype.itemsize == 1:  # without the sign of the most negative number
        return np.uint8(_popc(np.uint8(size)))
    if size.dtype.itemsize == 2:
        return np.uint8(_popc(np.uint16(size)))
    return np.uint8(_popc(size))


def _whole(ctx: FunctionState, name: str, *values: Value) -> list[Value]:
    """Integers of 64 bits: results are Python's."""
    for value in values:
        kind = number_type(ctx, scalar(ctx, value))
        if kind is None or kind.dtype.is_inexact:
            ctx.fail(f"{name} needs integers, not {describe(ctx, value)}")
    return [convert(ctx, v, k if (k := integer_result(ctx, v)).dtype.size == 8 else PYINT) for v in values]


@handles(math.isqrt, math.factorial)
def _of_one(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    (value,) = _whole(ctx, f"math.{name}", *site.bind(ctx, f"math.{name}", "n"))
    if name == "factorial":
        value = convert(ctx, value, PYINT)
    return call_library(ctx, integer_root if name == "isqrt" else factorial, site, value)


@handles(math.perm, math.comb)
def _of_two(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    if name == "perm":
        n, k = site.bind(ctx, "math.perm", "n", k=Const(None))
    else:
        n, k = site.bind(ctx, "math.comb", "n", "k")
    if isinstance(k, Const) and k.value is None:
        (number,) = _whole(ctx, "math.perm", n)
        return call_library(ctx, factorial, site, convert(ctx, number, PYINT))
    numbers = [convert(ctx, v, PYINT) for v in _whole(ctx, f"math.{name}", n, k)]
    return call_library(ctx, permutations if name == "perm" else combinations, site, *numbers)


@handles(math.prod)
def _prod(ctx: FunctionState, site: Call) -> Value:
    values, total = site.bind(ctx, "math.prod", "tuple", start=Const(1))
    for value in tuple_items(ctx, values):
        total = binary(ctx, ast.Mult(), total, value)
    return total


@handles(math.dist)
def _dist(ctx: FunctionState, site: Call) -> Value:
    p, q = (tuple_items(ctx, v) for v in site.bind(ctx, "math.dist", "p", "q"))
    if len(p) != len(q) or not p:
        ctx.fail("math.dist needs two points with the same number of coordinates, at least one")
    total: Value | None = None
    for a, b in zip(p, q, strict=True):
        kind = common_type(ctx, a, b)
        kind = kind if kind.dtype.is_float else ctx.program.py_float
        difference = binary(ctx, ast.Sub(), convert(ctx, a, kind), convert(ctx, b, kind))
        if total is None:
            total = Operation("fabs", (as_number(ctx, difference),), kind, span=ctx.span)
            continue
        met = common_type(ctx, total, difference)
        total = Operation("hypot", (convert(ctx, total, met), convert(ctx, difference, met)), met, span=ctx.span)
    assert total is not None
    return total


@handles(np.isposinf, np.isneginf)
def _infinity(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    (value,) = site.bind(ctx, f"np.{name}", "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert kind is not None
    if kind.dtype.is_complex:
        ctx.fail(f"np.{name} of a complex number", hint="test x.real and x.imag")
    if not kind.dtype.is_float:
        return Const(np.False_)
    return compare(ctx, ast.Eq(), value, Const(math.inf if name == "isposinf" else -math.inf))


@handles(np.nan_to_num)
def _nan_to_num(ctx: FunctionState, site: Call) -> Value:
    value, _, nan, above, below = site.bind(
        ctx, "np.nan_to_num", "x", copy=Const(True), nan=Const(0.0), posinf=Const(None), neginf=Const(None)
    )
    kind = number_type(ctx, scalar(ctx, value))
    assert isinstance(kind, Scalar)
    if not kind.dtype.is_inexact:
        return as_number(ctx, value)
    largest = float(np.finfo(kind.dtype.numpy).max)
    lane = Scalar(kind.dtype.real)
    above = Const(largest) if isinstance(above, Const) and above.value is None else above
    below = Const(-largest) if isinstance(below, Const) and below.value is None else below
    others = [convert(ctx, v, lane) for v in (nan, above, below)]
    if not is_complex(ctx, value):
        return call_library(ctx, number_of, site, as_number(ctx, value), *others)
    real, imag = (call_library(ctx, number_of, site, part, *others) for part in parts_of(ctx, value))
    return make(ctx, real, imag)


@handles(np.bitwise_count)
def _bitwise_count(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.bitwise_count", "x")
    kind = number_type(ctx, scalar(ctx, value))
    if kind is None or kind.dtype.is_inexact:
        ctx.fail(f"np.bitwise_count needs an integer, not {describe(ctx, value)}")
    if kind.dtype is BOOL:
        return convert(ctx, value, Scalar(UINT8))
    return call_library(ctx, count_bits, site, as_number(ctx, value))


handles(operator.abs)(TABLE[abs])
handles(operator.truth)(TABLE[bool])
