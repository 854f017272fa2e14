"""The open blocks of the process: which one a call belongs to, and when NumPy's functions are replaced and restored.

NumPy's names are the process's, so a block counts for all threads. A thread (or task) that has entered blocks itself is
served by the innermost of these, any other by the one that was entered last.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Generic, TypeVar

_B = TypeVar("_B")


class _OfThread(threading.local):
    serving = False


class Blocks(Generic[_B]):
    """Open blocks. ``first`` is called when one is entered while none was open, ``last`` when none is open any more."""

    def __init__(self, first: Callable[[], None], last: Callable[[], None]) -> None:
        self._first, self._last = first, last
        self._lock = threading.RLock()
        self._open: tuple[_B, ...] = ()
        self._own: ContextVar[tuple[_B, ...]] = ContextVar("portagpu.accelerate", default=())
        self._thread = _OfThread()
        self._forked = False
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._in_child)

    def enter(self, block: _B) -> None:
        """Open a block, once more if it is open."""
        with self._lock:
            if not self._open:
                try:
                    self._first()
                except BaseException:
                    self._last()
                    raise
            self._open = (*self._open, block)
        self._own.set((*self._own.get(), block))

    def leave(self, block: _B) -> None:
        """Close a block that was opened, in any thread or task."""
        self._own.set(_without(self._own.get(), block))
        with self._lock:
            self._open = _without(self._open, block)
            if not self._open:
                self._forked = False
                try:
                    self._last()
                except BaseException:  # an interruption: what is left is restored all the same
                    self._last()
                    raise

    def current(self) -> _B | None:
        """The block that serves a call made here; None for calls that serving one makes, and in a forked child."""
        opened = self._open
        if not opened or self._thread.serving or self._forked:
            return None
        for block in reversed(self._own.get()):
            if block in opened:
                return block
        return opened[-1]

    @contextlib.contextmanager
    def serving(self) -> Iterator[None]:
        """What this thread calls meanwhile is NumPy's."""
        former = self._thread.serving
        self._thread.serving = True
        try:
            yield
        finally:
            self._thread.serving = former

    def _in_child(self) -> None:
        """Drivers do not survive a fork: blocks that the parent had opened serve nobody in the child."""
        self._lock = threading.RLock()
        self._forked = bool(self._open)


def _without(blocks: tuple[_B, ...], block: _B) -> tuple[_B, ...]:
    """Blocks without the last occurrence of one."""
    for place in reversed(range(len(blocks))):
        if blocks[place] is block:
            return blocks[:place] + blocks[place + 1 :]
    return blocks
