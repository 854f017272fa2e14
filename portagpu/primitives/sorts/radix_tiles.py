"""Tiles of radix sorts, which the threads of a block share: loaded, ranked by a digit, and moved to their places.

A tile lies in the block's threads so that a warp has neighbours: its rank in the order of digits, and of places among
equal ones, is found by votes of warps and counters of shared memory. S. Ashkiani et al., "GPU Multisplit", PPoPP 2016.

What limits these kernels is how many instructions they have for a key: places are unsigned, so that subscripts are used
as they are, digits are taken from keys once, and of tiles that are full no key is asked whether it is there.
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
def first_in_tile(plan: cuda.constexpr):
    """Where a thread's first item stands in its block's tile; the others follow a warp's width apart."""
    t = np.uint32(cuda.threadIdx.x)
    return t // WARP * (WARP * plan.items) + t % WARP


@cuda.jit(device=True)
def place_in_tile(item, plan: cuda.constexpr):
    """Where a thread's item stands in its block's tile."""
    return first_in_tile(plan) + np.uint32(item * WARP)


@cuda.jit(device=True)
def sum_before(value, sums, plan: cuda.constexpr):
    """The sum of the values of the threads before this one; ``sums``: shared, a number for each warp."""
    t = cuda.threadIdx.x
    lane, warp = t % WARP, t // WARP
    own = np.uint32(value)
    total = own
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
    return total - own


class Work(NamedTuple):
    """Shared memory of a block: (warps, digits) counters, what is added to the places of a digit in a tile, a number
    for each warp, and a tile's keys and values. Counters and numbers are uint32, what is added wraps around."""

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
def load_keys(keys, source, first, valid, plan: cuda.constexpr):
    """A tile's keys, ``valid`` of them from ``first`` on."""
    own = first_in_tile(plan)
    begin = np.uint64(plan.place(first) + own)  # of the size of addresses: items are at constant distances
    if valid == plan.tile:
        for item in cuda.unroll(range(plan.items)):
            keys[item] = source[begin + item * WARP]
    else:
        for item in cuda.unroll(range(plan.items)):
            keys[item] = source[begin + item * WARP] if own + item * WARP < valid else plan.order.key(0)


@cuda.jit(device=True)
def note_digits(digits, keys, valid, shift, plan: cuda.constexpr):
    """The digits of a thread's keys, four to a word; what is not among the ``valid`` first keys has the last one."""
    for word in cuda.unroll(range(plan.digit_words)):
        noted = np.uint32(0)
        for k in cuda.unroll(range(min(4, plan.items - 4 * word))):
            noted |= digit_of(keys[4 * word + k], shift, plan.order, WIDTH) << (8 * k)
        digits[word] = noted
    if valid < plan.tile:
        own = first_in_tile(plan)
        for item in cuda.unroll(range(plan.items)):
            if own + item * WARP >= valid:
                digits[item // 4] |= np.uint32((DIGITS - 1) << (8 * (item % 4)))


@cuda.jit(device=True)
def noted_digit(digits, item: cuda.constexpr):
    """An item's digit."""
    return (digits[item // 4] >> (8 * (item % 4))) & (DIGITS - 1)


@cuda.jit(device=True)
def count_tile(digits, work, plan: cuda.constexpr):
    """Count the digits of each warp's keys; gives thread ``d`` how often the tile has digit ``d``."""
    t = cuda.threadIdx.x
    warps = plan.threads // WARP
    for i in range(t, warps * DIGITS, plan.threads):
        work.counters[i // DIGITS, i % DIGITS] = 0
    cuda.syncthreads()
    for item in cuda.unroll(range(plan.items)):
        cuda.atomic.add(work.counters, (t // WARP, noted_digit(digits, item)), 1)
    cuda.syncthreads()
    count = np.uint32(0)
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
        at = np.uint32(begin)
        for w in cuda.unroll(range(plan.threads // WARP)):
            own = work.counters[w, t]
            work.counters[w, t] = at
            at += own
    cuda.syncthreads()


@cuda.jit(device=True)
def rank_tile(keys, digits, ranks, work, plan: cuda.constexpr):
    """Put keys to their places in the tile, in shared memory; ``ranks``: these places, where there are values."""
    warp = cuda.threadIdx.x // WARP
    for item in cuda.unroll(range(plan.items)):
        digit = noted_digit(digits, item)
        peers = np.uint32(cuda.match_any_sync(ALL, digit & (DIGITS - 1)))  # known to have few bits
        before = np.uint32(cuda.popc(peers & cuda.lanemask_lt()))
        at = work.counters[warp, digit]
        work.keys[at + before] = keys[item]
        if plan.payload is not Payload.NONE:
            ranks[item] = at + before
        cuda.syncwarp()
        if before == 0:
            work.counters[warp, digit] = at + np.uint32(cuda.popc(peers))
        cuda.syncwarp()


@cuda.jit(device=True)
def hold_values(ranks, work, values, first, origin, valid, plan: cuda.constexpr, payload: cuda.constexpr):
    """Put values to their keys' places in the tile, in shared memory. Places that are values are 0 at ``origin``."""
    if payload is not Payload.NONE:
        own = first_in_tile(plan)
        begin = np.uint64(plan.place(first) + own)
        if payload is Payload.INDEX:
            begin -= np.uint64(origin)
            for item in cuda.unroll(range(plan.items)):
                work.values[ranks[item]] = plan.value(begin + item * WARP)
        elif valid == plan.tile:
            for item in cuda.unroll(range(plan.items)):
                work.values[ranks[item]] = values[begin + item * WARP]
        else:
            for item in cuda.unroll(range(plan.items)):
                if own + item * WARP < valid:
                    work.values[ranks[item]] = values[begin + item * WARP]


@cuda.jit(device=True)
def store_item(work, data, place, shift, plan: cuda.constexpr):
    """Store what stands at a place of the tile."""
    key = work.keys[place]
    target = work.shifts[digit_of(key, shift, plan.order, WIDTH)] + place
    if plan.writes_keys:
        data.result[target] = key
    if plan.payload is not Payload.NONE:
        data.moved[target] = work.values[place]


@cuda.jit(device=True)
def store_tile(work, data, valid, shift, plan: cuda.constexpr):
    """Store keys and values, neighbours together, where their digits begin. Ends without a barrier."""
    t = np.uint32(cuda.threadIdx.x)
    if valid == plan.tile:
        for item in cuda.unroll(range(plan.items)):
            store_item(work, data, t + item * plan.threads, shift, plan)
    else:
        for item in range(plan.items):
            place = t + np.uint32(item * plan.threads)
            if place < valid:
                store_item(work, data, place, shift, plan)
