"""Loads and stores with CUDA's cache hints, as plain ones: OpenCL has no such hints.

``ldcv`` and ``stwt`` of numbers in global memory are volatile, so that threads may wait for what others write: a
compiler neither keeps what was read, nor puts off what is written, and no cache of a unit answers.
"""

from __future__ import annotations

from portagpu.frontend.arrays.records import check_writable
from portagpu.frontend.arrays.subscripts import address, get_item, set_item
from portagpu.frontend.core.convert import convert, describe
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.operations.environment import index_items
from portagpu.ir.nodes import Evaluate, Offset, Operation
from portagpu.ir.types import VOID, Pointer, Scalar, Space

_LEAST_SIZE = 4


def _place(ctx: FunctionState, name: str, array: Value, index: Value) -> tuple[ArrayValue, tuple[Value, ...]]:
    if not isinstance(array, ArrayValue):
        ctx.fail(f"cuda.{name} takes an array, not {describe(ctx, array)}")
    items = index_items(ctx, index)
    address(ctx, array, items)  # one element, and no more
    return array, items


def _volatile(ctx: FunctionState, array: ArrayValue, items: tuple[Value, ...]) -> tuple[Offset, Scalar] | None:
    """An element that can be accessed as volatile: a number of 32 or 64 bits in global memory."""
    element = array.element
    if not isinstance(element, Scalar) or array.space is not Space.GLOBAL or array.align:
        return None
    if element.dtype.is_complex or element.dtype.size < _LEAST_SIZE:
        return None
    return Offset(array.base, address(ctx, array, items), Pointer(element, array.space), span=ctx.span), element


@intrinsic("ldca", "ldcg", "ldcs", "ldlu", "ldcv")
def _cached_load(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    given, index = site.bind(ctx, f"cuda.{name}", "array", "i")
    array, items = _place(ctx, name, given, index)
    place = _volatile(ctx, array, items) if name == "ldcv" else None
    if place is None:
        return get_item(ctx, array, items)
    ctx.effect = True
    return Operation("volatile_load", (place[0],), place[1], effect=True, span=ctx.span)


@intrinsic("stcg", "stcs", "stwb", "stwt")
def _cached_store(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    given, index, value = site.bind(ctx, f"cuda.{name}", "array", "i", "value")
    array, items = _place(ctx, name, given, index)
    place = _volatile(ctx, array, items) if name == "stwt" else None
    if place is None:
        set_item(ctx, array, items, value)
        return Const(None)
    check_writable(ctx, array)
    ctx.effect = True
    operands = (place[0], convert(ctx, value, place[1]))
    ctx.emit(Evaluate(Operation("volatile_store", operands, VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)
