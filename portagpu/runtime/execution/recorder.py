"""The recorder of launches of the current thread (see `portagpu.runtime.replay.replay`)."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any, NamedTuple

from portagpu.package_stamp import FOLDER

_BETWEEN = frozenset({contextlib.__file__})  # files of others that the package's own calls go through


class Launch(NamedTuple):
    """A kernel that was launched, with its C arguments."""

    compiled: Any
    shape: Any
    values: tuple[Any, ...]


class Copy(NamedTuple):
    """A copy on the device, or a fill, whose source is its target. ``enqueue``: given a queue and both memories, the
    target's first; ``facts``: what copies that are the same but for their memories have in common."""

    context: Any
    target: Any
    source: Any
    enqueue: Callable[[Any, Any, Any], None]
    facts: tuple[Any, ...]


class Recorder:
    """What was launched and copied, in order, and how often anything was enqueued; by the call that is recorded, not by
    finalisers and signal handlers that Python runs in the middle of it."""

    __slots__ = ("_root", "commands", "host", "steps")

    def __init__(self, root: FrameType, host: Any = None) -> None:
        """``root``: the frame that makes the call, and lives as long; ``host``: notes what it does with host arrays."""
        self.host = host
        self.steps: list[Launch | Copy] = []
        self.commands = 0
        self._root = id(root)  # the frame itself would keep all that it refers to

    def aside(self) -> AbstractContextManager[None]:
        """For what is no step: what is set up once beside the call, and orders streams; here it belongs to the call,
        which is then not repeated."""
        return contextlib.nullcontext()

    def meets(self, stream: Any) -> None:
        """Something is enqueued on a stream of another library's: whoever repeats a library call knows the stream."""
        return

    def uses_host(self) -> None:
        """The host's memory takes part, in place or as what is read after a launch: ``host`` sees to that."""
        return

    def is_own(self) -> bool:
        """Whether the caller is called by what is recorded: by nobody's functions but the package's."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and id(frame.f_back) != self._root:  # the call itself is whoever's
            name = frame.f_code.co_filename
            if not name.startswith(FOLDER) and name not in _BETWEEN:
                return False
            frame = frame.f_back
        return frame is not None


def between_streams() -> AbstractContextManager[None]:
    """Around what only puts streams in order: the steps of a graph run one after the other, and need none of it."""
    recorder = active.recorder
    return contextlib.nullcontext() if recorder is None else recorder.aside()


class _Active(threading.local):
    recorder: Recorder | None = None
    # of calls that use kept scratch memory, one inside the other: a finaliser or signal handler may multiply between
    # two launches of a product. Who raises it puts it back in a `finally` of its own: that of a context manager could
    # be interrupted before its first line
    depth = 0


active = _Active()
