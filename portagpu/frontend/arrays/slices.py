"""Slices: views of arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from portagpu.errors import KernelValueError
from portagpu.frontend.arrays.addressing import offset_pointer
from portagpu.frontend.arrays.indexing import SliceValue, flat_index, subscript, to_index
from portagpu.frontend.core.convert import as_number, constant, describe, number_type
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.ir.nodes import BinaryOp, Constant, Expr, Operation
from portagpu.ir.types import Layout, Scalar


def view(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> ArrayValue:
    """A sub-array: moved base, new shape and strides; nothing is copied."""
    fixed: list[tuple[int, Expr]] = []
    shape: list[Expr] = []
    strides: list[Expr] = []
    for axis, item in enumerate(items):
        if isinstance(item, SliceValue):
            start, length, step = _slice(ctx, array, axis, item)
            fixed.append((axis, start))
            shape.append(length)
            strides.append(ring(ctx, BinaryOp.MUL, to_index(ctx, array.strides[axis]), step))
        else:
            fixed.append((axis, subscript(ctx, item, array, axis)))
    base = offset_pointer(ctx, array.base, flat_index(ctx, array, fixed))
    keeps_c = array.layout is Layout.C and all(
        isinstance(i, SliceValue) and i.start is None and i.stop is None and i.step is None
        for i in items[_first_slice(items) + 1 :]
    )
    first = items[_first_slice(items)]
    unit = isinstance(first, SliceValue) and (
        first.step is None or (isinstance(first.step, Const) and first.step.value == 1)
    )
    return replace(
        array,
        base=base,
        shape=tuple(shape),
        strides=tuple(strides),
        layout=Layout.C if keeps_c and unit else Layout.ANY,
    )


def _first_slice(items: tuple[Any, ...]) -> int:
    return next(n for n, i in enumerate(items) if isinstance(i, SliceValue))


def _slice(ctx: FunctionState, array: ArrayValue, axis: int, item: SliceValue) -> tuple[Expr, Expr, Expr]:
    """Start, length and step of a slice, with Python's clamping."""
    kind = ctx.program.index_type
    extent = to_index(ctx, array.shape[axis])
    step = 1
    if item.step is not None and not (isinstance(item.step, Const) and item.step.value is None):
        if not isinstance(item.step, Const) or not isinstance(item.step.value, int) or item.step.value == 0:
            ctx.fail(
                f"a slice's step must be a non-zero constant in a kernel, not {describe(ctx, item.step)}",
                kind=KernelValueError,
                hint="loop over the indices with range(start, stop, step)",
            )
        step = item.step.value
    low = constant(ctx, 0 if step > 0 else -1, kind)
    high = extent if step > 0 else ring(ctx, BinaryOp.ADD, extent, constant(ctx, -1, kind))
    start = _bound(ctx, item.start, extent, low, high, low if step > 0 else high)
    stop = _bound(ctx, item.stop, extent, low, high, high if step > 0 else low)
    span = ring(ctx, BinaryOp.SUB, stop, start) if step > 0 else ring(ctx, BinaryOp.SUB, start, stop)
    if isinstance(span, Constant):
        length: Expr = constant(ctx, max(0, -(-int(span.value) // abs(step))), kind)
    elif item.start is None and item.stop is None and abs(step) == 1:
        length = extent
    else:
        length = Operation("slice_length", (span, constant(ctx, abs(step), kind)), kind, span=ctx.span)
    return start, length, constant(ctx, step, kind)


def _bound(ctx: FunctionState, value: Value | None, extent: Expr, low: Expr, high: Expr, default: Expr) -> Expr:
    if value is None or (isinstance(value, Const) and value.value is None):
        return default
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not kind.dtype.is_integer:
        ctx.fail(f"slice bounds must be integers, not {describe(ctx, value)}")
    if (
        isinstance(value, Const)
        and isinstance(extent, Constant)
        and isinstance(low, Constant)
        and isinstance(high, Constant)
    ):
        known = int(value.value)
        known = known + int(extent.value) if known < 0 else known
        return constant(ctx, min(max(known, int(low.value)), int(high.value)), ctx.program.index_type)
    index = to_index(ctx, as_number(ctx, value))
    return Operation("slice_bound", (index, extent, low, high), ctx.program.index_type, span=ctx.span)
