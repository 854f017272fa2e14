"""Copies between strided views on the device, and between host and device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from portagpu.backends.driver import Driver
from portagpu.backends.handles import Completion
from portagpu.backends.registry import foreign
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.runtime.arrays.overlap import shares_elements
from portagpu.runtime.arrays.staged_copies import pays, staging
from portagpu.runtime.arrays.view import CopiedView, View
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.recorder import Copy, active
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.programs.build import build

Copier = Callable[[Any, Any, Any], Any]
"""Copies, given a queue and both memories, the target's first."""
_MOST_COPIES = 256  # between views that lie in different ways, which a context remembers
_BY_KERNEL = 2**20  # bytes for which all cores of a CPU are worth a launch


def copy_elements(source: CopiedView, target: CopiedView, stream: Stream) -> None:
    """As `copy_strided`; from another device through the host, and complete on return."""
    if source.context is target.context:
        copy_strided(source, target, stream)
    else:
        target.copy_to_device(source.copy_to_host(), stream)
        stream.synchronize()


def copy_strided(source: View, target: View, stream: Stream) -> None:
    """Copy elements between two views of one shape and dtype; enqueued, unless the context `only_builds`.

    It waits for the queues of PyOpenCL arrays, and they wait for it, as with kernels.
    """
    if source.shape != target.shape:
        raise ShapeError(f"cannot copy shape {source.shape} to shape {target.shape}")
    if target.size == 0:
        return
    context = target.context
    if source.context is not context or stream.context is not context:  # drivers crash on another context's buffers
        raise ArgumentTypeError("cannot copy between contexts", hint="go through the host: x.copy_to_host()")
    driver = context.driver
    by_kernel = target.nbytes >= _BY_KERNEL and driver.copies_by_one_core
    if source.layout == target.layout and source.layout != "A" and not by_kernel:
        facts = {"nbytes": target.nbytes, "target_offset": target.offset, "source_offset": source.offset}
        copy: Copier = partial(driver.copy, **facts)
    else:
        copy = _strided(source, target)
    lies = [(x.shape, x.strides, x.offset) for x in (target, source)]
    _enqueue(stream, target, source, copy, (target.dtype, *lies))


def _strided(source: View, target: View) -> Copier:
    """What copies between views that lie as these: a kernel with its numbers, which a context keeps."""
    context, known = target.context, target.context.strided_copies
    key = target.itemsize, target.shape, source.strides, source.offset, target.strides, target.offset
    found: Copier | None = known.get(key)
    if found is None:
        if len(known) >= _MOST_COPIES:
            known.clear()
        found = known[key] = context.driver.strided_copy(source, target, partial(build, context, options=()))
    return found


def copied_if_shared(
    source: Any, target: View, stream: Stream, shares: Callable[[View, View], bool] = shares_elements
) -> Any:
    """A device array, or a copy where it shares bytes with a target that is written while it is read.

    ``shares``: `shares_elements`, or `crosses` where each element is read before it is written.
    """
    return source._contiguous(stream) if shares(source, target) else source


def fill_bytes(target: View, byte: int, stream: Stream) -> None:
    """Set all bytes of a contiguous view to one value; enqueued, in order with other libraries' queues as a copy."""
    if target.size == 0:
        return
    driver = target.context.driver
    facts = {"offset": target.offset, "nbytes": target.nbytes}

    def fill(queue: Any, into: Any, _: Any) -> None:
        driver.fill(queue, into, byte, **facts)

    _enqueue(stream, target, target, fill, (byte, target.offset, target.nbytes))


def _enqueue(stream: Stream, target: View, source: View, copy: Copier, facts: tuple[Any, ...]) -> None:
    """Enqueue, and note for whoever records, unless the context `only_builds`."""
    if target.context.only_builds:
        return
    if source.token is None or target.token is None:  # memory of others
        with _in_order(stream, source, target):
            _enqueue_now(stream, target, source, copy, facts)
    else:
        _enqueue_now(stream, target, source, copy, facts)


def _enqueue_now(stream: Stream, target: View, source: View, copy: Copier, facts: tuple[Any, ...]) -> None:
    with enqueuing(stream) as queue:
        copy(queue, target.buffer, source.buffer)
        if active.recorder is not None and active.recorder.is_own():
            active.recorder.steps.append(Copy(target.context, target.buffer, source.buffer, copy, facts))


def users_of(arrays: Iterable[View]) -> tuple[Stream, ...]:
    """The streams of the queues that other libraries' arrays among these have, in their order."""
    found = (a.stream for a in arrays if isinstance(a.base, foreign.arrays))
    return tuple(dict.fromkeys(stream for stream in found if stream))


def streams_beside(stream: Stream, arrays: Iterable[View]) -> tuple[Stream, ...]:
    """The streams that arrays have of their own, other than one: it waits for these, and these wait for it then."""
    found = {a.stream: None for a in arrays if a.stream and a.stream is not stream}
    return tuple(found)


@contextmanager
def _in_order(stream: Stream, *arrays: View) -> Iterator[None]:
    others = [user for user in users_of(arrays) if user is not stream and user.context is stream.context]
    for user in others:
        stream.wait_stream(user)
    yield
    for user in others:
        user.wait_stream(stream)


def is_pinned(array: np.ndarray[Any, Any], driver: Driver) -> bool:
    """Whether an array lies in page-locked memory of a driver (`cuda.pinned_array`).

    Copies of any other memory are complete when they return, whatever their stream, as CUDA's are: programs rely on it.
    """
    base: Any = array
    while base is not None:
        if driver.is_page_locked(base):
            return True
        base = getattr(base, "base", None)
    return False


def download(source: View, flat: np.ndarray[Any, Any], stream: Stream, *, blocking: bool) -> None:
    """Copy a contiguous device array to flat host memory, which the stream keeps until the copy is done."""
    driver = stream.context.driver
    blocking = blocking or not is_pinned(flat, driver)
    source.buffer  # noqa: B018 - where it is itself put off
    with enqueuing(stream, settles=False) as queue:
        if pays(source.context, flat.nbytes) and not is_pinned(flat, driver):
            with staging(source.context, queue) as stage:
                if stage is not None:
                    stage.download(queue, flat.view(np.uint8), source)
                    return
        done = driver.download(queue, as_bytes(flat), source.buffer, offset=source.offset, blocking=blocking)
        _hand_over(done, flat, stream, blocking)


def upload(target: View, flat: np.ndarray[Any, Any], stream: Stream, *, blocking: bool, is_own: bool = False) -> None:
    """Copy flat host memory, which the stream keeps until the copy is done, to a contiguous device array.

    ``is_own``: nobody else changes that memory, so that it need not be read before the call returns.
    """
    driver = stream.context.driver
    blocking = blocking or not (is_own or is_pinned(flat, driver))
    with enqueuing(stream) as queue:
        if pays(target.context, flat.nbytes) and not is_pinned(flat, driver):
            with staging(target.context, queue) as stage:
                if stage is not None:
                    stage.upload(queue, target, flat.view(np.uint8))
                    return
        done = driver.upload(queue, target.buffer, as_bytes(flat), offset=target.offset, blocking=blocking)
        _hand_over(done, flat, stream, blocking)


def as_bytes(flat: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A contiguous array as drivers take it: Python's buffers cannot describe every record, nor bfloat16."""
    return flat.view(np.uint8) if flat.dtype.kind == "V" else flat


def _hand_over(done: Completion, flat: np.ndarray[Any, Any], stream: Stream, blocking: bool) -> None:
    if blocking:
        done.wait()  # drivers return from a blocking write early, and the event's destructor waits with Python's lock
    else:
        stream.keep(done, flat)
