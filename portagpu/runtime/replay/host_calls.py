"""Replay of calls on host memory that a CPU uses in place, with their buffers.

To a CPU's driver a buffer over host memory is a pair of addresses, and making one costs more than to look it up: after
each call the caches are full of arrays, and whatever the next one touches comes from far. What is kept is for
addresses, whatever array is there. It keeps no array and no memory alive; a buffer over memory that was given back is
one that nobody asks for until something lies at the very same addresses again. Drivers of GPUs may lock the pages, so
there each call has buffers of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from portagpu.backends.handles import Memory
from portagpu.device.capabilities import DeviceType
from portagpu.runtime.arrays.host_memory import Span, host_buffer, joined_spans, rounded_span
from portagpu.runtime.arrays.layout import extent_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.replay.replay import Replay

_MOST = 256  # buffers that a thread keeps in a context, and calls
_TRIED = 33 * 128  # bytes that are used in place to see whether they are
_PAGE = 4096
HostArray = np.ndarray[Any, Any]
Arrangement = tuple[tuple[int, int], ...]
K = TypeVar("K")
V = TypeVar("V")


class _Latest(dict[K, V]):
    """Of what is kept, the first goes where there is too much."""

    __slots__ = ()

    def keep(self, key: K, value: V) -> None:
        """Keep a value."""
        self[key] = value
        if len(self) > _MOST:
            del self[next(iter(self))]


class HostBuffers(_Latest[Span, Memory]):
    """Buffers over host memory in one context, by addresses."""

    __slots__ = ()

    def over(self, context: Context, span: Span) -> Memory:
        """The buffer over a range of addresses, which is rounded as `rounded_span` does."""
        found = self.get(span)
        if found is None:
            found = host_buffer(context, span)
            self.keep(span, found)
        return found


class HostCall:
    """A recording and the buffers that it is launched with, for arrays at certain addresses.

    ``buffers``: one for each operand. Where the last operand is a new ``result`` each time, there is none for it, but
    ``shape``, ``dtype``, ``nbytes`` and ``extent``, the bytes of the buffer that it needs.
    """

    __slots__ = ("buffers", "dtype", "extent", "nbytes", "replay", "shape")

    def __init__(self, replay: Replay, buffers: list[Memory], result: HostArray | None) -> None:
        self.replay, self.buffers = replay, buffers
        if result is not None:
            self.buffers = buffers[:-1]
            self.shape, self.dtype, self.nbytes = result.shape, result.dtype, result.nbytes
            self.extent = rounded_span(0, result.nbytes, True)[1]


class HostCalls(_Latest[Any, HostCall]):
    """Calls by what tells them apart."""

    __slots__ = ()


def arranged(arrays: Sequence[HostArray], written: Sequence[bool]) -> tuple[list[Span], Arrangement]:
    """Memory ranges of arrays, and of each array the number of its range and where it begins in it.

    Ranges are in the order of the arrays, so that the addresses that they happen to have are not told apart.
    """
    first: list[int] = []
    spans: list[Span] = []
    apart = True
    for array, writes in zip(arrays, written, strict=True):
        facts = array.__array_interface__
        place = low = facts["data"][0]
        if facts["strides"] is None:  # it is in C order
            high = low + array.nbytes
        else:
            nbytes, before = extent_of(array.shape, array.strides, array.itemsize)
            low -= before
            high = low + nbytes
        span = rounded_span(low, high, writes)
        for other in spans:
            if span[0] < other[1] and other[0] < span[1]:
                apart = False
        first.append(place)
        spans.append(span)
    if apart:
        return spans, tuple([(n, place - span[0]) for n, (place, span) in enumerate(zip(first, spans, strict=True))])
    joined = joined_spans(spans)
    around = [next(r for r in joined if r[0] <= low and high <= r[1]) for low, high, _ in spans]
    ranges = list(dict.fromkeys(around))
    return ranges, tuple((ranges.index(r), place - r[0]) for place, r in zip(first, around, strict=True))


def extent(array: HostArray) -> int:
    """Bytes from an array's first element to its last."""
    return extent_of(array.shape, array.strides, array.itemsize)[0]


def is_in_place(context: Context) -> bool:
    """Whether the device is a CPU whose driver has no copy of host memory that buffers are over, which is tried."""
    if context.capabilities.device_type is not DeviceType.CPU or context.only_builds:
        return False
    # neither a beginning nor an end of a page, which a driver may treat apart
    arrays = [_lines(_TRIED, 128), _lines(_TRIED, 3 * 128)]
    places = [int(array.__array_interface__["data"][0]) for array in arrays]
    spans = [rounded_span(place, place + _TRIED, written) for place, written in zip(places, (False, True), strict=True)]
    source, target = (host_buffer(context, span) for span in spans)
    driver = context.driver
    with enqueuing(context.default_stream) as queue:
        for value in (1, 2):  # what the host writes between calls, and what the device writes
            arrays[0][...] = value
            driver.copy(queue, target, source, nbytes=min(source.size, target.size))
            queue.finish()
            if not (arrays[1] == value).all():
                return False
    return True


def _lines(nbytes: int, after: int) -> HostArray:
    """Zeros so many bytes after the beginning of a page."""
    room = np.zeros(nbytes + 2 * _PAGE, np.uint8)
    begin = -int(room.__array_interface__["data"][0]) % _PAGE + after
    return room[begin : begin + nbytes]
