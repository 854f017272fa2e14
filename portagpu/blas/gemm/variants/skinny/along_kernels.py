"""Products with few rows, as `across_kernels` has them, of large matrices whose elements lie side by side along k.

Threads walk along k and have some columns each.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.skinny_split_k import Outcome, Shared, add_if_last, leave_sums, strip_of_block
from portagpu.blas.gemm.variants.skinny.staging import Panel, stage_along


@cuda.jit(device=True)
def _add_vectors(acc, taken, shared, at, pitch: cuda.constexpr, plan: cuda.constexpr, lanes: cuda.constexpr):
    """Add x's elements of a vector's k's, row by row from ``shared[at]`` on, times a vector of each column of b."""
    for i in cuda.unroll(range(plan.strip.rows)):
        values = cuda.vload(shared, at + i * pitch, lanes, aligned=True)
        for lane in cuda.unroll(range(lanes)):
            for j in cuda.unroll(range(plan.lines)):
                acc[i, j] = multiply_add(values[lane], taken[j][lane], acc[i, j], plan.whole)


@cuda.jit(device=True)
def _walk(
    acc,
    taken,
    b,
    columns,
    first,
    shared,
    p0,
    pitch: cuda.constexpr,
    flight: cuda.constexpr,
    plan: cuda.constexpr,
    vector: cuda.constexpr,
):
    """Add the terms of ``flight`` vectors of each column, the first of them ``p0`` k's into the panel."""
    lanes = vector.lanes
    for u in cuda.unroll(range(flight)):
        for j in cuda.unroll(range(plan.lines)):
            at = columns[j] + first + (p0 + u * plan.threads_x * lanes)
            taken[u, j] = vector(cuda.vload(b.memory, at, lanes, aligned=plan.aligned))
    for u in cuda.unroll(range(flight)):
        _add_vectors(acc, taken[u], shared, p0 + u * plan.threads_x * lanes, pitch, plan, lanes)


@cuda.jit(device=True)
def _add_loads(acc, shared, x, b, columns, strip, m, form, plan: cuda.constexpr, vector: cuda.constexpr):
    """Add the terms of a strip, vectors of b by loads to registers.

    shared: room for a `Panel` of x, ``form``; columns: where each of the thread's begins in b.
    """
    lanes, lines, pitch, accumulator = vector.lanes, plan.lines, form.pitch, form.accumulator
    kind = type(strip.line)
    along = strip.thread % plan.threads_x
    turn = plan.threads_x * lanes * plan.flight
    taken = cuda.local.array((plan.flight, lines), vector)
    for first in range(strip.begin, strip.end, kind(plan.panel)):
        rest = min(kind(plan.panel), strip.end - first)
        for u in cuda.unroll(range(plan.flight)):  # on their way while x is staged
            for j in cuda.unroll(range(lines)):
                cuda.prefetch(b.memory, columns[j] + first + min((u * plan.threads_x + along) * lanes, rest - 1))
        stage_along(shared, x, strip, first, rest, m, form, plan)
        whole = rest // turn * turn
        for p0 in range(along * lanes, whole, kind(turn)):
            _walk(acc, taken, b, columns, first, shared, p0, pitch, plan.flight, plan, vector)
        vectors = rest // lanes * lanes
        for p0 in range(whole + along * lanes, vectors, kind(plan.threads_x * lanes)):
            _walk(acc, taken, b, columns, first, shared, p0, pitch, 1, plan, vector)
        for p in range(vectors + along, rest, kind(plan.threads_x)):
            for j in cuda.unroll(range(lines)):
                found = accumulator(b.memory[columns[j] + first + p])
                for i in cuda.unroll(range(plan.strip.rows)):
                    acc[i, j] = multiply_add(shared[p + i * pitch], found, acc[i, j], plan.whole)


@cuda.jit(device=True)
def _begin(ring, place, b, columns, p, end, lanes: cuda.constexpr, plan: cuda.constexpr):
    """Begin to copy a thread's next vectors of all its columns, from k number p on; zeros from ``end`` on."""
    apart = plan.strip.threads * lanes
    for u in cuda.unroll(range(plan.flight)):
        own = p + u * plan.threads_x * lanes
        for j in cuda.unroll(range(plan.lines)):
            to = place + (u * plan.lines + j) * apart
            cuda.pipeline_memcpy_async(ring, to, b.memory, columns[j] + own, lanes, valid=own < end)
    cuda.pipeline_commit()


@cuda.jit(device=True)
def _add_copies(acc, shared, ring, x, b, columns, strip, m, form, plan: cuda.constexpr, vector: cuda.constexpr):
    """As `_add_loads`, vectors of b by asynchronous copies to a ring in shared memory, which is free at the end.

    k is a number of whole, aligned vectors; ``plan.panel`` is a multiple of the k's that a block takes at once.
    """
    lanes, lines = vector.lanes, plan.lines
    kind = type(strip.line)
    thread = strip.thread
    along = thread % plan.threads_x
    turn = plan.threads_x * lanes * plan.flight
    hop = plan.strip.threads * lanes
    group = plan.flight * lines * hop  # elements of a group of copies
    taken = cuda.local.array(lines, vector)
    own = np.uint32(thread) * np.uint32(lanes)
    ahead = strip.begin + along * lanes
    for stage in cuda.unroll(range(plan.stages)):
        _begin(ring, own + np.uint32(stage * group), b, columns, ahead, strip.end, lanes, plan)
        ahead += turn
    place = own
    for first in range(strip.begin, strip.end, kind(plan.panel)):
        rest = min(kind(plan.panel), strip.end - first)
        stage_along(shared, x, strip, first, rest, m, form, plan)
        for p0 in range(along * lanes, rest + along * lanes, kind(turn)):
            cuda.pipeline_wait_prior(plan.stages - 1)
            for u in cuda.unroll(range(plan.flight)):
                for j in cuda.unroll(range(lines)):
                    at = place + np.uint32((u * lines + j) * hop)
                    taken[j] = vector(cuda.vload(ring, at, lanes, aligned=True))
                _add_vectors(acc, taken, shared, p0 + u * plan.threads_x * lanes, form.pitch, plan, lanes)
            _begin(ring, place, b, columns, ahead, strip.end, lanes, plan)
            ahead += turn
            place = own if place >= (plan.stages - 1) * group else place + np.uint32(group)
    cuda.pipeline_wait_prior(0)


@cuda.jit
def multiply_skinny_along(
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
    """As `across_kernels.multiply_skinny_across`; element (p, j) of b is at ``j * b.pitch + p``.

    A block has ``threads_x`` threads along k for each of ``threads_y`` groups of ``plan.lines`` columns.
    """
    lanes, lines = vector.lanes, plan.lines
    rows, width = plan.strip.rows, plan.strip.width
    pitch = plan.panel + lanes
    acc = cuda.local.array((rows, lines), accumulator)
    columns = cuda.local.array(lines, type(extents.n))
    line = plan.threads_x + 1  # elements for the sums of a column's threads
    added = plan.together * width * line
    if plan.stages > 1:  # terms of x; vectors of b, later sums
        shared = cuda.shared.array(rows * pitch, accumulator, alignment=64)
        copied = plan.stages * plan.flight * lines * plan.strip.threads * lanes * b.memory.itemsize
        sums = cuda.shared.array(max(copied // accumulator(0).itemsize, added), accumulator, alignment=64)
    else:  # terms of x, later sums
        shared = cuda.shared.array(max(rows * pitch, added), accumulator, alignment=64)
        sums = shared

    strip = strip_of_block(extents, split, plan.strip)
    thread = strip.thread
    along, group = thread % plan.threads_x, thread // plan.threads_x
    form = Panel(pitch, packed, accumulator)
    for j in cuda.unroll(range(lines)):
        columns[j] = strip.batch * b.batch + min(strip.line + group * lines + j, extents.n - 1) * b.pitch
        for i in cuda.unroll(range(rows)):
            acc[i, j] = 0
    if plan.stages > 1:
        ring = sums.view(b.memory.dtype)
        _add_copies(acc, shared, ring, x, b, columns, strip, extents.m, form, plan, vector)
    else:
        _add_loads(acc, shared, x, b, columns, strip, extents.m, form, plan, vector)

    outcome = Outcome(c, parts, extents, split, factors)
    for upper in cuda.unroll(range(0, rows, plan.together)):
        height = min(plan.together, rows - upper)
        cuda.syncthreads()
        for i in cuda.unroll(range(height)):
            for j in cuda.unroll(range(lines)):
                sums[(i * width + group * lines + j) * line + along] = acc[upper + i, j]
        cuda.syncthreads()
        leave_sums(sums, Shared(plan.threads_x, width * line, line, 1), strip, outcome, height, upper, plan.strip)
    add_if_last(strip, outcome, plan.strip, accumulator)
