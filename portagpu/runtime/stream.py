"""Streams (in-order queues) and events."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from portagpu.errors import ArgumentTypeError, ClosedError
from portagpu.runtime.translate import translate_cl_errors

if TYPE_CHECKING:
    from portagpu.runtime.context import Context


class Stream:
    """An in-order queue of copies and kernels on one device."""

    __slots__ = ("__weakref__", "_queue", "context")

    def __init__(self, context: Context, queue: cl.CommandQueue | None = None) -> None:
        self.context = context
        if queue is None:
            with translate_cl_errors(context):
                queue = cl.CommandQueue(
                    context.cl_context,
                    context.device.cl_device,
                    properties=cl.command_queue_properties.PROFILING_ENABLE,
                )
        self._queue: cl.CommandQueue | None = queue

    @property
    def queue(self) -> cl.CommandQueue:
        """PyOpenCL's queue. Raises `ClosedError` after `close`."""
        if self._queue is None:
            raise ClosedError("the stream is closed", hint="make a new one with cuda.stream()")
        return self._queue

    def synchronize(self) -> None:
        """Wait for everything in this stream."""
        with translate_cl_errors(self.context):
            self.queue.finish()

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Context manager that waits for the stream at its end."""
        yield self
        self.synchronize()

    def wait_event(self, event: Event) -> None:
        """Let what is enqueued from now on wait for an event of any stream."""
        with translate_cl_errors(self.context):
            cl.enqueue_barrier(self.queue, wait_for=[event.cl_event])

    def add_callback(self, callback: Callable[[Stream, int, Any], None], arg: Any = None) -> None:
        """Call ``callback(stream, status, arg)`` from a driver's thread once everything so far is done."""
        with translate_cl_errors(self.context):
            marker = cl.enqueue_marker(self.queue)
            marker.set_callback(cl.command_execution_status.COMPLETE, lambda status: callback(self, status, arg))
            self.queue.flush()

    def close(self) -> None:
        """Wait for the stream and give its queue back."""
        if self._queue is not None:
            self.synchronize()
            self._queue = None

    def __repr__(self) -> str:
        return f"<portagpu stream on {self.context.device.name}>"


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
        from portagpu.runtime.context import current_context

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
        from portagpu.runtime.context import current_context

        as_stream(stream, self._context or current_context()).wait_event(self)

    def elapsed_time(self, end: Event) -> float:
        """Milliseconds from this event to ``end``."""
        self.synchronize()
        end.synchronize()
        with translate_cl_errors(self._context):
            return (end.cl_event.profile.end - self.cl_event.profile.end) * 1e-6


def as_stream(value: Any, context: Context) -> Stream:
    """The stream that a launch or copy names: 0 or None for the default one, a stream, or PyOpenCL's queue."""
    if isinstance(value, Stream):
        return value
    if value is None or (isinstance(value, int) and value == 0):
        return context.default_stream
    if isinstance(value, cl.CommandQueue):
        return context.wrap_queue(value)
    raise ArgumentTypeError(
        f"a stream is needed, not {type(value).__name__}", hint="use cuda.stream(), 0, or a pyopencl.CommandQueue"
    )
