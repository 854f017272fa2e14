"""Queues and events: CUDA's streams and events."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from portagpu.backends.cuda.clock import Point
from portagpu.backends.cuda.library import LEGACY_STREAM, SUCCESS, CudaError
from portagpu.backends.cuda.primary import Primary


class Queue:
    """A stream of the card's primary context. ``owner``: of a stream that another library made, what keeps it; None
    where nobody does.

    ``wrapped`` is for the runtime: what it has around the queue.
    """

    __slots__ = ("__weakref__", "_calls", "_working", "handle", "is_own", "owner", "primary", "wrapped")

    def __init__(self, primary: Primary, handle: int | None = None, owner: Any = None) -> None:
        """``handle``: of a stream that there is; None for a new one."""
        self.primary, self.owner = primary, owner
        self.wrapped: Any = None
        self._calls: deque[tuple[Event, Callable[[int], None]]] = deque()
        self._working = threading.Lock()
        self.is_own = handle is None
        with primary:
            self.handle = primary.take_stream() if handle is None else handle
        primary.know(self)

    @property
    def is_kept(self) -> bool:
        """Whether the stream lives as long as the queue."""
        return self.is_own or self.owner is not None or self.handle == LEGACY_STREAM

    @property
    def is_captured(self) -> bool:
        """Whether another library makes a graph of what is enqueued."""
        return not self.is_own and self.primary.is_capturing(self.handle)

    def flush(self) -> None:
        """Nothing: CUDA starts what it is given."""

    def finish(self) -> None:
        """Wait for the stream."""
        with self.primary:
            self.primary.library.StreamSynchronize(self.handle)
        self.primary.settle()

    def call_after(self, event: Event, function: Callable[[int], None]) -> None:
        """Have a thread call ``function(status)`` once the event is done, in the order in which this was asked for.

        CUDA's own callbacks hold the stream up while they run, wait for Python's lock inside the driver, and do not run
        at all once something has failed.
        """
        self._calls.append((event, function))
        if self._working.acquire(blocking=False):
            threading.Thread(target=self._work, name="portagpu-callbacks", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                event, function = self._calls.popleft()
            except IndexError:
                self._working.release()
                if not self._calls or not self._working.acquire(blocking=False):
                    return
                continue
            try:
                event.wait()
                status = 0
            except CudaError as error:
                status = -error.code
            function(status)


class Mark:
    """A point in a stream, after all that it has by now; it knows no time."""

    __slots__ = ("__weakref__", "handle", "primary")

    def __init__(self, primary: Primary, stream: int) -> None:
        self.primary = primary
        with primary:
            self.handle = primary.take_event(timed=False)
            primary.library.EventRecord(self.handle, stream)

    def wait(self) -> None:
        """Wait until the card has come to it."""
        with self.primary:
            self.primary.wait_event(self.handle)

    def code(self) -> int:
        """0 when the card has come to it, `library.NOT_READY` before, else the error."""
        with self.primary:
            return self.primary.query_event(self.handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.primary.give_event(self.handle, timed=False)


class Event:
    """A command's end in a queue; ``clock``: from where its time is measured.

    A command that another library captures counts as done: it runs whenever its graph does, and nobody can wait.
    """

    __slots__ = ("__weakref__", "clock", "handle", "is_captured", "primary", "queue")

    def __init__(self, queue: Queue) -> None:
        primary = queue.primary
        self.primary, self.queue, self.is_captured = primary, queue, queue.is_captured
        with primary:
            self.clock: Point = primary.clock.at(queue.handle)
            self.handle = primary.take_event(timed=True)
            primary.library.EventRecord(self.handle, queue.handle)

    def wait(self) -> None:
        """Wait until the command is done."""
        if self.is_captured:
            return
        with self.primary:
            self.primary.wait_event(self.handle)

    def code(self) -> int:
        """0 when it is done, `library.NOT_READY` before, else the error."""
        if self.is_captured:
            return SUCCESS
        with self.primary:
            return self.primary.query_event(self.handle)

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self.primary.give_event(self.handle, timed=True)


class Reached:
    """The end of a command that was waited for: nobody has to wait for it again."""

    __slots__ = ()
    is_captured = True  # as what no queue waits for

    def wait(self) -> None:
        """Nothing."""

    def code(self) -> int:
        """0."""
        return SUCCESS


REACHED = Reached()


def stream_at(primary: Primary, handle: int, owner: Any = None) -> Queue:
    """The queue around a stream that there is; handle 0 is the default stream, too."""
    handle = handle or LEGACY_STREAM
    queue: Queue = primary.external(handle, None if handle == LEGACY_STREAM else owner, Queue)
    return queue
