"""A card's primary context, which CUDA's other libraries in the process use, too, with what all of its users share."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from functools import cache
from types import TracebackType
from typing import Any

from portagpu.backends.cuda import library as cu
from portagpu.backends.cuda.clock import Clock
from portagpu.backends.cuda.library import Library

_MOST_EVENTS = 512  # that are kept for later
_MOST_EXTERNAL = 64  # streams of other libraries that are remembered


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.pushed: list[bool] = []
        self.cell = ctypes.c_void_p()


_thread = _OfThread()


class Primary:
    """The primary context of the card with a number, which is retained as long as the process lives.

    As a context manager it is the thread's current context; what was current before is so again at the end, for other
    libraries read from it which card is meant.
    """

    def __init__(self, ordinal: int) -> None:
        """Raises `NoDeviceError`, `CudaError`."""
        self.library: Library = cu.library()
        self.ordinal = ordinal
        self.process = os.getpid()
        self.context = self.library.handle("DevicePrimaryCtxRetain", ordinal)
        self.is_alone = self.library.number("DeviceGetCount") == 1
        self.clock = Clock(self)
        self._external: dict[int, Any] = {}  # queues by handle
        self._queues: dict[int, weakref.ref[Any]] = {}
        self._ended: deque[int] = deque()  # streams whose queues are gone
        self._events: tuple[list[int], list[int]] = ([], [])  # that nobody uses: plain ones, and those with times
        self._current = self.library.raw("cuCtxGetCurrent")
        self._query_stream = self.library.raw("cuStreamQuery")
        self._query = self.library.raw("cuEventQuery")

    def __enter__(self) -> None:
        thread = _thread
        self._current(ctypes.byref(thread.cell))
        current = thread.cell.value
        if current == self.context:
            thread.pushed.append(False)
        elif current is None and self.is_alone:
            self.library.CtxSetCurrent(self.context)
            thread.pushed.append(False)
        else:
            self.library.CtxPushCurrent_v2(self.context)
            thread.pushed.append(True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if _thread.pushed.pop():
            self.library.CtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    @property
    def is_over(self) -> bool:
        """Whether finalisers must leave the driver alone: at the interpreter's end, and in a forked child."""
        return sys.is_finalizing() or os.getpid() != self.process

    # queues ---------------------------------------------------------------------------------------------------------

    def know(self, queue: Any, *, own: bool) -> None:
        """Remember a queue as long as it lives: memory that it may use goes to nobody else before it is done.

        Its stream, where it is its own, goes with it. A finaliser of the queue's would come too soon: until it returns,
        other threads are still given the queue.
        """
        key, handle = id(queue), queue.handle

        def end(_: Any) -> None:
            self._queues.pop(key, None)
            if own:
                self._ended.append(handle)

        self._queues[key] = weakref.ref(queue, end)
        self._end_streams()

    def _end_streams(self) -> None:
        """Destroy streams whose queues are gone and whose work is done: for others the driver may wait."""
        for _ in range(len(self._ended)):
            try:
                handle = self._ended.popleft()
            except IndexError:  # another thread was faster
                return
            if self.query_stream(handle) == cu.NOT_READY:
                self._ended.append(handle)
            else:
                self.forget("StreamDestroy_v2", handle)

    def external(self, handle: int, owner: Any, make: Callable[[Primary, int, Any], Any]) -> Any:
        """The queue around a stream of another library, which ``owner`` keeps; ``make`` makes it, if there is none."""
        found = self._external.get(handle)
        if found is None:
            own = (queue for queue in self.queues() if queue.handle == handle)  # whose handle somebody has been given
            found = next(own, None) or make(self, handle, owner)
            if owner is not None or handle == cu.LEGACY_STREAM:  # others may be gone when it is asked for again
                self._external[handle] = found
                while len(self._external) > _MOST_EXTERNAL:
                    self._external.pop(next(iter(self._external)))
        return found

    def queues(self) -> list[Any]:
        """All queues that live."""
        return [queue for reference in list(self._queues.values()) if (queue := reference()) is not None]

    # events ---------------------------------------------------------------------------------------------------------

    def take_event(self, *, timed: bool) -> int:
        """A handle of an event that nobody uses."""
        try:
            return self._events[timed].pop()
        except IndexError:
            return self.library.handle("EventCreate", cu.BLOCKING_SYNC | (0 if timed else cu.DISABLE_TIMING))

    def give_event(self, handle: int, *, timed: bool) -> None:
        """Give an event back; what waits for it in a queue goes on to. For finalisers."""
        if len(self._events[timed]) < _MOST_EVENTS:
            self._events[timed].append(handle)
        else:
            self.forget("EventDestroy_v2", handle)

    def query_event(self, handle: int) -> int:
        """The code that tells whether an event is done."""
        return int(self._query(handle))

    def follow(self, stream: int) -> None:
        """Have the default stream wait for what a stream has by now."""
        event = self.take_event(timed=False)
        with self:
            self.library.EventRecord(event, stream)
            self.library.StreamWaitEvent(cu.LEGACY_STREAM, event, 0)
        self.give_event(event, timed=False)

    def query_stream(self, handle: int) -> int:
        """The code that tells whether a stream has done everything."""
        with self:
            return int(self._query_stream(handle))

    def forget(self, name: str, handle: int) -> None:
        """Give an object of the driver's back. For finalisers: raises nothing."""
        if self.is_over:
            return
        with self:
            self.library.raw(f"cu{name}")(handle)


@cache
def _primary(ordinal: int, process: int) -> Primary:
    return Primary(ordinal)


def primary(ordinal: int) -> Primary:
    """The primary context of a card. Raises `NoDeviceError`, `CudaError`."""
    return _primary(ordinal, os.getpid())
