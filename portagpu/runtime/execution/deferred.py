"""What is put off: arrays whose elements are computed once somebody needs them.

Whatever is enqueued may write memory that they are to be computed from, so that all of them are computed before.
"""

from __future__ import annotations

import threading
import weakref
from types import TracebackType
from typing import Any, Protocol


class Deferred(Protocol):
    """How an array's elements come to be."""

    @property
    def stream(self) -> Any:
        """Where they are computed."""

    def evaluate(self) -> None:
        """Enqueue what computes them; the array then has memory, and nothing is put off any more."""

    def evaluate_all(self, arrays: Any) -> None:
        """The same for several arrays of a context, which may share launches."""


class _OfThread(threading.local):
    depth = 0


_thread = _OfThread()


class Unsettled:
    """The arrays of a context that are put off.

    As a context manager it is around launches that write new memory only: nothing has to be settled before them.
    """

    __slots__ = ("arrays", "lock")

    def __init__(self) -> None:
        self.arrays: list[weakref.ref[Any]] = []
        self.lock = threading.RLock()
        """Held while arrays that are put off are computed: who must not overtake that waits."""

    def settle(self, but: Any = None, stream: Any = None) -> None:
        """Have all be computed, but perhaps one, which the caller is about to compute.

        ``stream``: what the caller is about to use; it waits for what is computed in others, since it may write what
        is read there. Those that fail raise their errors when they are read, not here. Where this is interrupted, what
        is not computed stays deferred, for what it reads must not be written before.
        """
        if not self.arrays or _thread.depth:
            return
        with self:
            arrays = self.arrays
            count = len(arrays)
            kept: list[weakref.ref[Any]] = []
            try:
                found = [array for reference in arrays[:count] if (array := reference()) is not None]
                waiting = [array for array in found if array is not but and array.deferred is not None]
                if waiting:
                    streams = {array.deferred.stream: None for array in waiting}
                    waiting[0].deferred.evaluate_all(waiting)
                    if stream is not None:
                        for other in streams:
                            stream.follow(other)
            except BaseException:
                here = [(reference, reference()) for reference in arrays[:count]]
                kept = [ref for ref, x in here if x is not None and x is not but and x.deferred is not None]
                raise
            finally:  # not before: other threads that launch wait for what they must not overtake
                arrays[:count] = kept
                if but is not None and but.deferred is not None:
                    arrays.append(weakref.ref(but))

    def __enter__(self) -> None:
        self.lock.acquire()
        _thread.depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _thread.depth -= 1
        self.lock.release()
