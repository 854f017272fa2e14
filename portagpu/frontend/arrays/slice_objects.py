"""Slice objects: ``slice(...)`` in kernels, and slices that a kernel captures."""

from __future__ import annotations

from portagpu.frontend.arrays.indexing import SliceValue
from portagpu.frontend.core.registry import Call, handles
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import SLICE_FIELDS, Const, SliceFields, TupleValue, Value


@handles(slice)
def _new_slice(ctx: FunctionState, site: Call) -> Value:
    if site.keywords or not 1 <= len(site.args) <= 3:
        ctx.fail("slice takes one to three arguments: slice(stop), slice(start, stop) or slice(start, stop, step)")
    given = site.args if len(site.args) > 1 else [Const(None), *site.args]
    return TupleValue((*given, *[Const(None)] * (3 - len(given))), SLICE_FIELDS)


def as_item(value: Value) -> Value | SliceValue:
    """A value between the brackets of a subscript: slices become what ``start:stop:step`` is there."""
    parts: tuple[Value, ...]
    if isinstance(value, TupleValue) and isinstance(value.fields, SliceFields):
        parts = value.items
    elif isinstance(value, Const) and isinstance(value.value, slice):
        parts = (Const(value.value.start), Const(value.value.stop), Const(value.value.step))
    else:
        return value
    return SliceValue(*(None if isinstance(p, Const) and p.value is None else p for p in parts))
