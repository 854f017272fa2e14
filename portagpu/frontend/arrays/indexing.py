"""Indices of arrays: checked, wrapped when negative, flattened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from portagpu import dtypes
from portagpu.device import DeviceType
from portagpu.errors import KernelValueError, UnsupportedSyntaxError
from portagpu.frontend.arrays.bounds import in_bounds
from portagpu.frontend.core.convert import as_number, constant, describe, number_type
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.ir.nodes import Binary, BinaryOp, Cast, Constant, Expr, Index
from portagpu.ir.types import LONG, Scalar


@dataclass(frozen=True, slots=True)
class SliceValue:
    """``start:stop:step`` in a subscript; None where left out."""

    start: Value | None
    stop: Value | None
    step: Value | None


def to_index(ctx: FunctionState, expr: Expr) -> Expr:
    """Truncate to the width of subscripts."""
    kind = ctx.program.index_type
    if isinstance(expr, Constant):
        return expr if expr.type is kind else constant(ctx, expr.value, kind, wrap=True)
    if expr.type == kind:
        return expr
    source = expr.type
    if isinstance(source, Scalar) and source.dtype.is_integer and source.dtype.size > kind.dtype.size:
        # sums and products modulo 2^32 depend only on their operands modulo 2^32
        if isinstance(expr, Binary) and expr.op in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL):
            return ring(ctx, expr.op, to_index(ctx, expr.left), to_index(ctx, expr.right))
        inner = expr.operand.type if isinstance(expr, Cast) else None
        if isinstance(expr, Cast) and isinstance(inner, Scalar) and inner.dtype is kind.dtype:
            return to_index(ctx, expr.operand)
    return Cast(expr, kind, span=ctx.span)


def subscript(ctx: FunctionState, value: Value, array: ArrayValue, axis: int) -> Expr:
    """One integer index: checked, wrapped when negative, in the width of subscripts."""
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not (kind.dtype.is_integer or kind.dtype is dtypes.BOOL):
        ctx.fail(
            f"array indices must be integers, not {describe(ctx, value)}",
            hint="convert it: a[int(x)]" if kind is not None else "index with an integer or a tuple of integers",
        )
    extent = array.shape[axis]
    if ctx.program.bounds:
        value = in_bounds(ctx, value, kind, array, axis)
    if isinstance(value, Const):
        index = int(value.value)
        if isinstance(extent, Constant) and not array.dynamic and not -extent.value <= index < extent.value:
            ctx.fail(
                f"index {index} is outside axis {axis} of {array.describe()} with {extent.value} elements",
                kind=KernelValueError,
            )
        if index >= 0:
            return constant(ctx, index, ctx.program.index_type)
        return ring(ctx, BinaryOp.ADD, to_index(ctx, extent), constant(ctx, index, ctx.program.index_type))
    expr = as_number(ctx, value)
    if dtypes.integer_range(kind.dtype)[0] == 0 if kind.dtype.is_integer else True:
        return Cast(expr, LONG, span=ctx.span) if _stays_wide(ctx, kind, array) else to_index(ctx, expr)
    return Index(to_index(ctx, expr), to_index(ctx, extent), ctx.program.index_type, span=ctx.span)


def _stays_wide(ctx: FunctionState, kind: Scalar, array: ArrayValue) -> bool:
    """Whether a subscript keeps its 64 bits though 32 would do.

    On CPUs the address has 64 bits anyway, and compilers make no vectors of a loop whose counter is truncated: it might
    wrap around.
    """
    side_by_side = len(array.strides) == 1 and isinstance(array.strides[0], Constant) and array.strides[0].value == 1
    return kind.dtype.size == 8 and side_by_side and ctx.program.caps.device_type is DeviceType.CPU


def normalise(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """One item for each axis: an ellipsis and missing items become full slices."""
    if len(items) == array.ndim and not any(
        isinstance(i, Const) and (i.value is None or i.value is Ellipsis) for i in items
    ):
        return items
    count = sum(1 for i in items if not (isinstance(i, Const) and i.value is Ellipsis))
    if count > array.ndim:
        ctx.fail(
            f"{array.describe()} takes at most {array.ndim} indices, {count} given",
            hint="check the array's number of dimensions at the launch",
        )
    result: list[Any] = []
    for item in items:
        if isinstance(item, Const) and item.value is Ellipsis:
            result += [SliceValue(None, None, None)] * (array.ndim - count)
        elif isinstance(item, Const) and item.value is None:
            ctx.fail("np.newaxis in a kernel", kind=UnsupportedSyntaxError, hint="reshape the array on the host")
        else:
            result.append(item)
    result += [SliceValue(None, None, None)] * (array.ndim - len(result))
    return tuple(result)


def flat_index(ctx: FunctionState, array: ArrayValue, indices: list[tuple[int, Expr]]) -> Expr:
    """Sum of index times stride over the given axes."""
    total: Expr | None = None
    for axis, index in indices:
        step = ring(ctx, BinaryOp.MUL, index, to_index(ctx, array.strides[axis]))
        total = step if total is None else ring(ctx, BinaryOp.ADD, total, step)
    return constant(ctx, 0, ctx.program.index_type) if total is None else total
