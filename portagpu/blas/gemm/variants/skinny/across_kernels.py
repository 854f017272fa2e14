"""Products with few rows as fast as the large matrix is read, for GPUs without matrix units for them; in the dialect.

x (m, k) are the few rows, b (k, n) is read once. Blocks keep sums of some rows in registers and have terms of x in
shared memory (`staging`). Here elements of b lie side by side along n: a thread has a vector of columns, and x is
broadcast to the threads that share a row of b. `along_kernels` are for those that lie side by side along k. Long sums
are split among blocks in one launch (`portagpu.blas.gemm.kernels.skinny_split_k`).

Many loads of b are under way at once: what keeps a GPU's memory busy is bandwidth times latency, some 40 KB for each
compute unit, and as much again where loads wait for others. Registers do not hold so much beside the sums, and loads to
registers are waited for in few groups. So where the device has asynchronous copies, each thread has places of its own
in a ring in shared memory: vectors are copied there, ``plan.stages`` groups of ``plan.flight`` of them, read by the
thread that copied them, and their places filled again at once. No barrier is needed for that, and copies go on while a
panel of x changes. The first of them are begun before anything else.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.skinny_split_k import Outcome, Shared, add_if_last, leave_sums, strip_of_block
from portagpu.blas.gemm.variants.skinny.staging import Panel, stage_across


@cuda.jit(device=True)
def _add_rows(acc, found, shared, at, plan: cuda.constexpr):
    """Add x's elements of one k, from ``shared[at]`` on, times a vector of b."""
    rows, few = plan.strip.rows, plan.few
    if few == 1:
        acc[0] = multiply_add(shared[at], found, acc[0], plan.whole)
    else:
        for group in cuda.unroll(range((rows + few - 1) // few)):
            values = cuda.vload(shared, at + group * few, few, aligned=True)
            for i in cuda.unroll(range(few)):
                if group * few + i < rows:
                    acc[group * few + i] = multiply_add(values[i], found, acc[group * few + i], plan.whole)


@cuda.jit(device=True)
def _add_loads(acc, shared, x, b, start, strip, m, form, plan: cuda.constexpr, vector: cuda.constexpr):
    """Add the terms of a strip, vectors of b by loads to registers.

    shared: room for a `Panel` of x, ``form``; start: of the thread's column in b.
    """
    lanes, flight, pitch = vector.lanes, plan.flight, form.pitch
    kind = type(start)
    depth = strip.thread // plan.threads_x
    turn = plan.threads_y * flight
    taken = cuda.local.array(flight, vector)
    for first in range(strip.begin, strip.end, kind(plan.panel)):
        rest = min(kind(plan.panel), strip.end - first)
        for u in cuda.unroll(range(flight)):  # on their way while x is staged
            cuda.prefetch(b.memory, start + (first + min(depth + u * plan.threads_y, rest - 1)) * b.pitch)
        stage_across(shared, x, strip, first, rest, rest, m, form, plan)
        whole = rest // turn * turn
        for p0 in range(depth, whole, kind(turn)):
            at = start + (first + p0) * b.pitch
            for u in cuda.unroll(range(flight)):
                taken[u] = vector(cuda.vload(b.memory, at + u * plan.threads_y * b.pitch, lanes, aligned=plan.aligned))
            for u in cuda.unroll(range(flight)):
                _add_rows(acc, taken[u], shared, (p0 + u * plan.threads_y) * pitch, plan)
        if whole < rest:
            for u in cuda.unroll(range(flight)):
                p = whole + depth + u * plan.threads_y
                at = start + (first + min(p, rest - 1)) * b.pitch
                taken[u] = vector(cuda.vload(b.memory, at, lanes, aligned=plan.aligned))
            for u in cuda.unroll(range(flight)):
                p = whole + depth + u * plan.threads_y
                if p < rest:
                    _add_rows(acc, taken[u], shared, p * pitch, plan)


@cuda.jit(device=True)
def _begin(ring, place, b, start, p, end, lanes: cuda.constexpr, plan: cuda.constexpr):
    """Begin to copy a thread's next vectors, those of k's from p on; zeros for k's from ``end`` on."""
    apart = plan.strip.threads * lanes
    for u in cuda.unroll(range(plan.flight)):
        own = p + u * plan.threads_y
        cuda.pipeline_memcpy_async(ring, place + u * apart, b.memory, start + own * b.pitch, lanes, valid=own < end)
    cuda.pipeline_commit()


@cuda.jit(device=True)
def _add_copies(acc, shared, ring, x, b, start, strip, m, form, plan: cuda.constexpr, vector: cuda.constexpr):
    """As `_add_loads`, vectors of b by asynchronous copies to a ring in shared memory, which is free at the end.

    All vectors are aligned, and ``plan.panel`` is a multiple of the k's that a block takes at once.
    """
    lanes, pitch = vector.lanes, form.pitch
    kind = type(start)
    thread = strip.thread
    depth = thread // plan.threads_x
    turn = plan.threads_y * plan.flight
    hop = plan.strip.threads * lanes
    group = plan.flight * hop  # elements of a group of copies
    own = np.uint32(thread) * np.uint32(lanes)
    ahead = strip.begin + depth
    for stage in cuda.unroll(range(plan.stages)):
        _begin(ring, own + np.uint32(stage * group), b, start, ahead, strip.end, lanes, plan)
        ahead += turn
    place = own
    for first in range(strip.begin, strip.end, kind(plan.panel)):
        rest = min(kind(plan.panel), strip.end - first)
        stage_across(shared, x, strip, first, rest, (rest + (turn - 1)) // turn * turn, m, form, plan)
        for p0 in range(kind(0), rest, kind(turn)):
            cuda.pipeline_wait_prior(plan.stages - 1)
            for u in cuda.unroll(range(plan.flight)):
                found = vector(cuda.vload(ring, place + np.uint32(u * hop), lanes, aligned=True))
                _add_rows(acc, found, shared, (p0 + depth + u * plan.threads_y) * pitch, plan)
            _begin(ring, place, b, start, ahead, strip.end, lanes, plan)
            ahead += turn
            place = own if place >= (plan.stages - 1) * group else place + np.uint32(group)
    cuda.pipeline_wait_prior(0)


@cuda.jit
def multiply_skinny_across(
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
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``; element (p, j) of b is at ``p * b.pitch + j``.

    x, c: each a `StridedMatrix` of flat memory; b: a `Matrix`; parts: `Parts`. A block has ``threads_x`` threads along
    n, each with a vector of columns, and ``threads_y`` along k. The grid is one-dimensional: for each product of the
    batch, each part of a ``split``, and each strip of columns a block for each ``plan.strip.rows`` rows. Columns are at
    least as many as a vector's.
    ``packed``: the vector type in which x is staged.
    """
    lanes, few = vector.lanes, plan.few
    rows, width = plan.strip.rows, plan.strip.width
    groups = (rows + few - 1) // few
    pitch = (groups + 1 - groups % 2) * few
    acc = cuda.local.array(rows, vector)
    added = plan.threads_y * plan.together * width  # sums of threads, which are added at once
    if plan.stages > 1:  # terms of x; vectors of b, later sums
        shared = cuda.shared.array(plan.panel * pitch, accumulator, alignment=64)
        copied = plan.stages * plan.flight * plan.strip.threads * lanes * b.memory.itemsize
        sums = cuda.shared.array(max(copied // accumulator(0).itemsize, added), accumulator, alignment=64)
    else:  # terms of x, later sums
        shared = cuda.shared.array(max(plan.panel * pitch, added), accumulator, alignment=64)
        sums = shared

    strip = strip_of_block(extents, split, plan.strip)
    thread = strip.thread
    along, depth = thread % plan.threads_x, thread // plan.threads_x
    start = strip.batch * b.batch + min(strip.line + along * lanes, extents.n - lanes)
    form = Panel(pitch, packed, accumulator)
    for i in cuda.unroll(range(rows)):
        acc[i] = vector(0)
    if plan.stages > 1:
        ring = sums.view(b.memory.dtype)
        _add_copies(acc, shared, ring, x, b, start, strip, extents.m, form, plan, vector)
    else:
        _add_loads(acc, shared, x, b, start, strip, extents.m, form, plan, vector)

    outcome = Outcome(c, parts, extents, split, factors)
    for upper in cuda.unroll(range(0, rows, plan.together)):
        height = min(plan.together, rows - upper)
        cuda.syncthreads()
        for i in cuda.unroll(range(height)):
            cuda.vstore(acc[upper + i], sums, (depth * height + i) * width + along * lanes, aligned=True)
        cuda.syncthreads()
        form_of_sums = Shared(plan.threads_y, width, 1, height * width)
        leave_sums(sums, form_of_sums, strip, outcome, height, upper, plan.strip)
    add_if_last(strip, outcome, plan.strip, accumulator)
