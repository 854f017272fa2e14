"""A hint on standard error where a kernel's access out of bounds ends the process, on CPUs.

Python's faulthandler writes the stacks of all threads when a signal ends the process. The signal comes to a thread of
the driver's, in which no Python may run, so the hint is one of these stacks: a thread of ours sleeps in a function
whose file name is the hint.
"""

from __future__ import annotations

import _thread
import contextlib
import faulthandler
import os
import sys
from collections.abc import Callable

HINT = (
    "a kernel may have read or written outside of an array: run with PORTAGPU_BOUNDSCHECK=1 to see which line"
    " (docs/debugging.md#the-process-dies)"
)

_process = 0  # in which the hint waits; threads do not survive a fork


def show_hint_on_crash() -> None:
    """Have the stacks and the hint written where the process dies by a signal; nothing where that cannot be."""
    global _process
    if _process == os.getpid() or sys.__stderr__ is None:
        return
    _process = os.getpid()
    # no file behind standard error, or too late for a thread: then there is no hint
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        if not faulthandler.is_enabled():
            faulthandler.enable(sys.__stderr__)
        _thread.start_new_thread(_sleeping(), (_thread.allocate_lock(),))


def _sleeping() -> Callable[[_thread.LockType], None]:
    def portagpu(lock: _thread.LockType) -> None:
        lock.acquire()
        lock.acquire()

    portagpu.__code__ = portagpu.__code__.replace(co_filename=HINT)
    return portagpu
