"""Lowering of arithmetic intrinsics: fma, bits, roots, and select by predicate."""

from __future__ import annotations

from portagpu.dtypes import INT32, INT64
from portagpu.frontend.core.conditions import select
from portagpu.frontend.core.convert import common_type, convert, describe, float_type, truth, typed_number
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Value
from portagpu.ir.names import own
from portagpu.ir.nodes import Operation, Var
from portagpu.ir.types import INT, Element, Scalar, Vector


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
