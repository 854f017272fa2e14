"""Events: points in a stream."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NoReturn

from portagpu.backends.handles import Completion
from portagpu.errors import ArgumentTypeError, ClosedError
from portagpu.runtime.execution.errors import translate_errors
from portagpu.runtime.execution.ordering import StreamContext, enqueuing
from portagpu.runtime.execution.printf_flush import flush_output
from portagpu.runtime.execution.recorder import between_streams
from portagpu.runtime.execution.stream import Stream, as_stream


class Event:
    """A point in a stream; ``timing``: whether it will be asked for its time."""

    __slots__ = ("_context", "_context_of", "_event", "_lock", "_timing")

    def __init__(self, timing: bool, context_of: Callable[[Any], StreamContext]) -> None:
        """``context_of``: the context of a stream, and the current one for 0."""
        self._timing = timing
        self._context_of = context_of
        self._event: Completion | None = None
        self._context: StreamContext | None = None
        self._lock = threading.RLock()

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "events cannot be pickled, copied or sent to another process", hint="make one in the process that uses it"
        )

    @property
    def cl_event(self) -> Any:
        """The driver's event, PyOpenCL's where OpenCL is the back end. Raises `ClosedError` before `record`."""
        return self.native_event

    @property
    def native_event(self) -> Any:
        """The driver's event, in the terms of its back end. Raises `ClosedError` before `record`."""
        if self._event is None:
            raise ClosedError("the event was not recorded", hint="call event.record(stream) first")
        problem = self.context.unusable()
        if problem is not None:
            raise problem
        return self._event

    @property
    def context(self) -> StreamContext:
        """The context of the stream in which the event was recorded. Raises `ClosedError` before `record`."""
        if self._context is None:
            raise ClosedError("the event was not recorded", hint="call event.record(stream) first")
        return self._context

    def record(self, stream: Stream | int = 0) -> None:
        """Set the event at the stream's present end."""
        stream = as_stream(stream, self._context_of(stream))
        if self._timing:
            stream.measure()
        with between_streams(), enqueuing(stream) as queue, self._lock:
            self._event = stream.context.driver.marker(queue)
            self._context = stream.context
            queue.flush()

    def query(self) -> bool:
        """Whether the event has happened; as in CUDA, one that was never recorded has."""
        if self._event is None:
            return True
        with translate_errors(self.context):
            event = self.native_event
            return self.context.driver.succeeded(event)

    def synchronize(self) -> None:
        """Wait for the event; as in CUDA, not at all for one that was never recorded."""
        if self._event is None:
            return
        with translate_errors(self.context):
            self.native_event.wait()
        if self.context.prints:
            flush_output()

    def wait(self, stream: Stream | int = 0) -> None:
        """Let a stream wait for the event; as in CUDA, not at all for one that was never recorded."""
        if self._event is None:
            as_stream(stream, self._context_of(stream))
            return
        as_stream(stream, self.context).wait_event(self)

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``. Raises `DriverError` where a queue does not measure time."""
        if not isinstance(end, Event):
            raise ArgumentTypeError(f"elapsed_time takes an event, not {type(end).__name__}", hint="use cuda.event()")
        if end.context is not self.context:
            raise ArgumentTypeError(
                "the events are of different contexts, whose clocks differ", hint="record both on one device"
            )
        self.synchronize()
        end.synchronize()
        with translate_errors(self.context):
            driver = self.context.driver
            return (driver.end_time(end.native_event) - driver.end_time(self.native_event)) * 1e-6
