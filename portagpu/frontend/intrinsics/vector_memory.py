"""Vectors of consecutive elements: ``cuda.vload`` and ``cuda.vstore``."""

from __future__ import annotations

from portagpu.errors import KernelTypeError, KernelValueError
from portagpu.frontend.arrays.addressing import mark_written
from portagpu.frontend.arrays.subscripts import address
from portagpu.frontend.core.bfloat16 import bits_of, is_bfloat16, value_of
from portagpu.frontend.core.convert import as_number, describe, number_type
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.intrinsics.atomics import refuse_packed
from portagpu.frontend.operations.environment import index_items
from portagpu.ir.nodes import Expr, VectorLoad, VectorStore
from portagpu.ir.types import Scalar, Space, Vector, in_memory
from portagpu.types.record_layout import Record


def vector_place(ctx: FunctionState, name: str, array: Value, index: Value) -> tuple[ArrayValue, Scalar, Expr]:
    """The array of a vector, the type of its elements, and the flat index of the first one."""
    if not isinstance(array, ArrayValue) or isinstance(array.element, Vector | Record):
        ctx.fail(f"{name} works on an array of numbers, not {describe(ctx, array)}")
    refuse_packed(ctx, name, array)
    if array.space is Space.CLUSTER:
        ctx.fail(f"{name} works on this block's memory, not on {array.describe()}", hint="read and write elements")
    last = array.strides[-1] if array.ndim else None
    if getattr(last, "value", None) != 1:
        ctx.fail(
            f"{name} needs consecutive elements along the last axis; {array.describe()} has another layout",
            hint="pass a C-contiguous array, or a row of one",
        )
    return array, array.element, address(ctx, array, index_items(ctx, index))


@intrinsic("vload")
def _vload(ctx: FunctionState, site: Call) -> Value:
    source, index, width, aligned = site.bind(ctx, "cuda.vload", "array", "index", "width", aligned=Const(False))
    array, element, place = vector_place(ctx, "cuda.vload", source, index)
    if not isinstance(width, Const) or width.value not in (2, 3, 4, 8, 16):
        ctx.fail(
            f"the width of cuda.vload must be the constant 2, 3, 4, 8 or 16, not {describe(ctx, width)}",
            kind=KernelValueError,
        )
    kind = Vector(in_memory(element).dtype, width.value)
    found = VectorLoad(array.base, place, _flag(ctx, aligned), kind, span=ctx.span)
    return value_of(found) if is_bfloat16(element) else found


@intrinsic("vstore")
def _vstore(ctx: FunctionState, site: Call) -> Value:
    value, target, index, aligned = site.bind(ctx, "cuda.vstore", "vector", "array", "index", aligned=Const(False))
    array, element, place = vector_place(ctx, "cuda.vstore", target, index)
    if array.readonly:
        ctx.fail("cuda.vstore to a read-only array")
    kind = number_type(ctx, value)
    if not isinstance(kind, Vector) or kind.dtype is not element.dtype.computed:
        wanted = f"{element.dtype.computed} for an array of " if is_bfloat16(element) else ""
        ctx.fail(
            f"cuda.vstore needs a vector of {wanted}{element}, not {describe(ctx, value)}",
            kind=KernelTypeError,
        )
    vector = as_number(ctx, value)
    mark_written(ctx, array)
    stored = bits_of(vector) if is_bfloat16(element) else vector
    ctx.emit(VectorStore(array.base, place, stored, _flag(ctx, aligned), span=ctx.span))
    return Const(None)


def _flag(ctx: FunctionState, value: Value) -> bool:
    if not isinstance(value, Const):
        ctx.fail("`aligned` must be a constant", kind=KernelValueError)
    return bool(value.value)
