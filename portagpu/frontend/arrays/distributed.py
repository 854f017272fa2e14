"""Elements of distributed shared memory: that of a block of the cluster, which has loads and stores of its own.

PTX ISA: "State spaces: shared state space", sub-qualifier ``::cluster``.
"""

from __future__ import annotations

from portagpu.dtypes import BOOL, FLOAT16, UINT8, UINT16
from portagpu.frontend.core.convert import constant
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue
from portagpu.ir.nodes import Cast, Compare, CompareOp, Evaluate, Expr, Offset, Operation
from portagpu.ir.types import BOOLEAN, VOID, Pointer, Scalar, Space, in_memory
from portagpu.types.record_layout import Record

_BITS = {FLOAT16: Scalar(UINT16), BOOL: Scalar(UINT8)}  # what is moved in place of an element


def _moved(ctx: FunctionState, array: ArrayValue) -> tuple[Scalar, Scalar]:
    """The type of an element as a number, bfloat16 as its bits, and what is moved of it."""
    if isinstance(array.element, Record) or array.align or not isinstance(array.element, Scalar):
        ctx.fail(f"distributed shared memory has elements that are numbers, not those of {array.describe()}")
    element = in_memory(array.element)
    if element.dtype.is_complex:
        part = "float32" if element.dtype.size == 8 else "float64"
        ctx.fail(
            f"complex numbers of distributed shared memory are not read or written as one: {array.describe()}",
            hint=f"make the shared array one of {part}, with real and imaginary parts side by side",
        )
    return element, _BITS.get(element.dtype, element)


def _place(ctx: FunctionState, array: ArrayValue, index: Expr, moved: Scalar) -> Offset:
    return Offset(array.base, index, Pointer(moved, Space.CLUSTER), span=ctx.span)


def load_distributed(ctx: FunctionState, array: ArrayValue, index: Expr) -> Expr:
    """The element at a flat index; of bfloat16 its bits. Others write it meanwhile, so it is read where it stands."""
    element, moved = _moved(ctx, array)
    ctx.effect = True
    place = _place(ctx, array, index, moved)
    found: Expr = ctx.temp(Operation("cluster_load", (place,), moved, effect=True, span=ctx.span))
    if element.dtype is FLOAT16:
        return Operation("as_type", (found,), element, span=ctx.span)
    if element.dtype is BOOL:
        return Compare(CompareOp.NE, found, constant(ctx, 0, moved), BOOLEAN, span=ctx.span)
    return found


def store_distributed(ctx: FunctionState, array: ArrayValue, index: Expr, number: Expr) -> None:
    """Set the element at a flat index to a number of its type, to bits of a bfloat16."""
    element, moved = _moved(ctx, array)
    if element.dtype is FLOAT16:
        number = Operation("as_type", (number,), moved, span=ctx.span)
    elif element.dtype is BOOL:
        number = Cast(number, moved, span=ctx.span)
    place = _place(ctx, array, index, moved)
    ctx.emit(Evaluate(Operation("cluster_store", (place, number), VOID, effect=True, span=ctx.span), span=ctx.span))
