"""Cooperative groups: the grid as a group, and its barrier."""

from __future__ import annotations

from portagpu.dialect.names import GRID_GROUP
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.ir.nodes import Evaluate, Operation
from portagpu.ir.types import VOID


@intrinsic("cg.this_grid")
def _this_grid(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.cg.this_grid")
    ctx.program.cooperative = True
    return Const(GRID_GROUP)


@intrinsic("cg.this_grid().sync")
def _sync(ctx: FunctionState, site: Call) -> Value:
    """A barrier of the grid."""
    site.bind(ctx, "cuda.cg.this_grid().sync")
    ctx.effect = True
    ctx.emit(Evaluate(Operation("grid_sync", (), VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)
