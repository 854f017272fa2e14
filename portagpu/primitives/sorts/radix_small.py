"""Radix sort of rows that fit into a block's shared memory: all passes by one launch, a block for each row."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.primitives.sorts.ordering import ordered
from portagpu.primitives.sorts.radix_plan import DIGITS, WARP, WIDTH, Payload
from portagpu.primitives.sorts.radix_tiles import (
    Work,
    begin_warps,
    count_tile,
    load_keys,
    note_digits,
    place_in_tile,
    rank_tile,
    sum_before,
)


@cuda.jit
def sort_small_rows(source, result, values, moved, length, plan: cuda.constexpr):
    """Sort rows of ``length`` keys, not more than a tile. ``plan.value``: the type of places in rows."""
    work = Work(
        cuda.shared.array((plan.threads // WARP, DIGITS), np.uint32),
        cuda.shared.array(1, np.uint32),
        cuda.shared.array(plan.threads // WARP, np.uint32),
        cuda.shared.array(plan.tile, plan.order.key),
        cuda.shared.array(plan.tile_of_values, plan.value),
    )
    keys = cuda.local.array(plan.items, plan.order.key)
    places = cuda.local.array(plan.items, plan.value)
    digits = cuda.local.array(plan.digit_words, np.uint32)
    ranks = cuda.local.array(plan.items, np.uint32)
    valid = np.uint32(length)
    for row in range(cuda.blockIdx.x, source.size // length, cuda.gridDim.x):
        begin = plan.number(row) * plan.number(length)
        load_keys(keys, source, begin, valid, plan)
        for item in cuda.unroll(range(plan.items)):
            places[item] = plan.value(place_in_tile(item, plan))
        for place in range(plan.passes):
            note_digits(digits, keys, valid, place * WIDTH, plan)
            begin_warps(work, sum_before(count_tile(digits, work, plan), work.sums, plan), plan)
            rank_tile(keys, digits, ranks, work, plan)
            if plan.payload is not Payload.NONE:
                for item in cuda.unroll(range(plan.items)):
                    work.values[ranks[item]] = places[item]
            cuda.syncthreads()
            for item in cuda.unroll(range(plan.items)):
                keys[item] = work.keys[place_in_tile(item, plan)]
                if plan.payload is not Payload.NONE:
                    places[item] = work.values[place_in_tile(item, plan)]
        for item in cuda.unroll(range(plan.items)):
            at = place_in_tile(item, plan)
            if at < valid:
                if plan.writes_keys:
                    result[begin + at] = keys[item]
                if plan.payload is Payload.INDEX:
                    moved[begin + at] = places[item]
                elif plan.payload is Payload.ARRAY:
                    moved[begin + at] = values[begin + places[item]]
        cuda.syncthreads()


@cuda.jit
def sort_tiny_rows(source, result, values, moved, length, plan: cuda.constexpr):
    """Sort rows of a few keys: a thread for each key counts those that come before it."""
    i = cuda.grid(1)
    if i < source.size:
        begin = i // length * length
        raw = source[i]
        key = ordered(raw, plan.order)
        rank = 0
        for k in range(begin, i):
            rank += 1 if ordered(source[k], plan.order) <= key else 0
        for k in range(i + 1, begin + length):
            rank += 1 if ordered(source[k], plan.order) < key else 0
        if plan.writes_keys:
            result[begin + rank] = raw
        if plan.payload is Payload.INDEX:
            moved[begin + rank] = i - begin
        elif plan.payload is Payload.ARRAY:
            moved[begin + rank] = values[i]
