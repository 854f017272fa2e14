"""Events: points in a stream."""

from __future__ import annotations

import threading
from typing import NoReturn

import pyopencl as cl

from portagpu.errors import ArgumentTypeError, ClosedError, DriverError
from portagpu.runtime.execution.context import Context, context_of
from portagpu.runtime.execution.cuda_members import ContextNames
from portagpu.runtime.execution.driver_errors import translate_cl_errors
from portagpu.runtime.execution.printf_flush import flush_output
from portagpu.runtime.execution.stream import Stream, as_stream, enqueuing

_NO_PROFILING = -7


class Event:
    """A point in a stream; ``timing``: whether it will be asked for its time."""

    __slots__ = ("_context", "_event", "_lock", "_timing")

    def __init__(self, timing: bool = True) -> None:
        self._timing = timing
        self._event: cl.Event | None = None
        self._context: Context | None = None
        self._lock = threading.RLock()

    def __reduce__(self) -> NoReturn:
        raise ArgumentTypeError(
            "events cannot be pickled, copied or sent to another process", hint="make one in the process that uses it"
        )

    @property
    def cl_event(self) -> cl.Event:
        """PyOpenCL's event. Raises `ClosedError` before `record`."""
        if self._event is None:
            raise ClosedError("the event was not recorded", hint="call event.record(stream) first")
        problem = self.context.unusable()
        if problem is not None:
            raise problem
        return self._event

    @property
    def context(self) -> Context:
        """The context of the stream in which the event was recorded. Raises `ClosedError` before `record`."""
        if self._context is None:
            raise ClosedError("the event was not recorded", hint="call event.record(stream) first")
        return self._context

    def record(self, stream: Stream | int = 0) -> None:
        """Set the event at the stream's present end."""
        stream = as_stream(stream, context_of(stream))
        if self._timing:
            stream.measure()
        with enqueuing(stream) as queue, self._lock:
            self._event = cl.enqueue_marker(queue)
            self._context = stream.context
            queue.flush()

    def query(self) -> bool:
        """Whether the event has happened; as in CUDA, one that was never recorded has."""
        if self._event is None:
            return True
        with translate_cl_errors(self._context):
            return int(self.cl_event.command_execution_status) == int(cl.command_execution_status.COMPLETE)

    def synchronize(self) -> None:
        """Wait for the event; as in CUDA, not at all for one that was never recorded."""
        if self._event is None:
            return
        with translate_cl_errors(self._context):
            self.cl_event.wait()
        if self.context.prints:
            flush_output()

    def wait(self, stream: Stream | int = 0) -> None:
        """Let a stream wait for the event; as in CUDA, not at all for one that was never recorded."""
        if self._event is None:
            as_stream(stream, context_of(stream))
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
        with translate_cl_errors(self.context):
            try:
                return (end.cl_event.profile.end - self.cl_event.profile.end) * 1e-6
            except cl.Error as error:
                if getattr(error, "code", None) != _NO_PROFILING:
                    raise
                raise DriverError(
                    "an event was recorded on a queue that does not measure time",
                    hint="make events with timing=True, and a queue of your own with "
                    "properties=pyopencl.command_queue_properties.PROFILING_ENABLE",
                ) from error


ContextNames.event_type = Event
