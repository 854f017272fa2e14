"""Radix sort of one sequence, or of many, by blocks of many threads that do not wait for each other.

A block goes through a chunk of neighbours tile by tile. Of one sequence the chunks' digits are counted by a kernel,
and scanned by another, before each pass; where a chunk is a whole row its block makes all passes alone.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.primitives.sorts.ordering import digit_of
from portagpu.primitives.sorts.radix_plan import DIGITS, WARP, WIDTH, Payload
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


@cuda.jit(device=True)
def count_chunk(keys, bins, begin, end, shift, plan: cuda.constexpr):
    """``bins``: shared, how often keys have a digit. Barriers stand before and behind."""
    t = cuda.threadIdx.x
    cuda.syncthreads()
    if t < DIGITS:
        bins[t] = 0
    cuda.syncthreads()
    for i in range(begin + t, end, plan.threads):
        cuda.atomic.add(bins, digit_of(keys[i], shift, plan.order, WIDTH), 1)
    cuda.syncthreads()


@cuda.jit(device=True)
def move_chunk(work, data, at, begin, end, origin, shift, plan: cuda.constexpr, payload: cuda.constexpr):
    """Move keys and values to where digits go on: ``at``, shared, which proceeds. Barriers stand before and behind."""
    own_keys = cuda.local.array(plan.items, plan.order.key)
    digits = cuda.local.array(plan.digit_words, np.uint32)
    ranks = cuda.local.array(plan.items, np.uint32)
    t = cuda.threadIdx.x
    for first in range(begin, end, plan.tile):
        cuda.syncthreads()
        valid = np.uint32(min(end - first, plan.tile))
        load_keys(own_keys, data.keys, first, valid, plan)
        note_digits(digits, own_keys, valid, shift, plan)
        count = count_tile(digits, work, plan)
        start = sum_before(count, work.sums, plan)
        if t < DIGITS:
            work.shifts[t] = plan.place(at[t]) - plan.place(start)
            at[t] += plan.number(count)
        begin_warps(work, start, plan)
        rank_tile(own_keys, digits, ranks, work, plan)
        hold_values(ranks, work, data.values, first, origin, valid, plan, payload)
        cuda.syncthreads()
        store_tile(work, data, valid, shift, plan)
    cuda.syncthreads()


@cuda.jit
def count_digits(keys, counts, size, place, plan: cuda.constexpr):
    """``counts[digit, chunk]``, of chunks of ``size`` keys."""
    bins = cuda.shared.array(DIGITS, np.int32)
    begin = cuda.blockIdx.x * size
    count_chunk(keys, bins, begin, min(begin + size, keys.size), place * WIDTH, plan)
    if cuda.threadIdx.x < DIGITS:
        counts[cuda.threadIdx.x, cuda.blockIdx.x] = bins[cuda.threadIdx.x]


@cuda.jit
def begin_chunks(counts, plan: cuda.constexpr):
    """Counts become where a chunk's keys with a digit begin; one block, each thread with neighbours."""
    sums = cuda.shared.array(plan.threads, counts.dtype)
    t = cuda.threadIdx.x
    share = -(-counts.size // plan.threads)
    begin, end = t * share, min((t + 1) * share, counts.size)
    flat = counts.ravel()
    total = plan.number(0)
    for i in range(begin, end):
        total += flat[i]
    sums[t] = total
    cuda.syncthreads()
    if t == 0:
        before = plan.number(0)
        for k in range(plan.threads):
            own = sums[k]
            sums[k] = before
            before += own
    cuda.syncthreads()
    total = sums[t]
    for i in range(begin, end):
        own = flat[i]
        flat[i] = total
        total += own


@cuda.jit
def move_digits(keys, result, values, moved, begins, size, place, plan: cuda.constexpr):
    """Sort by the digit of one place; ``begins[digit, chunk]``."""
    work = Work(
        cuda.shared.array((plan.threads // WARP, DIGITS), np.uint32),
        cuda.shared.array(DIGITS, plan.place),
        cuda.shared.array(plan.threads // WARP, np.uint32),
        cuda.shared.array(plan.tile, plan.order.key),
        cuda.shared.array(plan.tile_of_values, plan.value),
    )
    at = cuda.shared.array(DIGITS, plan.number)
    t = cuda.threadIdx.x
    if t < DIGITS:
        at[t] = begins[t, cuda.blockIdx.x]
    begin = plan.number(cuda.blockIdx.x) * plan.number(size)
    end = min(begin + plan.number(size), plan.number(keys.size))
    data = Moved(keys, result, values, moved)
    move_chunk(work, data, at, begin, end, plan.number(0), place * WIDTH, plan, plan.payload)


@cuda.jit(device=True)
def sort_chunk(work, data, at, begin, end, place, plan: cuda.constexpr, payload: cuda.constexpr):
    """Sort a chunk by the digit of one place."""
    shift = place * WIDTH
    count_chunk(data.keys, at, begin, end, shift, plan)
    t = cuda.threadIdx.x
    own = at[t] if t < DIGITS else plan.number(0)
    before = sum_before(own, work.sums, plan)
    if t < DIGITS:
        at[t] = begin + plan.number(before)
    move_chunk(work, data, at, begin, end, begin, shift, plan, payload)


@cuda.jit
def sort_rows(source, keys, other_keys, values, moved, other_values, length, plan: cuda.constexpr):
    """Sort rows of ``length`` keys, a block each: the result is in ``keys`` and ``moved``."""
    work = Work(
        cuda.shared.array((plan.threads // WARP, DIGITS), np.uint32),
        cuda.shared.array(DIGITS, plan.place),
        cuda.shared.array(plan.threads // WARP, np.uint32),
        cuda.shared.array(plan.tile, plan.order.key),
        cuda.shared.array(plan.tile_of_values, plan.value),
    )
    at = cuda.shared.array(DIGITS, plan.number)
    passes = plan.passes
    later = Payload.NONE if plan.payload is Payload.NONE else Payload.ARRAY
    there, back = Moved(keys, other_keys, moved, other_values), Moved(other_keys, keys, other_values, moved)
    for row in range(cuda.blockIdx.x, source.size // length, cuda.gridDim.x):
        begin = plan.number(row) * plan.number(length)
        end = begin + plan.number(length)
        if passes % 2 == 1:
            sort_chunk(work, Moved(source, keys, values, moved), at, begin, end, 0, plan, plan.payload)
        else:
            sort_chunk(work, Moved(source, other_keys, values, other_values), at, begin, end, 0, plan, plan.payload)
            sort_chunk(work, back, at, begin, end, 1, plan, later)
        for place in range(2 - passes % 2, passes, 2):
            sort_chunk(work, there, at, begin, end, place, plan, later)
            sort_chunk(work, back, at, begin, end, place + 1, plan, later)
