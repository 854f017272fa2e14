"""Events: points in a stream."""

from __future__ import annotations

import threading

import pyopencl as cl

from portagpu.errors import ClosedError
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.stream import Stream, as_stream
from portagpu.runtime.translate import translate_cl_errors


class Event:
    """A point in a stream."""

    __slots__ = ("_context", "_event", "_lock")

    def __init__(self) -> None:
        self._event: cl.Event | None = None
        self._context: Context | None = None
        self._lock = threading.Lock()

    @property
    def cl_event(self) -> cl.Event:
        """PyOpenCL's event. Raises `ClosedError` before `record`."""
        if self._event is None:
            raise ClosedError("the event was not recorded", hint="call event.record(stream) first")
        return self._event

    def record(self, stream: Stream | int = 0) -> None:
        """Set the event at the stream's present end."""

        stream = as_stream(stream, stream.context if isinstance(stream, Stream) else current_context())
        with translate_cl_errors(stream.context), self._lock:
            self._event = cl.enqueue_marker(stream.queue)
            self._context = stream.context
            stream.queue.flush()

    def query(self) -> bool:
        """Whether the event has happened."""
        with translate_cl_errors(self._context):
            return int(self.cl_event.command_execution_status) == int(cl.command_execution_status.COMPLETE)

    def synchronize(self) -> None:
        """Wait for the event."""
        with translate_cl_errors(self._context):
            self.cl_event.wait()

    def wait(self, stream: Stream | int = 0) -> None:
        """Let a stream wait for the event."""

        as_stream(stream, self._context or current_context()).wait_event(self)

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``."""
        self.synchronize()
        end.synchronize()
        with translate_cl_errors(self._context):
            return (end.cl_event.profile.end - self.cl_event.profile.end) * 1e-6
