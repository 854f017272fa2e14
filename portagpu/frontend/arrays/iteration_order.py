"""Row-major iteration over arrays: `np.ndindex`, `np.ndenumerate` and ``a.flat``."""

from __future__ import annotations

import ast

from portagpu.frontend.arrays.indexing import SliceValue
from portagpu.frontend.arrays.subscripts import get_item
from portagpu.frontend.core.convert import number_type
from portagpu.frontend.core.operators import binary
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, PlacesValue, TupleValue, Value, is_expr
from portagpu.ir.nodes import Constant, Var


def places_count(ctx: FunctionState, places: PlacesValue) -> Value:
    """How many places there are."""
    count: Value = Const(1)
    for extent in places.shape:
        count = binary(ctx, ast.Mult(), count, extent)
    return count


def place_at(ctx: FunctionState, places: PlacesValue, number: Value) -> Value:
    """What a loop gets for the place of this number."""
    indices = _indices(ctx, places, number)
    if places.array is None:
        return TupleValue(indices)
    element = get_item(ctx, places.array, indices)
    return TupleValue((TupleValue(indices), element)) if places.indices else element


def flat_item(
    ctx: FunctionState, places: PlacesValue, items: tuple[Value | SliceValue, ...]
) -> tuple[ArrayValue, tuple[Value, ...]]:
    """The array, and the indices in it, that ``a.flat[items]`` names."""
    number = items[0] if len(items) == 1 else None
    if number is None or isinstance(number, SliceValue) or number_type(ctx, number) is None:
        ctx.fail("a.flat takes one integer", hint="index the array itself: a[i, j]")
    if places.array is None or places.indices:
        ctx.fail("np.ndindex and np.ndenumerate have no items", hint="loop over them")
    if is_expr(number) and not isinstance(number, Constant | Var):
        number = ctx.temp(number)
    return places.array, _indices(ctx, places, number)


def _indices(ctx: FunctionState, places: PlacesValue, number: Value) -> tuple[Value, ...]:
    """An index for each axis; the first one is negative where the number is."""
    found: list[Value] = []
    for extent in places.shape[:0:-1]:
        found.append(binary(ctx, ast.Mod(), number, extent))
        number = binary(ctx, ast.FloorDiv(), number, extent)
    if places.shape:
        found.append(number)
    return tuple(found[::-1])
