"""Lowering of ``**``: products for constant whole exponents, as in CUDA-Python, else the device's function."""

from __future__ import annotations

import numpy as np

from portagpu.dtypes import BOOL, FLOAT16
from portagpu.frontend.core.convert import as_number, constant, convert, number_type
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.ir.nodes import Binary, BinaryOp, Compare, CompareOp, Constant, Expr, Operation, Select, Var
from portagpu.ir.types import PYINT, Element, Vector

_LONGEST = 32  # a product of n factors errs by n/2 units in the last place at most, `pow` of OpenCL by 16
_LONGEST_ROUNDED = 4  # halves are rounded after each operation; complex `pow` is defined where a product overflows


def power(ctx: FunctionState, left: Value, right: Value, kind: Element) -> Expr:
    """``left ** right``, whose common type is ``kind``."""
    if isinstance(kind, Vector):
        return _lanes(ctx, left, right, kind)
    exponent = _whole(right)
    base_type = number_type(ctx, left)
    if exponent is not None and base_type is not None and base_type.dtype is not BOOL:
        if 2 <= exponent <= _longest(kind):
            return _product(ctx, once(ctx, convert(ctx, left, kind)), exponent, kind)
        if exponent < 0 and not kind.dtype.is_inexact:
            kind = ctx.program.py_float
        longest = 1 if kind.dtype is FLOAT16 else _LONGEST  # `pow` of halves is computed in float32, without overflow
        if exponent < 0 and kind.dtype.is_float and -exponent <= longest:
            return _reciprocal(ctx, once(ctx, convert(ctx, left, kind)), -exponent, kind)
    if kind.dtype is BOOL:
        kind = PYINT
    name = "pow" if kind.dtype.is_inexact else "ipow"
    return Operation(name, (convert(ctx, left, kind), convert(ctx, right, kind)), kind, span=ctx.span)


def once(ctx: FunctionState, expr: Expr) -> Expr:
    """The expression if repeating it is free, else a variable that holds it."""
    return expr if isinstance(expr, Var | Constant) else ctx.temp(expr)


def _whole(right: Value) -> int | None:
    """The exponent if it is a constant whole number, of any type."""
    if not isinstance(right, Const) or isinstance(right.value, bool | np.bool_):
        return None
    if isinstance(right.value, int | np.integer):
        return int(right.value)
    if isinstance(right.value, float | np.floating) and float(right.value).is_integer():
        return int(right.value)
    return None


def _longest(kind: Element) -> int:
    return _LONGEST_ROUNDED if kind.dtype.is_complex or kind.dtype is FLOAT16 else _LONGEST


def _product(ctx: FunctionState, base: Expr, exponent: int, kind: Element) -> Expr:
    """Square and multiply."""
    if exponent == 1:
        return base
    if exponent % 2:
        return Binary(BinaryOp.MUL, _product(ctx, base, exponent - 1, kind), base, kind, span=ctx.span)
    half = once(ctx, _product(ctx, base, exponent // 2, kind))
    return Binary(BinaryOp.MUL, half, half, kind, span=ctx.span)


def _reciprocal(ctx: FunctionState, base: Expr, exponent: int, kind: Element) -> Expr:
    """One by a product; by its two halves in turn where it overflows, as it does before the reciprocal is zero."""

    def quotient(above: Expr, factors: int) -> Expr:
        return Binary(BinaryOp.DIV, above, _product(ctx, base, factors, kind), kind, span=ctx.span)

    one = constant(ctx, 1, kind)
    found = quotient(one, exponent)
    if exponent == 1:
        return found
    found = once(ctx, found)
    apart = quotient(quotient(one, exponent // 2), exponent - exponent // 2)
    is_zero = Compare(CompareOp.EQ, found, constant(ctx, 0, kind), span=ctx.span)
    return Select(is_zero, apart, found, kind, span=ctx.span)


def _lanes(ctx: FunctionState, left: Value, right: Value, kind: Vector) -> Expr:
    if isinstance(right, Const) and right.value == 2:
        base = once(ctx, as_number(ctx, left))
        return Binary(BinaryOp.MUL, base, base, kind, span=ctx.span)
    ctx.fail(f"`**` on {kind}", hint="multiply, or work lane by lane")
