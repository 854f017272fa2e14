"""Split-k of few rows: parts left row by row, and added in order; in the dialect.

The last block to arrive adds (`portagpu.blas.gemm.kernels.split_k`, whose parts lie as threads hold them; these lie as
rows, for blocks that have shared their sums already). That needs a fence for the whole device, which OpenCL C before
2.0 does not promise and PTX has; elsewhere a second launch adds (`add_strips`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import store_element


class Result(NamedTuple):
    """A product's result: element (row, line) is ``memory[start + row * down + line * right]``."""

    memory: Any
    start: Any
    down: Any
    right: Any
    m: Any
    n: Any


class Corner(NamedTuple):
    """The first row and line of a block's sums."""

    row: Any
    line: Any


class StripPlan(NamedTuple):
    """What is known of a block when kernels are compiled: it has ``rows`` x ``width`` sums and so many ``threads``.

    Lines are dealt in vectors of ``lanes``. ``split``: sums are left as parts; ``epilogue``: what becomes of others.
    """

    rows: int
    width: int
    threads: int
    lanes: int
    split: bool
    epilogue: Any


class Shared(NamedTuple):
    """Sums in shared memory: that of row r and line l is the sum over ``deep`` i's of element
    ``r * pitch + l * step + i * apart``."""

    deep: int
    pitch: int
    step: int
    apart: int


@cuda.jit(device=True)
def _store(total, result, row, line, factors, plan):
    """Element (row, line) of a result; nothing outside of it.

    Lines are dealt in vectors of ``plan.lanes``; those that would end beyond the last line begin earlier, and what they
    have in common with others is stored by those.
    """
    first = line // plan.lanes * plan.lanes
    own = min(first, result.n - plan.lanes) + line % plan.lanes
    if row < result.m and own >= first and own < result.n:
        place = result.start + row * result.down + own * result.right
        store_element(total, result.memory, place, row, own, factors, plan.epilogue)


@cuda.jit(device=True)
def leave_sums(
    shared,
    form,
    result,
    parts,
    base,
    corner,
    factors,
    thread,
    rows: cuda.constexpr,
    first: cuda.constexpr,
    plan,
):
    """Add what the threads of a block left in shared memory for ``rows`` rows, from the block's row ``first`` on.

    form: how it lies there, a `Shared`. A sum becomes an element of the result, or with ``plan.split`` an element of
    ``parts`` from ``base`` on.
    """
    width, threads = plan.width, plan.threads
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
                parts[base + number + first * width] = total
            else:
                _store(total, result, corner.row + first + row, corner.line + line, factors, plan)


@cuda.jit(device=True)
def add_parts_in_order(result, parts, base, corner, factors, thread, splits, plan, accumulator: cuda.constexpr):
    """Elements of c from ``splits`` parts of a block's sums each, which lie one after the other from ``base`` on."""
    width, threads = plan.width, plan.threads
    count = plan.rows * width
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
            row, line = corner.row + number // width, corner.line + number % width
            _store(totals[turn], result, row, line, factors, plan)


@cuda.jit
def add_strips(c, parts, m, n, splits, factors, plan: cuda.constexpr, accumulator: cuda.constexpr):
    """What last blocks do, for all of a batch's products: a block for each rows * width sums; c: a `StridedMatrix`."""
    rows, width = plan.rows, plan.width
    kind = type(n)
    place = kind(cuda.blockIdx.x)
    stacks = (m + (rows - 1)) // rows
    strips = (n + (width - 1)) // width
    start = place // (stacks * strips) * c.batch
    row0, line0 = place % stacks * rows, place // stacks % strips * width
    base = place * splits * (rows * width)
    add_parts_in_order(
        Result(c.memory, start, c.down, c.right, m, n),
        parts,
        base,
        Corner(row0, line0),
        factors,
        kind(cuda.threadIdx.x),
        splits,
        plan,
        accumulator,
    )
