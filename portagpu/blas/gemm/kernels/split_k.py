"""Split-k in one launch: the last block to arrive adds the parts that all of them left; in the dialect.

Each block writes its sums to a place of its own, makes them visible to the device, and counts itself; the one that
finds all others counted adds the parts, always in the order of their numbers, whoever is last. Counters are zero
before a launch, and the last block leaves them so. Of many parts, groups of ``fan`` are added first, each by the last
of its group, so that no block reads more than a few.

A part lies as its block's threads hold it: vector i of all threads, then vector i + 1, so that neighbouring threads
write neighbouring vectors, and a thread reads only what the same thread of other blocks wrote.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda

LATEST_BYTES = 128
"""Of shared memory, for the one number that blocks of a split sum have: arrays begin at multiples of 128."""
_FAN = 8  # parts that one block adds at the most, if the groups of so many are no more than these

_AHEAD = 64  # sums of parts that a thread loads at once, so that it waits less often


def fan_of(parts: int) -> int:
    """How many parts a block adds at once: all of a few, else about as many as there are groups of them."""
    return parts if parts <= _FAN else math.ceil(math.sqrt(parts))


def levels_of(parts: int) -> int:
    """How often parts are added on the way to their sum: 0 for one part, else 1, or 2 if they are many."""
    return 0 if parts == 1 else 1 if fan_of(parts) == parts else 2


def counters_of(parts: int) -> int:
    """Counters that the parts of one sum need: one for each group, and one for the groups."""
    return -(-parts // fan_of(parts)) + 1


@cuda.jit(device=True)
def _meet(barrier: cuda.constexpr, threads: cuda.constexpr):
    """Wait for the block's threads; with ``barrier``, for ``threads`` of them at the named barrier of this number."""
    if barrier:
        cuda.barrier_sync(barrier, threads)
    else:
        cuda.syncthreads()


@cuda.jit(device=True)
def arrive(arrived, place, count, latest, thread, barrier: cuda.constexpr, threads: cuda.constexpr):
    """Count this block at ``arrived[place]``: True in the last one of ``count``, which then sees what the others wrote.

    All of the ``threads`` numbered ``thread`` call it (see `_meet`). latest: an element of shared memory. The last
    block leaves the counter at zero.
    """
    cuda.threadfence()
    _meet(barrier, threads)
    if thread == 0:
        latest[0] = cuda.atomic.add(arrived, place, 1)
    _meet(barrier, threads)
    last = latest[0] == count - 1
    if last:
        cuda.threadfence()
        if thread == 0:
            arrived[place] = 0
    return last


@cuda.jit(device=True)
def _leave(sums, parts, base, held: cuda.constexpr, vector: cuda.constexpr, threads: cuda.constexpr):
    """Write a thread's sums, from its first element of a part on."""
    lanes = vector.lanes
    for i in cuda.unroll(range(held // lanes)):
        if lanes == 4:
            line = vector(sums[i * 4], sums[i * 4 + 1], sums[i * 4 + 2], sums[i * 4 + 3])
        else:
            line = vector(sums[i * 2], sums[i * 2 + 1])
        cuda.vstore(line, parts, base + np.uint32(i * lanes * threads), aligned=True)


@cuda.jit(device=True)
def _add(
    sums,
    parts,
    base,
    step,
    count,
    own,
    held: cuda.constexpr,
    vector: cuda.constexpr,
    threads: cuda.constexpr,
):
    """Make a thread's sums, those of part ``own``, the sums of ``count`` parts, which lie ``step`` elements apart."""
    lanes = vector.lanes
    vectors = held // lanes
    ahead = max(1, _AHEAD // held)
    lines = cuda.local.array((ahead, vectors), vector)
    if count == 2:  # either order gives the same sum: the own part need not be read
        for i in cuda.unroll(range(vectors)):
            at = base + np.uint32(1 - own) * step + np.uint32(i * lanes * threads)
            lines[0, i] = cuda.vload(parts, at, lanes, aligned=True)
        for i in cuda.unroll(range(held)):
            sums[i] += lines[0, i // lanes][i % lanes]
    else:
        for i in cuda.unroll(range(held)):
            sums[i] = 0
        for part in range(np.int32(0), count, np.int32(ahead)):
            # past the end, the last part is read once more: no branches between the loads
            for turn in cuda.unroll(range(ahead)):
                start = base + np.uint32(min(part + turn, count - 1)) * step
                for i in cuda.unroll(range(vectors)):
                    lines[turn, i] = cuda.vload(parts, start + np.uint32(i * lanes * threads), lanes, aligned=True)
            for turn in cuda.unroll(range(ahead)):
                if part + turn < count:
                    for i in cuda.unroll(range(held)):
                        sums[i] += lines[turn, i // lanes][i % lanes]


class Share(NamedTuple):
    """A block's part of sums: the number ``part`` of ``count`` parts of sum ``number``.

    memory: ``places`` times the block's sums, for each ``number``, 16-byte aligned; arrived: `counters_of` int32 for
    each ``number``, zero before and after. fan: `fan_of` ``count``, which is ``places`` where there are two levels.
    """

    memory: Any
    arrived: Any
    number: Any
    part: Any
    count: Any
    places: Any
    fan: Any


class Team(NamedTuple):
    """The threads that add, ``threads`` of them: each holds ``held`` sums, a multiple of ``vector.lanes`` (4 or 2).

    ``levels``: see `levels_of`. ``barrier``: a named barrier for those threads alone, see `_meet`; 0 for all.
    """

    held: int
    vector: Any
    levels: int
    barrier: int
    threads: int


@cuda.jit(device=True)
def add_parts(sums, share, thread, team):
    """Add a block's part of the sums to the others': True in the block that then holds the whole sums, the last one.

    sums: those that a thread holds, on one axis; share: a `Share`; team: a `Team`, whose threads, numbered ``thread``,
    all call it.
    """
    held, vector, levels, barrier, threads = team
    latest = cuda.shared.array(1, np.int32)
    size = np.uint32(held * threads)
    mine = np.uint32(thread) * np.uint32(vector.lanes)
    base = np.uint32(share.number) * np.uint32(share.places) * size + mine
    groups = (share.count + (share.fan - 1)) // share.fan if levels > 1 else np.int32(1)
    group = share.part // share.fan if levels > 1 else np.int32(0)
    first = group * share.fan
    counter = share.number * (groups + 1)
    members = min(share.fan, share.count - first) if levels > 1 else share.count
    _leave(sums, share.memory, base + np.uint32(share.part) * size, held, vector, threads)
    last = arrive(share.arrived, counter + group, members, latest, thread, barrier, threads)
    if last:
        _add(
            sums, share.memory, base + np.uint32(first) * size, size, members, share.part - first, held, vector, threads
        )
    if levels > 1 and last:
        # the group's sum takes the place of its first part, which no other block reads any more
        _leave(sums, share.memory, base + np.uint32(first) * size, held, vector, threads)
        last = arrive(share.arrived, counter + groups, groups, latest, thread, barrier, threads)
        if last:
            _add(sums, share.memory, base, np.uint32(share.fan) * size, groups, group, held, vector, threads)
    return last
