"""Stream compaction of one sequence: its flags are counted once, then any arrays beside it are compacted alike."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch import ready
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.primitives.flat import new
from portagpu.primitives.selections.compaction_kernels import (
    ITEMS,
    WORD,
    count_words,
    counting_kernel,
    drop,
    keep,
    moving_kernel,
    moving_words,
    number_of,
    places_kernel,
    value_of,
)
from portagpu.primitives.shares import shares_of, threads_of
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream, as_stream

_INDEX = np.dtype(np.int64)
MOST_AT_ONCE = 4096
"""Elements that one block selects from, to memory for all of them: one launch instead of three."""


class Compaction:
    """What 1-D ``flags`` select of arrays of one axis and as many elements.

    The host waits once until it is known how many are set: when flags are many at once, else with the first result.
    Results are new and written in ``stream``; whoever calls stands within ``context.unsettled``.
    """

    __slots__ = ("_count", "_flags", "_places", "_shares", "_stream", "_words")

    def __init__(self, flags: DeviceNDArray, stream: Stream | int = 0) -> None:
        self._flags = flags
        context = flags.context
        self._stream = as_stream(stream, context)
        self._count = None if flags.size else 0
        self._words: DeviceNDArray | None = None  # the flags, where they were counted so
        caps = context.capabilities
        threads = threads_of(caps)
        self._shares = shares_of(flags.size, caps, ITEMS * threads)
        if flags.size <= MOST_AT_ONCE:
            self._shares = self._shares._replace(blocks=1, share=flags.size)
        self._places = new((self._shares.blocks + 1,), _INDEX, context)
        if flags.size > MOST_AT_ONCE:
            self._place()

    def _place(self) -> None:
        """Count each share's flags, and find where what they select begins."""
        flags, shares, places, stream = self._flags, self._shares, self._places, self._stream
        counts = new((shares.blocks,), _INDEX, flags.context)
        counted, share = flags, shares.share
        if shares.threads == 1 and not share % WORD and not flags.offset % WORD:
            self._words = flags._view(slice(0, flags.size // WORD * WORD)).view(np.uint64)
            ready.launch(count_words, shares.blocks, 1, (self._words, flags, counts, share), stream)
        else:
            if shares.threads > 1 and not flags.size % 4 and not flags.offset % 4:  # four flags at once
                counted, share = flags.view(np.uint32), share // 4
            kernel = counting_kernel(shares.threads)
            ready.launch(kernel, shares.blocks, shares.threads, (counted, counts, share), stream)
        ready.launch(places_kernel(shares.threads), 1, shares.threads, (counts, places), stream)
        self._count = self._last_place()

    def _last_place(self) -> int:
        last = self._places[self._places.size - 1 :]
        if self._stream is current_stream(last.context):  # whose copies wait
            return int(last.copy_to_host()[0])
        found = last.copy_to_host(stream=self._stream)
        self._stream.synchronize()
        return int(found[0])

    def values(self, values: DeviceNDArray) -> DeviceNDArray:
        """The elements with a flag, in their order."""
        return self._compacted(values, values.dtype, value_of)

    def numbers(self) -> DeviceNDArray:
        """The numbers of the elements with a flag, ascending: int64."""
        return self._compacted(self._flags, _INDEX, number_of)

    def at_once(self, values: DeviceNDArray | None = None) -> tuple[DeviceNDArray, DeviceNDArray]:
        """Memory for all elements, which begins with those with a flag, or their numbers where there are no values;
        and an array that ends with how many these are. Of 1 to `MOST_AT_ONCE` flags; the host does not wait."""
        flags = self._flags
        out = new((flags.size,), _INDEX if values is None else values.dtype, flags.context)
        self._move(flags if values is None else values, out, number_of if values is None else value_of, drop)
        return out, self._places

    def parted(self, values: DeviceNDArray) -> tuple[DeviceNDArray, int]:
        """The elements with a flag, then those without, each in their order, and how many have one."""
        out = new((values.size,), values.dtype, values.context)
        if self._count is None:  # those without begin behind a number that only a count tells
            self._place()
        if values.size:
            self._move(values, out, value_of, keep)
        assert self._count is not None
        return out, self._count

    def _compacted(self, values: DeviceNDArray, dtype: np.dtype[Any], fetch: Dispatcher) -> DeviceNDArray:
        context = self._flags.context
        if self._count == 0:
            return new((0,), dtype, context)
        if self._flags.size > MOST_AT_ONCE:
            assert self._count is not None
            out = new((self._count,), dtype, context)
            self._move(values, out, fetch, drop)
            return out
        out = new((self._flags.size,), dtype, context)
        self._move(values, out, fetch, drop)
        if self._count is None:
            self._count = self._last_place()
        return out._view(slice(0, self._count))

    def _move(self, values: DeviceNDArray, out: DeviceNDArray, fetch: Dispatcher, rest: Dispatcher) -> None:
        blocks, threads, share = self._shares
        if self._words is not None and rest is drop and blocks > 1:
            args = (self._words, self._flags, self._places, values, out, share)
            ready.launch(moving_words(fetch), blocks, threads, args, self._stream)
            return
        kernel = moving_kernel(threads, fetch, rest, out.dtype)
        ready.launch(kernel, blocks, threads, (self._flags, self._places, values, out, share), self._stream)


__all__ = ["Compaction"]
