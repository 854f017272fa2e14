"""Thread-block clusters: blocks that run together, wait for each other, and reach each other's shared memory.

CUDA C++ Programming Guide, "Thread Block Clusters" and "Distributed Shared Memory"; names as its cooperative groups
have them. A kernel that was not asked for clusters has clusters of one block, on every device.
"""

from __future__ import annotations

import math
from dataclasses import replace

from portagpu.dialect.names import CLUSTER_GROUP
from portagpu.errors import KernelValueError, MissingCapabilityError
from portagpu.frontend.core.convert import constant, describe
from portagpu.frontend.core.registry import Call, intrinsic
from portagpu.frontend.core.state import FunctionState
from portagpu.frontend.core.values import ArrayValue, Const, Value
from portagpu.frontend.intrinsics.instructions import UINT, emit_instruction, number, require_target
from portagpu.ir.nodes import Evaluate, Operation
from portagpu.ir.types import INT, VOID, Pointer, Space
from portagpu.types.record_layout import Record


def blocks_of(ctx: FunctionState) -> int:
    """Blocks of the kernel's clusters."""
    return 1 if ctx.program.cluster is None else math.prod(ctx.program.cluster)


def check_cluster(ctx: FunctionState) -> None:
    """Refuse a kernel whose clusters the device does not run."""
    blocks, most = blocks_of(ctx), ctx.program.caps.cluster_size
    if blocks <= most:
        return
    if most > 1:
        ctx.fail(
            f"a cluster of {blocks} blocks; this device runs at most {most} together",
            kind=MissingCapabilityError,
            hint=f"cluster= is the blocks along x, y and z, whose product is at most {most} here",
        )
    ctx.fail(
        "this device runs no clusters of blocks",
        kind=MissingCapabilityError,
        hint="CUDA GPUs of compute capability 9.x and 10.x do, through the back end `cuda`: "
        'cuda.select_device("cuda:0"); with cluster=1 the kernel runs everywhere',
    )


@intrinsic("cg.this_cluster")
def _this_cluster(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.cg.this_cluster")
    return Const(CLUSTER_GROUP)


@intrinsic("cg.this_cluster().block_rank")
def _block_rank(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.cg.this_cluster().block_rank")
    if blocks_of(ctx) == 1:
        return constant(ctx, 0, INT)
    return ctx.temp(Operation("cluster_rank", (), INT, span=ctx.span))


@intrinsic("cg.this_cluster().num_blocks")
def _num_blocks(ctx: FunctionState, site: Call) -> Value:
    site.bind(ctx, "cuda.cg.this_cluster().num_blocks")
    return Const(blocks_of(ctx))


@intrinsic("cg.this_cluster().sync", "cg.this_cluster().barrier_arrive", "cg.this_cluster().barrier_wait")
def _barrier(ctx: FunctionState, site: Call) -> Value:
    """A barrier of the cluster, or one half of it."""
    word = site.target.name.rpartition(".")[2]
    site.bind(ctx, f"cuda.{site.target.name}")
    name = f"cluster_{word.removeprefix('barrier_')}"
    if blocks_of(ctx) == 1:
        if word == "barrier_arrive":  # the one block waits in the other half
            return Const(None)
        name = "syncthreads"
    ctx.effect = True
    ctx.emit(Evaluate(Operation(name, (), VOID, effect=True, span=ctx.span), span=ctx.span))
    return Const(None)


@intrinsic("cg.this_cluster().map_shared_rank")
def _map_shared_rank(ctx: FunctionState, site: Call) -> Value:
    name = "cg.this_cluster().map_shared_rank"
    array, rank = site.bind(ctx, f"cuda.{name}", "array", "rank")
    if not isinstance(array, ArrayValue) or array.space is not Space.SHARED or isinstance(array.element, Record):
        ctx.fail(f"cuda.{name} takes an array of numbers in shared memory, not {describe(ctx, array)}")
    which = number(ctx, name, "the rank", rank, UINT)
    if isinstance(rank, Const) and not 0 <= int(rank.value) < blocks_of(ctx):
        ctx.fail(f"the rank {rank.value} of a cluster of {blocks_of(ctx)} blocks", kind=KernelValueError)
    if blocks_of(ctx) == 1:
        return array
    base = array.base
    assert isinstance(base.type, Pointer)
    kind = replace(base.type, space=Space.CLUSTER, restrict=False)
    there = ctx.temp(Operation("map_shared_rank", (base, which), kind, span=ctx.span))
    return replace(array, base=there, space=Space.CLUSTER)


_HINTS = {
    "fence_mbarrier_init": "cg.this_cluster().sync() orders what threads wrote",
    "griddepcontrol_launch_dependents": "leave it out: launches of a stream then begin one after the other",
    "griddepcontrol_wait": "leave it out: launches of a stream then begin one after the other",
}


@intrinsic(*_HINTS)
def _instruction(ctx: FunctionState, site: Call) -> Value:
    """An instruction of its own name, without operands."""
    name = site.target.name
    site.bind(ctx, f"cuda.{name}")
    require_target(ctx, name, (9, 0), _HINTS[name])
    return emit_instruction(ctx, name)
