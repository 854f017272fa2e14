"""Kernels of stream compaction: flags are counted by blocks, the counts become places, elements go there in order.

Three launches whose blocks do not wait for each other, and that know the size of the result before memory is made for
it. On GPUs a warp's places come from one ballot (M. Harris, M. Garland, "Optimizing Parallel Prefix Operations for the
Fermi Architecture", GPU Computing Gems, 2011); on CPUs a thread goes through its elements.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher

ITEMS = 16
"""Elements of a thread of a GPU in a round."""
_ALL = 0xFFFFFFFF
_WARP = 32
_LANES = 16  # counts that a CPU's thread keeps, for vectors of that many lanes
WORD = 8
"""Flags of a word, of which a CPU has an instruction that counts."""
_SUMS = 4
_ONES = 0x0101010101010101
_BITS = 8  # of a flag


@cuda.jit(device=True)
def value_of(values, i):
    """What is selected are elements."""
    return values[i]


@cuda.jit(device=True)
def number_of(values, i):
    """What is selected are the elements' numbers."""
    return np.int64(i)


@cuda.jit(device=True)
def drop(out, place, value):
    """Elements without a flag go nowhere."""


@cuda.jit(device=True)
def keep(out, place, value):
    """Elements without a flag follow those with one."""
    out[place] = value


@cache
def counting_kernel(threads: int) -> Dispatcher:
    """``counts[block]`` = flags that are set among the block's ``share``."""
    if threads == 1:

        def count_serially(flags, counts, share):
            first = cuda.blockIdx.x * share
            last = min(first + share, flags.size)
            sums = cuda.local.array(_LANES, np.int32)
            for k in cuda.unroll(range(_LANES)):
                sums[k] = 0
            i = first
            while i + _LANES <= last:
                for k in cuda.unroll(range(_LANES)):
                    sums[k] += np.int32(flags[i + k])
                i += _LANES
            total = np.int64(0)
            for k in cuda.unroll(range(_LANES)):
                total += sums[k]
            while i < last:
                total += np.int64(flags[i])
                i += 1
            counts[cuda.blockIdx.x] = total

        return cuda.jit(count_serially)

    def count(flags, counts, share):
        sums = cuda.shared.array(threads, np.int32)
        thread = cuda.threadIdx.x
        first = cuda.blockIdx.x * share
        last = min(first + share, flags.size)
        total = np.int32(0)
        i = first + thread
        while i + (ITEMS - 1) * threads < last:
            for k in cuda.unroll(range(ITEMS)):
                total += cuda.popc(np.uint32(flags[i + k * threads]))
            i += ITEMS * threads
        while i < last:
            total += cuda.popc(np.uint32(flags[i]))
            i += threads
        sums[thread] = total
        cuda.syncthreads()
        step = threads // 2
        while step > 0:
            if thread < step:
                sums[thread] += sums[thread + step]
            cuda.syncthreads()
            step //= 2
        if thread == 0:
            counts[cuda.blockIdx.x] = np.int64(sums[0])

    return cuda.jit(count)


@cuda.jit
def count_words(words, flags, counts, share):
    """The same for CPUs: ``words`` are the flags, `WORD` in each, but for the last few; so is a share a multiple."""
    first = cuda.blockIdx.x * share
    last = min(first + share, flags.size)
    sums = cuda.local.array(_SUMS, np.int64)
    for k in cuda.unroll(range(_SUMS)):
        sums[k] = 0
    i, end = first // WORD, last // WORD
    while i + _SUMS <= end:
        for k in cuda.unroll(range(_SUMS)):
            sums[k] += np.int64(cuda.popc(words[i + k]))
        i += _SUMS
    while i < end:
        sums[0] += np.int64(cuda.popc(words[i]))
        i += 1
    total = np.int64(0)
    for k in cuda.unroll(range(_SUMS)):
        total += sums[k]
    for k in range(end * WORD, last):
        total += np.int64(flags[k])
    counts[cuda.blockIdx.x] = total


@cache
def places_kernel(threads: int) -> Dispatcher:
    """``places[b]`` = sum of the counts before b, and behind the last the sum of all; for one block."""

    def places_of(counts, places):
        sums = cuda.shared.array(threads, np.int64)
        thread = cuda.threadIdx.x
        share = (counts.size + threads - 1) // threads
        first = thread * share
        last = min(first + share, counts.size)
        own = np.int64(0)
        for i in range(first, last):
            own += counts[i]
        sums[thread] = own
        cuda.syncthreads()
        step = 1
        while step < threads:
            before = np.int64(0)
            if thread >= step:
                before = sums[thread - step]
            cuda.syncthreads()
            sums[thread] += before
            cuda.syncthreads()
            step *= 2
        running = sums[thread] - own
        for i in range(first, last):
            places[i] = running
            running += counts[i]
        if thread == threads - 1:
            places[counts.size] = sums[thread]

    return cuda.jit(places_of)


@cache
def moving_kernel(threads: int, fetch: Dispatcher, rest: Dispatcher, dtype: np.dtype[Any]) -> Dispatcher:
    """What ``fetch`` gets of each element, of ``dtype``, goes to its place: behind all of its kind before it.

    ``rest`` gets those without a flag, whose places begin behind all with one. The end of ``places`` becomes the number
    of flags that are set: where there is one block, nobody needs to know it before.
    """
    if threads == 1:
        return _serial(fetch, rest)
    warps = threads // _WARP
    rows = ITEMS * warps
    rows_of_lane = (rows + _WARP - 1) // _WARP
    tile = ITEMS * threads

    def move(flags, places, values, out, share):
        counts = cuda.shared.array(rows + 1, np.int32)
        held = cuda.local.array(ITEMS, dtype)
        words = cuda.local.array(ITEMS, np.uint32)
        thread = cuda.threadIdx.x
        lane, warp = thread % _WARP, thread // _WARP
        below = (np.uint32(1) << np.uint32(lane)) - np.uint32(1)
        first = cuda.blockIdx.x * share
        last = min(first + share, flags.size)
        start = np.int64(0)
        behind = places[places.size - 1]
        if cuda.gridDim.x > 1:
            start = places[cuda.blockIdx.x]
        begin = first
        while begin < last:
            if begin + tile <= last:  # all loads before all that waits for them
                for k in cuda.unroll(range(ITEMS)):
                    words[k] = np.uint32(flags[begin + k * threads + thread])
                for k in cuda.unroll(range(ITEMS)):
                    held[k] = fetch(values, begin + k * threads + thread)
            else:
                for k in cuda.unroll(range(ITEMS)):
                    i = begin + k * threads + thread
                    words[k] = 0
                    if i < last:
                        words[k] = np.uint32(flags[i])
                        held[k] = fetch(values, i)
            for k in cuda.unroll(range(ITEMS)):
                words[k] = np.uint32(cuda.ballot_sync(_ALL, words[k] != 0))
                if lane == 0:
                    counts[k * warps + warp] = cuda.popc(words[k])
            cuda.syncthreads()
            if warp == 0:  # counts become the sums before them
                own = np.int32(0)
                for k in cuda.unroll(range(rows_of_lane)):
                    row = lane * rows_of_lane + k
                    if row < rows:
                        own += counts[row]
                total = own
                for k in cuda.unroll(range(5)):
                    other = cuda.shfl_up_sync(_ALL, total, 1 << k)
                    if lane >= 1 << k:
                        total += other
                running = total - own
                for k in cuda.unroll(range(rows_of_lane)):
                    row = lane * rows_of_lane + k
                    if row < rows:
                        found = counts[row]
                        counts[row] = running
                        running += found
                if lane == _WARP - 1:
                    counts[rows] = running
            cuda.syncthreads()
            for k in cuda.unroll(range(ITEMS)):
                before = start + counts[k * warps + warp] + cuda.popc(words[k] & below)
                if words[k] >> np.uint32(lane) & np.uint32(1):
                    out[before] = held[k]
                else:
                    i = begin + k * threads + thread
                    if i < last:
                        rest(out, behind + i - before, held[k])
            start += counts[rows]
            begin += tile
            cuda.syncthreads()
        if thread == 0 and last == flags.size:
            places[places.size - 1] = start

    return cuda.jit(move)


@cache
def moving_words(fetch: Dispatcher) -> Dispatcher:
    """The same for CPUs without those that have no flag: ``words`` are the flags as for `count_words`.

    A product tells how many flags are set up to each one of a word, so that no store waits for the one before it.
    """

    def move_words(words, flags, places, values, out, share):
        i = cuda.blockIdx.x * share
        last = min(i + share, flags.size)
        place = places[cuda.blockIdx.x]
        end = places[cuda.blockIdx.x + 1]
        while place + WORD <= end and i + WORD <= last:
            sums = words[i // WORD] * np.uint64(_ONES)
            out[place] = fetch(values, i)
            for k in cuda.unroll(range(1, WORD)):
                before = (sums >> np.uint64(_BITS * (k - 1))) & np.uint64(WORD + WORD - 1)
                out[place + np.int64(before)] = fetch(values, i + k)
            place += np.int64(sums >> np.uint64(_BITS * (WORD - 1)))
            i += WORD
        while place < end:
            out[place] = fetch(values, i)
            place += np.int64(flags[i])
            i += 1

    return cuda.jit(move_words)


def _serial(fetch: Dispatcher, rest: Dispatcher) -> Dispatcher:
    if rest is keep:

        def part_serially(flags, places, values, out, share):
            first = cuda.blockIdx.x * share
            place = places[cuda.blockIdx.x]
            behind = places[places.size - 1]
            for i in range(first, min(first + share, flags.size)):
                if flags[i]:
                    out[place] = fetch(values, i)
                    place += 1
                else:
                    rest(out, behind + i - place, fetch(values, i))

        return cuda.jit(part_serially)

    def move_serially(flags, places, values, out, share):
        i = cuda.blockIdx.x * share
        if cuda.gridDim.x == 1:
            place = np.int64(0)
            while i < flags.size:
                out[place] = fetch(values, i)
                place += np.int64(flags[i])
                i += 1
            places[places.size - 1] = place
        else:
            place = places[cuda.blockIdx.x]
            end = places[cuda.blockIdx.x + 1]
            while place < end:  # no branch that a processor must guess: what has no flag is overwritten
                out[place] = fetch(values, i)
                place += np.int64(flags[i])
                i += 1

    return cuda.jit(move_serially)
