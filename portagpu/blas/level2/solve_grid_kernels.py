"""A triangular system with one right-hand side, by all blocks of a grid together; in the dialect.

A block solves for 64 unknowns. It takes the terms of those before them off its right side, 64 after 64, as soon as
their blocks tell them, solves with its part of the diagonal, and tells its own. (J. Hogg: A Fast Dense Triangular Solve
in CUDA, 2013.) Blocks take tickets, and have the unknowns with their ticket's number: one waits only for blocks that
run already, or are done, in whatever order they begin.

Unknowns are numbered from the one that is found first, which is the last one of an upper triangle: thus numbered, every
triangle is a lower one. What a block tells are words of 64 bits, whose lower halves are the solve's number: a word is
read until it has that. All words are written in each solve, so that none needs to be cleared. They are told twice:
many blocks that read one place again and again would hold up the next block, on which all others wait.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.gemm.kernels.warp_lanes import from_lane
from portagpu.blas.level2.products.form import LOWER, UNIT
from portagpu.blas.level2.products.lines import start_of
from portagpu.blas.level2.solve_grid_diagonal import (
    HALVES,
    LANES,
    TRIANGLE,
    WIDTH,
    Shared,
    find_in_block,
    find_in_warp,
    of_triangle,
)
from portagpu.blas.level2.solve_kernels import coefficient

_DOUBLINGS = 5  # to a warp's lanes
_HALF = 0xFFFFFFFF  # of a word
_HURRY = 4  # a block that waits for one so near before it waits without a pause
_PAUSE = 200  # nanoseconds
CONTROL = 16
"""Words of 64 bits before those that blocks tell: of the first, the halves are the next ticket and the solve's number.
They are zero before the first solve."""


class _Order(NamedTuple):
    """Unknown number i is the one with the subscript ``first + i * step``, which may wrap."""

    first: Any
    step: Any


class _Place(NamedTuple):
    """A thread's place: its block, counted by tickets, its warp and lane."""

    block: Any
    warp: Any
    lane: Any


# the triangle ---------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def _load(tile, t, lines, other, n, order, place, plan: cuda.constexpr):
    """A thread's elements of the block's rows with the unknowns of block ``other``, which may be the block itself.

    They are in a warp's own rows, of which a lane has two elements each; where a column's elements are side by side, in
    a warp's own columns. ``lines``: where these rows begin. In the place of elements outside of the triangle, which are
    not used, others are read that are in it: no branches between loads.
    """
    kind = type(n)
    share = WIDTH // plan.warps
    for r in cuda.unroll(range(share)):
        if plan.rows:
            row = _row_of(r, n, place, plan)
            for h in cuda.unroll(range(HALVES)):
                column = min(other * kind(WIDTH) + kind(h * LANES) + place.lane, row)
                tile[r, h] = t.m.memory[lines[r] + order.first + order.step * column]
        else:
            column = min(other * kind(WIDTH) + place.warp * kind(share) + kind(r), n - kind(1))
            line = start_of(t.m, order.first + order.step * column)
            for h in cuda.unroll(range(HALVES)):
                row = min(place.block * kind(WIDTH) + kind(h * LANES) + place.lane, n - kind(1))
                tile[r, h] = t.m.memory[line + order.first + order.step * max(row, column)]


@cuda.jit(device=True)
def _row_of(r, n, place, plan: cuda.constexpr):
    """A warp's own row number r, or the last one where there are no more."""
    kind = type(n)
    share = WIDTH // plan.warps
    return min(place.block * kind(WIDTH) + place.warp * kind(share) + kind(r), n - kind(1))


@cuda.jit(device=True)
def _stage(t, x, lines, n, order, place, shared, plan: cuda.constexpr):
    """The diagonal's block and the right side to shared memory, those of a unit matrix beyond n rows.

    Whether some element of the diagonal has no normal reciprocal, as zeros and the largest numbers.
    """
    kind = type(n)
    share = WIDTH // plan.warps
    thread = place.warp * kind(LANES) + place.lane
    tile = cuda.local.array((share, HALVES), plan.number)
    _load(tile, t, lines, place.block, n, order, place, plan)
    if thread < kind(WIDTH):
        row = place.block * kind(WIDTH) + thread
        shared.given[thread] = plan.number(0)
        if row < n:
            shared.given[thread] = x.memory[x.first + type(x.first)(order.first + order.step * row) * x.step]
    for r in cuda.unroll(range(share)):
        for h in cuda.unroll(range(HALVES)):
            line, side = place.warp * kind(share) + kind(r), kind(h * LANES) + place.lane
            row, column = (line, side) if plan.rows else (side, line)
            value = coefficient(tile[r, h], t, plan.is_complex)
            if row == column and t.m.diagonal == UNIT:
                value = plan.number(1)
            if place.block * kind(WIDTH) + row >= n:
                value = plan.number(1) if row == column else plan.number(0)
            # no branches, behind which each load would come alone: each thread has a place for what is not used
            shared.triangle[of_triangle(row, column) if row >= column else kind(TRIANGLE) + thread] = value
    cuda.syncthreads()
    is_normal = True
    if thread < kind(WIDTH):
        value = shared.triangle[of_triangle(thread, thread)]
        shared.reciprocals[thread] = plan.number(1) / value
        size = abs(value.real) + abs(value.imag) if plan.is_complex else abs(value)
        is_normal = size >= plan.real(plan.least) and size <= plan.real(1 / plan.least)
    return cuda.syncthreads_or(not is_normal) != 0


# what blocks tell each other ------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def _hear(words, first, number, bits, to, lane, pauses, plan: cuda.constexpr):
    """The unknowns of a block, whose words begin at ``first``, to ``bits[to:]`` in shared memory; by a warp."""
    kind = type(first)
    count = HALVES * plan.words
    part = cuda.local.array(count, np.uint64)
    is_ready = False
    while not is_ready:
        is_ready = True
        for i in cuda.unroll(range(count)):
            part[i] = cuda.ldcv(words, first + kind(i * LANES) + lane)
        for i in cuda.unroll(range(count)):
            is_ready = is_ready and np.uint32(part[i] & np.uint64(_HALF)) == number
        if pauses and not is_ready:
            cuda.nanosleep(_PAUSE)
    for i in cuda.unroll(range(count)):
        bits[to + kind(i * LANES) + lane] = np.uint32(part[i] >> np.uint64(32))


@cuda.jit(device=True)
def _tell(words, first, number, bits, thread, crew: cuda.constexpr, plan: cuda.constexpr):
    """Tell all blocks this one's unknowns."""
    kind = type(first)
    for i in cuda.unroll(range(-(-WIDTH * plan.words // crew))):
        word = kind(i * crew) + thread
        if word < kind(WIDTH * plan.words):
            cuda.stwt(words, first + word, np.uint64(bits[word]) << np.uint64(32) | np.uint64(number))


@cuda.jit(device=True)
def _publish(x, n, order, place, words, number, shared, thread, crew: cuda.constexpr, plan: cuda.constexpr):
    """Tell the block's unknowns, first to the next block, and store them; by ``crew`` threads."""
    kind = type(n)
    bits = shared.found.view(np.uint32)
    first = place.block * kind(WIDTH * plan.words)
    _tell(words, first, number, bits, thread, crew, plan)
    _tell(words, first + kind(cuda.gridDim.x) * kind(WIDTH * plan.words), number, bits, thread, crew, plan)
    for i in range(thread, kind(WIDTH), kind(crew)):
        row = place.block * kind(WIDTH) + i
        if row < n:
            x.memory[x.first + type(x.first)(order.first + order.step * row) * x.step] = shared.found[i]


# terms of other blocks' unknowns --------------------------------------------------------------------------------------


@cuda.jit(device=True)
def _add_terms(sums, tile, t, unknowns, begin, place, plan: cuda.constexpr):
    """Add a thread's products with the unknowns ``unknowns[begin:]`` to its sums."""
    kind = type(begin)
    share = WIDTH // plan.warps
    known = cuda.local.array(HALVES, plan.number)
    for h in cuda.unroll(range(HALVES)):
        known[h] = unknowns[begin + kind(h * LANES) + place.lane]
    for r in cuda.unroll(range(share)):
        if plan.rows:
            for h in cuda.unroll(range(HALVES)):
                sums[r] = multiply_add(coefficient(tile[r, h], t, plan.is_complex), known[h], sums[r], plan.is_complex)
        else:
            one = unknowns[begin + place.warp * kind(share) + kind(r)]
            for h in cuda.unroll(range(HALVES)):
                sums[h] = multiply_add(coefficient(tile[r, h], t, plan.is_complex), one, sums[h], plan.is_complex)


@cuda.jit(device=True)
def _leave_sums(sums, place, shared, plan: cuda.constexpr):
    """A thread's sums to shared memory: ``slices`` of each row. Lanes that share rows add theirs up before."""
    kind = type(place.lane)
    share = WIDTH // plan.warps
    if not plan.rows:
        for h in cuda.unroll(range(HALVES)):
            shared.sums[place.warp * kind(WIDTH) + kind(h * LANES) + place.lane] = sums[h]
    elif not plan.warp:
        for r in cuda.unroll(range(share)):
            shared.sums[place.lane * kind(WIDTH) + place.warp * kind(share) + kind(r)] = sums[r]
    else:
        # two lanes each keep half of the rows that they have, until a lane has one row
        for step in cuda.unroll(range(_DOUBLINGS)):
            distance = LANES >> (step + 1)
            is_upper = place.lane & kind(distance) != 0
            partner = np.int32(place.lane) ^ np.int32(distance)
            kept = share >> (step + 1)
            for r in cuda.unroll(range(max(1, kept))):
                mine = sums[r]
                theirs = sums[r]
                if kept > 0:
                    mine = sums[r + kept] if is_upper else sums[r]
                    theirs = sums[r] if is_upper else sums[r + kept]
                sums[r] = mine + from_lane(theirs, partner, plan.is_complex)
        lanes = LANES // share
        if place.lane % kind(lanes) == 0:
            shared.sums[place.warp * kind(share) + place.lane // kind(lanes)] = sums[0]


# all of it ------------------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def _take_terms(t, lines, count, n, order, place, words, number, shared, plan: cuda.constexpr):
    """The sums of the terms of the first ``count`` blocks' unknowns, to shared memory.

    Elements of the triangle are asked for before a block waits for the unknowns that they are multiplied by.
    """
    kind = type(n)
    share = WIDTH // plan.warps
    tile = cuda.local.array((share, HALVES), plan.number)
    following = cuda.local.array((share, HALVES), plan.number)
    held = share if plan.rows else HALVES
    sums = cuda.local.array(held, plan.number)
    bits = shared.unknowns.view(np.uint32)
    for i in cuda.unroll(range(held)):
        sums[i] = plan.number(0)
    _load(tile, t, lines, kind(0), n, order, place, plan)
    for j in range(kind(0), count, kind(1)):
        _load(following, t, lines, min(j + kind(1), count - kind(1)), n, order, place, plan)
        begin = j % kind(2) * kind(WIDTH)
        if place.warp == 0:
            distance = place.block - j
            told = j if distance == kind(1) else kind(cuda.gridDim.x) + j
            first = told * kind(WIDTH * plan.words)
            _hear(words, first, number, bits, begin * kind(plan.words), place.lane, distance > kind(_HURRY), plan)
        cuda.syncthreads()
        _add_terms(sums, tile, t, shared.unknowns, begin, place, plan)
        for r in cuda.unroll(range(share)):
            for h in cuda.unroll(range(HALVES)):
                tile[r, h] = following[r, h]
    _leave_sums(sums, place, shared, plan)
    cuda.syncthreads()


@cuda.jit
def solve_together(t, x, n, words, control, passes, plan: cuda.constexpr):
    """Solve ``T x = b``: t: a `Triangle`, x: the `Vector` of b, and of the solution after; a block for `WIDTH` rows.

    words: 2 * blocks * `WIDTH` * ``plan.words`` of 64 bits, control: see `CONTROL`. Passes before the last one take no
    terms, and tell nobody: they bring the code that all blocks wait for to the instruction cache before its turn comes.
    """
    kind = type(n)
    triangle = cuda.shared.array(TRIANGLE + LANES * plan.warps, plan.number)
    reciprocals = cuda.shared.array(WIDTH, plan.number)
    given = cuda.shared.array(WIDTH, plan.number)
    unknowns = cuda.shared.array(2 * WIDTH, plan.number, alignment=16)
    sums = cuda.shared.array(plan.slices * WIDTH, plan.number)
    left = cuda.shared.array(1 if plan.warp else WIDTH, plan.number)
    found = cuda.shared.array(WIDTH, plan.number, alignment=16)
    ticket = cuda.shared.array(2, np.uint32)
    shared = Shared(triangle, reciprocals, given, unknowns, sums, left, found, ticket)
    thread = kind(cuda.threadIdx.x)
    if thread == 0:
        ticket[0] = cuda.atomic.add(control, 0, 1)
        ticket[1] = cuda.ldcv(control, 1) + np.uint32(1)
    cuda.syncthreads()
    number = ticket[1]
    place = _Place(kind(ticket[0]), thread // kind(LANES), thread % kind(LANES))
    is_lower = t.m.shape == LOWER
    order = _Order(kind(0) if is_lower else n - kind(1), kind(1) if is_lower else kind(0) - kind(1))
    lines = cuda.local.array(WIDTH // plan.warps, kind)
    if plan.rows:
        for r in cuda.unroll(range(WIDTH // plan.warps)):
            lines[r] = start_of(t.m, order.first + order.step * _row_of(r, n, place, plan))
    divides = _stage(t, x, lines, n, order, place, shared, plan)
    for turn in range(passes):
        is_last = turn == passes - 1
        _take_terms(t, lines, place.block if is_last else kind(0), n, order, place, words, number, shared, plan)
        if plan.warp:
            if thread < kind(LANES):
                find_in_warp(divides, thread, shared, plan)
                if is_last:
                    _publish(x, n, order, place, words, number, shared, thread, LANES, plan)
        else:
            find_in_block(thread, shared, plan)
            if is_last:
                _publish(x, n, order, place, words, number, shared, thread, LANES * plan.warps, plan)
        cuda.syncthreads()
    if thread == 0 and place.block == kind(cuda.gridDim.x) - kind(1):  # all others are done with both
        control[0] = 0
        control[1] = number
