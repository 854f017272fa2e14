"""Radix sort of one long sequence by blocks that wait for each other: each pass reads and writes the keys once.

Digits of all passes are counted at first. In a pass a block learns from the blocks before it how many keys with each
digit they have: A. Adinets, D. Merrill, "Onesweep", arXiv:2206.01784; look-back: D. Merrill, M. Garland, "Single-pass
Parallel Prefix Scan with Decoupled Look-back", 2016. Blocks take tiles in the order in which they begin to run, so that
they wait only for blocks that run.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.primitives.sorts.ordering import digit_of
from portagpu.primitives.sorts.radix_plan import DIGITS, WARP, WIDTH
from portagpu.primitives.sorts.radix_tiles import (
    Moved,
    Work,
    begin_warps,
    count_tile,
    hold_values,
    load_keys,
    note_digits,
    rank_tile,
    store_tile,
    sum_before,
)

KEYS_AT_ONCE = 4  # of a thread that counts
WINDOW = 4  # tiles that are looked at together


@cuda.jit
def clear(counts, tickets, told):
    """Before a sort: nothing is counted, and no block has told anything."""
    i, step = cuda.grid(1), cuda.gridsize(1)
    for k in range(i, counts.size, step):
        counts.ravel()[k] = 0
    for k in range(i, tickets.size, step):
        tickets[k] = 0
    for k in range(i, told.size, step):
        told.ravel()[k] = 0


@cuda.jit
def count_all_digits(keys, counts, plan: cuda.constexpr):
    """``counts[place, digit]``, which are cleared: how often each place of the keys has each digit."""
    passes = plan.passes
    bins = cuda.shared.array((passes, DIGITS), np.uint32)
    t = cuda.threadIdx.x
    for k in range(t, passes * DIGITS, plan.threads):
        bins[k // DIGITS, k % DIGITS] = 0
    cuda.syncthreads()
    step = cuda.gridsize(1)
    held = cuda.local.array(KEYS_AT_ONCE, plan.order.key)
    first = cuda.grid(1)
    while first + (KEYS_AT_ONCE - 1) * step < keys.size:
        for k in cuda.unroll(range(KEYS_AT_ONCE)):
            held[k] = keys[first + k * step]
        for k in cuda.unroll(range(KEYS_AT_ONCE)):
            for place in cuda.unroll(range(passes)):
                cuda.atomic.add(bins, (place, digit_of(held[k], place * WIDTH, plan.order, WIDTH)), 1)
        first += KEYS_AT_ONCE * step
    for i in range(first, keys.size, step):
        key = keys[i]
        for place in cuda.unroll(range(passes)):
            cuda.atomic.add(bins, (place, digit_of(key, place * WIDTH, plan.order, WIDTH)), 1)
    cuda.syncthreads()
    for k in range(t, passes * DIGITS, plan.threads):
        if bins[k // DIGITS, k % DIGITS] != 0:
            cuda.atomic.add(counts, (k // DIGITS, k % DIGITS), plan.word(bins[k // DIGITS, k % DIGITS]))


@cuda.jit
def begin_digits(counts):
    """A block for each place: counts become where the keys with each digit begin."""
    sums = cuda.shared.array(DIGITS, counts.dtype)
    t = cuda.threadIdx.x
    own = counts[cuda.blockIdx.x, t]
    sums[t] = own
    cuda.syncthreads()
    step = 1
    while step < DIGITS:
        before = sums[t - step] if t >= step else counts.dtype.type(0)
        cuda.syncthreads()
        sums[t] += before
        cuda.syncthreads()
        step *= 2
    counts[cuda.blockIdx.x, t] = sums[t] - own


@cuda.jit
def sweep(keys, result, values, moved, begins, tickets, told, place, plan: cuda.constexpr):
    """Sort by the digit of one place: a block moves a tile.

    ``begins[place, digit]``: where digits begin; ``told[place, tile, digit]``: 0, or how many keys of a tile, or of all
    tiles up to it, have the digit, with bits on top that say which.
    """
    word, bits = plan.word, 8 * np.dtype(plan.word).itemsize - 2
    of_tile, of_all, mask = 1 << bits, 2 << bits, (1 << bits) - 1
    work = Work(
        cuda.shared.array((plan.threads // WARP, DIGITS), np.uint32),
        cuda.shared.array(DIGITS, plan.place),
        cuda.shared.array(plan.threads // WARP, np.uint32),
        cuda.shared.array(plan.tile, plan.order.key),
        cuda.shared.array(plan.tile_of_values, plan.value),
    )
    ticket = cuda.shared.array(1, np.int32)
    own_keys = cuda.local.array(plan.items, plan.order.key)
    digits = cuda.local.array(plan.digit_words, np.uint32)
    ranks = cuda.local.array(plan.items, np.uint32)
    t = cuda.threadIdx.x
    if t == 0:
        ticket[0] = cuda.atomic.add(tickets, place, 1)
    cuda.syncthreads()
    tile = ticket[0]
    first = plan.place(tile) * plan.tile
    valid = np.uint32(min(plan.place(keys.size) - first, plan.place(plan.tile)))
    shift = place * WIDTH
    load_keys(own_keys, keys, first, valid, plan)
    note_digits(digits, own_keys, valid, shift, plan)
    count = count_tile(digits, work, plan)
    if t < DIGITS:  # early, so that others need not wait
        cuda.stwt(told, (place, tile, t), word(of_all if tile == 0 else of_tile) | word(count))
    begin = sum_before(count, work.sums, plan)
    begin_warps(work, begin, plan)
    rank_tile(own_keys, digits, ranks, work, plan)
    hold_values(ranks, work, values, first, plan.place(0), valid, plan, plan.payload)
    if t < DIGITS:
        window = cuda.local.array(WINDOW, word)
        before = word(0)
        look = tile - 1
        while look >= 0:
            for k in cuda.unroll(range(WINDOW)):
                window[k] = cuda.ldcv(told, (place, max(look - k, np.int32(0)), t))
            goes_on = True
            for k in cuda.unroll(range(WINDOW)):
                if window[k] == 0:
                    goes_on = False
                if goes_on and look >= 0:
                    before += window[k] & word(mask)
                    look = look - 1 if window[k] < word(of_all) else np.int32(-1)
        if tile > 0:
            cuda.stwt(told, (place, tile, t), word(of_all) | (before + word(count)))
        work.shifts[t] = plan.place(begins[place, t] + before) - plan.place(begin)
    cuda.syncthreads()
    store_tile(work, Moved(keys, result, values, moved), valid, shift, plan)
