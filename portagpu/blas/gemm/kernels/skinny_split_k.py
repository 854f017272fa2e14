"""Split-k of few rows: which sums and terms a block has, its parts left row by row, and added in order; in the dialect.

The last block to arrive adds (`portagpu.blas.gemm.kernels.split_k`, whose parts lie as threads hold them; these lie as
rows, for blocks that have shared their sums already). That needs a fence for the whole device, which OpenCL C before
2.0 does not promise and PTX has; elsewhere a second launch adds (`add_strips`).

A kernel asks for its strip (`strip_of_block`), brings its threads' sums of some rows at a time to shared memory, where
they become elements of c or parts (`leave_sums`), and may then be the one that adds the parts (`add_if_last`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import Split
from portagpu.blas.gemm.kernels.epilogue import store_element
from portagpu.blas.gemm.kernels.split_k import arrive


class StripPlan(NamedTuple):
    """What is known of a block when kernels are compiled: it has ``rows`` x ``width`` sums and so many ``threads``.

    ``stacked``: there may be blocks for more than ``rows`` rows. Lines are dealt in vectors of ``lanes``. ``split``:
    sums are left as parts; ``arrive``: the last block adds them; ``epilogue``: what becomes of whole sums.
    """

    rows: int
    width: int
    threads: int
    lanes: int
    stacked: bool
    split: bool
    arrive: bool
    epilogue: Any


class Strip(NamedTuple):
    """A block's sums, from row ``row`` and line ``line`` of product ``batch`` on: number ``place`` among the strips.

    ``share``: number of the part that the block has of each, with the terms from ``begin`` up to ``end``. ``thread``:
    the thread's number in the block.
    """

    row: Any
    line: Any
    batch: Any
    place: Any
    share: Any
    begin: Any
    end: Any
    thread: Any


class Outcome(NamedTuple):
    """Where the sums of a launch go: a `StridedMatrix`, `Parts`, `Extents`, a `Split` and `Factors`."""

    c: Any
    parts: Any
    extents: Any
    split: Any
    factors: Any


class Shared(NamedTuple):
    """Layout of sums in shared memory: that of row r and line l is the sum over ``deep`` i's of element
    ``r * pitch + l * step + i * apart``."""

    deep: int
    pitch: int
    step: int
    apart: int


@cuda.jit(device=True)
def strip_of_block(extents, split, plan):
    """The block's `Strip`: neighbours have the same lines of other rows, then other lines, parts and products."""
    kind = type(extents.n)
    stacks = (extents.m + (plan.rows - 1)) // plan.rows if plan.stacked else kind(1)
    strips = (extents.n + (plan.width - 1)) // plan.width
    block = kind(cuda.blockIdx.x)
    stack, strip = block % stacks, block // stacks % strips
    share = block // (stacks * strips) % split.count
    batch = block // (stacks * strips) // split.count
    # from numbers of blocks: rows and lines would have to be divided again
    place = (batch * strips + strip) * stacks + stack
    begin = share * split.terms
    end = min(extents.k, begin + split.terms)
    thread = kind(cuda.threadIdx.x)
    return Strip(stack * plan.rows, strip * plan.width, batch, place, share, begin, end, thread)


@cuda.jit(device=True)
def _store(total, row, line, strip, outcome, plan):
    """Element (row, line) of a result; nothing outside of it.

    Lines are dealt in vectors of ``plan.lanes``; those that would end beyond the last line begin earlier, and what they
    have in common with others is stored by those.
    """
    c, n = outcome.c, outcome.extents.n
    first = line // plan.lanes * plan.lanes
    own = min(first, n - plan.lanes) + line % plan.lanes
    if row < outcome.extents.m and own >= first and own < n:
        place = strip.batch * c.batch + row * c.down + own * c.right
        store_element(total, c.memory, place, strip.batch, row, own, outcome.factors, plan.epilogue)


@cuda.jit(device=True)
def leave_sums(shared, form, strip, outcome, rows: cuda.constexpr, first: cuda.constexpr, plan):
    """Add what the threads of a block left in shared memory for ``rows`` rows, from the block's row ``first`` on.

    form: how it lies there, a `Shared`. A sum becomes an element of the result, or with ``plan.split`` one of the
    parts. The kernel's threads meet before the call, and again before they write to shared memory.
    """
    width, threads = plan.width, plan.threads
    thread = strip.thread
    base = (strip.place * outcome.split.count + strip.share) * (plan.rows * width)
    count = rows * width
    for turn in cuda.unroll(range((count + threads - 1) // threads)):
        number = thread + turn * threads
        if count % threads == 0 or number < count:
            row, line = number // width, number % width
            at = row * form.pitch + line * form.step
            total = shared[at]
            for i in cuda.unroll(range(1, form.deep)):
                total += shared[at + i * form.apart]
            if plan.split:
                outcome.parts.memory[base + number + first * width] = total
            else:
                _store(total, strip.row + first + row, strip.line + line, strip, outcome, plan)


@cuda.jit(device=True)
def _add_parts_in_order(strip, outcome, plan, accumulator: cuda.constexpr):
    """Elements of c from all parts of a strip's sums, which lie one after the other."""
    width, threads = plan.width, plan.threads
    parts, splits = outcome.parts.memory, outcome.split.count
    thread = strip.thread
    count = plan.rows * width
    base = strip.place * splits * count
    turns = (count + threads - 1) // threads
    totals = cuda.local.array(turns, accumulator)
    for turn in cuda.unroll(range(turns)):
        totals[turn] = 0
    # loads of several parts are under way at once; beyond the last sum it is the last one, which is cheaper than asking
    at_once = max(1, 8 // turns)
    found = cuda.local.array((at_once, turns), accumulator)
    whole = splits // at_once * at_once
    for part in range(type(splits)(0), whole, type(splits)(at_once)):
        for beside in cuda.unroll(range(at_once)):
            for turn in cuda.unroll(range(turns)):
                number = min(thread + turn * threads, type(thread)(count - 1))
                found[beside, turn] = parts[base + (part + beside) * count + number]
        for beside in cuda.unroll(range(at_once)):
            for turn in cuda.unroll(range(turns)):
                totals[turn] += found[beside, turn]
    for part in range(whole, splits):
        for turn in cuda.unroll(range(turns)):
            number = min(thread + turn * threads, type(thread)(count - 1))
            totals[turn] += parts[base + part * count + number]
    for turn in cuda.unroll(range(turns)):
        number = thread + turn * threads
        if count % threads == 0 or number < count:
            _store(totals[turn], strip.row + number // width, strip.line + number % width, strip, outcome, plan)


@cuda.jit(device=True)
def add_if_last(strip, outcome, plan, accumulator: cuda.constexpr):
    """With ``plan.arrive`` add the parts of a strip's sums, in the last of its blocks to get here."""
    if plan.arrive:
        latest = cuda.shared.array(1, np.int32)
        if arrive(outcome.parts.arrived, strip.place, outcome.split.count, latest, strip.thread, 0, plan.threads):
            _add_parts_in_order(strip, outcome, plan, accumulator)


@cuda.jit
def add_strips(c, parts, extents, split, factors, plan: cuda.constexpr, accumulator: cuda.constexpr):
    """What last blocks do, for all of a batch's products: a block for each rows * width sums; c: a `StridedMatrix`."""
    kind = type(extents.n)
    strip = strip_of_block(extents, Split(kind(1), extents.k), plan)
    outcome = Outcome(c, parts, extents, split, factors)
    _add_parts_in_order(strip, outcome, plan, accumulator)
