"""Graphs: what is enqueued on a stream, captured, and launched again by one call of the driver."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from portagpu.backends.cuda.primary import Primary

_APART = 1  # a flag of streams: the default stream does not wait for it, and may be used while it is captured
_RELAXED = 2  # a mode of captures: what finalisers and other threads do meanwhile is no part of it, and allowed


class _Captured:
    """The queue whose commands become a graph. It is not among the context's queues: nobody may ask how far it is."""

    is_captured = False  # by nobody else

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def flush(self) -> None:
        """Nothing."""


class Graph:
    """A graph that is ready to be launched."""

    def __init__(self, primary: Primary, enqueue: Callable[[Any], None]) -> None:
        """Capture what ``enqueue`` enqueues on the queue that it is given. Raises `CudaError`."""
        self._primary = primary
        library = primary.library
        with primary:
            stream = library.handle("StreamCreate", _APART)
            try:
                library.StreamBeginCapture_v2(stream, _RELAXED)
                graph = ctypes.c_void_p()
                try:
                    enqueue(_Captured(stream))
                finally:
                    library.StreamEndCapture(stream, ctypes.byref(graph))
                try:
                    self._handle = library.handle("GraphInstantiateWithFlags", graph, 0)
                finally:
                    library.GraphDestroy(graph)
            finally:
                library.StreamDestroy_v2(stream)
        self._launch = library.GraphLaunch

    def __call__(self, queue: Any) -> None:
        """Launch it on a queue."""
        with self._primary:
            self._launch(self._handle, queue.handle)

    def __del__(self) -> None:
        if hasattr(self, "_handle"):
            self._primary.forget("GraphExecDestroy", self._handle)
