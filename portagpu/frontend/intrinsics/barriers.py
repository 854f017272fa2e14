"""Lowering of a block's barriers, their votes, and memory fences."""

from __future__ import annotations

from collections.abc import Callable

from portagpu.frontend.core.convert import convert, truth
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import Const, Value
from portagpu.frontend.intrinsics.memory import use_shared
from portagpu.ir.names import own
from portagpu.ir.nodes import Evaluate, Operation, Var
from portagpu.ir.program import MemoryArray
from portagpu.ir.types import INT, VOID, Pointer, Space


def _barrier(name: str) -> Callable[[FunctionState, Call], Value]:
    def handler(ctx: FunctionState, site: Call) -> Value:
        site.bind(ctx, f"cuda.{name}")
        ctx.effect = True
        ctx.emit(Evaluate(Operation(name, (), VOID, effect=True, span=ctx.span), span=ctx.span))
        return Const(None)

    return handler


for _name in ("syncthreads", "threadfence", "threadfence_block", "threadfence_system"):
    intrinsic(_name)(_barrier(_name))


@intrinsic("syncthreads_count", "syncthreads_and", "syncthreads_or")
def _barrier_vote(ctx: FunctionState, site: Call) -> Value:
    name: str = site.target.name
    (value,) = site.bind(ctx, f"cuda.{name}", "predicate")
    condition = convert(ctx, truth(ctx, value), INT)
    key = (own("vote"),)
    array = ctx.program.shared.get(key)
    if array is None:
        array = MemoryArray(name=ctx.program.unique(key[0]), element=INT, shape=(1,), space=Space.SHARED, span=ctx.span)
        ctx.program.shared[key] = array
    use_shared(ctx, array)
    ctx.effect = True
    cell = Var(array.name, Pointer(INT, Space.SHARED), span=ctx.span)
    return ctx.temp(Operation(name, (cell, condition), INT, effect=True, span=ctx.span))
