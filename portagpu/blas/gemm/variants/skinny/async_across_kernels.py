"""Products with few rows as `variants.skinny.kernels` has them, the large matrix by asynchronous copies.

What keeps a GPU's memory busy is bytes under way: bandwidth times latency, some 40 KB for each compute unit, and as
much again where loads wait for others. Registers do not hold so much beside the sums, and loads to registers are
waited for in few groups. So each thread has places of its own in a ring in shared memory: vectors are copied there by
asynchronous copies, ``stages`` groups of ``flight`` of them, read by the thread that copied them, and their places
filled again at once. No barrier is needed for that, and copies go on while a panel of x changes. The first of them are
begun before anything else.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.skinny_split_k import Corner, Result, Shared, StripPlan, add_parts_in_order, leave_sums
from portagpu.blas.gemm.kernels.split_k import arrive
from portagpu.blas.gemm.variants.skinny.kernels import Rows, Staged, add_rows, stage_across


@cuda.jit(device=True)
def _begin(ring, place, b, start, p, end, b_pitch, lanes: cuda.constexpr, plan: cuda.constexpr):
    """Begin to copy a thread's next vectors, those of k's from p on; zeros for k's from ``end`` on."""
    apart = plan.threads_x * plan.threads_y * lanes
    for u in cuda.unroll(range(plan.flight)):
        own = p + u * plan.threads_y
        cuda.pipeline_memcpy_async(ring, place + u * apart, b, start + own * b_pitch, lanes, valid=own < end)
    cuda.pipeline_commit()


@cuda.jit
def multiply_skinny_ring(
    x,
    b,
    c,
    parts,
    extents,
    split,
    factors,
    plan: cuda.constexpr,
    vector: cuda.constexpr,
    packed: cuda.constexpr,
    accumulator: cuda.constexpr,
):
    """As `portagpu.blas.gemm.variants.skinny.kernels.multiply_skinny_across`, which see; all vectors of b are aligned.

    ``plan.panel`` is a multiple of the k's that a block takes at once.
    """
    lanes = vector.lanes
    rows, threads_x, threads_y, panel = plan.rows, plan.threads_x, plan.threads_y, plan.panel
    threads = threads_x * threads_y
    width = threads_x * lanes
    few = plan.few
    groups = (rows + few - 1) // few
    pitch = (groups + 1 - groups % 2) * few
    turn = threads_y * plan.flight
    group = plan.flight * threads * lanes  # elements of a group of copies
    strip = StripPlan(rows, width, threads, lanes, plan.split, plan.epilogue)
    acc = cuda.local.array(rows, vector)
    shared = cuda.shared.array(panel * pitch, accumulator, alignment=64)
    # vectors of b, later sums
    words = plan.stages * group * b.memory.itemsize // accumulator(0).itemsize
    sums = cuda.shared.array(max(words, threads_y * plan.together * width), accumulator, alignment=64)
    ring = sums.view(b.memory.dtype)
    latest = cuda.shared.array(1, np.int32)

    kind = type(extents.n)
    thread = kind(cuda.threadIdx.x)
    along, depth = thread % threads_x, thread // threads_x
    strips = (extents.n + (width - 1)) // width
    stacks = (extents.m + (rows - 1)) // rows
    block = kind(cuda.blockIdx.x)
    row0 = block % stacks * rows
    line0 = block // stacks % strips * width
    share = block // (stacks * strips) % split.count
    batch = block // (stacks * strips) // split.count
    begin = share * split.terms
    end = min(extents.k, begin + split.terms)
    start_b = batch * b.batch + min(line0 + along * lanes, extents.n - lanes)
    own = np.uint32(thread) * np.uint32(lanes)
    ahead = begin + depth
    for stage in cuda.unroll(range(plan.stages)):
        _begin(ring, own + np.uint32(stage * group), b.memory, start_b, ahead, end, b.pitch, lanes, plan)
        ahead += turn
    place = own
    for i in cuda.unroll(range(rows)):
        acc[i] = vector(0)
    for first in range(begin, end, kind(panel)):
        rest = min(kind(panel), end - first)
        cuda.syncthreads()
        stage_across(
            shared,
            Rows(x.memory, batch * x.batch + first * x.right, x.down, x.right),
            row0,
            extents.m,
            rest,
            (rest + (turn - 1)) // turn * turn,
            thread,
            plan,
            Staged(few, pitch, packed, accumulator),
        )
        cuda.syncthreads()
        for p0 in range(kind(0), rest, kind(turn)):
            cuda.pipeline_wait_prior(plan.stages - 1)
            for u in cuda.unroll(range(plan.flight)):
                found = vector(cuda.vload(ring, place + np.uint32(u * threads * lanes), lanes, aligned=True))
                add_rows(acc, found, shared, (p0 + depth + u * threads_y) * pitch, plan, few, plan.whole)
            _begin(ring, place, b.memory, start_b, ahead, end, b.pitch, lanes, plan)
            ahead += turn
            place = own if place >= (plan.stages - 1) * group else place + np.uint32(group)

    cuda.pipeline_wait_prior(0)  # the ring's places are those of sums
    where = (batch * strips + line0 // width) * stacks + row0 // rows
    base = (where * split.count + share) * (rows * width)
    start_c = batch * c.batch
    result = Result(c.memory, start_c, c.down, c.right, extents.m, extents.n)
    corner = Corner(row0, line0)
    for upper in cuda.unroll(range(0, rows, plan.together)):
        height = min(plan.together, rows - upper)
        cuda.syncthreads()
        for i in cuda.unroll(range(height)):
            cuda.vstore(acc[upper + i], sums, (depth * height + i) * width + along * lanes, aligned=True)
        cuda.syncthreads()
        leave_sums(
            sums,
            Shared(threads_y, width, 1, height * width),
            result,
            parts.memory,
            base,
            corner,
            factors,
            thread,
            height,
            upper,
            strip,
        )
    if plan.arrive:
        last = arrive(parts.arrived, where, split.count, latest, thread, 0, threads)
        if last:
            base = where * split.count * (rows * width)
            add_parts_in_order(result, parts.memory, base, corner, factors, thread, split.count, strip, accumulator)
