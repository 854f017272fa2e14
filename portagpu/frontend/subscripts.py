"""Elements of arrays: loads, stores, and arrays of compile-time shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import KernelValueError, UnsupportedSyntaxError
from portagpu.frontend.convert import constant, convert, describe, number_type, require_fp64
from portagpu.frontend.indexing import SliceValue, flat_index, normalise, subscript
from portagpu.frontend.slices import view
from portagpu.frontend.state import FunctionState
from portagpu.frontend.values import ArrayValue, Value
from portagpu.ir.nodes import Expr, Load, Store, Var
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
    if plain and len(items) < array.ndim:
        ctx.fail(
            f"{array.describe()} needs {array.ndim} indices to name an element, {len(items)} given",
            hint="a kernel writes elements, not rows: give one index for each axis",
        )
    items = normalise(ctx, array, items)
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
