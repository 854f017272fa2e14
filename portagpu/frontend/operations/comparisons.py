"""Lowering of comparisons."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from portagpu.dtypes import BOOL, INT64, UINT64, integer_range
from portagpu.frontend.arrays.text_elements import equal, is_text
from portagpu.frontend.core.conditions import logical, negate
from portagpu.frontend.core.convert import as_number, common_type, constant, convert, describe, number_type
from portagpu.frontend.core.operators import fold, is_narrow
from portagpu.frontend.core.optional import is_none
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Condition, Const, OptionalValue, TupleValue, Value
from portagpu.ir.nodes import Compare, CompareOp, Expr, LogicalOp, Operation
from portagpu.ir.types import BOOLEAN, PYINT, PYINT_NARROW, Scalar, Vector

COMPARE: dict[type[ast.AST], tuple[str, Callable[..., Any], CompareOp]] = {
    ast.Lt: ("<", operator.lt, CompareOp.LT),
    ast.LtE: ("<=", operator.le, CompareOp.LE),
    ast.Gt: (">", operator.gt, CompareOp.GT),
    ast.GtE: (">=", operator.ge, CompareOp.GE),
    ast.Eq: ("==", operator.eq, CompareOp.EQ),
    ast.NotEq: ("!=", operator.ne, CompareOp.NE),
}


def compare(ctx: FunctionState, op: ast.cmpop, left: Value, right: Value) -> Condition:
    """``left op right`` for one comparison."""
    if isinstance(left, OptionalValue) or isinstance(right, OptionalValue):
        return _compare_optional(ctx, op, left, right)
    if isinstance(op, ast.Is | ast.IsNot):
        if BOOL in (_dtype(ctx, left), _dtype(ctx, right)) and not (is_none(left) or is_none(right)):
            return _same_bool(ctx, op, left, right)
        same = _identical(ctx, left, right)
        return Const(same if isinstance(op, ast.Is) else not same)
    if isinstance(op, ast.In | ast.NotIn):
        return _contains(ctx, op, left, right)
    symbol, python, code = COMPARE[type(op)]
    if isinstance(left, Const) and isinstance(right, Const):
        return fold(ctx, python, left.value, right.value, what=f"`{left.value!r} {symbol} {right.value!r}`")
    if isinstance(op, ast.Eq | ast.NotEq) and (is_text(left) or is_text(right)):
        matches = equal(ctx, left, right)
        return negate(ctx, matches) if isinstance(op, ast.NotEq) else matches
    if isinstance(op, ast.Eq | ast.NotEq) and (isinstance(left, TupleValue) or isinstance(right, TupleValue)):
        return _compare_tuples(ctx, op, left, right)
    if isinstance(op, ast.Eq | ast.NotEq) and (is_none(left) or is_none(right)):
        return Const(isinstance(op, ast.NotEq))
    if number_type(ctx, left) is None or number_type(ctx, right) is None:
        ctx.fail(f"cannot compare {describe(ctx, left)} {symbol} {describe(ctx, right)}")
    ranged = _out_of_range(ctx, code, left, right)
    if ranged is not None:
        return ranged
    kind = common_type(ctx, left, right)
    if kind == PYINT and is_narrow(ctx, left) and is_narrow(ctx, right):
        kind = PYINT_NARROW
    if isinstance(kind, Vector):
        ctx.fail(f"`{symbol}` on {kind}", hint="compare lane by lane")
    if kind.dtype.is_complex and not isinstance(op, ast.Eq | ast.NotEq):
        ctx.fail(f"`{symbol}` on complex numbers, which have no order", hint="compare abs(x), x.real or x.imag")
    if UINT64 in (_dtype(ctx, left), _dtype(ctx, right)):
        left, right = _widened(ctx, left), _widened(ctx, right)
    if {_dtype(ctx, left), _dtype(ctx, right)} == {INT64, UINT64}:
        return Operation(
            f"compare_{code.name.lower()}", (as_number(ctx, left), as_number(ctx, right)), BOOLEAN, span=ctx.span
        )
    return Compare(code, convert(ctx, left, kind), convert(ctx, right, kind), span=ctx.span)


def _widened(ctx: FunctionState, value: Value) -> Value:
    """Thread indices and the like, which are kept in 32 bits, as the 64-bit integers that they stand for."""
    return convert(ctx, value, PYINT) if is_narrow(ctx, value) else value


def _dtype(ctx: FunctionState, value: Value) -> Any:
    kind = number_type(ctx, value)
    if kind is None or (isinstance(kind, Scalar) and kind.weak and isinstance(value, Const)):
        return None
    return kind.dtype


def _out_of_range(ctx: FunctionState, code: CompareOp, left: Value, right: Value) -> Expr | None:
    """NumPy 2 compares a Python integer that does not fit exactly: ``uint8 < 300`` is always true.

    The answer is a value: no number may be divided by a constant that is 0.
    """
    for value, other, flipped in ((right, left, False), (left, right, True)):
        kind = number_type(ctx, other)
        if (
            isinstance(value, Const)
            and type(value.value) is int
            and isinstance(kind, Scalar)
            and not kind.weak
            and kind.dtype.is_integer
        ):
            low, high = integer_range(kind.dtype)
            if low <= value.value <= high:
                continue
            other_is_less = value.value > high
            less = other_is_less != flipped  # whether left < right
            holds = (CompareOp.LT, CompareOp.LE, CompareOp.NE) if less else (CompareOp.GT, CompareOp.GE, CompareOp.NE)
            return constant(ctx, code in holds, BOOLEAN)
    return None


def _compare_optional(ctx: FunctionState, op: ast.cmpop, left: Value, right: Value) -> Condition:
    """``==`` and ``is`` of a value that may be None, which equals None only."""
    equal: Condition
    if is_none(left) or is_none(right):
        value = right if is_none(left) else left
        assert isinstance(value, OptionalValue)
        equal = negate(ctx, value.present)
    else:
        both = [v.item if isinstance(v, OptionalValue) else v for v in (left, right)]
        present = [as_number(ctx, v.present if isinstance(v, OptionalValue) else Const(True)) for v in (left, right)]
        same = Compare(CompareOp.EQ, present[0], present[1], span=ctx.span)
        positive = ast.Is() if isinstance(op, ast.Is | ast.IsNot) else ast.Eq()
        equal = logical(ctx, LogicalOp.AND, same, compare(ctx, positive, both[0], both[1]))
    return negate(ctx, equal) if isinstance(op, ast.IsNot | ast.NotEq) else equal


def _same_bool(ctx: FunctionState, op: ast.cmpop, left: Value, right: Value) -> Condition:
    """``x is True`` and the like: bools are single objects, so the same one if they are equal, and never a number."""
    if _dtype(ctx, left) != _dtype(ctx, right):
        return Const(isinstance(op, ast.IsNot))
    return compare(ctx, ast.Eq() if isinstance(op, ast.Is) else ast.NotEq(), left, right)


def _identical(ctx: FunctionState, left: Value, right: Value) -> bool:
    if isinstance(left, Const) and isinstance(right, Const):
        plain = type(left.value) is type(right.value) and isinstance(left.value, int | float | str)
        return left.value is right.value or (plain and left.value == right.value)
    if is_none(left) or is_none(right):
        return False
    ctx.fail("`is` compares with None or between compile-time objects", hint="use `==` for numbers")


def _contains(ctx: FunctionState, op: ast.cmpop, left: Value, right: Value) -> Condition:
    items: tuple[Value, ...]
    if isinstance(right, TupleValue):
        items = right.items
    elif isinstance(right, Const) and isinstance(right.value, tuple | list | set | frozenset):
        items = tuple(Const(v) for v in right.value)
    else:
        ctx.fail(f"`in` needs a tuple, not {describe(ctx, right)}")
    result: Condition = Const(False)
    for item in items:
        result = logical(ctx, LogicalOp.OR, result, compare(ctx, ast.Eq(), left, item))
    return negate(ctx, result) if isinstance(op, ast.NotIn) else result


def _compare_tuples(ctx: FunctionState, op: ast.cmpop, left: Value, right: Value) -> Condition:
    def items(value: Value) -> tuple[Value, ...] | None:
        if isinstance(value, TupleValue):
            return value.items
        return (
            tuple(Const(v) for v in value.value)
            if isinstance(value, Const) and isinstance(value.value, tuple)
            else None
        )

    a, b = items(left), items(right)
    result: Condition = Const(a is not None and b is not None and len(a) == len(b))
    if a is not None and b is not None and len(a) == len(b):
        for x, y in zip(a, b, strict=True):
            result = logical(ctx, LogicalOp.AND, result, compare(ctx, ast.Eq(), x, y))
    return negate(ctx, result) if isinstance(op, ast.NotEq) else result
