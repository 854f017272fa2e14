"""Streams: in-order queues, and how the default stream and the others wait for each other.

The default stream is CUDA's legacy one: its work starts after what other streams of the context got before, and what
they get afterwards waits for it. `Stream.ready` puts the barriers for that, `enqueuing` is around every driver call
that enqueues. A use is numbered after it is enqueued, so a number that somebody has seen covers that work.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

import pyopencl as cl

from portagpu.errors import ArgumentTypeError, ClosedError, DriverError, PortaGPUError
from portagpu.runtime.callbacks import Callbacks
from portagpu.runtime.output import flush_output
from portagpu.runtime.recorder import active
from portagpu.runtime.translate import translate_cl_errors, translated

if TYPE_CHECKING:
    import asyncio

    from portagpu.runtime.context import Context
    from portagpu.runtime.event import Event

_MAX_PENDING = 256  # copies whose host memory a stream keeps; the next one waits for the oldest
_uses = itertools.count(1)


class Stream:
    """An in-order queue of copies and kernels on one device."""

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_joined",
        "_lock",
        "_measures",
        "_pending",
        "_queue",
        "_seen",
        "_used",
        "context",
        "label",
        "token",
    )

    def __init__(self, context: Context, queue: cl.CommandQueue | None = None) -> None:
        self._queue: cl.CommandQueue | None = None
        self.context = context
        self.label = "CUDA stream"
        self.token = object()  # stands for this stream where it must not be kept alive
        self._used = 0  # number of the latest use
        self._joined = 0  # the use of this stream that the default stream waits for
        self._seen = 0  # the use of the default stream that this stream waits for
        self._pending: deque[tuple[cl.Event, Any]] = deque()
        self._callbacks = Callbacks()
        self._lock = threading.RLock()  # held by who enqueues, as long as the queue may still be replaced
        self._measures = queue is not None  # whether the queue will not be replaced by one that measures time
        self._queue = queue or self._new_queue()

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "streams cannot be pickled, copied or sent to another process", hint="make one in the process that uses it"
        )

    def _new_queue(self, **properties: cl.command_queue_properties) -> cl.CommandQueue:
        context = self.context
        with translate_cl_errors(context):
            return cl.CommandQueue(context.cl_context, context.device.cl_device, **properties)

    def measure(self) -> None:
        """See to it that events on this stream know their times.

        A queue that measures makes every launch dearer (with one driver 14 us in place of 8, and some between
        kernels), so a stream gets one when the first event needs it, or its queue is given away, and keeps it.
        """
        if self._measures:
            return
        with self._lock:
            if self._changeable() is None:
                return
            queue = self._new_queue(properties=cl.command_queue_properties.PROFILING_ENABLE)
            with translate_cl_errors(self.context), self.context.order_lock:
                while (former := self._changeable()) is not None:  # the context may have been closed
                    used = self._used
                    cl.enqueue_barrier(queue, wait_for=[self._marker(former)])
                    if used == self._used:  # else a finaliser has used the former queue meanwhile
                        self._queue, self._measures = queue, True

    def _changeable(self) -> cl.CommandQueue | None:
        return None if self._measures else self._queue

    def _hold(self) -> threading.RLock | None:
        """A lock, held, that keeps the queue as it is; the caller releases it. None where it will not change."""
        if self._measures:
            return None
        self._lock.acquire()
        return self._lock

    @property
    def queue(self) -> cl.CommandQueue:
        """PyOpenCL's queue, for calls of your own; read it anew for each of them. Raises `ClosedError` after `close`.

        It measures time (`pyopencl.Event.profile`). What is enqueued on a queue that was read before is not seen by the
        other streams of the context.
        """
        self.measure()
        queue = self.ready()
        self._used = next(_uses)
        return queue

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._queue is None

    def owns(self, queue: cl.CommandQueue) -> bool:
        """Whether a queue is this stream's."""
        return self._queue is not None and self._queue.int_ptr == queue.int_ptr

    def ready(self) -> cl.CommandQueue:
        """The queue, after barriers for what must run before the next command."""
        held = self._hold()
        try:
            return self._ready()
        finally:
            if held is not None:
                held.release()

    def _ready(self) -> cl.CommandQueue:
        queue = self._queue
        if queue is None:
            raise self._unusable()
        context = self.context
        default = context.default_stream
        if self is not default:
            if self._seen != default._used:
                self._wait_for_default(queue, default)
        elif context.ordered:
            self._wait_for_others(queue)
        return queue

    def _unusable(self) -> PortaGPUError:
        return self.context.unusable() or ClosedError("the stream is closed", hint="make a new one with cuda.stream()")

    def _wait_for_default(self, queue: cl.CommandQueue, default: Stream) -> None:
        # the lock makes a second thread wait until the barrier is in the queue
        with translate_cl_errors(self.context), self.context.order_lock:
            seen = default._used
            if seen != self._seen and default._queue is not None:
                cl.enqueue_barrier(queue, wait_for=[default._marker(default._queue)])
                self._seen = seen

    def _wait_for_others(self, queue: cl.CommandQueue) -> None:
        context = self.context
        with translate_cl_errors(context), context.order_lock:
            orphans, streams = list(context.orphans), list(context.streams)
            if not streams and not orphans:
                context.ordered = False
                context.ordered = bool(context.streams or context.orphans)  # since it was looked
                return
            waiting = [(s, q, s._used) for s in streams if s._used != s._joined and (q := s._queue) is not None]
            ends = orphans + [stream._marker(its) for stream, its, _ in waiting]
            if ends:
                cl.enqueue_barrier(queue, wait_for=ends)
            for stream, _, used in waiting:
                stream._joined = used
            for end in orphans:
                with contextlib.suppress(ValueError):  # a finaliser's launch has waited for it, too
                    context.orphans.remove(end)

    @staticmethod
    def _marker(queue: cl.CommandQueue) -> cl.Event:
        """An event at the queue's end. Flushed: another queue waits for it, and drivers need not start it before."""
        marker = cl.enqueue_marker(queue)
        queue.flush()
        return marker

    def wait_stream(self, other: Stream) -> None:
        """Let what is enqueued from now on wait for everything in another stream of the context."""
        with enqueuing(other) as queue:
            marker = self._marker(queue)
        with enqueuing(self) as queue:
            cl.enqueue_barrier(queue, wait_for=[marker])

    @staticmethod
    def is_done(event: cl.Event) -> bool:
        """Whether a command is done, or has failed."""
        return int(event.command_execution_status) <= int(cl.command_execution_status.COMPLETE)

    def keep(self, event: cl.Event, memory: Any) -> None:
        """Keep host memory until a copy is done. PyOpenCL's event keeps it too, but waits when it is dropped."""
        self._trim()
        if len(self._pending) >= _MAX_PENDING:
            self._pending[0][0].wait()
            self._trim()
        self._pending.append((event, memory))

    def _trim(self) -> None:
        pending = self._pending
        while pending:
            try:
                first = pending.popleft()
            except IndexError:  # another thread was faster
                return
            if not self.is_done(first[0]):
                return pending.appendleft(first)

    def synchronize(self) -> None:
        """Wait for everything in this stream, callbacks too; for the default stream, everything in the context."""
        with translate_cl_errors(self.context):
            self.ready().finish()
            self._trim()
        for stream in (self, *(self.context.streams if self is self.context.default_stream else ())):
            if stream._callbacks:
                stream._callbacks.wait()
        if self.context.prints:
            flush_output()

    def answers(self) -> bool:
        """Whether the queue still works. Asks the driver only: what orders streams may be what failed."""
        if self._queue is None:
            return False
        try:
            cl.enqueue_marker(self._queue)
            self._queue.finish()
        except cl.Error:
            return False
        return True

    def finish_copies(self) -> None:
        """Wait for the copies that use host memory."""
        if self._pending and self._queue is not None:
            self._queue.finish()
            self._trim()

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Context manager that waits for the stream at its end."""
        yield self
        self.synchronize()

    def wait_event(self, event: Event) -> None:
        """Let what is enqueued from now on wait for an event of any stream of the context."""
        if not hasattr(event, "cl_event"):
            raise ArgumentTypeError(f"wait_event takes an event, not {type(event).__name__}", hint="use cuda.event()")
        if event.context is not self.context:
            raise ArgumentTypeError(
                f"the event is on {event.context.device.name}, in another context than the stream",
                hint="wait on the host: event.synchronize()",
            )
        with enqueuing(self) as queue:
            cl.enqueue_barrier(queue, wait_for=[event.cl_event])

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` from a driver's thread once everything so far is done.

        Raises `ArgumentTypeError` for what cannot be called.
        """
        if not callable(callback):
            raise ArgumentTypeError(
                f"a callback is a function of (stream, status, arg), not {type(callback).__name__}",
                hint="pass a function: stream.add_callback(lambda stream, status, arg: ...)",
            )
        with enqueuing(self) as queue:
            marker = cl.enqueue_marker(queue)
            call = self._callbacks.expect(lambda status: callback(self, status, arg))
            marker.set_callback(cl.command_execution_status.COMPLETE, call)
            queue.flush()

    def async_done(self) -> asyncio.Future[Stream]:
        """A future of the running loop for the end of everything in this stream so far; its result is the stream.

        Awaiting it raises `DriverError` where a command failed.
        """
        import asyncio  # slow to import, and few programs await streams

        loop = asyncio.get_running_loop()
        done: asyncio.Future[Stream] = loop.create_future()

        def finish(status: int) -> None:
            if done.cancelled():
                return
            if status < 0:
                done.set_exception(DriverError(f"a command failed on {self.context.device.name} with code {status}"))
            else:
                done.set_result(self)

        def from_driver(stream: Stream, status: int, arg: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(finish, status)

        self.add_callback(from_driver)
        return done

    def close(self) -> None:
        """Wait for the stream and give its queue back."""
        if self._queue is not None:
            self.synchronize()
            self._queue = None

    def abandon(self) -> tuple[Any, ...]:
        """Make the stream unusable without a word to the driver; returns what must never be freed."""
        kept = (self._queue, self._pending)
        self._queue, self._pending = None, deque()
        return kept

    def __del__(self, ends: Callable[[], bool] = sys.is_finalizing) -> None:  # at the end, globals are None
        if ends() or self._queue is None or self.context.closed or self is self.context.default_stream:
            return
        try:
            self.finish_copies()
            if self._used != self._joined:  # the default stream must still wait for it
                self.context.adopt(self._marker(self._queue))
        except (cl.Error, ImportError):  # the latter while the interpreter ends
            pass

    def __int__(self) -> int:
        """The handle of the driver's queue, which `cuda.external_stream` takes; 0 for the default stream."""
        return 0 if self is self.context.default_stream else self.queue.int_ptr

    def __repr__(self) -> str:
        kind = (
            "Legacy default CUDA stream (the Default CUDA stream)"
            if self is self.context.default_stream
            else self.label
        )
        return f"<{kind} of portagpu on {self.context.device.name}>"


class enqueuing:
    """Context manager around driver calls that enqueue on a stream: orders them and translates errors.

    Gives PyOpenCL's queue.
    """

    __slots__ = ("_held", "_stream")

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held: threading.RLock | None = None

    def __enter__(self) -> cl.CommandQueue:
        recorder = active.recorder
        if recorder is not None and recorder.is_own():
            recorder.commands += 1
        stream = self._stream
        held = None
        if not stream._measures:  # as `_hold`, inline as most launches find it
            held = stream._lock
            held.acquire()
        self._held = held
        context = stream.context
        if stream is context.default_stream and not context.ordered and stream._queue is not None:
            return stream._queue  # nothing to wait for
        try:
            return stream._ready()
        except BaseException:
            if held is not None:
                held.release()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream._used = next(_uses)
        if self._held is not None:
            self._held.release()
        if isinstance(error, cl.Error):
            raise translated(error, self._stream.context) from error


def as_stream(value: Any, context: Context) -> Stream:
    """The stream that a launch or copy names: 0 or None for the default one, a stream, or PyOpenCL's queue.

    Raises `ArgumentTypeError` for anything else, for another context's stream, and for an out-of-order queue.
    """
    if isinstance(value, Stream):
        if value.context is not context:
            raise ArgumentTypeError(
                f"the stream is on {value.context.device.name}, in another context than the array or launch",
                hint="use a stream of the array's context: array.context.stream()",
            )
        return value
    if value is None or (isinstance(value, int) and value == 0):
        return context.default_stream
    if isinstance(value, cl.CommandQueue):
        return context.wrap_queue(value)
    raise ArgumentTypeError(
        f"a stream is needed, not {type(value).__name__}", hint="use cuda.stream(), 0, or a pyopencl.CommandQueue"
    )
