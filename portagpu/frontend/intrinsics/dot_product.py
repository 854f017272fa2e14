"""``cuda.dp4a``: the dot product of four 8-bit integers, added to a 32-bit one."""

from __future__ import annotations

from portagpu.dtypes import INT8, INT32, UINT8, UINT32, Kind
from portagpu.frontend.core.convert import as_number, convert, describe, number_type
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Value
from portagpu.ir.nodes import Expr, Operation
from portagpu.ir.types import Scalar, Vector

_PACKED = {Kind.INT: Scalar(INT32), Kind.UINT: Scalar(UINT32)}


def _four(ctx: FunctionState, what: str, value: Value) -> tuple[Expr, Kind]:
    """Four integers of 8 bits, packed into one of 32, and their kind."""
    kind = number_type(ctx, value)
    if isinstance(kind, Vector) and kind.lanes == 4 and kind.dtype in (INT8, UINT8):
        packed = _PACKED[kind.dtype.kind]
        return Operation("as_type", (as_number(ctx, value),), packed, span=ctx.span), kind.dtype.kind
    if not isinstance(kind, Scalar) or not ((kind.weak and kind.dtype.is_integer) or kind.dtype in (INT32, UINT32)):
        ctx.fail(
            f"{what} of cuda.dp4a must be an int8x4 or a uint8x4, or an int32 or a uint32 that holds one,"
            f" not {describe(ctx, value)}",
            hint="load four of them at once: cuda.vload(x, i, 4)",
        )
    found = Kind.INT if kind.weak else kind.dtype.kind
    return convert(ctx, value, _PACKED[found]), found


@intrinsic("dp4a")
def _dp4a(ctx: FunctionState, site: Call) -> Value:
    first, second, added = site.bind(ctx, "cuda.dp4a", "a", "b", "c")
    a, a_kind = _four(ctx, "the first operand", first)
    b, b_kind = _four(ctx, "the second operand", second)
    result = _PACKED[Kind.UINT if a_kind is b_kind is Kind.UINT else Kind.INT]
    kind = number_type(ctx, added)
    if not isinstance(kind, Scalar) or not kind.dtype.is_integer:
        ctx.fail(f"cuda.dp4a adds to an integer, not to {describe(ctx, added)}")
    signs = "".join("s" if k is Kind.INT else "u" for k in (a_kind, b_kind))
    return Operation(f"dp4a_{signs}", (a, b, convert(ctx, added, result, explicit=True)), result, span=ctx.span)
