"""``x.view(dtype)`` of numbers: their bits read as another type's."""

from __future__ import annotations

from portagpu import dtypes
from portagpu.errors import KernelValueError
from portagpu.frontend.calls import NUMBER_METHODS, Call
from portagpu.frontend.convert import convert, describe, number_type
from portagpu.frontend.state import FunctionState
from portagpu.frontend.values import Const, Value
from portagpu.ir.nodes import Operation
from portagpu.ir.types import Scalar


def _has_bits(kind: object) -> bool:
    """Whether OpenCL's ``as_type`` takes it: complex numbers are structs, float16 is not on every device."""
    if not isinstance(kind, Scalar) or kind.dtype is dtypes.BOOL:
        return False
    return kind.dtype.is_integer or kind.dtype in (dtypes.FLOAT32, dtypes.FLOAT64)


def _view(ctx: FunctionState, owner: Value, site: Call) -> Value:
    (wanted,) = site.bind(ctx, "view", "dtype")
    parsed = dtypes.parse(wanted.value) if isinstance(wanted, Const) else None
    if parsed is None:
        ctx.fail(f"view needs a dtype, not {describe(ctx, wanted)}", kind=KernelValueError)
    target = Scalar(parsed)
    kind = number_type(ctx, owner)
    if isinstance(kind, Scalar) and kind.weak:  # what Python's numbers are to NumPy
        kind = Scalar(dtypes.INT64 if kind.dtype.is_integer else dtypes.FLOAT64)
    if not isinstance(kind, Scalar) or not _has_bits(kind) or not _has_bits(target):
        ctx.fail(
            f"{describe(ctx, owner)} cannot be viewed as {target}",
            hint="integers, float32 and float64 can; arrays have other views, too: a[i:i+1].view(dtype)",
        )
    if kind.dtype.size != target.dtype.size:
        ctx.fail(
            f"{kind} cannot be viewed as {target}: they differ in size",
            kind=KernelValueError,
            hint=f"convert it first, or name a type of {kind.dtype.size * 8} bits",
        )
    if kind.dtype.is_integer and target.dtype.is_integer:
        return convert(ctx, convert(ctx, owner, kind), target, explicit=True)
    return Operation(f"as_{target.c}", (convert(ctx, owner, kind),), target, span=ctx.span)


NUMBER_METHODS["view"] = _view
