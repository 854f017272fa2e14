"""Subscripts: element access, views by slicing, attributes of arrays and vectors."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import KernelNameError, KernelTypeError, KernelValueError, UnsupportedSyntaxError
from portagpu.frontend.convert import as_number, constant, convert, describe, number_type
from portagpu.frontend.operators import logical, ring, select
from portagpu.frontend.state import FunctionState
from portagpu.frontend.values import ArrayValue, Condition, Const, TupleValue, Value
from portagpu.ir.nodes import (
    Binary,
    BinaryOp,
    Cast,
    Compare,
    CompareOp,
    Constant,
    ConstantArray,
    Expr,
    Index,
    Lane,
    Load,
    LogicalOp,
    Offset,
    Operation,
    Store,
    Var,
)
from portagpu.ir.types import INT, PYINT, Layout, Pointer, Scalar, Space, Vector

LANES = {name: lane for lane, name in enumerate("xyzw")}


@dataclass(frozen=True, slots=True)
class SliceValue:
    """``start:stop:step`` in a subscript; None where left out."""

    start: Value | None
    stop: Value | None
    step: Value | None


def captured_array(ctx: FunctionState, array: np.ndarray[Any, Any]) -> ArrayValue:
    """A host array that the kernel captures (global, closure, ``const.array_like``): program-scope constant memory."""
    known = ctx.program.constants.get(id(array))
    if known is None:
        element = Scalar(dtypes.from_numpy(array.dtype))
        limit = ctx.program.caps.constant_memory
        if array.nbytes > limit:
            ctx.fail(
                f"the captured array has {array.nbytes} bytes; constant memory of this device holds {limit}",
                kind=KernelValueError,
                hint="pass the array as a kernel argument",
            )
        row = ConstantArray(
            name=ctx.program.unique(f"pg_const{len(ctx.program.constants)}"),
            element=element,
            data=tuple(np.ascontiguousarray(array).reshape(-1).tolist()),
            span=ctx.span,
        )
        ctx.program.constants[id(array)] = known = (array, row)
    row = known[1]
    base = Var(row.name, Pointer(row.element, Space.CONSTANT, readonly=True), span=ctx.span)
    return static_array(ctx, base, row.element, array.shape, Space.CONSTANT, readonly=True)


def static_array(
    ctx: FunctionState,
    base: Expr,
    element: Scalar | Vector,
    shape: tuple[int, ...],
    space: Space,
    *,
    readonly: bool = False,
) -> ArrayValue:
    """An array of compile-time shape in C order."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return ArrayValue(
        element=element,
        base=base,
        shape=tuple(constant(ctx, n, PYINT) for n in shape),
        strides=tuple(constant(ctx, s, ctx.program.index_type) for s in reversed(strides)),
        space=space,
        readonly=readonly,
        layout=Layout.C,
    )


def to_index(ctx: FunctionState, expr: Expr) -> Expr:
    """Truncate to the width of subscripts."""
    kind = ctx.program.index_type
    if isinstance(expr, Constant):
        return constant(ctx, expr.value, kind, wrap=True)
    if expr.type == kind:
        return expr
    source = expr.type
    if isinstance(source, Scalar) and source.dtype.is_integer and source.dtype.size > kind.dtype.size:
        # sums and products modulo 2^32 depend only on their operands modulo 2^32
        if isinstance(expr, Binary) and expr.op in (BinaryOp.ADD, BinaryOp.SUB, BinaryOp.MUL):
            return ring(ctx, expr.op, to_index(ctx, expr.left), to_index(ctx, expr.right))
        inner = expr.operand.type if isinstance(expr, Cast) else None
        if isinstance(expr, Cast) and isinstance(inner, Scalar) and inner.dtype is kind.dtype:
            return to_index(ctx, expr.operand)
    return Cast(expr, kind, span=ctx.span)


def _subscript(ctx: FunctionState, value: Value, array: ArrayValue, axis: int) -> Expr:
    """One integer index: checked, wrapped when negative, in the width of subscripts."""
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not (kind.dtype.is_integer or kind.dtype is dtypes.BOOL):
        ctx.fail(
            f"array indices must be integers, not {describe(ctx, value)}",
            hint="convert it: a[int(x)]" if kind is not None else "index with an integer or a tuple of integers",
        )
    extent = array.shape[axis]
    if isinstance(value, Const):
        index = int(value.value)
        if isinstance(extent, Constant) and not array.dynamic and not -extent.value <= index < extent.value:
            ctx.fail(
                f"index {index} is outside axis {axis} of {array.describe()} with {extent.value} elements",
                kind=KernelValueError,
            )
        if index >= 0:
            return constant(ctx, index, ctx.program.index_type)
        return ring(ctx, BinaryOp.ADD, to_index(ctx, extent), constant(ctx, index, ctx.program.index_type))
    expr = as_number(ctx, value)
    if dtypes.integer_range(kind.dtype)[0] == 0 if kind.dtype.is_integer else True:
        return to_index(ctx, expr)
    return Index(to_index(ctx, expr), to_index(ctx, extent), ctx.program.index_type, span=ctx.span)


def _normalise(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> tuple[Any, ...]:
    count = sum(1 for i in items if not (isinstance(i, Const) and i.value is Ellipsis))
    if count > array.ndim:
        ctx.fail(
            f"{array.describe()} takes at most {array.ndim} indices, {count} given",
            hint="check the array's number of dimensions at the launch",
        )
    result: list[Any] = []
    for item in items:
        if isinstance(item, Const) and item.value is Ellipsis:
            result += [SliceValue(None, None, None)] * (array.ndim - count)
        elif isinstance(item, Const) and item.value is None:
            ctx.fail("np.newaxis in a kernel", kind=UnsupportedSyntaxError, hint="reshape the array on the host")
        else:
            result.append(item)
    result += [SliceValue(None, None, None)] * (array.ndim - len(result))
    return tuple(result)


def flat_index(ctx: FunctionState, array: ArrayValue, indices: list[tuple[int, Expr]]) -> Expr:
    """Sum of index times stride over the given axes."""
    total: Expr = constant(ctx, 0, ctx.program.index_type)
    for axis, index in indices:
        total = ring(ctx, BinaryOp.ADD, total, ring(ctx, BinaryOp.MUL, index, to_index(ctx, array.strides[axis])))
    return total


def get_item(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> Value:
    """``array[items]``: an element, or a view when axes remain."""
    items = _normalise(ctx, array, items)
    if all(not isinstance(i, SliceValue) for i in items):
        return load(ctx, array, address(ctx, array, items))
    return view(ctx, array, items)


def load(ctx: FunctionState, array: ArrayValue, index: Expr) -> Expr:
    """Load an element."""
    return Load(array.base, index, array.element, span=ctx.span)


def address(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> Expr:
    """Flat index of an element; ``items`` are its integer indices, one for each axis."""
    items = _normalise(ctx, array, items)
    if any(isinstance(i, SliceValue) for i in items):
        ctx.fail(
            f"{array.describe()} needs {array.ndim} indices to name an element, {len(items)} given",
            hint="give one integer for each axis",
        )
    return flat_index(ctx, array, [(axis, _subscript(ctx, v, array, axis)) for axis, v in enumerate(items)])


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
            fixed.append((axis, _subscript(ctx, item, array, axis)))
    offset = flat_index(ctx, array, fixed)
    base = array.base
    if not (isinstance(offset, Constant) and offset.value == 0):
        assert isinstance(base.type, Pointer)
        base = Offset(base, offset, Pointer(base.type.element, base.type.space, base.type.readonly), span=ctx.span)
    keeps_c = array.layout is Layout.C and all(
        isinstance(i, SliceValue) and i.start is None and i.stop is None and i.step is None
        for i in items[_first_slice(items) + 1 :]
    )
    first = items[_first_slice(items)]
    unit = isinstance(first, SliceValue) and (
        first.step is None or (isinstance(first.step, Const) and first.step.value == 1)
    )
    return ArrayValue(
        element=array.element,
        base=base,
        shape=tuple(shape),
        strides=tuple(strides),
        space=array.space,
        readonly=array.readonly,
        layout=Layout.C if keeps_c and unit else Layout.ANY,
        dynamic=array.dynamic,
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


def set_item(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...], value: Value) -> None:
    """``array[items] = value``."""
    if array.readonly:
        what = "constant memory" if array.space is Space.CONSTANT else "a read-only array"
        ctx.fail(f"{what} cannot be written", hint="pass a writable array")
    items = _normalise(ctx, array, items)
    if any(isinstance(i, SliceValue) for i in items):
        ctx.fail(
            "assignment to a slice in a kernel",
            kind=UnsupportedSyntaxError,
            hint="assign element by element in a loop; a kernel's threads work on elements",
        )
    kind = number_type(ctx, value)
    if kind is None or (isinstance(kind, Vector) and not isinstance(array.element, Vector)):
        ctx.fail(
            f"cannot store {describe(ctx, value)} in an element of {array.describe()}",
            hint="use cuda.vstore(vector, array, index) for vectors" if isinstance(kind, Vector) else None,
        )
    index = address(ctx, array, items)
    ctx.effect = ctx.effect or array.space is not Space.PRIVATE
    ctx.emit(Store(array.base, index, convert(ctx, value, array.element), span=ctx.span))


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
    return ArrayValue(
        element=array.element,
        base=array.base,
        shape=array.shape[::-1],
        strides=array.strides[::-1],
        space=array.space,
        readonly=array.readonly,
        layout=layout if array.ndim > 1 else array.layout,
        dynamic=array.dynamic,
    )


def array_attribute(ctx: FunctionState, array: ArrayValue, name: str, node: ast.AST) -> Value:
    """Attribute of an array."""
    element = array.element
    size = element.dtype.size * (element.lanes if isinstance(element, Vector) else 1)
    if name == "shape":
        return TupleValue(array.shape)
    if name == "ndim":
        return Const(array.ndim)
    if name == "size":
        return size_of(ctx, array)
    if name == "dtype":
        return Const(element.dtype.numpy)
    if name == "itemsize":
        return Const(size)
    if name == "nbytes":
        return ring(ctx, BinaryOp.MUL, convert(ctx, size_of(ctx, array), PYINT), constant(ctx, size, PYINT))
    if name == "T":
        return transpose(array)
    if name == "strides":
        return TupleValue(
            tuple(ring(ctx, BinaryOp.MUL, convert(ctx, s, PYINT), constant(ctx, size, PYINT)) for s in array.strides)
        )
    ctx.fail(
        f"arrays in kernels have no attribute `{name}`",
        kind=KernelNameError,
        node=node,
        hint="they have shape, size, ndim, dtype, strides, itemsize, nbytes and T",
    )


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
    if not isinstance(kind, Scalar) or not kind.dtype.is_integer or not items:
        ctx.fail(f"cannot index a tuple of {len(items)} items with {describe(ctx, index)}")
    held = convert(ctx, index, INT)
    held = held if isinstance(held, Var) else ctx.temp(held)
    result = items[-1]
    for n in range(len(items) - 2, -1, -1):
        hit: Condition = Compare(CompareOp.EQ, held, constant(ctx, n, INT), span=ctx.span)
        negative = Compare(CompareOp.EQ, held, constant(ctx, n - len(items), INT), span=ctx.span)
        hit = logical(ctx, LogicalOp.OR, hit, negative)
        result = select(ctx, hit, items[n], result, what="the items of a tuple indexed at run time")
    return result
