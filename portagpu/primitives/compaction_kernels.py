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


@cuda.jit(device=True)
def keep_value(values, out, i, place):
    """What is selected are elements."""
    out[place] = values[i]


@cuda.jit(device=True)
def keep_index(values, out, i, place):
    """What is selected are the elements' numbers."""
    out[place] = i


@cuda.jit(device=True)
def leave(values, out, i, place):
    """Elements without a flag go nowhere."""


@cuda.jit(device=True)
def keep_behind(values, out, i, place):
    """Elements without a flag follow those with one."""
    out[place] = values[i]


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
                total += np.int32(flags[i + k * threads])
            i += ITEMS * threads
        while i < last:
            total += np.int32(flags[i])
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
def moving_kernel(threads: int, keep: Any, drop: Any) -> Dispatcher:
    """``keep`` and ``drop`` get each element with a flag, or without, and its place in the order of its kind.

    The places of elements without a flag begin behind all with one.
    """
    if threads == 1:
        return _serial(keep) if drop is leave else _serial_partition(keep, drop)
    warps = threads // _WARP
    rows = ITEMS * warps
    rows_of_lane = (rows + _WARP - 1) // _WARP
    tile = ITEMS * threads

    def move(flags, places, values, out, share):
        counts = cuda.shared.array(rows + 1, np.int32)
        words = cuda.local.array(ITEMS, np.uint32)
        thread = cuda.threadIdx.x
        lane, warp = thread % _WARP, thread // _WARP
        below = (np.uint32(1) << np.uint32(lane)) - np.uint32(1)
        first = cuda.blockIdx.x * share
        last = min(first + share, flags.size)
        start = places[cuda.blockIdx.x]
        behind = places[places.size - 1]
        begin = first
        while begin < last:
            for k in cuda.unroll(range(ITEMS)):
                i = begin + k * threads + thread
                is_set = False
                if i < last:
                    is_set = flags[i] != 0
                words[k] = np.uint32(cuda.ballot_sync(_ALL, is_set))
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
                i = begin + k * threads + thread
                if i < last:
                    before = start + counts[k * warps + warp] + cuda.popc(words[k] & below)
                    if words[k] >> np.uint32(lane) & np.uint32(1):
                        keep(values, out, i, before)
                    else:
                        drop(values, out, i, behind + i - before)
            start += counts[rows]
            begin += tile
            cuda.syncthreads()

    return cuda.jit(move)


def _serial(keep: Any) -> Dispatcher:
    def move_serially(flags, places, values, out, share):
        i = cuda.blockIdx.x * share
        place = places[cuda.blockIdx.x]
        end = places[cuda.blockIdx.x + 1]
        while place < end:  # no branch that a processor must guess: what has no flag is overwritten
            keep(values, out, i, place)
            place += np.int64(flags[i])
            i += 1

    return cuda.jit(move_serially)


def _serial_partition(keep: Any, drop: Any) -> Dispatcher:
    def part_serially(flags, places, values, out, share):
        first = cuda.blockIdx.x * share
        place = places[cuda.blockIdx.x]
        behind = places[places.size - 1]
        for i in range(first, min(first + share, flags.size)):
            if flags[i]:
                keep(values, out, i, place)
                place += 1
            else:
                drop(values, out, i, behind + i - place)

    return cuda.jit(part_serially)
