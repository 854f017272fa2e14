"""Lowering of subscripts: loads and stores of elements, views, fields."""

from __future__ import annotations

from typing import Any

from portagpu.frontend.arrays.addressing import load, store
from portagpu.frontend.arrays.fill import fill
from portagpu.frontend.arrays.indexing import SliceValue, flat_index, normalise, subscript
from portagpu.frontend.arrays.records import check_writable, copy_record, field_at, field_name, get_field, set_field
from portagpu.frontend.arrays.slices import view
from portagpu.frontend.core.convert import describe, number_type
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Value
from portagpu.ir.nodes import Expr
from portagpu.ir.types import Scalar, Vector
from portagpu.types.record_layout import Record


def _with_numbers(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> tuple[Any, ...]:
    """One item for each axis; an array without axes is the number that it holds."""
    held = (load(ctx, i, address(ctx, i, ())) if isinstance(i, ArrayValue) and _is_number(i) else i for i in items)
    return normalise(ctx, array, tuple(held))


def _is_number(array: ArrayValue) -> bool:
    return array.ndim == 0 and isinstance(array.element, Scalar)


def get_item(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> Value:
    """``array[items]``: an element, or a view when axes remain."""
    name = field_name(items)
    if name is not None:
        return get_field(ctx, array, name)
    if array.record is not None and items:
        return get_field(ctx, array, field_at(ctx, array.record, items))
    items = _with_numbers(ctx, array, items)
    if all(not isinstance(i, SliceValue) for i in items):
        return load(ctx, array, address(ctx, array, items))
    return view(ctx, array, items)


def address(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> Expr:
    """Flat index of an element; ``items`` are its integer indices, one for each axis."""
    given = len(items)
    items = _with_numbers(ctx, array, items)
    if any(isinstance(i, SliceValue) for i in items):
        ctx.fail(
            f"{array.describe()} needs {array.ndim} indices to name an element, {given} given",
            hint="give one integer for each axis",
        )
    return flat_index(ctx, array, [(axis, subscript(ctx, v, array, axis)) for axis, v in enumerate(items)])


def set_item(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...], value: Value) -> None:
    """``array[items] = value``."""
    check_writable(ctx, array)
    name = field_name(items)
    if name is None and array.record is not None and items:
        name = field_at(ctx, array.record, items)
    if name is not None:
        set_field(ctx, array, name, value)
        return
    items = _with_numbers(ctx, array, items)
    if any(isinstance(i, SliceValue) for i in items):
        fill(ctx, view(ctx, array, items), value, copy_record)
        return
    if isinstance(array.element, Record):
        copy_record(ctx, load(ctx, array, address(ctx, array, items)), value)
        return
    kind = number_type(ctx, value)
    if kind is None or (isinstance(kind, Vector) and not isinstance(array.element, Vector)):
        ctx.fail(
            f"cannot store {describe(ctx, value)} in an element of {array.describe()}",
            hint="use cuda.vstore(vector, array, index) for vectors"
            if isinstance(kind, Vector)
            else "elements are numbers: give one number, or write several with a slice or a loop",
        )
    store(ctx, array, address(ctx, array, items), value)
