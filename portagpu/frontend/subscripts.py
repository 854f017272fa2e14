"""Elements of arrays: loads, stores, and arrays of compile-time shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import KernelValueError
from portagpu.frontend.convert import constant, convert, describe, number_type, require_fp64
from portagpu.frontend.indexing import SliceValue, flat_index, normalise, subscript, to_index
from portagpu.frontend.slices import view
from portagpu.frontend.state import FunctionState
from portagpu.frontend.values import ArrayValue, Const, Value
from portagpu.ir.nodes import Constant, Expr, For, Load, Store, Var
from portagpu.ir.program import ConstantArray
from portagpu.ir.types import PYINT, Layout, Pointer, Scalar, Space, Vector


def captured_array(ctx: FunctionState, array: np.ndarray[Any, Any]) -> ArrayValue:
    """A host array that the kernel captures (global, closure, ``const.array_like``): program-scope constant memory."""
    known = ctx.program.constants.get(id(array))
    if known is None:
        element = Scalar(dtypes.from_numpy(array.dtype))
        require_fp64(ctx, element.dtype)
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


def get_item(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> Value:
    """``array[items]``: an element, or a view when axes remain."""
    items = normalise(ctx, array, items)
    if all(not isinstance(i, SliceValue) for i in items):
        return load(ctx, array, address(ctx, array, items))
    return view(ctx, array, items)


def load(ctx: FunctionState, array: ArrayValue, index: Expr) -> Expr:
    """Load an element."""
    return Load(array.base, index, array.element, span=ctx.span)


def address(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...]) -> Expr:
    """Flat index of an element; ``items`` are its integer indices, one for each axis."""
    given = len(items)
    items = normalise(ctx, array, items)
    if any(isinstance(i, SliceValue) for i in items):
        ctx.fail(
            f"{array.describe()} needs {array.ndim} indices to name an element, {given} given",
            hint="give one integer for each axis",
        )
    return flat_index(ctx, array, [(axis, subscript(ctx, v, array, axis)) for axis, v in enumerate(items)])


def set_item(ctx: FunctionState, array: ArrayValue, items: tuple[Any, ...], value: Value) -> None:
    """``array[items] = value``."""
    if array.readonly:
        what = "constant memory" if array.space is Space.CONSTANT else "a read-only array"
        ctx.fail(f"{what} cannot be written", hint="pass a writable array")
    plain = all(not isinstance(i, SliceValue) and number_type(ctx, i) is not None for i in items)
    if plain and len(items) < array.ndim and number_type(ctx, value) is not None:
        ctx.fail(
            f"{array.describe()} needs {array.ndim} indices to name an element, {len(items)} given",
            hint="give one index for each axis, or write a[i, :] = value to set a row",
        )
    items = normalise(ctx, array, items)
    if any(isinstance(i, SliceValue) for i in items):
        _fill(ctx, view(ctx, array, items), value)
        return
    kind = number_type(ctx, value)
    if kind is None or (isinstance(kind, Vector) and not isinstance(array.element, Vector)):
        ctx.fail(
            f"cannot store {describe(ctx, value)} in an element of {array.describe()}",
            hint="use cuda.vstore(vector, array, index) for vectors" if isinstance(kind, Vector) else None,
        )
    index = address(ctx, array, items)
    ctx.effect = ctx.effect or array.space is not Space.PRIVATE
    ctx.emit(Store(array.base, index, convert(ctx, value, array.element), span=ctx.span))


def _fill(ctx: FunctionState, target: ArrayValue, value: Value) -> None:
    """``view = value``: every element, by the thread that runs this; arrays are broadcast along missing axes."""
    if isinstance(value, ArrayValue):
        if value.ndim > target.ndim:
            ctx.fail(f"cannot assign {value.describe()} to {target.describe()}", hint="an array of fewer axes fits")
        source: ArrayValue | None = value
    elif number_type(ctx, value) is not None:
        source = None
        value = value if isinstance(value, Const) else ctx.temp(convert(ctx, value, target.element))
    else:
        ctx.fail(f"cannot assign {describe(ctx, value)} to the elements of {target.describe()}")
    kind = ctx.program.index_type
    one, zero = constant(ctx, 1, kind), constant(ctx, 0, kind)
    counters = [Var(ctx.fresh("i"), kind, span=ctx.span) for _ in target.shape]
    extents = [e if isinstance(e, Constant | Var) else ctx.temp(e) for e in (to_index(ctx, e) for e in target.shape)]

    def loop(axis: int) -> None:
        if axis == target.ndim:
            element = value if source is None else load(ctx, source, _place(ctx, source, counters))
            ctx.effect = ctx.effect or target.space is not Space.PRIVATE
            place = flat_index(ctx, target, list(enumerate(counters)))
            ctx.emit(Store(target.base, place, convert(ctx, element, target.element), span=ctx.span))
            return
        with ctx.nested() as body:
            loop(axis + 1)
        ctx.emit(For(counters[axis], zero, extents[axis], one, False, tuple(body), span=ctx.span))

    loop(0)


def _place(ctx: FunctionState, source: ArrayValue, counters: list[Var]) -> Expr:
    """The element of a source that belongs to an element of the target; axes of length one are repeated."""
    shift = len(counters) - source.ndim
    pairs: list[tuple[int, Expr]] = []
    for axis, extent in enumerate(source.shape):
        if not (isinstance(extent, Constant) and extent.value == 1):
            pairs.append((axis, counters[axis + shift]))
    return flat_index(ctx, source, pairs)
