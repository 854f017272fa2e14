"""Lowering of tests of numbers: for NaN and infinities, signs, closeness; and of what takes the place of NaN."""

from __future__ import annotations

import ast
import cmath
import math
from typing import Any

import numpy as np

from portagpu.dtypes import BOOL, Kind
from portagpu.frontend.core.convert import as_number, common_type, constant, convert, float_type, number_type
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.library.cmath import classify
from portagpu.frontend.library.float_functions import is_close, is_close_to, number_of
from portagpu.frontend.library.operands import scalar
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.complex_numbers import is_complex, make, parts_of
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import BOOLEAN, Scalar


@handles(math.isnan, np.isnan, math.isinf, np.isinf, math.isfinite, np.isfinite)
def _classify(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    (value,) = site.bind(ctx, name, "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert kind is not None
    if kind.dtype.is_complex and isinstance(site.target, np.ufunc):
        return classify(ctx, name, value)
    float_type(ctx, value)  # the `math` module takes real numbers only
    if not kind.dtype.is_float:
        return _known(ctx, name == "isfinite")
    return Operation(name, (as_number(ctx, value),), BOOLEAN, span=ctx.span)


def _known(ctx: FunctionState, answer: bool) -> Expr:
    """The same answer for all numbers of a dtype, as a value: no number may be divided by a constant that is 0."""
    return constant(ctx, answer, BOOLEAN)


@handles(np.isposinf, np.isneginf)
def _infinity(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    (value,) = site.bind(ctx, f"np.{name}", "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert kind is not None
    if kind.dtype.is_complex:
        ctx.fail(f"np.{name} of a complex number", hint="test x.real and x.imag")
    if not kind.dtype.is_float:
        return _known(ctx, False)
    return compare(ctx, ast.Eq(), value, Const(math.inf if name == "isposinf" else -math.inf))


@handles(np.signbit)
def _signbit(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "np.signbit", "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert kind is not None
    if kind.dtype.is_float:
        return Operation("signbit", (as_number(ctx, value),), BOOLEAN, span=ctx.span)
    if kind.dtype is BOOL or kind.dtype.kind is Kind.UINT:
        return _known(ctx, False)
    return compare(ctx, ast.Lt(), value, Const(0))


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


@handles(math.isclose, cmath.isclose)
def _is_close(ctx: FunctionState, site: Call) -> Value:
    a, b, relative, absolute = site.bind(ctx, "isclose", "a", "b", rel_tol=Const(1e-9), abs_tol=Const(0.0))
    return call_library(ctx, is_close, site, *_comparable(ctx, a, b), relative, absolute)


@handles(np.isclose)
def _np_is_close(ctx: FunctionState, site: Call) -> Value:
    a, b, *options = site.bind(ctx, "np.isclose", "a", "b", rtol=Const(1e-5), atol=Const(1e-8), equal_nan=Const(False))
    return call_library(ctx, is_close_to, site, *_comparable(ctx, a, b), *options)


def _comparable(ctx: FunctionState, a: Value, b: Value) -> list[Expr]:
    """Two numbers in the type in which they are compared: `math` and NumPy compute in floats."""
    kind: Any = common_type(ctx, scalar(ctx, a), scalar(ctx, b))
    if not kind.dtype.is_inexact:
        kind = ctx.program.py_float
    return [convert(ctx, value, kind) for value in (a, b)]
