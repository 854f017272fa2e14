"""Streams: in-order queues, and how the default stream and the others wait for each other.

The default stream is CUDA's legacy one: its work starts after what other streams of the context got before, and what
they get afterwards waits for it. `Stream.ready` puts the barriers for that, `enqueuing` is around every driver call
that enqueues. A use is numbered after it is enqueued, so a number that somebody has seen covers that work. Collections
and signals may come anywhere, and what they run may use the same streams: no lock is held around what users enqueue.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from portagpu.backends.driver import Driver
from portagpu.backends.handles import Completion, Queue
from portagpu.backends.registry import foreign
from portagpu.device import DeviceRecord
from portagpu.errors import ArgumentTypeError, ClosedError, DriverError, PortaGPUError
from portagpu.runtime.execution import current
from portagpu.runtime.execution.callbacks import Callbacks
from portagpu.runtime.execution.deferred import Unsettled
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.printf_flush import flush_output
from portagpu.runtime.execution.recorder import active, between_streams
from portagpu.runtime.execution.timeline import RetainedMemory, Timeline, drop, marker
from portagpu.runtime.execution.weak_registry import WeakRegistry

if TYPE_CHECKING:
    import asyncio

    from portagpu.backends.backend import Backend

_uses = itertools.count(1)


def next_use() -> int:
    """A number between those of what was enqueued so far, on any stream, and of what will be."""
    return next(_uses)


class StreamHandle(ctypes.c_void_p):
    """The number of a stream for ctypes, and for `int`."""

    def __int__(self) -> int:
        return self.value or 0


class StreamContext(Protocol):
    """What streams see of their context; see `portagpu.runtime.execution.context.Context`."""

    device: DeviceRecord
    ordered: bool
    prints: bool
    unsettled: Unsettled
    host_shares: set[object]
    streams: WeakRegistry[Stream]
    timelines: list[Timeline]
    kept: RetainedMemory
    default_stream: Stream

    @property
    def order_lock(self) -> AbstractContextManager[Any]:
        """Held while streams are put in order."""

    @property
    def backend(self) -> Backend:
        """The device's back end."""

    @property
    def driver(self) -> Driver:
        """The device. Raises `ClosedError`."""

    @property
    def closed(self) -> bool:
        """Whether the context can no longer be used."""

    def unusable(self) -> PortaGPUError | None:
        """The error for a use of the context, where it cannot be used any more."""

    def translated(self, error: Exception) -> PortaGPUError:
        """The typed error for one of the driver's."""

    def wrap_queue(self, queue: Any) -> Stream:
        """A stream around a user's queue."""


class Recorded(Protocol):
    """An event that a stream may wait for."""

    @property
    def native_event(self) -> Any:
        """The driver's event."""

    @property
    def context(self) -> StreamContext:
        """The context of the stream in which it was recorded."""


class Stream:
    """An in-order queue of copies and kernels on one device."""

    __slots__ = (
        "__weakref__",
        "_callbacks",
        "_changing",
        "_measures",
        "_seen",
        "_timeline",
        "context",
        "external",
        "label",
        "token",
    )

    def __init__(self, context: StreamContext, queue: Queue | None = None, *, default: bool = False) -> None:
        self.context = context
        self.label = "CUDA stream"
        self.external = queue is not None  # whether another library made the queue
        self.token = object()  # stands for this stream where it must not be kept alive
        self._seen = 0  # the use of the default stream that this stream waits for
        self._callbacks = Callbacks()
        # whether the queue will not be replaced by one that measures time
        self._measures = queue is not None or context.driver.always_measures
        self._changing = False  # whether it is being replaced
        self._timeline = Timeline(context.driver, queue or self._new_queue(default=default))

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "streams cannot be pickled, copied or sent to another process", hint="make one in the process that uses it"
        )

    def _new_queue(self, *, profiling: bool = False, default: bool = False) -> Queue:
        with translate_errors(self.context):
            driver = self.context.driver
            queue: Queue = driver.default_queue() if default else driver.queue(profiling=profiling)
            return queue

    def measure(self) -> None:
        """See to it that events on this stream know their times.

        A queue that measures makes every launch dearer (with one driver 14 us in place of 8, and some between
        kernels), so a stream gets one when the first event needs it, or its queue is given away, and keeps it.
        """
        if self._measures:
            return
        timeline = self._timeline
        with translate_errors(self.context), self.context.order_lock:
            queue, driver = self._new_queue(profiling=True), timeline.driver
            self._changing = True
            try:
                while not self._measures and (former := timeline.queue) is not None:  # the context may have been closed
                    used = timeline.used
                    driver.barrier(queue, [marker(driver, former)])
                    if timeline.queue is former and used == timeline.used:  # else a finaliser was at it
                        timeline.queue, self._measures = queue, True
                        while used != timeline.used:  # another thread was, just before the change
                            used = timeline.used
                            driver.barrier(queue, [marker(driver, former)])
            finally:
                self._changing = False

    def _follow(self, former: Queue) -> None:
        """After a command on a queue that was replaced meanwhile: what comes on the new one waits for it."""
        timeline = self._timeline
        with translate_errors(self.context), self.context.order_lock:
            if timeline.queue is not None:
                timeline.driver.barrier(timeline.queue, [marker(timeline.driver, former)])
                timeline.used = next(_uses)

    @property
    def queue(self) -> Any:
        """The driver's queue, for calls of your own; read it anew for each of them. Raises `ClosedError` after `close`.

        Of OpenCL it is PyOpenCL's. It measures time (`pyopencl.Event.profile`). What is enqueued on a queue that was
        read before is not seen by the other streams of the context.
        """
        self.context.unsettled.settle()
        self.measure()
        queue = self.ready()
        self._timeline.used = next(_uses)
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

    def ready(self) -> Any:
        """The queue, after barriers for what must run before the next command."""
        context = self.context
        if self._changing:
            with context.order_lock:  # until another thread is ready with it
                pass
        timeline, default = self._timeline, context.default_stream
        if timeline.ended:
            self._revive()
        while True:
            queue = timeline.queue
            if queue is None:
                raise self._unusable()
            if self is not default:
                if self._seen != default._timeline.used:
                    self._wait_for_default(queue, default)
            elif context.ordered:
                self._wait_for_others(queue)
            if timeline.queue is queue:  # else what was waited for may be in the other queue only
                return queue

    def _revive(self) -> None:
        """A finaliser uses a stream that is gone."""
        context, timeline = self.context, self._timeline
        with context.order_lock:
            timeline.end = None
            if context.closed:
                timeline.finish()
            elif timeline.queue is not None and timeline not in context.timelines:
                context.timelines.append(timeline)
                context.ordered = True

    def _unusable(self) -> PortaGPUError:
        return self.context.unusable() or ClosedError("the stream is closed", hint="make a new one with cuda.stream()")

    def _wait_for_default(self, queue: Queue, default: Stream) -> None:
        # the lock makes a second thread wait until the barrier is in the queue
        with translate_errors(self.context), self.context.order_lock:
            seen = default._timeline.used
            if seen != self._seen and default._timeline.queue is not None:
                self._wait(queue, [marker(default._timeline.driver, default._timeline.queue)])
                self._seen = seen

    def _wait_for_others(self, queue: Queue) -> None:
        context = self.context
        with translate_errors(context), context.order_lock:
            timelines = list(context.timelines)
            if not timelines:
                context.ordered = False
                if context.timelines:  # since it was looked
                    context.ordered = True
                return
            waiting = [(t, q, t.used) for t in timelines if t.used != t.joined and (q := t.queue) is not None]
            if waiting:
                self._wait(queue, [marker(timeline.driver, its) for timeline, its, _ in waiting])
            for timeline, _, used in waiting:
                timeline.joined = used
            drop(context.timelines, [timeline for timeline in timelines if timeline.is_over()])

    def _wait(self, queue: Queue, ends: list[Completion]) -> None:
        """A barrier in this stream's queue, and in the one that it may have got meanwhile."""
        self._timeline.driver.barrier(queue, ends)
        if self._timeline.queue is not queue:
            self._follow(queue)

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
        self.context.unsettled.settle()
        with translate_errors(self.context):
            self.ready().finish()
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
        if self._timeline.queue is not None:
            self.synchronize()
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


class enqueuing:
    """Context manager around driver calls that enqueue on a stream: orders them and translates errors.

    Gives the driver's queue.
    """

    __slots__ = ("_queue", "_settles", "_stream")

    def __init__(self, stream: Stream, settles: bool = True) -> None:
        """``settles``: what is put off comes before; without, none is written, or new memory under `Unsettled.lock`."""
        self._stream = stream
        self._settles = settles
        self._queue: Any = None

    def __enter__(self) -> Any:
        recorder, stream = active.recorder, self._stream
        if recorder is not None:
            if stream.external:
                recorder.meets(stream)
            if recorder.is_own():
                recorder.commands += 1
        context = stream.context
        if not self._settles:
            with context.unsettled.lock:  # another thread that computes what is read here has enqueued it by then
                pass
        elif context.unsettled.arrays:
            context.unsettled.settle(stream=stream)
        queue = stream._timeline.queue
        # the former: nothing to wait for
        if stream is not context.default_stream or context.ordered or stream._changing or queue is None:
            queue = stream.ready()
        self._queue = queue
        return queue

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        stream = self._stream
        timeline = stream._timeline
        timeline.used = next(_uses)
        if timeline.queue is not self._queue and self._queue is not None:
            stream._follow(self._queue)
        context = stream.context
        if error is not None:
            if isinstance(error, context.backend.errors):
                raise context.translated(error) from error
        elif context.host_shares and stream is context.default_stream and active.recorder is None:
            with translate_errors(context):  # the host reads and writes some of the memory when the call returns
                self._queue.finish()


def as_stream(value: Any, context: StreamContext) -> Stream:
    """The stream that a launch or copy names: 0 or None for the current one, a stream, or a queue of the driver's.

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
        chosen: Stream = current.current_stream(context)
        return chosen
    if isinstance(value, foreign.queues):
        return context.wrap_queue(value)
    raise ArgumentTypeError(
        f"a stream is needed, not {type(value).__name__}", hint="use cuda.stream(), 0, or a pyopencl.CommandQueue"
    )
