"""Products with few rows on GPUs without matrix units for them: as fast as the large matrix is read; in the dialect.

x (m, k) are the few rows, b (k, n) is read once. Blocks keep sums of some rows in registers and have terms of x in
shared memory, a panel of k's at a time, in the type of sums. Where elements of b lie side by side along n
(`multiply_skinny_across`), a thread has a vector of columns, and x is broadcast to the threads that share a row of b;
where they do so along k (`multiply_skinny_along`), threads walk along k and have some columns each. Many loads of b are
under way at once. Long sums are split among blocks in one launch (`portagpu.blas.gemm.kernels.skinny_split_k`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.skinny_split_k import Corner, Result, Shared, StripPlan, add_parts_in_order, leave_sums
from portagpu.blas.gemm.kernels.split_k import arrive


class SkinnyPlan(NamedTuple):
    """What is known when the kernels are compiled.

    ``rows``: of a block. ``threads_x``: along what lies side by side in b; ``threads_y``: along the other axis.
    ``lines``: columns of a thread, ``flight``: loads that it has under way (across: rows of b; along: vectors of each
    column). ``panel``: k's in shared memory. ``together``: rows whose sums are added at once. ``few``: rows of x that
    a thread reads at once (across). ``split``: blocks share sums; ``arrive``: the last of them adds up.
    ``x_lies_along``: x has its k's side by side. ``epilogue``, ``whole``: see `kernels.epilogue`. ``stages``: groups of
    ``flight`` loads that are under way to shared memory, see `async_across_kernels`; 1: loads are to registers.
    """

    rows: int
    threads_x: int
    threads_y: int
    lines: int
    flight: int
    panel: int
    together: int
    few: int
    split: bool
    arrive: bool
    x_lies_along: bool
    epilogue: Any
    whole: bool
    aligned: bool
    stages: int


def broadcast_lanes(rows: int, itemsize: int) -> int:
    """Elements of x that a thread reads at once, of one k: up to 16 bytes."""
    return next(lanes for lanes in (16 // itemsize, 2, 1) if lanes <= rows or (lanes == 4 and rows == 3))


def panel_pitch(rows: int, itemsize: int) -> int:
    """Elements from one k to the next: an odd number of vectors, so that neighbours lie in different banks."""
    lanes = broadcast_lanes(rows, itemsize)
    return (-(-rows // lanes) | 1) * lanes


class Rows(NamedTuple):
    """The few rows from a k on: element (row, k) is ``memory[start + row * down + k * right]``."""

    memory: Any
    start: Any
    down: Any
    right: Any


class Staged(NamedTuple):
    """How x lies in shared memory: ``few`` rows are stored at once, as ``packed``; k's are ``pitch`` apart."""

    few: int
    pitch: int
    packed: Any
    accumulator: Any


@cuda.jit(device=True)
def stage_across(shared, x, row0, m, rest, padded, thread, plan: cuda.constexpr, form):
    """A panel of x, up to ``rest``: element (row, k) to ``shared[k * pitch + row]``; m's last row stands for others.

    x: `Rows`; form: a `Staged`. From ``rest`` up to ``padded`` elements are zero.
    """
    few, pitch, packed, accumulator = form
    groups = (plan.rows + few - 1) // few
    threads = plan.threads_x * plan.threads_y
    at_once = max(1, 16 // (groups * few))  # k's whose loads are under way together
    taken = cuda.local.array((at_once, groups * few), accumulator)
    for first in range(thread, padded, type(thread)(threads * at_once)):
        for j in cuda.unroll(range(at_once)):
            at = x.start + min(first + j * threads, rest - 1) * x.right
            for i in cuda.unroll(range(groups * few)):
                taken[j, i] = accumulator(x.memory[at + min(row0 + i, m - 1) * x.down])
        for j in cuda.unroll(range(at_once)):
            p = first + j * threads
            if p >= rest:
                for i in cuda.unroll(range(groups * few)):
                    taken[j, i] = 0
            if p < padded:
                for group in cuda.unroll(range(groups)):
                    if few == 1:
                        shared[p * pitch] = taken[j, 0]
                    elif few == 2:
                        values = packed(taken[j, group * 2], taken[j, group * 2 + 1])
                        cuda.vstore(values, shared, p * pitch + group * 2, aligned=True)
                    else:
                        i = group * 4
                        values = packed(taken[j, i], taken[j, i + 1], taken[j, i + 2], taken[j, i + 3])
                        cuda.vstore(values, shared, p * pitch + i, aligned=True)


@cuda.jit(device=True)
def add_rows(acc, found, shared, at, plan: cuda.constexpr, few: cuda.constexpr, whole: cuda.constexpr):
    """Add x's elements of one k, from ``shared[at]`` on, times a vector of b."""
    if few == 1:
        acc[0] = multiply_add(shared[at], found, acc[0], whole)
    else:
        for group in cuda.unroll(range((plan.rows + few - 1) // few)):
            values = cuda.vload(shared, at + group * few, few, aligned=True)
            for i in cuda.unroll(range(few)):
                if group * few + i < plan.rows:
                    acc[group * few + i] = multiply_add(values[i], found, acc[group * few + i], whole)


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
    batch, each part of a ``split``, and each strip of columns a block for each ``plan.rows`` rows. Columns are at least
    as many as a vector's.
    ``packed``: the vector type in which x is staged.
    """
    lanes = vector.lanes
    rows, threads_x, threads_y, flight, panel = plan.rows, plan.threads_x, plan.threads_y, plan.flight, plan.panel
    threads = threads_x * threads_y
    width = threads_x * lanes
    few = plan.few
    groups = (rows + few - 1) // few
    pitch = (groups + 1 - groups % 2) * few
    turn_rows = threads_y * flight
    strip = StripPlan(rows, width, threads, lanes, plan.split, plan.epilogue)
    taken = cuda.local.array(flight, vector)
    acc = cuda.local.array(rows, vector)
    # terms of x, later sums
    shared = cuda.shared.array(max(panel * pitch, threads_y * plan.together * width), accumulator, alignment=64)
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
    column = min(line0 + along * lanes, extents.n - lanes)
    begin = share * split.terms
    end = min(extents.k, begin + split.terms)
    start_b = batch * b.batch + column
    for i in cuda.unroll(range(rows)):
        acc[i] = vector(0)
    for first in range(begin, end, kind(panel)):
        rest = min(kind(panel), end - first)
        for u in cuda.unroll(range(flight)):  # on their way while x is staged
            cuda.prefetch(b.memory, start_b + (first + min(depth + u * threads_y, rest - 1)) * b.pitch)
        cuda.syncthreads()
        stage_across(
            shared,
            Rows(x.memory, batch * x.batch + first * x.right, x.down, x.right),
            row0,
            extents.m,
            rest,
            rest,
            thread,
            plan,
            Staged(few, pitch, packed, accumulator),
        )
        cuda.syncthreads()
        whole = rest // turn_rows * turn_rows
        for p0 in range(depth, whole, kind(turn_rows)):
            at = start_b + (first + p0) * b.pitch
            for u in cuda.unroll(range(flight)):
                taken[u] = vector(cuda.vload(b.memory, at + u * threads_y * b.pitch, lanes, aligned=plan.aligned))
            for u in cuda.unroll(range(flight)):
                add_rows(acc, taken[u], shared, (p0 + u * threads_y) * pitch, plan, few, plan.whole)
        if whole < rest:
            for u in cuda.unroll(range(flight)):
                p = whole + depth + u * threads_y
                at = start_b + (first + min(p, rest - 1)) * b.pitch
                taken[u] = vector(cuda.vload(b.memory, at, lanes, aligned=plan.aligned))
            for u in cuda.unroll(range(flight)):
                p = whole + depth + u * threads_y
                if p < rest:
                    add_rows(acc, taken[u], shared, p * pitch, plan, few, plan.whole)

    place = (batch * strips + line0 // width) * stacks + row0 // rows
    base = (place * split.count + share) * (rows * width)
    start_c = batch * c.batch
    result = Result(c.memory, start_c, c.down, c.right, extents.m, extents.n)
    corner = Corner(row0, line0)
    for upper in cuda.unroll(range(0, rows, plan.together)):
        height = min(plan.together, rows - upper)
        cuda.syncthreads()
        for i in cuda.unroll(range(height)):
            cuda.vstore(acc[upper + i], shared, (depth * height + i) * width + along * lanes, aligned=True)
        cuda.syncthreads()
        leave_sums(
            shared,
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
        last = arrive(parts.arrived, place, split.count, latest, thread, 0, threads)
        if last:
            base = place * split.count * (rows * width)
            add_parts_in_order(result, parts.memory, base, corner, factors, thread, split.count, strip, accumulator)


@cuda.jit(device=True)
def stage_along(
    shared, x, row0, m, rest, thread, plan: cuda.constexpr, pitch: cuda.constexpr, accumulator: cuda.constexpr
):
    """A panel of x: element (row, k) to ``shared[row * pitch + k]``, up to ``rest``; zeros from there on."""
    threads = plan.threads_x * plan.threads_y
    count = plan.rows * plan.panel
    for turn in cuda.unroll(range((count + threads - 1) // threads)):
        number = thread + turn * threads
        if plan.x_lies_along:
            p, row = number % plan.panel, number // plan.panel
        else:
            p, row = number // plan.rows, number % plan.rows
        if count % threads == 0 or number < count:
            value = accumulator(x.memory[x.start + min(p, rest - 1) * x.right + min(row0 + row, m - 1) * x.down])
            shared[row * pitch + p] = value if p < rest else accumulator(0)


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
            taken[u, j] = vector(cuda.vload(b, at, lanes, aligned=plan.aligned))
    for u in cuda.unroll(range(flight)):
        for i in cuda.unroll(range(plan.rows)):
            values = cuda.vload(shared, p0 + (u * plan.threads_x * lanes + i * pitch), lanes, aligned=True)
            for lane in cuda.unroll(range(lanes)):
                for j in cuda.unroll(range(plan.lines)):
                    acc[i, j] = multiply_add(values[lane], taken[u, j][lane], acc[i, j], plan.whole)


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
    """As `multiply_skinny_across`; element (p, j) of b is at ``j * b.pitch + p``.

    A block has ``threads_x`` threads along k for each of ``threads_y`` groups of ``plan.lines`` columns.
    """
    lanes = vector.lanes
    rows, threads_x, threads_y, lines, panel = plan.rows, plan.threads_x, plan.threads_y, plan.lines, plan.panel
    threads = threads_x * threads_y
    width = threads_y * lines
    pitch = panel + lanes
    turn_k = threads_x * lanes * plan.flight
    strip = StripPlan(rows, width, threads, 1, plan.split, plan.epilogue)
    taken = cuda.local.array((plan.flight, lines), vector)
    acc = cuda.local.array((rows, lines), accumulator)
    size = max(rows * pitch, plan.together * width * (threads_x + 1))
    shared = cuda.shared.array(size, accumulator, alignment=64)
    latest = cuda.shared.array(1, np.int32)
    columns = cuda.local.array(lines, type(extents.n))

    kind = type(extents.n)
    thread = kind(cuda.threadIdx.x)
    along, group = thread % threads_x, thread // threads_x
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
        columns[j] = batch * b.batch + min(line0 + group * lines + j, extents.n - 1) * b.pitch
        for i in cuda.unroll(range(rows)):
            acc[i, j] = 0
    for first in range(begin, end, kind(panel)):
        rest = min(kind(panel), end - first)
        for u in cuda.unroll(range(plan.flight)):  # on their way while x is staged
            for j in cuda.unroll(range(lines)):
                cuda.prefetch(b.memory, columns[j] + first + min((u * threads_x + along) * lanes, rest - 1))
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
        whole = rest // turn_k * turn_k
        for p0 in range(along * lanes, whole, kind(turn_k)):
            _walk(acc, taken, b.memory, columns, first, shared, p0, pitch, plan.flight, plan, vector)
        vectors = rest // lanes * lanes
        for p0 in range(whole + along * lanes, vectors, kind(threads_x * lanes)):
            _walk(acc, taken, b.memory, columns, first, shared, p0, pitch, 1, plan, vector)
        for p in range(vectors + along, rest, kind(threads_x)):
            for j in cuda.unroll(range(lines)):
                found = accumulator(b.memory[columns[j] + first + p])
                for i in cuda.unroll(range(rows)):
                    acc[i, j] = multiply_add(shared[p + i * pitch], found, acc[i, j], plan.whole)

    place = (batch * strips + line0 // width) * stacks + row0 // rows
    base = (place * split.count + share) * (rows * width)
    start_c = batch * c.batch
    result = Result(c.memory, start_c, c.down, c.right, extents.m, extents.n)
    corner = Corner(row0, line0)
    for upper in cuda.unroll(range(0, rows, plan.together)):
        height = min(plan.together, rows - upper)
        cuda.syncthreads()
        for i in cuda.unroll(range(height)):
            for j in cuda.unroll(range(lines)):
                shared[(i * width + group * lines + j) * (threads_x + 1) + along] = acc[upper + i, j]
        cuda.syncthreads()
        leave_sums(
            shared,
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
        last = arrive(parts.arrived, place, split.count, latest, thread, 0, threads)
        if last:
            base = place * split.count * (rows * width)
            add_parts_in_order(result, parts.memory, base, corner, factors, thread, split.count, strip, accumulator)
