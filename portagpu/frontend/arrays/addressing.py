"""Addresses of array elements: pointers into arrays, loads and stores through them."""

from __future__ import annotations

from dataclasses import replace

from portagpu.dtypes import FLOAT32
from portagpu.frontend.arrays.distributed import load_distributed, store_distributed
from portagpu.frontend.core.bfloat16 import bits_of, is_bfloat16, value_of
from portagpu.frontend.core.convert import constant, convert
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Value
from portagpu.ir.nodes import (
    Binary,
    BinaryOp,
    CallFunction,
    Constant,
    Expr,
    Load,
    Offset,
    Operation,
    Store,
    Var,
    VectorLoad,
)
from portagpu.ir.types import BYTE, Pointer, Scalar, Space, in_memory
from portagpu.ir.walk import all_expressions
from portagpu.types.record_layout import Record


def offset_pointer(ctx: FunctionState, base: Expr, steps: Expr) -> Expr:
    """The pointer ``base + steps``."""
    if isinstance(steps, Constant) and steps.value == 0:
        return base
    assert isinstance(base.type, Pointer)
    if isinstance(base, Offset) and base.type.element == BYTE and base.index.type == steps.type:
        return Offset(base.base, ring(ctx, BinaryOp.ADD, base.index, steps), base.type, span=ctx.span)
    kind = Pointer(base.type.element, base.type.space, base.type.readonly)
    return Offset(base, steps, kind, span=ctx.span)


def typed(ctx: FunctionState, view: ArrayValue) -> ArrayValue:
    """A view that is addressed by bytes, addressed by elements where those are aligned."""
    element = view.element
    assert isinstance(view.base.type, Pointer) and isinstance(element, Scalar)
    if view.align % element.dtype.size:
        return view
    kind = Pointer(in_memory(element), view.space, view.base.type.readonly)
    same = element == BYTE
    base = view.base if same else Operation("reinterpret", (view.base,), kind, span=ctx.span)
    strides = tuple(_divided(ctx, s, element.dtype.size) for s in view.strides)
    return replace(view, base=base, strides=strides, align=0)


def _divided(ctx: FunctionState, stride: Expr, size: int) -> Expr:
    """A multiple of ``size``, a power of two, divided by it."""
    exact = _without_factor(ctx, stride, size)
    if exact is not None:
        return exact
    kind = ctx.program.index_type
    return Binary(BinaryOp.SHR, stride, constant(ctx, size.bit_length() - 1, kind), kind, span=ctx.span)


def _without_factor(ctx: FunctionState, stride: Expr, size: int) -> Expr | None:
    if size == 1:
        return stride
    if isinstance(stride, Constant) and stride.value % size == 0:
        return constant(ctx, int(stride.value) // size, ctx.program.index_type)
    if isinstance(stride, Binary) and stride.op is BinaryOp.MUL:
        for factor, other in ((stride.right, stride.left), (stride.left, stride.right)):
            reduced = _without_factor(ctx, factor, size)
            if reduced is not None:
                return ring(ctx, BinaryOp.MUL, other, reduced)
    return None


def pinned(ctx: FunctionState, array: ArrayValue) -> ArrayValue:
    """The array, at a place that does not change when the memory is written that was read to find it."""
    if any(isinstance(e, Load | VectorLoad | CallFunction) for e in all_expressions(array.base)):
        return replace(array, base=ctx.temp(array.base))
    return array


def load(ctx: FunctionState, array: ArrayValue, index: Expr) -> Value:
    """The element at a flat index: a number, or a reference to a record."""
    element = array.element
    found: Expr
    if isinstance(element, Record):
        return replace(array, base=offset_pointer(ctx, array.base, index), shape=(), strides=())
    if array.space is Space.CLUSTER:
        found = load_distributed(ctx, array, index)
    else:
        found = Load(array.base, index, in_memory(element), bool(array.align), span=ctx.span)
    return value_of(found) if is_bfloat16(element) else found


def mark_written(ctx: FunctionState, array: ArrayValue) -> None:
    """Note that the function has an effect, unless the array is a local one of its own, which callers cannot see."""
    if not ctx.effect:
        own = {a.name for a in ctx.local_arrays.values()}
        pointers = (e for e in all_expressions(array.base) if isinstance(e.type, Pointer) and not isinstance(e, Offset))
        ctx.effect = not all(isinstance(e, Var) and e.name in own for e in pointers)


def store(ctx: FunctionState, array: ArrayValue, index: Expr, value: Value) -> None:
    """Set the number at a flat index."""
    assert not isinstance(array.element, Record)
    mark_written(ctx, array)
    if is_bfloat16(array.element):
        number: Expr = bits_of(convert(ctx, value, Scalar(FLOAT32)))
    else:
        number = convert(ctx, value, array.element)
    if array.space is Space.CLUSTER:
        store_distributed(ctx, array, index, number)
        return
    ctx.emit(Store(array.base, index, number, bool(array.align), span=ctx.span))
