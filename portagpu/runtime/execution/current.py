"""Current streams: where a thread's work goes that names no stream, after ``with stream:``."""

from __future__ import annotations

import threading
from typing import Any

from portagpu.errors import ArgumentTypeError


class _OfThread(threading.local):
    streams: tuple[Any, ...] = ()  # the last one is the innermost


_thread = _OfThread()


def current_stream(context: Any) -> Any:
    """The stream of a context that is current in this thread: of the innermost ``with``, else the default stream."""
    for stream in reversed(_thread.streams):
        if stream.context is context:
            return stream
    return context.default_stream


def push(stream: Any) -> None:
    """Make a stream current in this thread until `pop`."""
    _thread.streams = (*_thread.streams, stream)


def pop(stream: Any) -> None:
    """Make the stream before `push` current. Raises `ArgumentTypeError` unless this one was pushed last."""
    if not _thread.streams or _thread.streams[-1] is not stream:
        raise ArgumentTypeError(
            "the stream was not the last to become current in this thread", hint="use it with a with statement"
        )
    _thread.streams = _thread.streams[:-1]
