"""Lowering of NumPy functions that choose among numbers: minimum, maximum, clip, sign, where."""

from __future__ import annotations

import ast

import numpy as np

from portagpu.dtypes import Kind
from portagpu.frontend.core.conditions import select
from portagpu.frontend.core.convert import as_number, common_type, convert, number_type, truth
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.registry import Call, call_library, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.library.complex_functions import complex_sign
from portagpu.frontend.library.operands import scalar
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.complex_numbers import is_complex
from portagpu.frontend.operations.complex_order import ordered
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar


@handles(np.minimum, np.maximum, np.fmin, np.fmax)
def _np_extreme(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.__name__
    left, right = site.bind(ctx, name, "x", "y")
    if is_complex(ctx, left) or is_complex(ctx, right):
        return ordered(ctx, name, site, left, right)
    return np_extreme(ctx, name, left, right)


def np_extreme(ctx: FunctionState, name: str, left: Value, right: Value) -> Value:
    """``np.minimum`` and ``np.maximum``, where nan wins, ``np.fmin`` and ``np.fmax``, where numbers do."""
    kind = common_type(ctx, left, right)
    if kind.dtype.is_complex:
        ctx.fail(f"np.{name} of complex numbers", hint="compare abs(x), x.real or x.imag")
    if kind.dtype.kind is Kind.BOOL:
        return binary(ctx, ast.BitAnd() if name in ("minimum", "fmin") else ast.BitOr(), left, right)
    plain = {"minimum": "min", "maximum": "max", "fmin": "min", "fmax": "max"}[name]
    operation = name if kind.dtype.is_float else plain
    return Operation(operation, (convert(ctx, left, kind), convert(ctx, right, kind)), kind, span=ctx.span)


@handles(np.clip)
def _clip(ctx: FunctionState, site: Call) -> Value:
    value, low, high = site.bind(ctx, "np.clip", "a", a_min=Const(None), a_max=Const(None))
    for function, bound in ((np.maximum, low), (np.minimum, high)):
        if not (isinstance(bound, Const) and bound.value is None):
            value = np_extreme(ctx, function.__name__, value, bound)
    return as_number(ctx, value)


@handles(np.sign)
def _sign(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "sign", "x")
    kind = number_type(ctx, scalar(ctx, value))
    assert isinstance(kind, Scalar)
    if kind.dtype.is_complex:
        return call_library(ctx, complex_sign, site, value)
    held: Value = ctx.temp(as_number(ctx, value))
    zero = Const(0)
    if kind.dtype.is_float:
        held = binary(ctx, ast.Add(), held, Const(0.0))  # of -0.0 it is 0.0
    is_signed = kind.dtype.kind is not Kind.UINT  # -1 is no literal of an unsigned type
    below = select(ctx, compare(ctx, ast.Lt(), held, zero), Const(-1), held) if is_signed else held
    return select(ctx, compare(ctx, ast.Gt(), held, zero), Const(1), below)


@handles(np.where)
def _where(ctx: FunctionState, site: Call) -> Value:
    condition, yes, no = site.bind(ctx, "where", "condition", "x", "y")
    return select(ctx, truth(ctx, condition), yes, no)
