"""Radix sort by threads that go through their keys alone: for devices with few threads, each with a cache of its own.

Of one sequence each thread has a chunk of neighbours: it counts digits, and moves its keys to where the digits' keys of
its chunk begin. Where there are many rows, each thread makes all passes of one.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.primitives.sorts.ordering import digit_of, ordered
from portagpu.primitives.sorts.radix_plan import Payload
from portagpu.primitives.sorts.radix_tiles import Moved


@cuda.jit
def count_digits(keys, counts, size, place, plan: cuda.constexpr):
    """``counts[digit, chunk]``, of chunks of ``size`` keys."""
    chunk = cuda.grid(1)
    if chunk < counts.shape[1]:
        bins = cuda.local.array(plan.digits, plan.number)
        for d in range(plan.digits):
            bins[d] = 0
        begin = chunk * size
        for i in range(begin, min(begin + size, keys.size)):
            bins[digit_of(keys[i], place * plan.width, plan.order, plan.width)] += 1
        for d in range(plan.digits):
            counts[d, chunk] = bins[d]


@cuda.jit
def begin_chunks(counts, plan: cuda.constexpr):
    """Counts become where a chunk's keys with a digit begin; by one thread."""
    flat = counts.ravel()
    total = plan.number(0)
    for i in range(flat.size):
        own = flat[i]
        flat[i] = total
        total += own


@cuda.jit(device=True)
def move_chunk(data, at, begin, end, origin, shift, plan: cuda.constexpr, moves: cuda.constexpr):
    """Move keys and values to where digits go on: ``at``, which proceeds.

    ``moves``: the payload, and whether keys are kept. Places that are values are 0 at ``origin``.
    """
    for i in range(begin, end):
        key = data.keys[i]
        d = digit_of(key, shift, plan.order, plan.width)
        target = at[d]
        at[d] = target + 1
        if moves[1]:
            data.result[target] = key
        if moves[0] is Payload.INDEX:
            data.moved[target] = i - origin
        elif moves[0] is Payload.ARRAY:
            data.moved[target] = data.values[i]


@cuda.jit
def move_digits(keys, result, values, moved, begins, size, place, plan: cuda.constexpr):
    """Sort by the digit of one place; ``begins[digit, chunk]``."""
    chunk = cuda.grid(1)
    if chunk < begins.shape[1]:
        at = cuda.local.array(plan.digits, plan.number)
        for d in range(plan.digits):
            at[d] = begins[d, chunk]
        begin = chunk * size
        end = min(begin + size, keys.size)
        data = Moved(keys, result, values, moved)
        move_chunk(data, at, begin, end, 0, place * plan.width, plan, (plan.payload, plan.writes_keys))


@cuda.jit(device=True)
def sort_chunk(data, bins, begin, end, place, plan: cuda.constexpr, payload: cuda.constexpr):
    """Sort a chunk by the digit of one place, of which ``bins[place]`` is how often there is each."""
    at = bins[place]
    total = plan.number(begin)
    for d in range(plan.digits):
        own = at[d]
        at[d] = total
        total += own
    move_chunk(data, at, begin, end, begin, place * plan.width, plan, (payload, True))


@cuda.jit
def sort_rows(source, keys, other_keys, values, moved, other_values, length, plan: cuda.constexpr):
    """Sort rows of ``length`` keys, a thread each: the result is in ``keys`` and ``moved``."""
    passes = plan.passes
    bins = cuda.local.array((passes, plan.digits), plan.number)
    later = Payload.NONE if plan.payload is Payload.NONE else Payload.ARRAY
    there, back = Moved(keys, other_keys, moved, other_values), Moved(other_keys, keys, other_values, moved)
    row = cuda.grid(1)
    if row < source.size // length:
        begin = row * length
        end = begin + length
        for place in range(passes):
            for d in range(plan.digits):
                bins[place, d] = 0
        for i in range(begin, end):
            key = ordered(source[i], plan.order)
            for place in cuda.unroll(range(passes)):
                bins[place, np.int32((key >> plan.order.key(place * plan.width)) & (plan.digits - 1))] += 1
        if passes % 2 == 1:
            sort_chunk(Moved(source, keys, values, moved), bins, begin, end, 0, plan, plan.payload)
        else:
            sort_chunk(Moved(source, other_keys, values, other_values), bins, begin, end, 0, plan, plan.payload)
            sort_chunk(back, bins, begin, end, 1, plan, later)
        for place in range(2 - passes % 2, passes, 2):
            sort_chunk(there, bins, begin, end, place, plan, later)
            sort_chunk(back, bins, begin, end, place + 1, plan, later)


@cuda.jit
def sort_tiny_rows(source, result, values, moved, length, share, plan: cuda.constexpr):
    """Sort rows of at most ``plan.items`` keys by insertion; ``share``: rows of a thread."""
    keys = cuda.local.array(plan.items, plan.order.key)
    places = cuda.local.array(plan.items, np.int32)
    first = cuda.grid(1) * share
    for row in range(first, min(first + share, source.size // length)):
        begin = row * length
        for i in range(length):
            key = ordered(source[begin + i], plan.order)
            at = i
            while at > 0 and keys[at - 1] > key:
                keys[at] = keys[at - 1]
                places[at] = places[at - 1]
                at -= 1
            keys[at] = key
            places[at] = i
        for i in range(length):
            if plan.writes_keys:
                result[begin + i] = source[begin + places[i]]
            if plan.payload is Payload.INDEX:
                moved[begin + i] = places[i]
            elif plan.payload is Payload.ARRAY:
                moved[begin + i] = values[begin + places[i]]
