"""Products of NumPy arrays that are like an earlier one: its launches are made again, on the memory of these arrays.

Shapes, layouts and numbers decide which kernels run, and where arrays begin within their buffers is among the
arguments; everything else is the memory that the operands lie in. So a recording serves all arrays that agree in the
former, and is given buffers of the latter. Arrays that share a cache line, as neighbours in the heap do, are in one
buffer: then it must be the same arrangement again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.choice import generation
from portagpu.blas.recordings import Recordings
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.hostmem import (
    SMALL,
    SharedSpans,
    Span,
    finished,
    host_buffer,
    is_shareable,
    joined_spans,
    map_buffer_back,
    rounded_span,
    share_host,
)
from portagpu.runtime.hostpool import results
from portagpu.runtime.layout import extent_of
from portagpu.runtime.recording import Replay, kept_by, recorded
from portagpu.runtime.stream import Stream

Array = np.ndarray[Any, Any]
Multiply = Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray], None]

_REMEMBERED = 128  # products of a thread in a context
_KEPT_BYTES = 2**28  # of scratch memory, by all recordings of a thread in a context
_MOST_BYTES = 2**25  # of an array: what takes longer gains nothing
_PAGE = 4096


_recordings = Recordings()  # False for products that were seen, True for those of which no recording can be made


class HostProduct:
    """A product that is asked for: ``result``, which is new unless it is ``out``, and what it may have in common."""

    __slots__ = ("_arrangement", "_context", "_key", "_ranges", "_stream", "result")

    def __init__(
        self,
        a: Array,
        b: Array,
        out: Array | None,
        numbers: tuple[Any, ...],
        context: Context,
        stream: Stream | None,
    ) -> None:
        self._context, self._stream = context, context.default_stream if stream is None else stream
        self.result = results.empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out
        arrays = (a, b, self.result)
        self._ranges, self._arrangement = _arranged(arrays)
        self._key = (
            *((array.shape, array.strides) for array in arrays),
            self._arrangement,
            a.dtype,
            numbers,
            tuple(map(type, numbers)),  # 1 and 1 + 0j are equal, but not both are numbers for real operands
            None if stream is None else stream.token,
            context.settings,
        )

    def again(self) -> bool:
        """Compute the product as one before, and wait for it; False where there is no recording that serves."""
        mine = _recordings.of(self._context)
        found = mine.known.get(self._key)
        if found is None or isinstance(found, bool) or mine.generation != generation(self._context):
            return False
        made = [host_buffer(self._context, span) for span in self._ranges]
        buffers = [made[place] for place, _ in self._arrangement]
        with finished(self._stream):
            launched = found.launch(self._stream, buffers)
        if not launched:
            mine.known[self._key] = False
            return False
        map_buffer_back(buffers[2], self._stream)
        return True

    def remember(self, a: Array, b: Array, multiply: Multiply) -> None:
        """Note that the product was computed; the second time that this thread asks for one like it, it is recorded.

        ``multiply`` is called with copies of the operands for that, which have memory of their own.
        """
        context, stream = self._context, self._stream
        if np.may_share_memory(self.result, a) or np.may_share_memory(self.result, b):
            return  # it was computed by way of other memory
        mine = _recordings.of(context)
        mine.refresh(context)
        if self._key not in mine.known:
            mine.known[self._key] = False
        elif not all(is_shareable(array) for array in (a, b, self.result)):
            mine.known[self._key] = True
        elif mine.known[self._key] is False:
            originals = (a, b, self.result)
            own = _twins(originals, self._ranges, self._arrangement)
            spans = SharedSpans(own[2:], own[:2])
            shared = [
                share_host(context, twin, spans=spans, readonly=n < 2, instead_of=original)
                for n, (twin, original) in enumerate(zip(own, originals, strict=True))
            ]
            with finished(stream):
                mine.known[self._key] = recorded(lambda: multiply(*shared), shared) or True
            stream.synchronize()
        mine.known.move_to_end(self._key)
        found = mine.known[self._key]
        if not isinstance(found, bool) and found.kept_bytes > _KEPT_BYTES:
            mine.known[self._key] = True  # too much to keep: not recorded again either
        while len(mine.known) > _REMEMBERED or _kept(mine.known) > _KEPT_BYTES:
            mine.known.popitem(last=False)


def host_product(
    a: Array, b: Array, out: Array | None, numbers: tuple[Any, ...], stream: Stream | None
) -> HostProduct | None:
    """A product of matrices of one dtype as a `HostProduct`; None where it is none that launches may be made again for.

    ``numbers``: what the product depends on besides the arrays.
    """
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or a.shape[1] != b.shape[0] or a.dtype.kind not in "fc":
        return None
    if not min(a.nbytes, b.nbytes) >= SMALL or not max(a.nbytes, b.nbytes) <= _MOST_BYTES:
        return None
    shape = (a.shape[0], b.shape[1])
    if not SMALL <= shape[0] * shape[1] * a.itemsize <= _MOST_BYTES:
        return None
    if out is not None and not (out.shape == shape and out.dtype is a.dtype and out.flags.writeable):
        return None
    context = current_context() if stream is None else stream.context
    if not context.capabilities.host_unified_memory:
        return None
    return HostProduct(a, b, out, numbers, context, stream)


def _kept(known: OrderedDict[Any, Replay | bool]) -> int:
    return kept_by(replay for replay in known.values() if isinstance(replay, Replay))


def _arranged(arrays: tuple[Array, ...]) -> tuple[list[Span], tuple[tuple[int, int], ...]]:
    """Memory ranges of the operands and the result, the last one; of each the number of its range and where it begins.

    Ranges are in the order of the arrays, so that the addresses that they happen to have are not told apart.
    """
    first = [array.__array_interface__["data"][0] for array in arrays]
    last = len(arrays) - 1
    spans = [_span(array, place, n == last) for n, (array, place) in enumerate(zip(arrays, first, strict=True))]
    joined = joined_spans(spans)
    if len(joined) == len(spans):
        return spans, tuple((n, place - span[0]) for n, (place, span) in enumerate(zip(first, spans, strict=True)))
    around = [next(r for r in joined if r[0] <= low and high <= r[1]) for low, high, _ in spans]
    ranges = list(dict.fromkeys(around))
    return ranges, tuple((ranges.index(r), place - r[0]) for place, r in zip(first, around, strict=True))


def _span(array: Array, place: int, written: bool) -> Span:
    if array.flags.c_contiguous:
        return rounded_span(place, place + array.nbytes, written)
    nbytes, before = extent_of(array.shape, array.strides, array.itemsize)
    return rounded_span(place - before, place - before + nbytes, written)


def _twins(arrays: tuple[Array, ...], ranges: list[Span], arrangement: tuple[tuple[int, int], ...]) -> list[Array]:
    """Copies with the same strides and arrangement, in memory of their own, as far from the beginning of a page."""
    rooms = []
    for low, high, _ in ranges:
        room = np.empty(high - low + 2 * _PAGE, np.uint8)
        rooms.append(room[(low - room.__array_interface__["data"][0]) % _PAGE :])
    twins = []
    for array, (number, begin) in zip(arrays, arrangement, strict=True):
        made: Array = np.ndarray(array.shape, array.dtype, rooms[number], begin, array.strides)
        made[...] = array
        twins.append(made)
    return twins
