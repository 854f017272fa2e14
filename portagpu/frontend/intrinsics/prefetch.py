"""``cuda.prefetch``: a hint that an element will be read soon."""

from __future__ import annotations

from portagpu.errors import KernelTypeError
from portagpu.frontend.arrays.indexing import flat_index, to_index
from portagpu.frontend.core.convert import as_number, constant, describe, number_type
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.operations.environment import index_items
from portagpu.ir.nodes import Evaluate, Expr, Offset, Operation
from portagpu.ir.types import VOID, Pointer, Scalar, Space


def _plain_index(ctx: FunctionState, value: Value) -> Expr:
    """An index as it is: programs prefetch what would come next, which may be outside of the array."""
    kind = number_type(ctx, value)
    if not isinstance(kind, Scalar) or not kind.dtype.is_integer:
        ctx.fail(f"the index of cuda.prefetch must be an integer, not {describe(ctx, value)}")
    if isinstance(value, Const):
        return constant(ctx, int(value.value), ctx.program.index_type)
    return to_index(ctx, as_number(ctx, value))


@intrinsic("prefetch")
def _prefetch(ctx: FunctionState, site: Call) -> Value:
    array, index = site.bind(ctx, "cuda.prefetch", "array", "index")
    if not isinstance(array, ArrayValue) or array.space is not Space.GLOBAL:
        ctx.fail(
            f"cuda.prefetch takes an array in global memory, not {describe(ctx, array)}",
            kind=KernelTypeError,
            hint="shared and local arrays are near already",
        )
    items = index_items(ctx, index)
    if len(items) != array.ndim:
        ctx.fail(f"{array.describe()} needs {array.ndim} indices to name an element, {len(items)} given")
    place = flat_index(ctx, array, [(axis, _plain_index(ctx, item)) for axis, item in enumerate(items)])
    assert isinstance(array.base.type, Pointer)
    where = Offset(array.base, place, array.base.type, span=ctx.span)
    ctx.effect = True
    ctx.emit(Evaluate(Operation("prefetch", (where,), VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)
