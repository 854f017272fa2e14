"""Lowering of thread indices: a thread's place in the grid, the grid's size, and loops that are unrolled."""

from __future__ import annotations

from portagpu.errors import KernelValueError
from portagpu.frontend.core.convert import constant, describe
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, TupleValue, UnrollValue, Value
from portagpu.frontend.operations.environment import tuple_items
from portagpu.ir.nodes import Operation
from portagpu.ir.types import INT


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
