"""Bounds checks of subscripts, for ``debug=True`` and ``boundscheck=True``."""

from __future__ import annotations

from portagpu.dtypes import BOOL, Kind
from portagpu.frontend.core.conditions import negate
from portagpu.frontend.core.convert import as_number, constant, convert
from portagpu.frontend.core.exceptions import Raise, check
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.ir import names
from portagpu.ir.nodes import Compare, CompareOp, Constant, Expr, Logical, LogicalOp, Negate, Offset, Operation, Var
from portagpu.ir.types import LONG, Scalar


def in_bounds(ctx: FunctionState, value: Value, kind: Scalar, array: ArrayValue, axis: int) -> Value:
    """The index, of which one outside the axis raises IndexError; negative ones count from the end."""
    extent = convert(ctx, array.shape[axis], LONG)
    if isinstance(value, Const):
        if isinstance(extent, Constant) and not array.dynamic:
            return value  # decided while compiling
        index: Expr = constant(ctx, int(value.value), LONG)
        held: Value = value
    else:
        number = as_number(ctx, value)
        held = index = number if isinstance(number, Var) and number.name in ctx.stable else ctx.temp(number)
    inside = _inside(ctx, index, kind, extent)
    where = f" for axis {axis}" if array.ndim > 1 else ""
    shape = ", ".join(f"{{{n + 1}}}" for n in range(array.ndim)) + ("," if array.ndim == 1 else "")
    check(
        ctx,
        negate(ctx, inside),
        Raise(
            kind=IndexError,
            template=f"index {{0}} is out of bounds{where} of {_name(array.base)} with shape ({shape})",
            values=(index, *(convert(ctx, n, LONG) for n in array.shape)),
        ),
    )
    return held


def _inside(ctx: FunctionState, index: Expr, kind: Scalar, extent: Expr) -> Expr:
    """Whether ``-extent <= index < extent``, in 64 bits whatever the width of subscripts."""
    if kind.dtype is BOOL or (kind.dtype.kind is Kind.UINT and kind.dtype.size < 8):
        return _less(ctx, convert(ctx, index, LONG), extent)
    if kind.dtype.kind is Kind.UINT:
        return _less(ctx, index, convert(ctx, extent, kind))
    wide = convert(ctx, index, LONG)
    lowest = Negate(extent, LONG, span=ctx.span)
    above = Compare(CompareOp.GE, wide, lowest, span=ctx.span)
    if isinstance(index, Constant):
        return _less(ctx, wide, extent) if index.value >= 0 else above
    return Logical(LogicalOp.AND, above, _less(ctx, wide, extent), span=ctx.span)


def _less(ctx: FunctionState, left: Expr, right: Expr) -> Expr:
    return Compare(CompareOp.LT, left, right, span=ctx.span)


def _name(base: Expr) -> str:
    """What the user calls the array, as far as it is known."""
    match base:
        case Var(name=names.DYNAMIC_SHARED_ARRAY):
            return "the dynamic shared array"
        case Var(name=name) if not names.is_own(name):
            return f"`{name.partition('.')[0]}`"
        case Offset(base=inner):
            return f"a view of {_name(inner)}"
        case Operation(args=(inner,)):
            return _name(inner)
        case _:
            return "an array"
