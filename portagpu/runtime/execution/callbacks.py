"""Callbacks of streams; as in CUDA, who waits for a stream waits for them, too."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from collections import deque
from collections.abc import Callable

from portagpu.runtime.execution.weak_registry import WeakRegistry

_LONGEST = 30.0  # seconds; a driver that lost its device may never call
_AT_EXIT = 5.0  # seconds that the end of a program waits for callbacks
_RETURN = 0.02  # seconds in which a driver's thread gives Python back after its callback
_thread = threading.local()


class Callbacks:
    """What `Stream.add_callback` was given."""

    __slots__ = ("__weakref__", "_open")

    def __init__(self) -> None:
        self._open: deque[threading.Event] = deque()

    def __bool__(self) -> bool:
        return bool(self._open)

    def expect(self, function: Callable[[int], None]) -> Callable[[int], None]:
        """The function to give to the driver instead, which notes that it was called."""
        self._trim()
        called = threading.Event()
        _expecting.add(self)
        self._open.append(called)

        def call(status: int) -> None:
            _thread.calling = True
            try:
                function(status)
            finally:
                _thread.calling = False
                called.set()

        return call

    def abandon(self) -> None:
        """Expect none of them any more: in a forked child nobody calls."""
        self._open.clear()

    def wait(self) -> None:
        """Wait until those of finished work have returned; a callback that waits for its own stream does not."""
        if getattr(_thread, "calling", False):
            return
        for called in list(self._open):
            called.wait(_LONGEST)
        self._trim()

    def _trim(self) -> None:
        with contextlib.suppress(IndexError, ValueError):  # another thread was faster
            while (first := self._open[0]).is_set():
                self._open.remove(first)


_expecting: WeakRegistry[Callbacks] = WeakRegistry()


@atexit.register
def _finish() -> None:
    """A driver's thread that calls back when Python has gone aborts the process."""
    until = time.monotonic() + _AT_EXIT
    waiting = [called for callbacks in list(_expecting) for called in list(callbacks._open)]
    for called in waiting:
        called.wait(max(0.0, until - time.monotonic()))
    if waiting:
        time.sleep(_RETURN)
