"""A stream's timeline: its queue and the memory in use, which outlive a stream that nobody holds."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from typing import Any

from portagpu.backends.driver import Driver
from portagpu.backends.handles import Completion, Queue

_SHORTLY = 1e-3  # seconds: where nothing is under way, memory goes at once and not with the next copy
_MAX_PENDING = 256  # copies whose host memory is kept; the next one waits for the oldest


class Timeline:
    """A stream's queue, the numbers of its latest use and of the one that the default stream waits for, memory in use.

    ``joined`` is set after the wait is in the default stream's queue, ``used`` after a command is in this one.
    """

    __slots__ = ("driver", "end", "ended", "joined", "pending", "queue", "used")

    def __init__(self, driver: Driver, queue: Queue) -> None:
        self.driver = driver
        self.queue: Queue | None = queue
        self.used = self.joined = 0
        self.ended = False  # whether the stream is gone
        self.end: Completion | None = None  # then a marker after all its work, once somebody has asked for it
        self.pending: deque[tuple[Completion, Any]] = deque()

    def handle(self) -> int:
        """The number of the queue; 0 for none any more."""
        return 0 if self.queue is None else self.driver.handle(self.queue)

    def keep(self, event: Completion, memory: Any) -> None:
        """Keep memory until a command is done; there is not too much of it."""
        self.trim()
        if len(self.pending) >= _MAX_PENDING:
            with contextlib.suppress(IndexError):  # another thread was faster
                self.pending[0][0].wait()
            self.trim()
        self.pending.append((event, memory))

    def trim(self) -> None:
        """Let go of the memory of commands that are done. Until then it stays in sight of other threads."""
        pending = self.pending
        with contextlib.suppress(IndexError, ValueError):  # another thread was faster
            while self.driver.is_done((first := pending[0])[0]):
                pending.remove(first)

    def finish_copies(self) -> None:
        """Wait for the commands that use host memory."""
        if self.pending and self.queue is not None:
            self.queue.finish()
            self.trim()

    def is_over(self) -> bool:
        """Whether the stream is gone, and nothing has to be known of it any more."""
        if not self.ended or (self.used != self.joined and self.queue is not None):
            return False
        self.trim()
        return not self.pending

    def has_run(self) -> bool:
        """Whether the stream is gone and all its work is done: nobody has to wait for it."""
        if not self.ended:
            return False
        self.trim()
        if self.pending:
            return False
        queue, end = self.queue, self.end
        if queue is None:
            return True
        with contextlib.suppress(*self.driver.errors):  # a queue that failed
            if end is None:
                self.end = end = marker(self.driver, queue)
            return self.driver.is_done(end)
        return True

    def finish(self) -> None:
        """There will be no more work: its queue was waited for."""
        self.queue, self.ended = None, True

    def abandon(self) -> tuple[Any, ...]:
        """Make it unusable without a word to the driver; returns what must never be freed."""
        kept = (self.queue, self.pending, self.end)
        self.queue, self.pending, self.end = None, deque(), None
        return kept


class RetainedMemory:
    """Memory of others, until what streams had been given by then is done.

    Not in timelines: a timeline may be dropped, and with it its memory, while somebody still looks through others.
    """

    __slots__ = ("_driver", "_open")

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._open: dict[object, tuple[list[Completion], Any]] = {}

    def keep(self, timelines: list[Timeline], memory: Any) -> None:
        """Keep memory until the present ends of streams. Waits for hardly longer than nothing: finalisers call it."""
        driver, ends = self._driver, list[Completion]()
        for timeline in timelines:
            with contextlib.suppress(*driver.errors):  # one that failed keeps no other from being waited for
                if (queue := timeline.queue) is not None:
                    ends.append(marker(driver, queue))
        self._open[object()] = ends, memory
        until = time.monotonic() + _SHORTLY
        while not self._are_done(ends) and time.monotonic() < until:
            time.sleep(_SHORTLY / 64)
        self.trim()

    def _are_done(self, ends: list[Completion]) -> bool:
        return all(map(self._driver.is_done, ends))

    def trim(self) -> None:
        """Let go of what is not in use any more."""
        for key, (ends, _) in list(self._open.items()):
            if self._are_done(ends):
                self._open.pop(key, None)

    def finish(self) -> None:
        """Wait until nothing is in use."""
        for ends, _ in list(self._open.values()):
            for end in list(ends):
                end.wait()
        self.trim()

    def abandon(self) -> Any:
        """Forget everything; returns what must never be freed."""
        kept, self._open = self._open, {}
        return kept


def drop(timelines: list[Timeline], over: list[Timeline]) -> None:
    """Take out those of streams that are over, which finalisers may have done meanwhile."""
    for timeline in over:
        with contextlib.suppress(ValueError):
            timelines.remove(timeline)


def marker(driver: Driver, queue: Queue) -> Completion:
    """An event at the queue's end. Flushed: another queue waits for it, and drivers need not start it before."""
    made: Completion = driver.marker(queue)
    queue.flush()
    return made
