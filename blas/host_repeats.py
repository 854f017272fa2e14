"""Products of NumPy arrays that are like an earlier one: its launches are made again, on the memory of these arrays.

Shapes, layouts and numbers decide which kernels run, and where arrays begin within a cache line is among their
arguments; everything else is the memory that the operands lie in. So a recording serves all arrays that agree in the
former, and is given buffers of the latter.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.choice import generation
from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.hostmem import SMALL, is_shareable, map_buffer_back, rounded_span, separate_buffers, share_host
from portagpu.runtime.layout import extent_of
from portagpu.runtime.recording import Replay, recorded
from portagpu.runtime.stream import Stream

Array = np.ndarray[Any, Any]
Multiply = Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray], None]

_REMEMBERED = 128  # products of a thread
_KEPT_BYTES = 2**28  # of scratch memory, by all recordings of a thread
_MOST_BYTES = 2**25  # of an array: what takes longer gains nothing
_PAGE = 4096
_LINE = 128  # bytes: an array's address within them is part of what is recorded


class _OfThread(threading.local):
    """Recordings; False for products that were seen, True for those of which no recording can be made."""

    def __init__(self) -> None:
        self.known: OrderedDict[Any, Replay | bool] = OrderedDict()
        self.generation = -1


_mine = _OfThread()


class HostProduct:
    """A product that is asked for: ``result``, which is new unless it is ``out``, and what it may have in common."""

    __slots__ = ("_context", "_key", "_spans", "_stream", "result")

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
        self.result = np.empty((a.shape[0], b.shape[1]), a.dtype) if out is None else out
        places = [array.__array_interface__["data"][0] for array in (a, b, self.result)]
        self._key = (
            *(
                (array.shape, array.strides, place % _LINE)
                for array, place in zip((a, b, self.result), places, strict=True)
            ),
            a.dtype,
            numbers,
            stream,
            context.key,
            context.settings,
        )
        self._spans = tuple(
            _span(array, place, written)
            for array, place, written in zip((a, b, self.result), places, (False, False, True), strict=True)
        )

    def again(self) -> bool:
        """Compute the product as one before, and wait for it; False where there is no recording that serves."""
        mine = _mine
        found = mine.known.get(self._key)
        if found is None or isinstance(found, bool) or mine.generation != generation(self._context):
            return False
        buffers = separate_buffers(self._context, self._spans)
        if buffers is None:
            return False
        if not found.launch(self._stream, buffers):
            mine.known[self._key] = False
            return False
        map_buffer_back(buffers[2], self._stream)
        return True

    def remember(self, a: Array, b: Array, multiply: Multiply) -> None:
        """Note that the product was computed; the second time that this thread asks for one like it, it is recorded.

        ``multiply`` is called with copies of the operands for that, which have memory of their own.
        """
        mine, context, stream = _mine, self._context, self._stream
        now = generation(context)
        if mine.generation != now:
            mine.known.clear()
            mine.generation = now
        if self._key not in mine.known:
            mine.known[self._key] = False
        elif not all(is_shareable(array) for array in (a, b, self.result)):
            mine.known[self._key] = True
        elif mine.known[self._key] is False:
            own = [_twin(array) for array in (a, b, self.result)]
            shared = [share_host(context, array, readonly=n < 2) for n, array in enumerate(own)]
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
    return sum(replay.kept_bytes for replay in known.values() if isinstance(replay, Replay))


def _span(array: Array, place: int, written: bool) -> tuple[int, int, bool]:
    if array.flags.c_contiguous:
        return rounded_span(place, place + array.nbytes, written)
    nbytes, before = extent_of(array.shape, array.strides, array.itemsize)
    return rounded_span(place - before, place - before + nbytes, written)


def _twin(array: Array) -> Array:
    """A copy with the same strides, in memory of its own, as far from the beginning of a page as the array is."""
    nbytes, before = extent_of(array.shape, array.strides, array.itemsize)
    place = array.__array_interface__["data"][0]
    room = np.empty(nbytes + 3 * _PAGE, np.uint8)
    own = room.__array_interface__["data"][0] + _PAGE
    first = own + (place - before - own) % _PAGE + before - (own - _PAGE)
    made: Array = np.ndarray(array.shape, array.dtype, buffer=room, offset=first, strides=array.strides)
    made[...] = array
    return made
