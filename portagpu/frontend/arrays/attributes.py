"""Attributes of arrays; lanes of vectors and items of tuples."""

from __future__ import annotations

import ast
import difflib
from dataclasses import dataclass, replace

from portagpu.errors import KernelNameError, KernelTypeError, KernelValueError
from portagpu.frontend.core.conditions import logical, negate, select
from portagpu.frontend.core.convert import as_element, constant, convert, describe, number_type
from portagpu.frontend.core.exceptions import Raise, check
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.registry import METHODS
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import (
    ArrayValue,
    Condition,
    Const,
    MethodValue,
    PlacesValue,
    TupleValue,
    Value,
    aggregate,
    leaves,
    structure,
)
from portagpu.ir.nodes import BinaryOp, Compare, CompareOp, Constant, Expr, Lane, LogicalOp, Operation, Var
from portagpu.ir.types import INT, PYINT, PYINT_NARROW, ULONG, Element, Layout, Scalar, Vector
from portagpu.types.record_layout import Record

ARRAY_ATTRIBUTES = frozenset(
    {"shape", "ndim", "size", "dtype", "itemsize", "nbytes", "T", "strides", "flags", "flat", "ctypes"}
)
LANES = {name: lane for lane, name in enumerate("xyzw")}


def is_array_attribute(name: str) -> bool:
    """Whether every array has an attribute or method of this name, so that no field is meant."""
    return name in ARRAY_ATTRIBUTES or name in METHODS


def item_bytes(element: Element | Record) -> int:
    """Bytes of an element."""
    if isinstance(element, Record):
        return element.itemsize
    return element.dtype.size * (element.lanes if isinstance(element, Vector) else 1)


def shape_of(ctx: FunctionState, array: ArrayValue) -> tuple[Expr, ...]:
    """The extents as Python integers: those of views are computed in the type of subscripts."""
    kind = ctx.program.shape_type
    extents: list[Expr] = []
    for extent in array.shape:
        if as_element(extent.type) in (PYINT, PYINT_NARROW):
            extents.append(extent)
        elif isinstance(extent, Constant):
            extents.append(constant(ctx, extent.value, kind))
        else:
            extents.append(convert(ctx, extent, kind))
    return tuple(extents)


def size_of(ctx: FunctionState, array: ArrayValue) -> Expr:
    """Number of elements."""
    kind = ctx.program.shape_type  # the launcher chooses 64 bits for large arrays
    total: Expr = constant(ctx, 1, kind)
    for extent in array.shape:
        total = ring(ctx, BinaryOp.MUL, total, convert(ctx, extent, kind))
    return total


def transpose(array: ArrayValue) -> ArrayValue:
    """``array.T``."""
    layout = {Layout.C: Layout.F, Layout.F: Layout.C, Layout.ANY: Layout.ANY}[array.layout]
    return replace(
        array,
        shape=array.shape[::-1],
        strides=array.strides[::-1],
        layout=layout if array.ndim > 1 else array.layout,
    )


@dataclass(frozen=True, slots=True)
class _Flags:
    """``array.flags``, known at compile time."""

    c_contiguous: bool
    f_contiguous: bool


def array_attribute(ctx: FunctionState, array: ArrayValue, name: str, node: ast.AST) -> Value:
    """Attribute of an array."""
    element = array.element
    size = item_bytes(element)
    if name == "shape":
        return TupleValue(shape_of(ctx, array))
    if name == "ndim":
        return Const(array.ndim)
    if name == "size":
        return size_of(ctx, array)
    if name == "dtype":
        return Const(element.dtype if isinstance(element, Record) else element.dtype.numpy)
    if name == "itemsize":
        return Const(size)
    if name == "nbytes":
        return ring(ctx, BinaryOp.MUL, convert(ctx, size_of(ctx, array), PYINT), constant(ctx, size, PYINT))
    if name == "T":
        return transpose(array)
    if name == "strides":
        step = constant(ctx, 1 if array.align else size, PYINT)
        return TupleValue(tuple(ring(ctx, BinaryOp.MUL, convert(ctx, s, PYINT), step) for s in array.strides))
    if name in METHODS:
        return MethodValue(array, name)
    if name == "flat":
        return PlacesValue(shape_of(ctx, array), array, indices=False)
    if name == "ctypes":
        place = ctx.temp(Operation("global_address", (array.base,), ULONG, effect=True, span=ctx.span))
        return TupleValue((place,), ("data",))
    if name == "flags":
        return Const(_Flags(array.layout is Layout.C, array.layout is Layout.F))
    close = difflib.get_close_matches(name, sorted(ARRAY_ATTRIBUTES | METHODS.keys()), n=1)
    meant = f"did you mean `{close[0]}`? " if close else ""
    ctx.fail(
        f"arrays in kernels have no attribute `{name}`",
        kind=KernelNameError,
        node=node,
        hint=f"{meant}they have shape, size, ndim, dtype, strides, itemsize, nbytes, T, flat, ctypes.data,"
        f" {', '.join(sorted(METHODS))}",
    )


def _selectable(ctx: FunctionState, value: Value) -> bool:
    return number_type(ctx, value) is not None or isinstance(value, ArrayValue | TupleValue)


def vector_lane(ctx: FunctionState, vector: Expr, kind: Vector, name: str, node: ast.AST) -> Value:
    """``v.x`` ... ``v.w``, or ``v.s0`` ... ``v.sf``."""
    lane = LANES.get(name)
    if lane is None and len(name) == 2 and name[0] == "s" and name[1] in "0123456789abcdef":
        lane = int(name[1], 16)
    if lane is None or lane >= kind.lanes:
        ctx.fail(
            f"{kind} has no lane `{name}`",
            kind=KernelNameError,
            node=node,
            hint=f"its lanes are v[0] to v[{kind.lanes - 1}]",
        )
    return Lane(vector, lane, Scalar(kind.dtype), span=ctx.span)


def vector_item(ctx: FunctionState, vector: Expr, kind: Vector, index: Value) -> Value:
    """``v[i]`` with a constant ``i``."""
    if not isinstance(index, Const) or not isinstance(index.value, int) or not -kind.lanes <= index.value < kind.lanes:
        ctx.fail(
            f"a lane of {kind} is named by a constant from 0 to {kind.lanes - 1}, not {describe(ctx, index)}",
            kind=KernelValueError if isinstance(index, Const) else KernelTypeError,
            hint="unroll the loop: for i in cuda.unroll(range(4))",
        )
    return Lane(vector, index.value % kind.lanes, Scalar(kind.dtype), span=ctx.span)


def tuple_item(ctx: FunctionState, items: tuple[Value, ...], index: Value) -> Value:
    """``t[i]``: any constant ``i``, or a runtime one where the items have one type."""
    if isinstance(index, Const):
        try:
            picked = items[index.value]
        except (IndexError, TypeError) as error:
            raise ctx.error(
                f"index {index.value!r} is outside a tuple of {len(items)} items", kind=KernelValueError
            ) from error
        return TupleValue(picked) if isinstance(picked, tuple) else picked
    kind = number_type(ctx, index)
    if not isinstance(kind, Scalar) or kind.dtype.is_inexact or not items:
        ctx.fail(f"cannot index a tuple of {len(items)} items with {describe(ctx, index)}")
    items = tuple(map(aggregate, items))
    if len({structure(i) for i in items}) > 1 or any(leaves(i) and not _selectable(ctx, i) for i in items):
        ctx.fail(
            f"the items of ({', '.join(describe(ctx, i) for i in items)}) have no common type, so the index must be"
            " known at compile time",
            hint="loop over the tuple itself: `for item in t:`",
        )
    held = convert(ctx, index, INT)
    held = held if isinstance(held, Var) else ctx.temp(held)
    if ctx.program.debug:
        low = Compare(CompareOp.GE, held, constant(ctx, -len(items), INT), span=ctx.span)
        high = Compare(CompareOp.LT, held, constant(ctx, len(items), INT), span=ctx.span)
        inside = logical(ctx, LogicalOp.AND, low, high)
        check(ctx, negate(ctx, inside), Raise(kind=IndexError, args=("tuple index out of range",)))
    result = items[-1]
    for n in range(len(items) - 2, -1, -1):
        hit: Condition = Compare(CompareOp.EQ, held, constant(ctx, n, INT), span=ctx.span)
        negative = Compare(CompareOp.EQ, held, constant(ctx, n - len(items), INT), span=ctx.span)
        hit = logical(ctx, LogicalOp.OR, hit, negative)
        result = select(ctx, hit, items[n], result, what="the items of a tuple indexed at run time")
    return result
