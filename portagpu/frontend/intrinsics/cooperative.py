"""Cooperative groups: the grid as a group, and its barrier."""

from __future__ import annotations

from portagpu.dialect.names import GRID_GROUP
from portagpu.dtypes import UINT32
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.ir.nodes import Evaluate, Operation, Var
from portagpu.ir.program import Parameter, ParameterRole
from portagpu.ir.types import VOID, Pointer, Scalar, Space


@intrinsic("cg.this_grid")
def _this_grid(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.cg.this_grid")
    ctx.program.cooperative = True
    return Const(GRID_GROUP)


@intrinsic("cg.this_grid().sync")
def _sync(ctx: FunctionState, site: Call) -> Value:
    """A barrier of the grid where blocks can run at once; elsewhere a launch has one block, and it is the block's."""
    site.bind(ctx, "cuda.cg.this_grid().sync")
    ctx.effect = True
    if not ctx.program.caps.inline_ptx:
        barrier = Operation("syncthreads", (), VOID, effect=True, span=ctx.span)
    else:
        kind = Pointer(Scalar(UINT32), Space.GLOBAL)
        ctx.hidden["pg.grid"] = Parameter(name="pg.grid", type=kind, role=ParameterRole.GRID_CELLS)
        cells = Var("pg.grid", kind, span=ctx.span)
        barrier = Operation("grid_sync", (cells,), VOID, effect=True, span=ctx.span)
    ctx.emit(Evaluate(barrier, span=ctx.span))
    return Const(None)
