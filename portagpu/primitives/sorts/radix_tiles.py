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
from portagpu.primitives.sorts.ordering import digit_of
from portagpu.primitives.sorts.radix_plan import DIGITS, WARP, WIDTH, Payload

ALL = 0xFFFFFFFF


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
    """Shared memory of a block: (warps, digits) counters, what is added to the places of a digit in a tile, a number
    for each warp, and a tile's keys and values."""

    counters: Any
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
def digit_in_tile(key, item, valid, shift, plan: cuda.constexpr):
    """An item's digit; what is not among the ``valid`` first keys has the last one."""
    digit = digit_of(key, shift, plan.order, WIDTH)
    return digit if place_in_tile(item, plan) < valid else np.int32(DIGITS - 1)


@cuda.jit(device=True)
def count_tile(keys, work, valid, shift, plan: cuda.constexpr):
    """Count the digits of each warp's keys; gives thread ``d`` how often the tile has digit ``d``."""
    t = cuda.threadIdx.x
    warps = plan.threads // WARP
    for i in range(t, warps * DIGITS, plan.threads):
        work.counters[i // DIGITS, i % DIGITS] = 0
    cuda.syncthreads()
    for item in cuda.unroll(range(plan.items)):
        cuda.atomic.add(work.counters, (t // WARP, digit_in_tile(keys[item], item, valid, shift, plan)), 1)
    cuda.syncthreads()
    count = np.int32(0)
    if t < DIGITS:
        for w in cuda.unroll(range(warps)):
            count += work.counters[w, t]
    return count


@cuda.jit(device=True)
def begin_warps(work, begin, plan: cuda.constexpr):
    """Counters become where in the tile each warp's keys with a digit begin; ``begin``: where those of the tile do.

    Ends with a barrier.
    """
    t = cuda.threadIdx.x
    if t < DIGITS:
        at = np.int32(begin)
        for w in cuda.unroll(range(plan.threads // WARP)):
            own = work.counters[w, t]
            work.counters[w, t] = at
            at += own
    cuda.syncthreads()


@cuda.jit(device=True)
def rank_tile(keys, ranks, work, valid, shift, plan: cuda.constexpr):
    """Put keys to their places in the tile, in shared memory; ``ranks``: these places, where there are values."""
    warp = cuda.threadIdx.x // WARP
    for item in cuda.unroll(range(plan.items)):
        digit = digit_in_tile(keys[item], item, valid, shift, plan)
        peers = equal_digits(digit, plan)
        before = cuda.popc(peers & cuda.lanemask_lt())
        at = work.counters[warp, digit]
        work.keys[at + before] = keys[item]
        if plan.payload is not Payload.NONE:
            ranks[item] = at + before
        cuda.syncwarp()
        if before == 0:
            work.counters[warp, digit] = at + cuda.popc(peers)
        cuda.syncwarp()


@cuda.jit(device=True)
def load_keys(keys, source, first, valid, plan: cuda.constexpr):
    """A tile's keys, ``valid`` of them from ``first`` on."""
    for item in cuda.unroll(range(plan.items)):
        place = place_in_tile(item, plan)
        keys[item] = source[first + place] if place < valid else plan.order.key(0)


@cuda.jit(device=True)
def hold_values(ranks, work, values, first, origin, valid, plan: cuda.constexpr, payload: cuda.constexpr):
    """Put values to their keys' places in the tile, in shared memory. Places that are values are 0 at ``origin``."""
    if payload is not Payload.NONE:
        for item in cuda.unroll(range(plan.items)):
            place = place_in_tile(item, plan)
            if payload is Payload.INDEX:
                work.values[ranks[item]] = plan.value(first - origin + place)
            elif place < valid:
                work.values[ranks[item]] = values[first + place]


@cuda.jit(device=True)
def store_tile(work, data, valid, shift, plan: cuda.constexpr):
    """Store keys and values, neighbours together, where their digits begin. Ends without a barrier."""
    t = np.int32(cuda.threadIdx.x)
    for item in cuda.unroll(range(plan.items)):
        place = t + item * plan.threads
        if place < valid:
            key = work.keys[place]
            target = work.shifts[digit_of(key, shift, plan.order, WIDTH)] + place
            if plan.writes_keys:
                data.result[target] = key
            if plan.payload is not Payload.NONE:
                data.moved[target] = work.values[place]
