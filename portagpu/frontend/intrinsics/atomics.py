"""Lowering of atomic operations on elements of arrays."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.frontend.arrays.subscripts import address
from portagpu.frontend.core.convert import convert, describe
from portagpu.frontend.core.registry import Call, call_library, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.intrinsics.local_atomics import FUNCTIONS as LOCAL_ATOMICS
from portagpu.frontend.operations.environment import index_items
from portagpu.ir.nodes import Offset, Operation
from portagpu.ir.types import Pointer, Scalar, Space, Vector
from portagpu.types.record_layout import Record


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
