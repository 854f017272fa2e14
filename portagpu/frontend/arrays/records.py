"""Lowering of records: fields as numbers, arrays and inner records; copies of whole records.

A record is an array without axes whose element is a record type: a place in memory, not a value. Arrays of records are
addressed by bytes; a field that is aligned becomes an ordinary array (or number) of its own type, any other is read and
written byte by byte.
"""

from __future__ import annotations

import difflib
from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import DTypeError, KernelNameError
from portagpu.frontend.arrays.addressing import load, mark_written, offset_pointer, pinned, store, typed
from portagpu.frontend.arrays.fill import fill
from portagpu.frontend.arrays.text_elements import in_memory
from portagpu.frontend.core.convert import constant, convert, describe, number_type, require_fp64
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.ir.nodes import Expr, For, Load, Store, Var, VectorLoad, VectorStore
from portagpu.ir.types import BYTE, PYINT, Layout, Scalar, Space, Vector
from portagpu.types.record_layout import Field, Record, alignment_of, record_of

_WRITTEN_OUT = 8  # pieces of a record that are copied without a loop


def field_name(items: tuple[Any, ...]) -> str | None:
    """The field that a subscript names, if it is one string."""
    if len(items) == 1 and isinstance(items[0], Const) and isinstance(items[0].value, str):
        return items[0].value
    return None


def field_at(ctx: FunctionState, record: Record, items: tuple[Any, ...]) -> str:
    """The field that ``record[n]`` means."""
    names = tuple(record.fields)
    index = items[0].value if len(items) == 1 and isinstance(items[0], Const) else None
    if not isinstance(index, int | np.integer) or not -len(names) <= index < len(names):
        ctx.fail(
            f"a field of {record} is named by a constant: its name, or a number from 0 to {len(names) - 1}",
            hint="loop over names with `for name in cuda.literal_unroll(names)`",
        )
    return names[index]


def field_of(ctx: FunctionState, array: ArrayValue, name: str) -> Field:
    """A field by name. Raises `KernelNameError`."""
    element = array.element
    if not isinstance(element, Record):
        ctx.fail(f"{array.describe()} has no fields", kind=KernelNameError, hint="only arrays of records have")
    found = element.fields.get(name)
    if found is None:
        close = difflib.get_close_matches(name, element.fields, n=1)
        ctx.fail(
            f"{array.describe()} has no field `{name}`",
            kind=KernelNameError,
            hint=f"did you mean `{close[0]}`?" if close else f"its fields are {', '.join(element.fields)}",
        )
    return found


def field_view(ctx: FunctionState, array: ArrayValue, name: str) -> ArrayValue:
    """The field of every record of an array, as a view; an array field adds its axes."""
    field = field_of(ctx, array, name)
    element: Record | Scalar | None = record_of(field.dtype)
    if element is None:
        try:
            element = Scalar(dtypes.from_numpy(field.dtype))
        except DTypeError as error:
            raise ctx.error(f"the field `{name}`: {error.message}", hint=error.hint) from error
        require_fp64(ctx, element.dtype)
    kind = ctx.program.index_type
    size = field.dtype.itemsize
    inner: list[Expr] = []
    step = size
    for extent in reversed(field.shape):
        inner.insert(0, constant(ctx, step, kind))
        step *= extent
    view = replace(
        array,
        element=element,
        base=offset_pointer(ctx, array.base, constant(ctx, field.offset, kind)),
        shape=(*array.shape, *(constant(ctx, n, PYINT) for n in field.shape)),
        strides=(*array.strides, *inner),
        align=gcd(array.align, field.offset, size if field.shape else 0),
        layout=Layout.C if not array.shape else Layout.ANY,
    )
    if isinstance(element, Record) or (size > 1 and field.overlaps):
        return view  # C compilers take for granted that numbers of different types do not overlap; bytes may
    return typed(ctx, view)


def get_field(ctx: FunctionState, array: ArrayValue, name: str) -> Value:
    """``record.name``: a number, an array or an inner record; of an array of records a view."""
    view = field_view(ctx, array, name)
    return view if view.shape else load(ctx, view, constant(ctx, 0, ctx.program.index_type))


def set_field(ctx: FunctionState, array: ArrayValue, name: str, value: Value) -> None:
    """``record.name = value``; an array is filled with a number, or gets the elements of another."""
    check_writable(ctx, array)
    view = field_view(ctx, array, name)
    if view.shape:
        fill(ctx, view, value, copy_record)
        return
    if view.record is not None:
        copy_record(ctx, view, value)
        return
    if not isinstance(number_type(ctx, value), Scalar):
        ctx.fail(f"cannot store {describe(ctx, value)} in the field `{name}` of {array.describe()}")
    store(ctx, view, constant(ctx, 0, ctx.program.index_type), value)


def check_writable(ctx: FunctionState, array: ArrayValue) -> None:
    """Raise for an array that kernels only read."""
    if array.readonly:
        what = "constant memory" if array.space is Space.CONSTANT else "a read-only array"
        ctx.fail(f"{what} cannot be written", hint="pass a writable array")


def copy_record(ctx: FunctionState, target: Value, source: Value) -> None:
    """``target = source`` for whole records. As in NumPy, records of other types are assigned field by field."""
    assert isinstance(target, ArrayValue) and target.record is not None
    source = in_memory(ctx, source, target.record)
    if not isinstance(source, ArrayValue) or source.record is None:
        ctx.fail(
            f"cannot store {describe(ctx, source)} in {target.describe()}",
            hint="assign another text, or a constant one"
            if target.record.is_text
            else "assign another record, or field by field: rec.x = value",
        )
    wanted, given = target.record, source.record
    target, source = pinned(ctx, target), pinned(ctx, source)
    if wanted == given:
        mark_written(ctx, target)
        _copy_bytes(ctx, target, source, wanted.itemsize)
        return
    if wanted.is_text and wanted.dtype.kind == given.dtype.kind:
        mark_written(ctx, target)
        _copy_bytes(ctx, target, source, min(wanted.itemsize, given.itemsize))
        _clear_bytes(ctx, target, given.itemsize, wanted.itemsize)
        return
    if wanted.is_text or given.is_text or len(wanted.fields) != len(given.fields):
        ctx.fail(f"cannot store {source.describe()} in {target.describe()}", hint="assign field by field")
    for to, name in zip(wanted.fields, given.fields, strict=True):
        set_field(ctx, target, to, get_field(ctx, source, name))


def _clear_bytes(ctx: FunctionState, target: ArrayValue, start: int, stop: int) -> None:
    kind = ctx.program.index_type
    for place in range(start, stop):
        ctx.emit(Store(target.base, constant(ctx, place, kind), constant(ctx, 0, BYTE), span=ctx.span))


def _copy_bytes(ctx: FunctionState, target: ArrayValue, source: ArrayValue, size: int) -> None:
    """Copy as vectors of bytes: OpenCL lets them stand for numbers of any type."""
    kind = ctx.program.index_type
    piece = alignment_of(target.align, source.align, size)

    def copy(index: Expr) -> Store | VectorStore:
        if piece == 1:
            return Store(target.base, index, Load(source.base, index, BYTE, span=ctx.span), span=ctx.span)
        bytes_ = VectorLoad(source.base, index, True, Vector(BYTE.dtype, piece), span=ctx.span)
        return VectorStore(target.base, index, bytes_, True, span=ctx.span)

    if size // piece <= _WRITTEN_OUT:
        for start in range(0, size, piece):
            ctx.emit(copy(constant(ctx, start, kind)))
        return
    counter = Var(ctx.fresh("byte"), kind, span=ctx.span)
    bounds = (constant(ctx, 0, kind), convert(ctx, Const(size), kind), constant(ctx, piece, kind))
    ctx.emit(For(counter, *bounds, False, (copy(counter),), span=ctx.span))
