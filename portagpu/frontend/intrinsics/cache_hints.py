"""Loads and stores with CUDA's cache hints, as plain ones: OpenCL has no such hints."""

from __future__ import annotations

from portagpu.frontend.arrays.subscripts import address, get_item, set_item
from portagpu.frontend.core.convert import describe
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.operations.environment import index_items


def _place(ctx: FunctionState, name: str, array: Value, index: Value) -> tuple[ArrayValue, tuple[Value, ...]]:
    if not isinstance(array, ArrayValue):
        ctx.fail(f"cuda.{name} takes an array, not {describe(ctx, array)}")
    items = index_items(ctx, index)
    address(ctx, array, items)  # one element, and no more
    return array, items


@intrinsic("ldca", "ldcg", "ldcs", "ldlu", "ldcv")
def _cached_load(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    array, index = site.bind(ctx, f"cuda.{name}", "array", "i")
    return get_item(ctx, *_place(ctx, name, array, index))


@intrinsic("stcg", "stcs", "stwb", "stwt")
def _cached_store(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    array, index, value = site.bind(ctx, f"cuda.{name}", "array", "i", "value")
    set_item(ctx, *_place(ctx, name, array, index), value)
    return Const(None)
