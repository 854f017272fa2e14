"""Lowering of thread indices, barriers, votes, atomics and bit operations."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.dtypes import INT32, INT64
from portagpu.errors import KernelValueError
from portagpu.frontend.arrays.subscripts import address
from portagpu.frontend.core.conditions import select
from portagpu.frontend.core.convert import common_type, constant, convert, describe, float_type, truth, typed_number
from portagpu.frontend.core.registry import Call, call_library, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, TupleValue, UnrollValue, Value
from portagpu.frontend.intrinsics.local_atomics import FUNCTIONS as LOCAL_ATOMICS
from portagpu.frontend.intrinsics.memory import use_shared
from portagpu.frontend.operations.environment import index_items, tuple_items
from portagpu.ir.names import own
from portagpu.ir.nodes import Evaluate, Offset, Operation, Var
from portagpu.ir.program import MemoryArray
from portagpu.ir.types import INT, VOID, Element, Pointer, Scalar, Space, Vector
from portagpu.types.record_layout import Record


@intrinsic("grid", "gridsize")
def _grid(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    (ndim,) = site.bind(ctx, f"cuda.{name}", "ndim")
    if not isinstance(ndim, Const) or ndim.value not in (1, 2, 3):
        ctx.fail(
            f"cuda.{name} takes the constant 1, 2 or 3 (RequireLiteralValue), not {describe(ctx, ndim)}",
            kind=KernelValueError,
            hint="write the number of axes into the call, or make it a global or a `cuda.constexpr` parameter",
        )
    items = tuple(
        Operation(name, (constant(ctx, axis, INT),), ctx.program.shape_type, span=ctx.span)
        for axis in range(ndim.value)
    )
    return items[0] if len(items) == 1 else TupleValue(items)


@intrinsic("unroll", "literal_unroll")
def _unroll(ctx: FunctionState, site: Call) -> Value:
    (value,) = site.bind(ctx, "cuda.unroll", "iterable")
    if isinstance(value, Const | TupleValue):
        return UnrollValue(tuple_items(ctx, value))
    ctx.fail(
        f"cuda.unroll needs a range of constants or a tuple, not {describe(ctx, value)}",
        kind=KernelValueError,
        hint="make the bounds compile-time: constants, globals or parameters annotated `cuda.constexpr`",
    )


# barriers and fences --------------------------------------------------------------------------------------------------


def _barrier(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        site.bind(ctx, f"cuda.{name}")
        ctx.effect = True
        ctx.emit(Evaluate(Operation(name, (), VOID, effect=True, span=ctx.span), span=ctx.span))
        return Const(None)

    return handler


for _name in ("syncthreads", "threadfence", "threadfence_block", "threadfence_system"):
    intrinsic(_name)(_barrier(_name))


@intrinsic("syncthreads_count", "syncthreads_and", "syncthreads_or")
def _barrier_vote(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    (value,) = site.bind(ctx, f"cuda.{name}", "predicate")
    condition = convert(ctx, truth(ctx, value), INT)
    key = (own("vote"),)
    array = ctx.program.shared.get(key)
    if array is None:
        array = MemoryArray(name=ctx.program.unique(key[0]), element=INT, shape=(1,), space=Space.SHARED, span=ctx.span)
        ctx.program.shared[key] = array
    use_shared(ctx, array)
    ctx.effect = True
    cell = Var(array.name, Pointer(INT, Space.SHARED), span=ctx.span)
    return ctx.temp(Operation(name, (cell, condition), INT, effect=True, span=ctx.span))


# atomics ------------------------------------------------------------------------------------------------------------


def refuse_packed(ctx: FunctionState, name: str, array: ArrayValue) -> None:
    """Raise for elements that are addressed by bytes."""
    if array.align:
        ctx.fail(
            f"{name} needs aligned elements of their own; this field is not aligned, or overlaps another",
            hint="make the records with np.dtype(..., align=True)",
        )


def _array(ctx: FunctionState, name: str, array: Value) -> tuple[ArrayValue, Scalar]:
    """The array of an atomic, and the type of its elements."""
    if not isinstance(array, ArrayValue) or isinstance(array.element, Vector | Record):
        ctx.fail(f"{name} works on an array, not {describe(ctx, array)}", hint=f"{name}(array, index, value)")
    if array.readonly:
        ctx.fail(f"{name} on a read-only array")
    if array.space is not Space.THREAD:
        refuse_packed(ctx, name, array)
    if array.element.dtype.is_complex:
        ctx.fail(f"{name} on {array.element}", hint="update real and imaginary parts: pass x.view(np.float32)")
    if array.element.dtype.size < 4:
        ctx.fail(
            f"{name} on {array.element}: atomics, also those of CUDA-Python, are of 32 and 64 bits",
            hint="use an int32 or float32 array",
        )
    return array, array.element


def _place(ctx: FunctionState, array: ArrayValue, element: Scalar, index: Value) -> Offset:
    items = index_items(ctx, index)
    ctx.effect = True
    place = address(ctx, array, items)
    return Offset(array.base, place, Pointer(element, array.space), span=ctx.span)


def _atomic(name: str) -> Callable[[FunctionState, Call], Value]:
    full = f"cuda.atomic.{name}"

    def handler(ctx: FunctionState, site: Call) -> Value:
        array, index, value = site.bind(ctx, full, "array", "index", "value")
        array, element = _array(ctx, full, array)
        if name in ("and_", "or_", "xor", "inc", "dec") and not element.dtype.is_integer:
            ctx.fail(f"{full} needs an integer array, not {element}")
        operand = convert(ctx, value, element)
        if array.space is Space.THREAD:
            return call_library(ctx, LOCAL_ATOMICS[name], site, array, index, operand)
        place = _place(ctx, array, element, index)
        return Operation(f"atomic_{name.rstrip('_')}", (place, operand), element, effect=True, span=ctx.span)

    return handler


for _name in ("add", "sub", "max", "min", "and_", "or_", "xor", "inc", "dec", "exch", "nanmax", "nanmin"):
    intrinsic(f"atomic.{_name}")(_atomic(_name))


@intrinsic("atomic.cas", "atomic.compare_and_swap")
def _cas(ctx: FunctionState, site: Call) -> Value:
    name = f"cuda.{site.target.name}"
    if name.endswith("cas"):
        array, index, old, new = site.bind(ctx, name, "array", "index", "old", "val")
    else:
        array, old, new = site.bind(ctx, name, "array", "old", "val")
        ndim = array.ndim if isinstance(array, ArrayValue) else 1
        index = Const((0,) * ndim)
    array, element = _array(ctx, name, array)
    wanted, given = convert(ctx, old, element), convert(ctx, new, element)
    if array.space is Space.THREAD:
        return call_library(ctx, LOCAL_ATOMICS["cas"], site, array, index, wanted, given)
    args = (_place(ctx, array, element, index), wanted, given)
    return Operation("atomic_cas", args, element, effect=True, span=ctx.span)


# arithmetic -----------------------------------------------------------------------------------------------------------


@intrinsic("fma")
def _fma(ctx: FunctionState, site: Call) -> Value:
    a, b, c = site.bind(ctx, "cuda.fma", "a", "b", "c")
    kind = _meet(ctx, a, b, c)
    if not kind.dtype.is_float:
        ctx.fail(f"cuda.fma needs floating-point numbers, not {describe(ctx, a)}")
    return Operation("fma", tuple(convert(ctx, v, kind) for v in (a, b, c)), kind, span=ctx.span)


def _meet(ctx: FunctionState, *values: Value) -> Element:
    result = values[0]
    for value in values[1:]:
        kind = common_type(ctx, result, value)
        result = Var(own("meet"), kind, span=ctx.span)
    return common_type(ctx, result, values[0])


@intrinsic("popc", "clz", "ffs", "brev")
def _bit_function(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    (value,) = site.bind(ctx, f"cuda.{name}", "x")
    number, kind = typed_number(ctx, value)
    if isinstance(kind, Vector) or not kind.dtype.is_integer:
        ctx.fail(f"cuda.{name} needs an integer, not {describe(ctx, value)}")
    wide = Scalar(INT64) if kind.dtype.size == 8 else Scalar(INT32)
    if name == "brev":
        return Operation(name, (number,), kind, span=ctx.span)
    return Operation(name, (convert(ctx, number, wide),), INT, span=ctx.span)


@intrinsic("rsqrt", "cbrt")
def _root(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    (value,) = site.bind(ctx, f"cuda.{name}", "x")
    kind = float_type(ctx, value)
    return Operation(name, (convert(ctx, value, kind),), kind, span=ctx.span)


@intrinsic("selp")
def _selp(ctx: FunctionState, site: Call) -> Value:
    condition, yes, no = site.bind(ctx, "cuda.selp", "condition", "a", "b")
    return select(ctx, truth(ctx, condition), yes, no)
