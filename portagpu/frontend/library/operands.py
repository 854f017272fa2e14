"""Operands of library functions: as one number, and as floats or integers of one type."""

from __future__ import annotations

from portagpu.dtypes import BOOL, UINT64
from portagpu.frontend.core.convert import common_type, convert, describe, float_type, number_type
from portagpu.frontend.core.operators import is_narrow
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Value
from portagpu.ir.nodes import Expr
from portagpu.ir.types import PYINT, PYINT_NARROW, Scalar


def scalar(ctx: FunctionState, value: Value) -> Value:
    """The argument, which must be a number."""
    if not isinstance(number_type(ctx, value), Scalar):
        ctx.fail(f"a number is needed here, not {describe(ctx, value)}")
    return value


def integer_result(ctx: FunctionState, value: Value) -> Scalar:
    """Type of a number as a Python integer; one that int64 cannot hold stays unsigned."""
    kind = number_type(ctx, value)
    if isinstance(kind, Scalar) and kind.dtype is UINT64:
        return kind
    return PYINT_NARROW if is_narrow(ctx, value) else PYINT


def as_floats(ctx: FunctionState, *values: Value) -> list[Expr]:
    """Numbers as floats of one type."""
    kind = float_type(ctx, scalar(ctx, values[0]))
    for value in values[1:]:
        met = common_type(ctx, values[0], scalar(ctx, value))
        kind = met if isinstance(met, Scalar) and met.dtype.is_inexact else kind
    return [convert(ctx, value, kind) for value in values]


def as_integers(ctx: FunctionState, name: str, *values: Value) -> list[Expr]:
    """Numbers as integers of one type."""
    for value in values:
        kind = number_type(ctx, value)
        if not isinstance(kind, Scalar) or kind.dtype.is_inexact:
            ctx.fail(f"{name} needs integers, not {describe(ctx, value)}")
    met = common_type(ctx, values[0], values[-1])
    if met.dtype.is_inexact:
        ctx.fail(
            f"{name} of {' and '.join(describe(ctx, v) for v in values)}: no integer type holds both",
            hint="convert one, e.g. np.uint64(x)",
        )
    if met.dtype is BOOL:
        met = PYINT
    return [convert(ctx, value, met) for value in values]
