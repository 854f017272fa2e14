"""Stack space for deeply nested kernels: the compiler recurses, and Python allows 1000 frames.

Long sums, `elif` chains and chains of device functions, which programs that write programs make, need more.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from portagpu.errors import UnsupportedSyntaxError

_FRAMES = 8000  # beyond what the caller has; 3 MiB of a thread's stack of 8 in Python 3.10, much less later
_P = ParamSpec("_P")
_R = TypeVar("_R")
_lock = threading.RLock()
_users, _before = 0, 0  # of the raised limit, which is the process's


def deeply_nested(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Let a stage of the compiler recurse deeply. What is nested deeper still is an `UnsupportedSyntaxError`."""

    @functools.wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        _enter()
        try:
            return function(*args, **kwargs)
        except RecursionError:
            pass  # raised below: its thousands of frames tell nothing
        finally:
            _leave()
        raise UnsupportedSyntaxError(
            "the kernel, or a function that it calls, is nested too deeply",
            hint="split long expressions and chains of `elif` into several statements",
        )

    return run


def _enter() -> None:
    global _users, _before
    with _lock:
        if not _users:
            _before = sys.getrecursionlimit()
        _users += 1
        if sys.getrecursionlimit() < _before + _FRAMES:
            sys.setrecursionlimit(_before + _FRAMES)


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users or sys.getrecursionlimit() != _before + _FRAMES:
            return  # others are at it, or the program has set a limit of its own meanwhile
        try:
            sys.setrecursionlimit(_before)
        except RecursionError:  # the caller is that deep already
            return
