"""Elements of a sequence that are selected, one behind the other, in their order.

Each warp, or thread of devices with few, has a chunk of neighbours: what is selected of it is counted, the counts are
scanned, and then each knows where its elements go.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.primitives.sorts import radix_chunks, radix_serial
from portagpu.primitives.sorts.radix_plan import WARP
from portagpu.primitives.sorts.radix_request import has_tiles
from portagpu.primitives.sorts.radix_tiles import ALL
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context

_THREADS = 256
_ROUNDS = 8  # blocks for each compute unit
_CHUNK = 1024  # elements of a thread or a warp at least


class Selection(NamedTuple):
    """``is_taken(data, i, facts)``: whether element ``i`` is selected; ``take(data, i, place, is_taken, facts)`` stores
    it, where ``place`` elements before it are. Both are device functions; ``lanes``: threads of a chunk.
    """

    is_taken: Any
    take: Any
    facts: Any
    lanes: int = 1
    threads: int = 1
    number: Any = np.int64


@cuda.jit
def count_taken(data, counts, size, count, plan: cuda.constexpr):
    """``counts[chunk]``: how many elements of a chunk of ``size`` are taken; a zero behind."""
    chunk = cuda.grid(1) // plan.lanes
    lane = cuda.threadIdx.x % plan.lanes
    begin = chunk * size
    end = min(begin + size, count)
    total = 0
    for first in range(begin, end, plan.lanes):
        i = first + lane
        found = i < end and plan.is_taken(data, i, plan.facts)
        if plan.lanes == 1:
            total += 1 if found else 0
        else:
            total += cuda.popc(np.uint32(cuda.ballot_sync(ALL, found)))
    if lane == 0:
        counts[chunk] = total
        if chunk == 0:
            counts[counts.size - 1] = 0


@cuda.jit
def store_taken(data, begins, size, count, plan: cuda.constexpr):
    """Take elements, of which those of a chunk begin at ``begins[chunk]``."""
    chunk = cuda.grid(1) // plan.lanes
    lane = cuda.threadIdx.x % plan.lanes
    begin = chunk * size
    end = min(begin + size, count)
    place = begins[chunk]
    for first in range(begin, end, plan.lanes):
        i = first + lane
        found = i < end and plan.is_taken(data, i, plan.facts)
        if plan.lanes == 1:
            plan.take(data, i, place, found, plan.facts)
            place += 1 if found else 0
        else:
            votes = np.uint32(cuda.ballot_sync(ALL, found))
            if i < end:
                plan.take(data, i, place + cuda.popc(votes & cuda.lanemask_lt()), found, plan.facts)
            place += cuda.popc(votes)


class Counted:
    """A selection among ``count`` elements whose size is known: ``total``, for which the host waits."""

    def __init__(self, context: Context, data: tuple[Any, ...], count: int, plan: Selection, stream: Any) -> None:
        caps = context.capabilities
        blocks = has_tiles(caps)
        lanes, threads = (WARP, _THREADS) if blocks else (1, 1)
        most = caps.compute_units * (_ROUNDS * _THREADS // WARP if blocks else 2)
        chunks = max(1, min(most, -(-count // _CHUNK)))
        warps = threads // lanes
        self._grid = -(-chunks // warps)
        size = -(-count // (self._grid * warps))
        self._size = -(-size // lanes) * lanes
        self._plan = plan._replace(lanes=lanes, threads=threads)
        self._count, self._stream, self._threads = count, stream, threads
        self._begins: DeviceNDArray = device_array(self._grid * warps + 1, np.int64, context=context)
        ready.launch(count_taken, self._grid, threads, (data, self._begins, self._size, count, self._plan), stream)
        scan: Any = radix_chunks.begin_chunks if blocks else radix_serial.begin_chunks
        ready.launch(scan, 1, threads, (self._begins, _Scan(threads)), stream)
        last = self._begins[-1:].copy_to_host(stream=stream)
        if stream:
            stream.synchronize()
        self.total = int(last[0])

    def store(self, data: tuple[Any, ...]) -> None:
        """Take the elements."""
        ready.launch(
            store_taken,
            self._grid,
            self._threads,
            (data, self._begins, self._size, self._count, self._plan),
            self._stream,
        )


class _Scan(NamedTuple):
    threads: int
    number: Any = np.int64
