"""Replay of products of NumPy arrays, on the memory of the new arrays.

Shapes, layouts and numbers decide which kernels run, and where arrays begin within their buffers is among the
arguments; everything else is the memory that the operands lie in. So a recording serves all arrays that agree in the
former, and is given buffers of the latter. Arrays that share a cache line, as neighbours in the heap do, are in one
buffer: then it must be the same arrangement again.

On CPUs, what was worked out for arrays at certain addresses is kept beside that (`host_again`): the product before left
the caches full of matrices, so that what little Python is left counts by what it touches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from portagpu.backends.handles import Memory
from portagpu.blas.gemm.replay.recordings import HostKnown, Recordings, Remembered
from portagpu.errors import PortaGPUError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.host_memory import (
    SMALL,
    SharedSpans,
    Span,
    finished,
    host_buffer,
    is_shareable,
    map_buffer_back,
    share_host,
)
from portagpu.runtime.execution.context import Context, current_context
from portagpu.runtime.execution.host_pool import results
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.replay.host_calls import Arrangement, HostCall, HostCalls, arranged, extent
from portagpu.runtime.replay.replay import Replay, kept_by, recorded

Array = np.ndarray[Any, Any]
Multiply = Callable[[DeviceNDArray, DeviceNDArray, DeviceNDArray], None]

_REMEMBERED = 128  # products of a thread in a context
_KEPT_BYTES = 2**28  # of scratch memory, by all recordings of a thread in a context
_MOST_BYTES = 2**25  # of an array: what takes longer gains nothing
_MOST_EXTENT = 2**27  # bytes from its first element to its last: a recording is made with copies that are as far apart
_PAGE = 4096


class _HostKnown(HostKnown):
    """Recordings, where False is for products that were seen and True for those of which none can be made.

    ``calls``: what was worked out for arrays at certain addresses.
    """

    __slots__ = ("calls",)

    def __init__(self) -> None:
        super().__init__()
        self.calls = HostCalls()

    def clear(self) -> None:
        super().clear()
        self.calls.clear()

    def forget_oldest(self) -> None:
        """Forget what was found out first, and the calls that would keep it."""
        oldest = self.known.forget_oldest()
        if isinstance(oldest, Replay):
            for key in list(self.calls):  # others may come and go, by finalisers
                call = self.calls.get(key)
                if call is not None and call.replay is oldest:
                    self.calls.pop(key, None)


_recordings = Recordings(_HostKnown)


class HostProduct:
    """A product that is asked for: ``result``, which is new unless it is ``out``, and what it may have in common."""

    __slots__ = ("_arrangement", "_call_key", "_context", "_key", "_ranges", "_stream", "new", "result")

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
        self._call_key = _call_key(a, b, out, numbers, stream)
        self.new = out is None
        self.result = out if out is not None else _placed((a.shape[0], b.shape[1]), a.dtype)
        arrays = (a, b, self.result)
        self._ranges, self._arrangement = arranged(arrays, (False, False, True))
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
        context, stream = self._context, self._stream
        mine = _recordings.of(context)
        found = mine.known.get(self._key)
        if found is None or isinstance(found, bool) or found.busy or not mine.holds(context):
            return False
        kept = mine.kept_buffers(context)
        made = [host_buffer(context, span) if kept is None else kept.over(context, span) for span in self._ranges]
        buffers = [made[place] for place, _ in self._arrangement]
        with finished(stream):
            launched = found.launch(stream, buffers) if kept is None else found.complete(stream, buffers)
        if not launched:
            mine.known[self._key] = False
            mine.calls.clear()
            return False
        if kept is None:
            map_buffer_back(buffers[2], stream)
        else:
            mine.calls.keep(self._call_key, HostCall(found, buffers, self.result if self.new else None))
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
            try:
                own = _twins(originals, self._ranges, self._arrangement)
            except MemoryError:  # the product is computed: it is not recorded
                mine.known[self._key] = True
                return
            spans = SharedSpans(own[2:], own[:2])
            shared = [
                share_host(context, twin, spans=spans, readonly=n < 2, instead_of=original)
                for n, (twin, original) in enumerate(zip(own, originals, strict=True))
            ]
            with finished(stream):
                mine.known[self._key] = recorded(lambda: multiply(*shared), shared) or True
            stream.synchronize()
        found = mine.known.use(self._key)
        if isinstance(found, Replay) and found.kept_bytes > _KEPT_BYTES:
            mine.known[self._key] = True  # too much to keep: not recorded again either
        while len(mine.known) > _REMEMBERED or _kept(mine.known) > _KEPT_BYTES:
            mine.forget_oldest()


def host_again(a: Array, b: Array, out: Array | None, numbers: tuple[Any, ...], stream: Stream | None) -> Array | None:
    """The product of arrays at the addresses of an earlier `HostProduct`'s; None where nothing is kept for them.

    ``numbers`` begins with alpha and beta, numbers of Python's; an ``out`` may be read-only, which is told apart.
    Raises `OutOfMemoryError`.
    """
    context = current_context()
    if stream is not None and stream.context is not context:  # an error, which the way without recordings tells
        return None
    mine = _recordings.of(context)
    calls = mine.calls
    if not calls:
        return None
    call = calls.get(_call_key(a, b, out, numbers, stream))
    if call is None or call.replay.busy or mine.buffers is None or not mine.holds(context):
        return None
    buffers: Sequence[Memory]
    if out is None:
        result, place = results.placed(call.shape, call.dtype, call.nbytes)
        buffers = (*call.buffers, mine.buffers.over(context, (place, place + call.extent, True)))
    else:
        result, buffers = out, call.buffers
    where = context.default_stream if stream is None else stream
    try:
        if call.replay.complete(where, buffers):
            return result
    except BaseException:  # as `finished`, which costs more
        with suppress(PortaGPUError):
            where.synchronize()
        raise
    calls.clear()
    return None


def _call_key(a: Array, b: Array, out: Array | None, numbers: tuple[Any, ...], stream: Stream | None) -> Any:
    """What tells a product on certain addresses apart. C-contiguous arrays have no strides there, and need none."""
    x, y = a.__array_interface__, b.__array_interface__
    facts: tuple[Any, ...] = ()
    if out is not None:
        z = out.__array_interface__
        facts = (z["data"], z["shape"], z["strides"], out.dtype)
    return (
        x["data"], x["shape"], x["strides"], a.dtype,
        y["data"], y["shape"], y["strides"], b.dtype,
        facts, numbers, type(numbers[0]), type(numbers[1]), None if stream is None else stream.token,
    )  # fmt: skip


def _placed(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return results.placed(shape, dtype, shape[0] * shape[1] * dtype.itemsize)[0]


def host_product(
    a: Array, b: Array, out: Array | None, numbers: tuple[Any, ...], stream: Stream | None
) -> HostProduct | None:
    """A product of matrices of one dtype as a `HostProduct`; None where it is none that launches may be made again for.

    ``numbers``: what the product depends on besides the arrays. Raises `OutOfMemoryError`.
    """
    if a.ndim != 2 or b.ndim != 2 or a.dtype is not b.dtype or a.shape[1] != b.shape[0] or a.dtype.kind not in "fc":
        return None
    shape = (a.shape[0], b.shape[1])
    sizes = a.nbytes, b.nbytes, shape[0] * shape[1] * a.itemsize
    if not max(sizes[:2]) >= SMALL or not max(sizes) <= _MOST_BYTES or not min(sizes) > 0:
        return None
    if out is not None and not (out.shape == shape and out.dtype is a.dtype and out.flags.writeable):
        return None
    for array in (a, b, out):
        if array is not None and not array.flags.forc and extent(array) > _MOST_EXTENT:
            return None
    context = current_context()
    if not context.capabilities.host_unified_memory or (stream is not None and stream.context is not context):
        return None
    if min(sizes) < SMALL and _recordings.of(context).kept_buffers(context) is None:
        return None  # copies of cache lines would overwrite what others write beside so small an array
    return HostProduct(a, b, out, numbers, context, stream)


def _kept(known: Remembered) -> int:
    return kept_by(replay for replay in list(known.values()) if isinstance(replay, Replay))


def _twins(arrays: tuple[Array, ...], ranges: list[Span], arrangement: Arrangement) -> list[Array]:
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
