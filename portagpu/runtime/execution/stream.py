"""Streams: in-order queues, as programs use them: waits, callbacks, events. `ordering` says which wait for which."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from portagpu.backends.handles import Completion, Queue
from portagpu.backends.registry import foreign
from portagpu.errors import ArgumentTypeError, DriverError, PortaGPUError
from portagpu.runtime.execution import current
from portagpu.runtime.execution.callbacks import Callbacks
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.ordering import OrderedQueue, StreamContext, enqueuing, next_use
from portagpu.runtime.execution.printf_flush import flush_output
from portagpu.runtime.execution.recorder import between_streams
from portagpu.runtime.execution.timeline import marker

if TYPE_CHECKING:
    import asyncio


class StreamHandle(ctypes.c_void_p):
    """The number of a stream for ctypes, and for `int`."""

    def __int__(self) -> int:
        return self.value or 0


class Recorded(Protocol):
    """An event that a stream may wait for."""

    @property
    def native_event(self) -> Any:
        """The driver's event."""

    @property
    def context(self) -> StreamContext:
        """The context of the stream in which it was recorded."""


class Stream(OrderedQueue):
    """An in-order queue of copies and kernels on one device."""

    __slots__ = ("__weakref__", "_callbacks", "label", "owner", "token")

    def __init__(self, context: StreamContext, queue: Queue | None = None, *, default: bool = False) -> None:
        self.label = "CUDA stream"
        self.token = object()  # stands for this stream where it must not be kept alive
        self.owner: Any = None  # what keeps the queue of another library
        self._callbacks = Callbacks()
        super().__init__(context, queue, default=default)

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "streams cannot be pickled, copied or sent to another process", hint="make one in the process that uses it"
        )

    @property
    def queue(self) -> Any:
        """The driver's queue, for calls of your own; read it anew for each of them. Raises `ClosedError` after `close`.

        Of OpenCL it is PyOpenCL's. It measures time (`pyopencl.Event.profile`). What is enqueued on a queue that was
        read before is not seen by the other streams of the context.
        """
        self.context.unsettled.settle()
        self.measure()
        queue = self.ready()
        self._timeline.used = next_use()
        return queue

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._timeline.queue is None or self.context.closed

    def owns(self, queue: Queue) -> bool:
        """Whether a queue is this stream's."""
        return self._timeline.handle() == self._timeline.driver.handle(queue)

    def is_named(self, handle: Any) -> bool:
        """Whether `int` of this stream gave a number."""
        return self._timeline.queue is not None and self._timeline.handle() == handle and not self.closed

    def wait_stream(self, other: Stream) -> None:
        """Let what is enqueued from now on wait for everything in another stream of the context."""
        with between_streams():
            with enqueuing(other) as queue:
                end = marker(other._timeline.driver, queue)
            with enqueuing(self) as queue:
                self._timeline.driver.barrier(queue, [end])

    def go_before(self, queue: Any) -> None:
        """Let a queue of the program's, which becomes no stream, go on after everything in this stream."""
        with between_streams(), translate_errors(self.context), enqueuing(self) as own:
            if own is not queue:
                self._timeline.driver.barrier(queue, [marker(self._timeline.driver, own)])

    def uses_since(self, number: int) -> int:
        """How much was enqueued on any stream after `next_use`, up to this one's latest command."""
        return max(0, self._timeline.used - number)

    def follow(self, other: Stream) -> None:
        """`wait_stream` where that changes anything: the default stream and all others wait for each other anyway."""
        if self is not other and self.context.default_stream not in (self, other):
            self.wait_stream(other)

    def keep(self, event: Completion, memory: Any) -> None:
        """Keep host memory until a copy is done. A driver's event may keep it, too, but wait when it is dropped."""
        self._timeline.keep(event, memory)

    def synchronize(self) -> None:
        """Wait for everything in this stream, callbacks too; for the default stream, everything in the context."""
        self._finish(lambda: self.ready().finish())

    def _finish(self, wait: Callable[[], None]) -> None:
        self.context.unsettled.settle()
        with translate_errors(self.context):
            wait()
            self._timeline.trim()
            if self is self.context.default_stream:
                for timeline in list(self.context.timelines):
                    timeline.trim()
            self.context.kept.trim()
        for stream in (self, *(self.context.streams if self is self.context.default_stream else ())):
            if stream._callbacks:
                stream._callbacks.wait()
        if self.context.prints:
            flush_output()

    def answers(self) -> bool:
        """Whether the queue still works. Asks the driver only: what orders streams may be what failed."""
        queue = self._timeline.queue
        if queue is None:
            return False
        try:
            self._timeline.driver.marker(queue)
            queue.finish()
        except self._timeline.driver.errors:
            return False
        return True

    def __enter__(self) -> Stream:
        """Make the stream current in this thread: what names no stream is enqueued here, in the stream's context."""
        current.push(self)
        return self

    def __exit__(self, *exc: object) -> None:
        current.pop(self)

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Context manager that waits for the stream at its end."""
        yield self
        self.synchronize()

    def wait_event(self, event: Recorded) -> None:
        """Let what is enqueued from now on wait for an event of any stream of the context."""
        if not hasattr(event, "native_event"):
            raise ArgumentTypeError(f"wait_event takes an event, not {type(event).__name__}", hint="use cuda.event()")
        if event.context is not self.context:
            raise ArgumentTypeError(
                f"the event is on {event.context.device.name}, in another context than the stream",
                hint="wait on the host: event.synchronize()",
            )
        with between_streams(), enqueuing(self) as queue:
            self._timeline.driver.barrier(queue, [event.native_event])

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
            end = self._timeline.driver.marker(queue)
            call = self._callbacks.expect(lambda status: callback(self, status, arg))
            self._timeline.driver.notify(end, call)
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
        queue = self._timeline.queue
        if queue is not None and not self.external:
            self.synchronize()
        elif queue is not None:
            with contextlib.suppress(DriverError):  # its maker may have ended it
                self._finish(lambda: self._timeline.driver.finish_foreign(queue))
        self._timeline.finish()

    def abandon(self) -> tuple[Any, ...]:
        """Make the stream unusable without a word to the driver; returns what must never be freed."""
        self._callbacks.abandon()
        return self._timeline.abandon()

    def __del__(self) -> None:
        """The context keeps the timeline until nobody has to wait for it."""
        timeline = getattr(self, "_timeline", None)  # None where the driver made no queue
        if timeline is not None:
            timeline.ended = True  # what looks through the timelines finds it later: nothing is done here

    @property
    def handle(self) -> StreamHandle:
        """The number of the stream, as `int` gives it, for ctypes; its value is None for the default stream."""
        return StreamHandle(int(self))

    def __cuda_stream__(self) -> tuple[int, int]:
        """The version of CUDA's stream protocol, 0, and the handle."""
        return 0, int(self)

    def __int__(self) -> int:
        """The handle of the driver's queue, which `cuda.external_stream` takes; 0 for the default stream."""
        return 0 if self is self.context.default_stream else self._timeline.driver.handle(self.queue)

    def __repr__(self) -> str:
        kind = (
            "Legacy default CUDA stream (the Default CUDA stream)"
            if self is self.context.default_stream
            else self.label
        )
        return f"<{kind} of portagpu on {self.context.device.name}>"


class UnknownStream(Stream):
    """A stream around a number that is no queue's: it shows the number, and each use raises the error that says so."""

    __slots__ = ("_error", "_number")

    def __init__(self, context: StreamContext, number: int, error: PortaGPUError) -> None:
        super().__init__(context)
        self.external, self.label = True, "External CUDA stream"
        self._number, self._error = number, error
        self._timeline.finish()

    def _unusable(self) -> PortaGPUError:
        error = self._error
        return self.context.unusable() or type(error)(error.message, hint=error.hint)  # launches add places to it

    def __int__(self) -> int:
        return self._number


def as_stream(value: Any, context: StreamContext) -> Stream:
    """The stream that a launch or copy names: 0 or None for the current one, a stream, or a queue of the driver's.

    Streams of other libraries tell their handle by ``__cuda_stream__``. Raises `ArgumentTypeError` for anything else,
    for another context's stream, and for an out-of-order queue.
    """
    if isinstance(value, Stream):
        if value.context is not context:
            raise ArgumentTypeError(
                f"the stream is on {value.context.device.name}, in another context than the array or launch",
                hint="use a stream of the array's context: array.context.stream()",
            )
        return value
    if value is None or (isinstance(value, int) and value == 0):
        chosen: Stream = current.current_stream(context)
        return chosen
    if isinstance(value, foreign.queues):
        wrapped: Stream = context.wrap_queue(value)
        return wrapped
    protocol = getattr(value, "__cuda_stream__", None)
    if not callable(protocol) or isinstance(value, type):
        raise ArgumentTypeError(
            f"a stream is needed, not {type(value).__name__}", hint="use cuda.stream(), 0, or a pyopencl.CommandQueue"
        )
    _, handle = protocol()
    if not handle:
        return cast(Stream, context.default_stream)
    found: Stream = context.wrap_queue(context.backend.queue_at(handle))
    found.owner = value
    return found
