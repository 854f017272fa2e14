"""Streams: in-order queues."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyopencl as cl

from portagpu.errors import ArgumentTypeError, ClosedError
from portagpu.runtime.output import flush_output
from portagpu.runtime.translate import translate_cl_errors

if TYPE_CHECKING:
    from portagpu.runtime.context import Context
    from portagpu.runtime.event import Event


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
        if self.context.prints:
            flush_output()

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
