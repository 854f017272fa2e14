"""A card's primary context, which CUDA's other libraries in the process use, too, with what all of its users share."""

from __future__ import annotations

import contextlib
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
from portagpu.backends.cuda.foreign_streams import Path, context_paths, may_be_stream
from portagpu.backends.cuda.library import CudaError, Library
from portagpu.errors import ArgumentTypeError

PROMISED = object()  # keeps a stream of which somebody said that it lives as long as its queue
_APART = 1  # a flag of streams: the runtime sees to their order with the default stream, as with others
_RELAXED = 2  # a mode of threads: what they call is allowed while a stream of other libraries is captured
_MOST_EVENTS = 512  # that are kept for later
_MOST_LEFT = 1 << 30  # bytes that finalisers left: who asks for more memory waits until the driver has them
_MOST_ACCEPTED = 4096
_MOST_EXTERNAL = 64  # streams of other libraries that are remembered
_COMPARED = 8  # streams that show how streams lead to their context


class _OfThread(threading.local):
    def __init__(self) -> None:
        self.pushed: list[bool] = []
        self.modes: list[int] = []
        self.cell = ctypes.c_void_p()


_thread = _OfThread()


class _Relaxed:
    """What a thread calls inside breaks no capture of a stream, whoever captures it: torch forbids most of it."""

    def __init__(self, library: Library) -> None:
        self._exchange = library.raw("cuThreadExchangeStreamCaptureMode")

    def __enter__(self) -> None:
        mode = ctypes.c_int(_RELAXED)
        self._exchange(ctypes.byref(mode))
        _thread.modes.append(mode.value)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exchange(ctypes.byref(ctypes.c_int(_thread.modes.pop())))


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
        self._is_finalizing, self._process_now = sys.is_finalizing, os.getpid  # modules' names end before objects do
        self.context = self.library.handle("DevicePrimaryCtxRetain", ordinal)
        self.is_alone = self.library.number("DeviceGetCount") == 1
        self.clock = Clock(self)
        self.relaxed = _Relaxed(self.library)
        self._external: dict[int, Any] = {}  # queues by handle
        self._accepted: set[int] = set()  # handles of other libraries that were looked at
        self._context_paths: list[Path] | None = None  # from streams
        self._queues: dict[int, weakref.ref[Any]] = {}
        self._beside: dict[int, weakref.ref[Any]] = {}  # the default stream's
        self._ended: deque[int] = deque()  # streams whose queues are gone, in case they have work
        self._idle: list[int] = []  # and those that have none
        self._left: deque[tuple[str, int, int]] = deque()  # functions that give back, what, and bytes
        self._events: tuple[list[int], list[int]] = ([], [])  # that nobody uses: plain ones, and those with times
        self._current = self.library.raw("cuCtxGetCurrent")
        self._is_capturing = self.library.raw("cuStreamIsCapturing")
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
        return self._is_finalizing() or self._process_now() != self.process

    # queues ---------------------------------------------------------------------------------------------------------

    def know(self, queue: Any) -> None:
        """Remember a queue as long as it lives: memory that it may use goes to nobody else before it is done.

        A finaliser of the queue's would come too soon: until it returns, other threads are still given the queue.
        """
        key, handle, is_own = id(queue), queue.handle, queue.is_own

        def end(_: Any) -> None:
            if is_own:
                self._ended.append(handle)
            self._queues.pop(key, None)
            self._beside.pop(key, None)

        self._queues[key] = reference = weakref.ref(queue, end)
        if handle != cu.LEGACY_STREAM:
            self._beside[key] = reference

    def take_stream(self) -> int:
        """A stream that nobody uses. None is ever destroyed: other threads may be asking for its work."""
        self.working()
        try:
            return self._idle.pop()
        except IndexError:
            return self.library.handle("StreamCreate", _APART)

    def external(self, handle: int, owner: Any, make: Callable[[Primary, int, Any], Any]) -> Any:
        """The queue around a stream of another library, which ``owner`` keeps; ``make`` makes it, if there is none."""
        found = self._external.get(handle)
        if found is None:
            own = (queue for queue in self.queues() if queue.handle == handle)  # whose handle somebody has been given
            found = next(own, None) or make(self, handle, owner)
            if owner not in (None, PROMISED) or handle == cu.LEGACY_STREAM:  # others may be gone when it is asked for
                self._external[handle] = found
                while len(self._external) > _MOST_EXTERNAL:
                    self._external.pop(next(iter(self._external)))
        return found

    def may_own(self, handle: int) -> bool:
        """Whether a handle may be that of a stream of this context, or is one that every context has."""
        if handle <= cu.PER_THREAD_STREAM or handle in self._accepted:
            return True
        if self._context_paths is None:
            with self, self.relaxed:
                streams = [self.take_stream() for _ in range(_COMPARED)]
            self._context_paths = context_paths(self.context, streams)
            self._idle += streams
        if not may_be_stream(handle, self.context, self._context_paths):
            return False
        if len(self._accepted) >= _MOST_ACCEPTED:
            self._accepted.clear()
        self._accepted.add(handle)
        return True

    def queues(self) -> list[Any]:
        """All queues that live."""
        return [queue for reference in list(self._queues.values()) if (queue := reference()) is not None]

    def _others(self) -> list[Any]:
        return [queue for reference in list(self._beside.values()) if (queue := reference()) is not None]

    @property
    def is_simple(self) -> bool:
        """Whether there are no streams beside the default one, so that nobody has to be asked what they do."""
        return not (self._beside or self._ended)

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
        with self.relaxed:
            return int(self._query(handle))

    def wait_event(self, handle: int) -> None:
        """Wait until an event is done. Raises `CudaError`."""
        with self.relaxed:
            self.library.EventSynchronize(handle)

    def follow(self, stream: int) -> None:
        """Have the default stream wait for what a stream has by now. Raises `ArgumentTypeError` for what is none."""
        if not self.may_own(stream):
            raise no_stream(stream)
        event = self.take_event(timed=False)
        with self:
            self.library.EventRecord(event, stream)
            self.library.StreamWaitEvent(cu.LEGACY_STREAM, event, 0)
        self.give_event(event, timed=False)

    # what streams do ------------------------------------------------------------------------------------------------

    def is_capturing(self, stream: int) -> bool:
        """Whether what is enqueued on a stream becomes part of a graph, or asking for its work would break one."""
        found = ctypes.c_int()
        with self:
            return bool(self._is_capturing(stream, ctypes.byref(found)) or found.value)

    def has_work(self, stream: int) -> bool:
        """Whether a stream that is not captured has work."""
        with self, self.relaxed:
            return int(self._query_stream(stream)) == cu.NOT_READY

    def captures(self) -> bool:
        """Whether a stream of another library that is known is captured; the default one never is."""
        return any(queue.is_kept and not queue.is_own and self.is_capturing(queue.handle) for queue in self._others())

    @property
    def has_unkept(self) -> bool:
        """Whether there are queues around streams that may be gone: nobody can ask for their work."""
        return any(not queue.is_kept for queue in self._others())

    def working(self) -> list[int]:
        """The streams that have work, without the default one, those that are captured, and those that may be gone."""
        found = {queue.handle for queue in self._others() if queue.is_kept and self._works(queue)}
        for stream in list(self._ended):
            if self.has_work(stream):
                found.add(stream)
                continue
            with contextlib.suppress(ValueError):  # another thread was faster
                self._ended.remove(stream)
                self._idle.append(stream)
        return [*found]

    def _works(self, queue: Any) -> bool:
        return (queue.is_own or not self.is_capturing(queue.handle)) and self.has_work(queue.handle)

    def _is_idle(self) -> bool:
        return not (
            self.captures() or self.is_capturing(cu.LEGACY_STREAM) or self.has_work(cu.LEGACY_STREAM) or self.working()
        )

    # giving back ----------------------------------------------------------------------------------------------------

    def forget(self, name: str, handle: int) -> None:
        """Give an object back to the driver, by a function that does not wait. For finalisers: raises nothing."""
        if self.is_over:
            return
        with self, self.relaxed:
            self.library.raw(f"cu{name}")(handle)

    def leave(self, name: str, handle: int, nbytes: int = 0) -> None:
        """The same for functions that wait for all work of the card, and keep all others of the driver's waiting
        meanwhile: once no stream that is known has work."""
        if not self.is_over:
            self._left.append((name, handle, nbytes))
            self.settle()

    @property
    def has_left(self) -> bool:
        """Whether finalisers left anything."""
        return bool(self._left)

    def settle(self, *, wait: bool = False) -> None:
        """Give back what finalisers left, if that takes no time. ``wait``: if it does, too."""
        if not self._left or self.is_over or not (wait or self._is_idle()):
            return
        while self._left:
            try:
                name, handle, _ = self._left.popleft()
            except IndexError:  # another thread was faster
                return
            self.forget(name, handle)

    def memory(self, name: str, *arguments: Any) -> int:
        """What a function that takes memory hands out. Raises `CudaError` where there is none."""
        self.settle(wait=sum(nbytes for _, _, nbytes in list(self._left)) > _MOST_LEFT)
        with self, self.relaxed:
            try:
                return self.library.handle(name, *arguments)
            except CudaError as error:
                if error.code != cu.OUT_OF_MEMORY or not self._left:
                    raise
            self.settle(wait=True)
            return self.library.handle(name, *arguments)


@cache
def _primary(ordinal: int, process: int) -> Primary:
    return Primary(ordinal)


def primary(ordinal: int) -> Primary:
    """The primary context of a card. Raises `NoDeviceError`, `CudaError`."""
    return _primary(ordinal, os.getpid())


def no_stream(handle: int) -> ArgumentTypeError:
    """The error that says that a handle is no stream's."""
    return ArgumentTypeError(
        f"no stream of a primary context of CUDA's is at the address {handle:#x}",
        hint="pass the handle of a living stream of torch, CuPy or CUDA's runtime, such as stream.cuda_stream",
    )


def _is_in_use(library: Library, ordinal: int) -> bool:
    """Whether a card's primary context is there, which has not to be made for asking."""
    flags, active = ctypes.c_uint(), ctypes.c_int()
    library.DevicePrimaryCtxGetState(ordinal, ctypes.byref(flags), ctypes.byref(active))
    return bool(active.value)


def primary_of(stream: int) -> Primary:
    """The primary context that a stream belongs to; of handles that every context has, the thread's current one, or
    the first card's.

    Raises `ArgumentTypeError` for a stream of another context, or what is none, `NoDeviceError`, `CudaError`.
    """
    library = cu.library()
    cards = (ordinal for ordinal in range(library.number("DeviceGetCount")) if _is_in_use(library, ordinal))
    if stream > cu.PER_THREAD_STREAM and not any(primary(ordinal).may_own(stream) for ordinal in cards):
        raise no_stream(stream)
    is_default = stream <= cu.PER_THREAD_STREAM
    try:
        context = library.handle("CtxGetCurrent") if is_default else library.handle_of("StreamGetCtx", stream)
    except CudaError as error:
        if error.code != cu.INVALID_HANDLE:
            raise
        raise no_stream(stream) from error
    if not context:
        return primary(0)
    library.CtxPushCurrent_v2(context)
    try:
        ordinal = library.number("CtxGetDevice")
    finally:
        library.CtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
    found = primary(ordinal)
    if found.context != context:
        raise ArgumentTypeError(
            f"the stream {stream:#x} is none of the primary context of CUDA's device {ordinal}",
            hint="make it with torch, CuPy, or CUDA's runtime, which use the primary context",
        )
    return found
