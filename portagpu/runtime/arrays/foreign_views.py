"""Device arrays in the memory of other libraries' arrays, on devices that both use.

A program passes new ones all the time, so that what follows from how an array lies is worked out once.
"""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any

from portagpu.backends.foreign import ForeignArray
from portagpu.backends.registry import identity, owner_of, parts_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.factory import with_facts
from portagpu.runtime.arrays.facts import facts_of
from portagpu.runtime.arrays.overlap import unknown_key
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.stream import Stream

_MOST_VIEWS = 1024  # that are remembered
_MOST_FACTS = 4096  # of arrays that lie in different ways; a program with more begins anew
_views: dict[Any, DeviceNDArray] = {}  # by `identity`


def foreign_view(obj: Any, *, readonly: bool = False) -> DeviceNDArray:
    """An array of ours in the memory of another library's, whose queue its copies and launches use.

    Raises `ArgumentTypeError` for one that is more than memory.
    """
    return view_of_parts(owner_of(obj).parts(obj), obj, readonly=readonly)


def view_of_parts(parts: ForeignArray, base: Any, *, readonly: bool = False) -> DeviceNDArray:
    """An array of ours of what another library's array, ``base``, consists of."""
    stream = None if parts.queue is None else _stream_of(parts.queue)
    context: Any = Context.wrap(base) if stream is None else stream.context
    if parts.buffer is None:  # PyOpenCL's for arrays without elements
        return device_array(parts.shape, parts.dtype, context=context)
    made = with_facts(_facts(context, parts, readonly or parts.readonly, own=False))
    made._buffer, made.base, made.stream = parts.buffer, base, stream or 0
    made.token = None  # its memory may change hands unseen
    driver = context.driver
    if driver.knows_addresses:
        made.allocation_key = unknown_key()
    else:
        made.allocation_key = -driver.handle(driver.whole_of(parts.buffer))  # parts share that of the whole
    return made


def borrowed_view(obj: Any, known: Hashable | None = None) -> DeviceNDArray | None:
    """As `foreign_view`, for one call: whoever asks runs it on the array's stream, or has that wait.

    Launches and products treat it like an array of ours, so that they are as fast. None for what is no array of another
    library's, and where only its library knows whether the memory stays where it is. A view of `foreign_view`'s is
    taken like the array that it views. ``known``: the array's `identity`, where the caller knows it.
    """
    if type(obj) is DeviceNDArray:
        return _view_of_view(obj) if is_lent(obj) else None
    if active.recorder is not None:  # which keeps the memory by the view
        known = None
    elif known is None:
        known = identity(obj)
    if known is not None:
        found = _views.get(known)
        if found is not None and not found.context.closed:
            return found
    parts = parts_of(obj)
    if parts is None or parts.queue is None:
        return None
    stream = _stream_of(parts.queue)
    if not stream.context.driver.knows_addresses:
        return None
    made = _borrowed(parts, stream)
    if known is not None:  # an address and how elements lie there: it serves whatever the library has there next
        parts.buffer.release()  # of what keeps the memory, which is the caller's
        _remember(known, made)
    return made


def is_lent(array: DeviceNDArray) -> bool:
    """Whether an array of ours is a view of `foreign_view`'s, or a part of one, that `borrowed_view` takes."""
    return array.token is None and bool(array.stream) and array.context.driver.knows_addresses


def _view_of_view(array: DeviceNDArray) -> DeviceNDArray | None:
    buffer, stream, context = array._buffer, array.stream, array.context
    if buffer is None or not stream:  # it was closed
        return None
    known: Hashable | None = None
    if active.recorder is None:
        place = (context.driver.handle(buffer), array.offset, array._shape, array._strides)
        known = (*place, array._dtype, array.readonly, stream.token, context.key)
        found = _views.get(known)
        if found is not None and not context.closed:
            return found
        buffer = context.driver.alias(buffer)
    lie = array._shape, array._strides, array._dtype
    made = _borrowed(ForeignArray(buffer, array.offset, *lie, None, array.readonly), stream)
    if known is not None:
        _remember(known, made)
    return made


def _borrowed(parts: ForeignArray, stream: Stream) -> DeviceNDArray:
    context: Any = stream.context
    made = with_facts(_facts(context, parts, parts.readonly, own=True))
    made._buffer, made.base, made.stream = parts.buffer, None, stream
    made.allocation_key = unknown_key()
    return made


def _remember(known: Hashable, view: DeviceNDArray) -> None:
    if len(_views) >= _MOST_VIEWS:
        _views.clear()
    _views[known] = view


def operand_view(obj: Any) -> DeviceNDArray:
    """The view for a routine that works on the default stream of the array's context."""
    made = borrowed_view(obj)
    return made if made is not None and made.stream is made.context.default_stream else foreign_view(obj)


def _stream_of(queue: Any) -> Stream:
    """The stream around a queue of another library's."""
    known = getattr(queue, "wrapped", None)
    found: Stream | None = None if known is None else known()
    if found is None or found.closed:
        found = Context.wrap(queue).wrap_queue(queue)
        if hasattr(queue, "wrapped"):
            queue.wrapped = weakref.ref(found)
    return found


def _facts(context: Context, parts: ForeignArray, readonly: bool, *, own: bool) -> tuple[Any, ...]:
    key = (parts.alike or (parts.shape, parts.strides, parts.dtype), parts.offset, readonly, own)
    found: tuple[Any, ...] | None = context.foreign_facts.get(key)
    if found is None:
        if len(context.foreign_facts) >= _MOST_FACTS:
            context.foreign_facts.clear()
        made = DeviceNDArray(
            parts.shape,
            parts.dtype,
            parts.strides,
            None,
            context,
            offset=parts.offset,
            base=None if own else context,
            readonly=readonly,
        )
        found = context.foreign_facts[key] = facts_of(made)
    return found
