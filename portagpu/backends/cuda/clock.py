"""When events were done, in nanoseconds of one clock of a card.

CUDA tells the time between two events, as a 32-bit float of milliseconds: after an hour that has steps of 0.25 ms. So
the clock has points, a new one where the last one is old, and events are measured from theirs. The error of a time
between two events then is a share of that time.
"""

from __future__ import annotations

import ctypes
import time
from contextlib import AbstractContextManager
from typing import Protocol

from portagpu.backends.cuda.library import LEGACY_STREAM, Library

_APART = 0.25  # seconds between two points


class EventSource(Protocol):
    """A context, as far as its events go."""

    library: Library

    @property
    def relaxed(self) -> AbstractContextManager[None]:
        """What is called inside breaks no capture of another library's."""

    def take_event(self, *, timed: bool) -> int:
        """A handle of an event that nobody uses."""

    def give_event(self, handle: int, *, timed: bool) -> None:
        """Give it back."""

    def query_event(self, handle: int) -> int:
        """The code that tells whether it is done."""

    def is_capturing(self, stream: int) -> bool:
        """Whether what is recorded in a stream becomes part of a graph."""


class Point:
    """A point of the clock, recorded in a queue."""

    __slots__ = ("_before", "_primary", "_time", "handle", "made")

    def __init__(self, primary: EventSource, stream: int, before: Point | None) -> None:
        self._primary, self._before = primary, before
        self._time: float | None = None if before is not None else 0.0
        self.made = time.monotonic()
        self.handle = primary.take_event(timed=True)
        primary.library.EventRecord(self.handle, stream)

    def time(self) -> float:
        """Nanoseconds of the clock; waits for the point."""
        open_: list[Point] = []
        point: Point | None = self
        while point is not None and point._time is None:
            open_.append(point)
            point = point._before
        for later in reversed(open_):
            before = later._before
            if before is not None and later._time is None:  # else another thread was faster
                later._time = before.time_of(later.handle)
                later._before = None
        return self._time or 0.0

    def time_of(self, event: int) -> float:
        """When an event that knows its time was done, in nanoseconds of the clock; waits for it."""
        library, passed = self._primary.library, ctypes.c_float()
        with self._primary.relaxed:
            for handle in (self.handle, event):
                library.EventSynchronize(handle)
            library.EventElapsedTime(ctypes.byref(passed), self.handle, event)
        return self.time() + passed.value * 1e6

    @property
    def is_done(self) -> bool:
        """Whether the card has come to it."""
        return self._primary.query_event(self.handle) == 0

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._primary.give_event(self.handle, timed=True)


class Clock:
    """The points of a card's clock."""

    __slots__ = ("_latest", "_primary")

    def __init__(self, primary: EventSource) -> None:
        self._primary = primary
        self._latest: Point | None = None

    def at(self, stream: int) -> Point:
        """The point from which an event that is recorded in a queue now is measured."""
        latest = self._latest
        if latest is None or time.monotonic() - latest.made > _APART:
            if latest is not None and latest.is_done:
                latest.time()  # lets go of the points before it
            if self._primary.is_capturing(stream):  # a point of a graph is at no time
                stream = LEGACY_STREAM
            latest = self._latest = Point(self._primary, stream, latest)
        return latest
