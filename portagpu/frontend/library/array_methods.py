"""Methods of arrays inside kernels: views (reshape, ravel, view, transpose) and reductions (sum, min, argmax, ...).

The reductions are functions of the dialect, compiled as device functions: each thread walks over the whole array.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from portagpu import dtypes
from portagpu.errors import KernelTypeError, KernelValueError, UnsupportedSyntaxError
from portagpu.frontend.arrays.attributes import item_bytes, shape_of, size_of, transpose
from portagpu.frontend.arrays.indexing import to_index
from portagpu.frontend.arrays.subscripts import get_item, set_item
from portagpu.frontend.core.convert import constant, convert, describe, number_type
from portagpu.frontend.core.operators import ring
from portagpu.frontend.core.registry import METHODS, Call, handles, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, MethodValue, TupleValue, Value
from portagpu.frontend.intrinsics.memory import local_memory
from portagpu.frontend.library import array_reductions as reductions
from portagpu.frontend.library.operands import integer_result
from portagpu.frontend.operations.environment import tuple_items
from portagpu.frontend.source.callables import PythonFunction
from portagpu.ir.nodes import BinaryOp, Compare, CompareOp, Constant, Expr, Operation, Select
from portagpu.ir.types import Layout, Pointer, Scalar, Vector, in_memory
from portagpu.types.record_layout import Record

Method = Callable[[FunctionState, ArrayValue, Call], Value]


def _method(*names: str) -> Callable[[Method], Method]:
    def register(function: Method) -> Method:
        for name in names:
            METHODS[name] = function
        return function

    return register


# reductions --------------------------------------------------------------------------------------------------------


# by name: the device function, its arguments behind the array, and the functions of NumPy
_REDUCTIONS: dict[str, tuple[PythonFunction, tuple[Any, ...], tuple[Any, ...]]] = {
    "sum": (reductions.array_total, (operator.add, 0, False), (np.sum,)),
    "prod": (reductions.array_total, (operator.mul, 1, False), (np.prod,)),
    "min": (reductions.array_extreme, (operator.lt,), (np.min, np.amin)),
    "max": (reductions.array_extreme, (operator.gt,), (np.max, np.amax)),
    "argmin": (reductions.array_arg_extreme, (operator.lt,), (np.argmin,)),
    "argmax": (reductions.array_arg_extreme, (operator.gt,), (np.argmax,)),
    "mean": (reductions.array_mean, (), (np.mean,)),
    "var": (reductions.array_var, (), (np.var,)),
    "std": (reductions.array_std, (), (np.std,)),
    "any": (reductions.array_any, (), (np.any,)),
    "all": (reductions.array_all, (), (np.all,)),
    "nansum": (reductions.array_total, (operator.add, 0, True), (np.nansum,)),
    "nanprod": (reductions.array_total, (operator.mul, 1, True), (np.nanprod,)),
    "nanmin": (reductions.array_nan_extreme, (operator.lt,), (np.nanmin,)),
    "nanmax": (reductions.array_nan_extreme, (operator.gt,), (np.nanmax,)),
    "nanmean": (reductions.array_nanmean, (), (np.nanmean,)),
    "count_nonzero": (reductions.array_count_nonzero, (), (np.count_nonzero,)),
}


def _reduction(name: str, callee: PythonFunction, constants: tuple[Any, ...], of_numpy: tuple[Any, ...]) -> None:

    def reduce_array(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
        if site.args or site.keywords:
            ctx.fail(
                f"{name} over an array takes no further arguments in a kernel",
                kind=UnsupportedSyntaxError,
                hint="take a sub-array first: a[i].sum(), or write the loop",
            )
        if array.record is not None:
            ctx.fail(f"{name} of one record", hint="name a field")
        if array.ndim == 0:
            array = _contiguous(ctx, array, (constant(ctx, 1, ctx.program.index_type),), array.element)
        if array.ndim > 1 and name.startswith("arg"):
            array = _flat(ctx, array, name)
        args: tuple[Value, ...] = (array, *map(Const, constants))
        call = Call(node=site.node, function=Const(callee), args=args, keywords={})
        return ctx.program.lower_call(ctx, callee, call)

    if hasattr(np.ndarray, name):
        METHODS[name] = reduce_array

    def reduce_first(ctx: FunctionState, site: Call) -> Value:
        if not site.args or not isinstance(site.args[0], ArrayValue):
            ctx.fail(f"np.{name} needs an array in a kernel")
        inner = Call(node=site.node, function=site.function, args=site.args[1:], keywords=site.keywords)
        return reduce_array(ctx, site.args[0], inner)

    handles(*of_numpy, foldable=False)(reduce_first)


for _name, _row in _REDUCTIONS.items():
    _reduction(_name, *_row)


# views ----------------------------------------------------------------------------------------------------------------


def _flat(ctx: FunctionState, array: ArrayValue, what: str) -> ArrayValue:
    if array.layout is not Layout.C:
        ctx.fail(
            f"{what} needs a C-contiguous array, this is {array.describe()} with other strides",
            hint="index it with all its axes, or copy it on the host",
        )
    size = to_index(ctx, size_of(ctx, array))
    return _contiguous(ctx, array, (size,), array.element)


def _contiguous(
    ctx: FunctionState, array: ArrayValue, shape: tuple[Expr, ...], element: Any, base: Expr | None = None
) -> ArrayValue:
    kind = ctx.program.index_type
    strides: list[Expr] = []
    step: Expr = constant(ctx, item_bytes(element) if array.align else 1, kind)
    for extent in reversed(shape):
        strides.append(step)
        step = ring(ctx, BinaryOp.MUL, step, to_index(ctx, extent))
    return replace(
        array,
        element=element,
        base=array.base if base is None else base,
        shape=shape,
        strides=tuple(reversed(strides)),
        layout=Layout.C,
    )


@_method("ravel", "flatten")
def _ravel(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    if isinstance(site.function, MethodValue) and site.function.name == "flatten":
        ctx.fail(
            "flatten copies, and kernels cannot allocate",
            kind=UnsupportedSyntaxError,
            hint="use ravel() for a view of a contiguous array, or copy into cuda.local.array(...)",
        )
    return _flat(ctx, array, "ravel")


@_method("reshape")
def _reshape(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    items = site.args
    if len(items) == 1 and number_type(ctx, items[0]) is None:
        items = tuple_items(ctx, items[0])
    if site.keywords or not items:
        ctx.fail("reshape takes the new shape only, in C order", kind=UnsupportedSyntaxError)
    flat = _flat(ctx, array, "reshape") if array.ndim != 1 or array.layout is not Layout.C else array
    total = to_index(ctx, flat.shape[0])
    worked_out = any(isinstance(item, Const) and item.value == -1 for item in items)
    extents: list[Expr | None] = []
    tested: dict[int, Expr] = {}  # by axis: whether a number that only the launch knows is the -1
    known: Expr = constant(ctx, 1, ctx.program.index_type)
    for item in items:
        if isinstance(item, Const) and item.value == -1:
            if None in extents:
                ctx.fail("reshape can work out one extent only", kind=KernelValueError)
            extents.append(None)
            continue
        extent = _extent(ctx, item, "reshape")
        if not worked_out and not isinstance(extent, Constant) and not _is_unsigned(ctx, item):
            extent = ctx.temp(extent)
            test = Compare(CompareOp.LT, extent, constant(ctx, 0, ctx.program.index_type), span=ctx.span)
            tested[len(extents)] = ctx.temp(test)
        extents.append(extent)
        factor = _unless(ctx, tested.get(len(extents) - 1), extent, constant(ctx, 1, ctx.program.index_type))
        known = ring(ctx, BinaryOp.MUL, known, factor)
    if isinstance(total, Constant) and isinstance(known, Constant) and not array.dynamic:
        fits = total.value % known.value == 0 if None in extents and known.value else total.value == known.value
        if not fits:
            ctx.fail(f"cannot reshape {total.value} elements to {known.value}", kind=KernelValueError)
    rest = Operation("floordiv", (total, known), ctx.program.index_type, span=ctx.span)
    shape = tuple(rest if e is None else _unless(ctx, tested.get(n), e, rest) for n, e in enumerate(extents))
    return _contiguous(ctx, array, shape, array.element)


def _extent(ctx: FunctionState, value: Value, name: str) -> Expr:
    """One extent of a new shape, in subscripts' type."""
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not (kind.dtype.is_integer or kind.dtype is dtypes.BOOL):
        ctx.fail(f"{name} needs integers as the shape, not {describe(ctx, value)}", hint="convert it: int(x)")
    return to_index(ctx, convert(ctx, value, integer_result(ctx, value)))


def _is_unsigned(ctx: FunctionState, value: Value) -> bool:
    kind = number_type(ctx, value)
    return isinstance(kind, Scalar) and kind.dtype.kind is dtypes.Kind.UINT


def _unless(ctx: FunctionState, condition: Expr | None, usual: Expr, otherwise: Expr) -> Expr:
    """An integer of subscripts' type that is another one where the condition holds; None never does."""
    if condition is None:
        return usual
    return Select(condition, otherwise, usual, ctx.program.index_type, span=ctx.span)


@intrinsic("carray", "farray")
def _array_at_pointer(ctx: FunctionState, site: Call) -> Value:
    """The memory at a pointer under a shape of its own: nothing knows how long it is, as in C."""
    name = site.target.name
    memory, wanted, given = site.bind(ctx, name, "pointer", "shape", dtype=Const(None))
    if not isinstance(memory, ArrayValue) or memory.ndim != 1 or memory.layout is not Layout.C or memory.align:
        ctx.fail(
            f"{name} needs a pointer, not {describe(ctx, memory)}",
            hint="declare the parameter as types.CPointer(types.float32) in the kernel's signature",
        )
    if not (isinstance(given, Const) and given.value is None):
        dtype = dtypes.parse(given.value) if isinstance(given, Const) else None
        if dtype is None or Scalar(dtype) != memory.element:
            ctx.fail(
                f"mismatching dtype {describe(ctx, given)} for a pointer to {memory.element}",
                hint=f"leave the dtype out; {name}(pointer, shape).view(dtype) reads the memory as another",
            )
    items = (wanted,) if number_type(ctx, wanted) is not None else tuple_items(ctx, wanted)
    shape = tuple(_extent(ctx, item, name) for item in items)
    if name == "carray":
        return _contiguous(ctx, memory, shape, memory.element)
    return transpose(_contiguous(ctx, memory, shape[::-1], memory.element))


@_method("transpose")
def _transpose(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    axes = site.args
    if len(axes) == 1 and number_type(ctx, axes[0]) is None:
        axes = tuple_items(ctx, axes[0])
    if not axes:
        return transpose(array)
    order = [a.value if isinstance(a, Const) else None for a in axes]
    if sorted(o % array.ndim if isinstance(o, int) else -1 for o in order) != list(range(array.ndim)):
        ctx.fail(f"transpose of {array.describe()} needs a constant permutation of its axes", kind=KernelValueError)
    picked = [int(o) % array.ndim for o in order if o is not None]
    if picked == list(range(array.ndim)):
        return array
    return replace(
        array,
        shape=tuple(array.shape[n] for n in picked),
        strides=tuple(array.strides[n] for n in picked),
        layout=transpose(array).layout if picked == list(range(array.ndim))[::-1] else Layout.ANY,
    )


@_method("view")
def _view(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    (wanted,) = site.bind(ctx, "view", "dtype")
    dtype = dtypes.parse(wanted.value) if isinstance(wanted, Const) else None
    if dtype is None or isinstance(array.element, Vector):
        ctx.fail(f"view needs a dtype, not {describe(ctx, wanted)}", kind=KernelValueError)
    if isinstance(array.element, Record) or array.align:
        ctx.fail(
            f"view of {array.describe()}: records, and fields that are not aligned, have no views of other types",
            hint="make the view on the host, or name a field: a.x, a['x']",
        )
    element = Scalar(dtype)
    ctx.program.retyped |= element != array.element
    old, new = array.element.dtype.size, dtype.size
    assert isinstance(array.base.type, Pointer)
    pointer = Pointer(in_memory(element), array.base.type.space, array.base.type.readonly)
    base: Expr = Operation("reinterpret", (array.base,), pointer, span=ctx.span)
    if old == new:
        return replace(array, element=element, base=base)
    if array.layout is not Layout.C or array.ndim == 0:
        ctx.fail("a view with another item size needs a C-contiguous array", kind=KernelTypeError)
    kind = ctx.program.index_type
    last = to_index(ctx, array.shape[-1])
    nbytes = ring(ctx, BinaryOp.MUL, last, constant(ctx, old, kind))
    size = constant(ctx, new, kind)
    if isinstance(nbytes, Constant):
        extent: Expr = constant(ctx, int(nbytes.value) // new, kind)
    else:
        extent = Operation("floordiv", (nbytes, size), kind, span=ctx.span)
    return _contiguous(ctx, array, (*array.shape[:-1], extent), element, base)


@_method("item")
def _item(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    items = site.args
    if not items:
        return get_item(ctx, array, (Const(0),) * array.ndim)
    if len(items) == 1 and array.ndim != 1:
        array = _flat(ctx, array, "item")
    return get_item(ctx, array, items)


@_method("copy")
def _copy(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    site.bind(ctx, "copy")
    shape = [extent.value for extent in array.shape if isinstance(extent, Constant) and isinstance(extent.value, int)]
    if len(shape) != array.ndim or not array.ndim or 0 in shape:
        ctx.fail(
            "kernels can copy arrays whose shape is known at compile time: captured, shared and local ones; "
            f"this is {array.describe()}",
            kind=UnsupportedSyntaxError,
            hint="make a target with cuda.local.array(shape, dtype), and assign target[:] = array",
        )
    if any(site.node in ast.walk(n) for n in ast.walk(ctx.source.tree) if isinstance(n, ast.For | ast.While)):
        ctx.fail(  # the next turn's copy would be in the same memory, while a variable may still mean this turn's
            "copy() in a loop would need new memory in each turn",
            kind=UnsupportedSyntaxError,
            hint="make the target before the loop, and assign target[:] = array in it",
        )
    made = local_memory(ctx, site, array.element, tuple(shape))
    set_item(ctx, made, (Const(...),), array)
    return made


@_method("fill")
def _fill(ctx: FunctionState, array: ArrayValue, site: Call) -> Value:
    (value,) = site.bind(ctx, "fill", "value")
    if number_type(ctx, value) is None:
        ctx.fail(f"fill takes a number, not {describe(ctx, value)}", hint="copy an array with a[:] = b")
    set_item(ctx, array, (Const(...),), value)
    return Const(None)


@handles(np.reshape, np.ravel, np.transpose, foldable=False)
def _numpy_view(ctx: FunctionState, site: Call) -> Value:
    if not site.args or not isinstance(site.args[0], ArrayValue):
        ctx.fail(f"np.{site.target.__name__} needs an array in a kernel")
    inner = Call(node=site.node, function=site.function, args=site.args[1:], keywords=site.keywords)
    return METHODS[site.target.__name__](ctx, site.args[0], inner)


@handles(np.shape, foldable=False)
def _numpy_shape(ctx: FunctionState, site: Call) -> Value:
    (array,) = site.bind(ctx, "np.shape", "a")
    if not isinstance(array, ArrayValue):
        return Const(())
    return TupleValue(shape_of(ctx, array))


@handles(np.size)
def _np_size(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "size", "x")
    if isinstance(value, ArrayValue):
        return size_of(ctx, value)
    ctx.fail(f"np.size needs an array, not {describe(ctx, value)}")
