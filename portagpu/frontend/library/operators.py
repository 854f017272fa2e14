"""Lowering of operators as functions: those of `operator`, and NumPy's (add, less, logical_and)."""

from __future__ import annotations

import ast
import operator
from typing import Any

import numpy as np

from portagpu.dtypes import BOOL
from portagpu.frontend.arrays.subscripts import get_item
from portagpu.frontend.core.conditions import logical, negate
from portagpu.frontend.core.convert import describe, number_type, truth, typed_number
from portagpu.frontend.core.operators import binary, unary
from portagpu.frontend.core.registry import Call, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.complex_numbers import is_complex
from portagpu.frontend.operations.complex_order import ordered
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.nodes import LogicalOp, Negate
from portagpu.ir.types import Scalar

_OPERATORS: dict[Any, type[ast.operator]] = {
    operator.add: ast.Add,
    operator.sub: ast.Sub,
    operator.mul: ast.Mult,
    operator.truediv: ast.Div,
    operator.floordiv: ast.FloorDiv,
    operator.mod: ast.Mod,
    operator.pow: ast.Pow,
    operator.and_: ast.BitAnd,
    operator.or_: ast.BitOr,
    operator.xor: ast.BitXor,
    operator.lshift: ast.LShift,
    operator.rshift: ast.RShift,
    operator.iadd: ast.Add,
    operator.isub: ast.Sub,
    operator.imul: ast.Mult,
    operator.itruediv: ast.Div,
    operator.ifloordiv: ast.FloorDiv,
    operator.imod: ast.Mod,
    operator.ipow: ast.Pow,
    operator.iand: ast.BitAnd,
    operator.ior: ast.BitOr,
    operator.ixor: ast.BitXor,
    operator.ilshift: ast.LShift,
    operator.irshift: ast.RShift,
}


@handles(*_OPERATORS, foldable=False)  # `binary` folds
def _operator(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, site.target.__name__, "a", "b")
    return binary(ctx, _OPERATORS[site.target](), left, right)


_COMPARISONS: dict[Any, type[ast.cmpop]] = {
    operator.lt: ast.Lt,
    operator.le: ast.LtE,
    operator.gt: ast.Gt,
    operator.ge: ast.GtE,
    operator.eq: ast.Eq,
    operator.ne: ast.NotEq,
}


@handles(*_COMPARISONS)
def _comparison(ctx: FunctionState, site: Call) -> Value:
    left, right = site.bind(ctx, site.target.__name__, "a", "b")
    return compare(ctx, _COMPARISONS[site.target](), left, right)


_UNARY: dict[Any, type[ast.unaryop]] = {
    operator.neg: ast.USub,
    operator.pos: ast.UAdd,
    operator.inv: ast.Invert,
    operator.invert: ast.Invert,
    operator.not_: ast.Not,
}


@handles(*_UNARY, foldable=False)
def _unary_operator(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, site.target.__name__, "a")
    return unary(ctx, _UNARY[site.target](), value)


@handles(operator.getitem, foldable=False)
def _getitem(ctx: FunctionState, site: Call) -> Value:
    owner, index = site.bind(ctx, "getitem", "a", "b")
    if not isinstance(owner, ArrayValue):
        ctx.fail(f"operator.getitem needs an array, not {describe(ctx, owner)}")
    items = tuple_items(ctx, index) if number_type(ctx, index) is None else (index,)
    return get_item(ctx, owner, items)


_UFUNCS: dict[Any, type[ast.operator]] = {
    np.add: ast.Add,
    np.subtract: ast.Sub,
    np.multiply: ast.Mult,
    np.divide: ast.Div,
    np.floor_divide: ast.FloorDiv,
    np.remainder: ast.Mod,
    np.bitwise_and: ast.BitAnd,
    np.bitwise_or: ast.BitOr,
    np.bitwise_xor: ast.BitXor,
    np.left_shift: ast.LShift,
    np.right_shift: ast.RShift,
}


_OF_BOOLS = {np.add: LogicalOp.OR, np.multiply: LogicalOp.AND}


def _is_bool(ctx: FunctionState, value: Value) -> bool:
    kind = number_type(ctx, value)
    return isinstance(kind, Scalar) and kind.dtype is BOOL


@handles(*_UFUNCS)
def _ufunc(ctx: FunctionState, site: Call) -> Value:
    function = site.target
    left, right = site.bind(ctx, function.__name__, "x", "y")
    if function in _OF_BOOLS and all(_is_bool(ctx, v) for v in (left, right)):
        return logical(ctx, _OF_BOOLS[function], truth(ctx, left), truth(ctx, right))
    return binary(ctx, _UFUNCS[function](), left, right, checked=False)


_COMPARING_UFUNCS: dict[Any, type[ast.cmpop]] = {
    np.less: ast.Lt,
    np.less_equal: ast.LtE,
    np.greater: ast.Gt,
    np.greater_equal: ast.GtE,
    np.equal: ast.Eq,
    np.not_equal: ast.NotEq,
}


@handles(*_COMPARING_UFUNCS)
def _comparing_ufunc(ctx: FunctionState, site: Call) -> Value:
    function = site.target
    left, right = site.bind(ctx, function.__name__, "x", "y")
    if function not in (np.equal, np.not_equal) and (is_complex(ctx, left) or is_complex(ctx, right)):
        return ordered(ctx, function.__name__, site, left, right)
    return compare(ctx, _COMPARING_UFUNCS[function](), left, right)


@handles(np.negative)
def _negative(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "negative", "x")
    number, kind = typed_number(ctx, value)
    return Negate(number, kind, span=ctx.span)


@handles(np.square)
def _square(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "square", "x")
    return binary(ctx, ast.Pow(), value, Const(2))


@handles(np.positive, np.invert)
def _unary_ufunc(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, site.target.__name__, "x")
    return unary(ctx, ast.UAdd() if site.target is np.positive else ast.Invert(), value)


@handles(np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
def _np_logical(ctx: FunctionState, site: Call) -> Value:
    function = site.target
    names = ("x",) if function is np.logical_not else ("x", "y")
    values = [truth(ctx, v) for v in site.bind(ctx, f"np.{function.__name__}", *names)]
    if function is np.logical_not:
        return negate(ctx, values[0])
    if function is np.logical_xor:
        return compare(ctx, ast.NotEq(), values[0], values[1])
    return logical(ctx, LogicalOp.AND if function is np.logical_and else LogicalOp.OR, values[0], values[1])
