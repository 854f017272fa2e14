"""`variants.skinny.async_across_kernels` for large matrices whose elements lie side by side along k."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.skinny_split_k import Corner, Result, Shared, StripPlan, add_parts_in_order, leave_sums
from portagpu.blas.gemm.kernels.split_k import arrive
from portagpu.blas.gemm.variants.skinny.kernels import Rows, stage_along


@cuda.jit(device=True)
def _begin(ring, place, b, columns, p, end, lanes: cuda.constexpr, plan: cuda.constexpr):
    """Begin to copy a thread's next vectors of all its columns, from k number p on; zeros from ``end`` on."""
    apart = plan.threads_x * plan.threads_y * lanes
    for u in cuda.unroll(range(plan.flight)):
        own = p + u * plan.threads_x * lanes
        for j in cuda.unroll(range(plan.lines)):
            to = place + (u * plan.lines + j) * apart
            cuda.pipeline_memcpy_async(ring, to, b, columns[j] + own, lanes, valid=own < end)
    cuda.pipeline_commit()


@cuda.jit
def multiply_skinny_ring_along(
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
    """As `variants.skinny.kernels.multiply_skinny_along`, which see; k is a number of whole, aligned vectors.

    ``plan.panel`` is a multiple of the k's that a block takes at once.
    """
    lanes = vector.lanes
    rows, threads_x, threads_y, lines, panel = plan.rows, plan.threads_x, plan.threads_y, plan.lines, plan.panel
    threads = threads_x * threads_y
    width = threads_y * lines
    pitch = panel + lanes
    turn = threads_x * lanes * plan.flight
    group = plan.flight * lines * threads * lanes  # elements of a group of copies
    strip = StripPlan(rows, width, threads, 1, plan.split, plan.epilogue)
    acc = cuda.local.array((rows, lines), accumulator)
    taken = cuda.local.array(lines, vector)
    columns = cuda.local.array(lines, type(extents.n))
    shared = cuda.shared.array(rows * pitch, accumulator, alignment=64)
    # vectors of b, later sums
    words = plan.stages * group * b.memory.itemsize // accumulator(0).itemsize
    sums = cuda.shared.array(max(words, plan.together * width * (threads_x + 1)), accumulator, alignment=64)
    ring = sums.view(b.memory.dtype)
    latest = cuda.shared.array(1, np.int32)

    kind = type(extents.n)
    thread = kind(cuda.threadIdx.x)
    along, column = thread % threads_x, thread // threads_x
    strips = (extents.n + (width - 1)) // width
    stacks = (extents.m + (rows - 1)) // rows
    block = kind(cuda.blockIdx.x)
    row0 = block % stacks * rows
    line0 = block // stacks % strips * width
    share = block // (stacks * strips) % split.count
    batch = block // (stacks * strips) // split.count
    begin = share * split.terms
    end = min(extents.k, begin + split.terms)
    for j in cuda.unroll(range(lines)):
        columns[j] = batch * b.batch + min(line0 + column * lines + j, extents.n - 1) * b.pitch
        for i in cuda.unroll(range(rows)):
            acc[i, j] = 0
    own = np.uint32(thread) * np.uint32(lanes)
    ahead = begin + along * lanes
    for stage in cuda.unroll(range(plan.stages)):
        _begin(ring, own + np.uint32(stage * group), b.memory, columns, ahead, end, lanes, plan)
        ahead += turn
    place = own
    for first in range(begin, end, kind(panel)):
        rest = min(kind(panel), end - first)
        cuda.syncthreads()
        stage_along(
            shared,
            Rows(x.memory, batch * x.batch + first * x.right, x.down, x.right),
            row0,
            extents.m,
            rest,
            thread,
            plan,
            pitch,
            accumulator,
        )
        cuda.syncthreads()
        for p0 in range(along * lanes, rest + along * lanes, kind(turn)):
            cuda.pipeline_wait_prior(plan.stages - 1)
            for u in cuda.unroll(range(plan.flight)):
                for j in cuda.unroll(range(lines)):
                    at = place + np.uint32((u * lines + j) * threads * lanes)
                    taken[j] = vector(cuda.vload(ring, at, lanes, aligned=True))
                for i in cuda.unroll(range(rows)):
                    values = cuda.vload(shared, p0 + (u * threads_x * lanes + i * pitch), lanes, aligned=True)
                    for lane in cuda.unroll(range(lanes)):
                        for j in cuda.unroll(range(lines)):
                            acc[i, j] = multiply_add(values[lane], taken[j][lane], acc[i, j], plan.whole)
            _begin(ring, place, b.memory, columns, ahead, end, lanes, plan)
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
            for j in cuda.unroll(range(lines)):
                sums[(i * width + column * lines + j) * (threads_x + 1) + along] = acc[upper + i, j]
        cuda.syncthreads()
        leave_sums(
            sums,
            Shared(threads_x, width * (threads_x + 1), threads_x + 1, 1),
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
