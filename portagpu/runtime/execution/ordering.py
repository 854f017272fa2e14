"""How the default stream of a context and the others wait for each other.

The default stream is CUDA's legacy one: its work starts after what other streams of the context got before, and what
they get afterwards waits for it. `OrderedQueue.ready` puts the barriers for that, `enqueuing` is around every driver
call that enqueues. A use is numbered after it is enqueued, so a number that somebody has seen covers that work.
Collections and signals may come anywhere, and what they run may use the same streams: no lock is held around what users
enqueue.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from portagpu.backends.driver import Driver
from portagpu.backends.handles import Completion, Queue
from portagpu.device import DeviceRecord
from portagpu.errors import ClosedError, PortaGPUError
from portagpu.runtime.execution.deferred import Unsettled
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.recorder import active
from portagpu.runtime.execution.timeline import RetainedMemory, Timeline, drop, marker

if TYPE_CHECKING:
    from portagpu.backends.backend import Backend

_uses = itertools.count(1)


def next_use() -> int:
    """A number between those of what was enqueued so far, on any stream, and of what will be."""
    return next(_uses)


class StreamContext(Protocol):
    """What streams see of their context; see `portagpu.runtime.execution.context.Context`."""

    device: DeviceRecord
    ordered: bool
    prints: bool
    unsettled: Unsettled
    host_shares: set[object]
    timelines: list[Timeline]
    kept: RetainedMemory

    @property
    def default_stream(self) -> OrderedQueue:
        """The stream that all others wait for."""

    @property
    def streams(self) -> Iterable[Any]:
        """The other `Stream` objects."""

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

    def wrap_queue(self, queue: Any) -> Any:
        """A `Stream` around a user's queue."""


class OrderedQueue:
    """A queue of a context in its order with the others: the part of `Stream` that barriers are put for."""

    __slots__ = ("_changing", "_measures", "_seen", "_timeline", "context", "external")

    def __init__(self, context: StreamContext, queue: Queue | None, *, default: bool) -> None:
        self.context = context
        self.external = queue is not None  # whether another library made the queue
        self._seen = 0  # the use of the default stream that this stream waits for
        # whether the queue will not be replaced by one that measures time
        self._measures = queue is not None or context.driver.always_measures
        self._changing = False  # whether it is being replaced
        self._timeline = Timeline(context.driver, queue or self._new_queue(default=default))

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

    def begin(self, settles: bool = True) -> Any:
        """The queue for a driver's call that enqueues, and that `end` comes after. ``settles``: see `enqueuing`."""
        recorder, context = active.recorder, self.context
        if recorder is not None:
            if self.external:
                recorder.meets(self)
            if recorder.is_own():
                recorder.commands += 1
        if not settles:
            with context.unsettled.lock:  # another thread that computes what is read here has enqueued it by then
                pass
        elif context.unsettled.arrays:
            context.unsettled.settle(stream=self)
        queue = self._timeline.queue
        # the former: nothing to wait for
        if self is not context.default_stream or context.ordered or self._changing or queue is None:
            queue = self.ready()
        return queue

    def end(self, queue: Any, error: BaseException | None = None) -> None:
        """Something was enqueued on a queue from `begin`, or failed. Raises the typed error for one of the driver's."""
        timeline, context = self._timeline, self.context
        timeline.used = next(_uses)
        if timeline.queue is not queue and queue is not None:
            self._follow(queue)
        if error is not None:
            if isinstance(error, context.backend.errors):
                raise context.translated(error) from error
        elif context.host_shares and self is context.default_stream and active.recorder is None:
            with translate_errors(context):  # the host reads and writes some of the memory when the call returns
                queue.finish()

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

    def _wait_for_default(self, queue: Queue, default: OrderedQueue) -> None:
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


class enqueuing:
    """Context manager around driver calls that enqueue on a stream: orders them and translates errors.

    Gives the driver's queue.
    """

    __slots__ = ("_queue", "_settles", "_stream")

    def __init__(self, stream: OrderedQueue, settles: bool = True) -> None:
        """``settles``: what is put off comes before; without, none is written, or new memory under `Unsettled.lock`."""
        self._stream = stream
        self._settles = settles
        self._queue: Any = None

    def __enter__(self) -> Any:
        self._queue = queue = self._stream.begin(self._settles)
        return queue

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stream.end(self._queue, error)
