"""Tiles of radix sorts, which the threads of a block share: loaded, ranked by a digit, and moved to their places.

A tile lies in the block's threads so that a warp has neighbours: its rank in the order of digits, and of places among
equal ones, is found by votes of warps and counters of shared memory. S. Ashkiani et al., "GPU Multisplit", PPoPP 2016.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.primitives.ordering import digit_of
from portagpu.primitives.radix_plan import DIGITS, WARP, WIDTH, Payload

ALL = 0xFFFFFFFF
RANK_BITS = 20  # of a rank in a warp's keys, below its digit


@cuda.jit(device=True)
def place_in_tile(item, plan: cuda.constexpr):
    """Where a thread's item stands in its block's tile."""
    t = np.int32(cuda.threadIdx.x)
    return t // WARP * (WARP * plan.items) + item * WARP + t % WARP


@cuda.jit(device=True)
def equal_digits(digit, plan: cuda.constexpr):
    """The lanes of the warp that have the same digit, as bits."""
    if not plan.votes:
        return np.uint32(cuda.match_any_sync(ALL, digit))
    peers = np.uint32(ALL)
    for bit in cuda.unroll(range(WIDTH)):
        mask = np.int32((digit << (31 - bit)) >> 31)  # all bits where this one is set
        peers &= ~np.uint32(np.int32(cuda.ballot_sync(ALL, mask)) ^ mask)
    return peers


@cuda.jit(device=True)
def sum_before(value, sums, plan: cuda.constexpr):
    """The sum of the values of the threads before this one; ``sums``: shared, a number for each warp."""
    t = cuda.threadIdx.x
    lane, warp = t % WARP, t // WARP
    total = np.int32(value)
    for step in cuda.unroll(range(5)):
        before = cuda.shfl_up_sync(ALL, total, 1 << step)
        if lane >= 1 << step:
            total += before
    if lane == WARP - 1:
        sums[warp] = total
    cuda.syncthreads()
    for w in cuda.unroll(range(plan.threads // WARP)):
        if w < warp:
            total += sums[w]
    return total - np.int32(value)


class Work(NamedTuple):
    """Shared memory of a block: (warps, digits) counters, where a tile's digits begin, what is added to a digit's
    places, a number for each warp, and a tile's keys and values."""

    counters: Any
    begins: Any
    shifts: Any
    sums: Any
    keys: Any
    values: Any


class Moved(NamedTuple):
    """What a pass reads and writes: keys, where they go, values, where these go."""

    keys: Any
    result: Any
    values: Any
    moved: Any


@cuda.jit(device=True)
def rank_in_warps(keys, ranks, work, valid, shift, plan: cuda.constexpr):
    """Rank keys among the equal ones of their warps; give thread ``d`` how often the tile has digit ``d``.

    Ranks have the digits on top. Counters are then how often the warps before have a digit, for threads to read after a barrier. What is not among
    the ``valid`` first keys has the last digit.
    """
    t = cuda.threadIdx.x
    counters = work.counters
    warps = plan.threads // WARP
    warp = t // WARP
    for i in range(t, warps * DIGITS, plan.threads):
        counters[i // DIGITS, i % DIGITS] = 0
    cuda.syncthreads()
    for item in cuda.unroll(range(plan.items)):
        digit = digit_of(keys[item], shift, plan.order, WIDTH)
        if place_in_tile(item, plan) >= valid:
            digit = np.int32(DIGITS - 1)
        peers = equal_digits(digit, plan)
        before = cuda.popc(peers & cuda.lanemask_lt())
        known = counters[warp, digit]
        ranks[item] = (digit << RANK_BITS) + known + before
        cuda.syncwarp()
        if before == 0:
            counters[warp, digit] = known + cuda.popc(peers)
        cuda.syncwarp()
    cuda.syncthreads()
    count = np.int32(0)
    if t < DIGITS:
        for w in cuda.unroll(range(warps)):
            own = counters[w, t]
            counters[w, t] = count
            count += own
    return count


@cuda.jit(device=True)
def rank_in_tile(ranks, work, plan: cuda.constexpr):
    """Make ranks in warps places in the tile."""
    warp = cuda.threadIdx.x // WARP
    for item in cuda.unroll(range(plan.items)):
        digit = ranks[item] >> RANK_BITS
        ranks[item] = (ranks[item] & ((1 << RANK_BITS) - 1)) + work.begins[digit] + work.counters[warp, digit]


@cuda.jit(device=True)
def load_keys(keys, source, first, valid, plan: cuda.constexpr):
    """A tile's keys, ``valid`` of them from ``first`` on."""
    for item in cuda.unroll(range(plan.items)):
        place = place_in_tile(item, plan)
        keys[item] = source[first + place] if place < valid else plan.order.key(0)


@cuda.jit(device=True)
def move_tile(keys, ranks, work, data, first, origin, valid, shift, plan: cuda.constexpr, payload: cuda.constexpr):
    """Store a tile's keys and values where digits begin, through shared memory, so that neighbours go together.

    ``ranks``: places in the tile; places that are values are 0 at ``origin``. Ends without a barrier.
    """
    t = np.int32(cuda.threadIdx.x)
    for item in cuda.unroll(range(plan.items)):
        work.keys[ranks[item]] = keys[item]
    if payload is not Payload.NONE:
        for item in cuda.unroll(range(plan.items)):
            place = place_in_tile(item, plan)
            if payload is Payload.INDEX:
                work.values[ranks[item]] = plan.value(first - origin + place)
            elif place < valid:
                work.values[ranks[item]] = data.values[first + place]
    cuda.syncthreads()
    for item in cuda.unroll(range(plan.items)):
        place = t + item * plan.threads
        if place < valid:
            key = work.keys[place]
            target = work.shifts[digit_of(key, shift, plan.order, WIDTH)] + place
            if plan.writes_keys:
                data.result[target] = key
            if payload is not Payload.NONE:
                data.moved[target] = work.values[place]
