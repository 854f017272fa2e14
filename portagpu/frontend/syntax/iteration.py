"""Iterables of `for` loops: length and items of each kind."""

from __future__ import annotations

import ast

from portagpu.frontend.arrays.attributes import tuple_item
from portagpu.frontend.arrays.iteration_order import place_at, places_count
from portagpu.frontend.arrays.subscripts import get_item
from portagpu.frontend.core.conditions import select
from portagpu.frontend.core.convert import describe
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.registry import TABLE, Call
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Const,
    EnumerateValue,
    PlacesValue,
    RangeValue,
    TupleValue,
    UnrollValue,
    Value,
    ZipValue,
    aggregate,
)
from portagpu.frontend.operations.comparisons import compare
from portagpu.frontend.operations.environment import tuple_items


def unrolled_items(ctx: FunctionState, iterable: Value) -> tuple[Value, ...] | None:
    """Items of an iterable that is walked at compile time, or None."""
    if isinstance(iterable, UnrollValue):
        return iterable.items
    if isinstance(iterable, TupleValue) or (isinstance(iterable, Const) and isinstance(iterable.value, tuple | list)):
        return tuple_items(ctx, iterable)
    if isinstance(iterable, EnumerateValue):
        inner = unrolled_items(ctx, iterable.iterable)
        if inner is None:
            return None
        return tuple(
            TupleValue((binary(ctx, ast.Add(), iterable.start, Const(n)), item)) for n, item in enumerate(inner)
        )
    if isinstance(iterable, ZipValue):
        return _unrolled_rows(ctx, iterable)
    return None


def _unrolled_rows(ctx: FunctionState, iterable: ZipValue) -> tuple[Value, ...] | None:
    """Items of a `zip` of tuples and constant ranges; with arrays, their number and elements are known at run time."""
    columns = [unrolled_items(ctx, part) for part in iterable.iterables]
    lengths = [len(column) for column in columns if column is not None]
    if not lengths:
        return None
    for n, part in enumerate(iterable.iterables):
        if columns[n] is None:
            if not (isinstance(part, Const) and isinstance(part.value, range)):
                return None
            columns[n] = tuple(map(Const, part.value[: min(lengths)]))
    return tuple(map(TupleValue, zip(*(column or () for column in columns), strict=False)))


def length_of(ctx: FunctionState, iterable: Value) -> Value:
    """Number of iterations over a run-time iterable."""
    if isinstance(iterable, ArrayValue) and iterable.ndim:
        return iterable.shape[0]
    if isinstance(iterable, TupleValue):
        return Const(len(iterable.items))
    if isinstance(iterable, RangeValue):
        return _range_length(ctx, iterable)
    if isinstance(iterable, Const) and isinstance(iterable.value, range):
        return Const(len(iterable.value))
    if isinstance(iterable, EnumerateValue):
        return length_of(ctx, iterable.iterable)
    if isinstance(iterable, ZipValue) and iterable.iterables:
        counts = tuple(length_of(ctx, i) for i in iterable.iterables)
        node = ast.Call(func=ast.Name(id="min", ctx=ast.Load()), args=[], keywords=[])
        return TABLE[min](ctx, Call(node=node, function=Const(min), args=counts, keywords={}))
    if isinstance(iterable, PlacesValue):
        return places_count(ctx, iterable)
    ctx.fail(
        f"cannot loop over {describe(ctx, iterable)}",
        hint="loop over range(...), an array, a tuple, enumerate(...) or zip(...)",
    )


def _range_length(ctx: FunctionState, iterable: RangeValue) -> Value:
    """Values of a range; zero or less where it is empty."""
    distance = binary(ctx, ast.Sub(), iterable.stop, iterable.start)
    if isinstance(iterable.step, Const) and iterable.step.value == 1:
        return distance
    # as many steps as fit, the last one perhaps shorter: division rounds down for both signs
    rising = compare(ctx, ast.Gt(), iterable.step, Const(0))
    sign = select(ctx, rising, Const(1), Const(-1), what="the sign of a step")
    reach = binary(ctx, ast.Sub(), binary(ctx, ast.Add(), distance, iterable.step), sign)
    return binary(ctx, ast.FloorDiv(), reach, iterable.step)


def item_at(ctx: FunctionState, iterable: Value, index: Value) -> Value:
    """Item of a run-time iterable."""
    iterable = aggregate(iterable)
    if isinstance(iterable, TupleValue):
        return tuple_item(ctx, iterable.items, index)
    if isinstance(iterable, ArrayValue):
        return get_item(ctx, iterable, (index,))
    if isinstance(iterable, Const) and isinstance(iterable.value, range):
        scaled = binary(ctx, ast.Mult(), index, Const(iterable.value.step))
        return binary(ctx, ast.Add(), scaled, Const(iterable.value.start))
    if isinstance(iterable, RangeValue):
        scaled = binary(ctx, ast.Mult(), index, iterable.step)
        return binary(ctx, ast.Add(), scaled, iterable.start)
    if isinstance(iterable, EnumerateValue):
        return TupleValue((binary(ctx, ast.Add(), index, iterable.start), item_at(ctx, iterable.iterable, index)))
    if isinstance(iterable, ZipValue):
        return TupleValue(tuple(item_at(ctx, i, index) for i in iterable.iterables))
    if isinstance(iterable, PlacesValue):
        return place_at(ctx, iterable, index)
    ctx.fail(f"cannot loop over {describe(ctx, iterable)}")
