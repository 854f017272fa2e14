"""Strings in arrays: elements of NumPy's ``S`` and ``U`` dtypes, as records of bytes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from portagpu.frontend.arrays.addressing import pinned
from portagpu.frontend.arrays.static_arrays import captured_array
from portagpu.frontend.core.convert import constant, convert, describe
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.ir.nodes import Assign, Compare, CompareOp, Constant, Expr, For, Load, Logical, LogicalOp, Var
from portagpu.ir.types import BOOLEAN, BYTE
from portagpu.types.record_layout import Record


def is_text(value: Value) -> bool:
    """Whether a value is one text in memory."""
    return isinstance(value, ArrayValue) and value.record is not None and value.record.is_text


def in_memory(ctx: FunctionState, value: Value, record: Record) -> Value:
    """A constant text as an element of a text dtype, cut to its length as NumPy does; other values as they are."""
    wanted = str if record.dtype.kind == "U" else bytes
    if not record.is_text or not isinstance(value, Const) or not isinstance(value.value, wanted):
        return value
    return captured_array(ctx, _array_of(value.value, record.dtype))


@lru_cache(maxsize=512)
def _array_of(text: str | bytes, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.array(text, dtype)


def equal(ctx: FunctionState, left: Value, right: Value) -> Const | Expr:
    """Whether two texts are the same; the shorter one ends in zeros."""
    kinds = [v.record.dtype for v in (left, right) if isinstance(v, ArrayValue) and v.record is not None]
    for value in (left, right):
        if isinstance(value, Const) and isinstance(value.value, str | bytes):
            exact = np.array(value.value)
            if exact.dtype.kind == kinds[0].kind and exact.dtype.itemsize > kinds[0].itemsize:
                return Const(False)
    left, right = (in_memory(ctx, v, Record(kinds[0])) for v in (left, right))
    if not (isinstance(left, ArrayValue) and isinstance(right, ArrayValue) and is_text(left) and is_text(right)):
        ctx.fail(f"cannot compare {describe(ctx, left)} with {describe(ctx, right)}")
    a, b = left.record, right.record
    assert a is not None and b is not None
    if a.dtype.kind != b.dtype.kind:
        ctx.fail(
            f"cannot compare {describe(ctx, left)} with {describe(ctx, right)}", hint="use one kind of text, S or U"
        )
    if a.itemsize < b.itemsize:
        left, right, a, b = right, left, b, a
    left, right = pinned(ctx, left), pinned(ctx, right)
    same = ctx.temp(Constant(True, BOOLEAN, span=ctx.span))
    _compare_bytes(ctx, same, left, right, 0, b.itemsize)
    _compare_bytes(ctx, same, left, None, b.itemsize, a.itemsize)
    return same


def _compare_bytes(
    ctx: FunctionState, same: Var, left: ArrayValue, right: ArrayValue | None, start: int, stop: int
) -> None:
    """Clear ``same`` where bytes differ, or are not zero."""
    if start == stop:
        return
    kind = ctx.program.index_type
    counter = Var(ctx.fresh("byte"), kind, span=ctx.span)
    other: Expr = Constant(0, BYTE, span=ctx.span)
    if right is not None:
        other = Load(right.base, counter, BYTE, span=ctx.span)
    test = Compare(CompareOp.EQ, Load(left.base, counter, BYTE, span=ctx.span), other, span=ctx.span)
    step = Assign(same, Logical(LogicalOp.AND, same, test, span=ctx.span), span=ctx.span)
    bounds = (constant(ctx, start, kind), convert(ctx, Const(stop), kind), constant(ctx, 1, kind))
    ctx.emit(For(counter, *bounds, False, (step,), span=ctx.span))
