"""Lowering of `math` and NumPy functions of integers: divisors, roots, combinations, bits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from portagpu.dtypes import BOOL, UINT8, UINT64
from portagpu.frontend.core.convert import as_number, convert, describe, number_type
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.library.integer_functions import (
    combinations,
    count_bits,
    factorial,
    gcd,
    integer_root,
    lcm,
    magnitude,
    permutations,
)
from portagpu.frontend.library.operands import as_integers, integer_result, scalar
from portagpu.ir.types import PYINT, Scalar


@handles(np.gcd, np.lcm)
def _ufunc_divisor(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    return _divisor(ctx, site, name, _two_or_more(ctx, site, name))


@handles(math.gcd, math.lcm)
def _python_divisor(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    values = _whole(ctx, f"math.{name}", *_two_or_more(ctx, site, name))
    unsigned = any((kind := number_type(ctx, v)) is not None and kind.dtype is UINT64 for v in values)
    result = _divisor(ctx, site, name, [call_library(ctx, magnitude, site, v) for v in values])
    return result if unsigned else convert(ctx, result, PYINT, explicit=True)


def _two_or_more(ctx: FunctionState, site: Call, name: str) -> Sequence[Value]:
    if site.keywords or len(site.args) < 2:
        ctx.fail(f"{name} takes integers, at least two")
    return site.args


def _divisor(ctx: FunctionState, site: Call, name: str, values: Sequence[Value]) -> Value:
    function = gcd if name == "gcd" else lcm
    result = values[0]
    for value in values[1:]:
        result = call_library(ctx, function, site, *as_integers(ctx, name, result, value))
    return result


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


@handles(np.bitwise_count)
def _bitwise_count(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.bitwise_count", "x")
    kind = number_type(ctx, scalar(ctx, value))
    if kind is None or kind.dtype.is_inexact:
        ctx.fail(f"np.bitwise_count needs an integer, not {describe(ctx, value)}")
    if kind.dtype is BOOL:
        return convert(ctx, value, Scalar(UINT8))
    return call_library(ctx, count_bits, site, as_number(ctx, value))
