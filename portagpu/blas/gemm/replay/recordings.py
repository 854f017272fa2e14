"""The recordings of products, by thread and context."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from portagpu.blas.gemm.selection.choice import chooser_of
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.weak_registry import WeakRegistry, of_threads
from portagpu.runtime.replay.host_calls import HostBuffers, is_in_place
from portagpu.settings import Settings
from portagpu.tuning import Chooser

K = TypeVar("K", bound="Known")


class Remembered(dict[Any, Any]):
    """What is known, that which was used last at the end. No `OrderedDict`: keys are compared by code of Python's, and
    an interrupt in there leaves one with an order that its entries do not have."""

    __slots__ = ()

    def use(self, key: Any) -> Any:
        """The value, which is never None, of a key; None without one."""
        found = self.pop(key, None)
        if found is not None:
            self[key] = found
        return found

    def forget_oldest(self) -> Any:
        """Take away what was used the longest ago, and return it."""
        return self.pop(next(iter(self)))


class Known:
    """What a thread knows of products in one context, and the generation of tuning results that it holds for."""

    __slots__ = ("_chooser", "_generation", "_settings", "known")

    def __init__(self) -> None:
        self.known = Remembered()
        self._settings: Settings | None = None  # none yet
        self._chooser: Chooser | None = None
        self._generation = -1

    def holds(self, context: Context) -> bool:
        """Whether what is known was found out under the tuning results that there are now."""
        chooser = self._chooser
        return chooser is not None and self._settings is context.settings and self._generation == chooser.generation()

    def refresh(self, context: Context) -> Remembered:
        """What is known, without what was found out under older tuning results."""
        if not self.holds(context):
            self.clear()
            self._settings, self._chooser = context.settings, chooser_of(context)
            self._generation = self._chooser.generation()
        return self.known

    def clear(self) -> None:
        """Forget everything."""
        self.known.clear()


class HostKnown(Known):
    """With buffers over host memory: what a CPU uses in place. ``buffers``: None where the device has no use for them,
    and before that is known."""

    __slots__ = ("_keeps", "buffers")

    def __init__(self) -> None:
        super().__init__()
        self.buffers: HostBuffers | None = None
        self._keeps: bool | None = None  # whether buffers are kept; None before that is known

    def kept_buffers(self, context: Context) -> HostBuffers | None:
        """The buffers that are kept; None on a device that does not use the host's memory in place."""
        if self._keeps is None:
            self._keeps = is_in_place(context)
            self.buffers = HostBuffers() if self._keeps else None
        return self.buffers


class _Contexts(dict[int, Known]):
    """By context's key; a class of its own, since weak references to dictionaries do not exist."""


class Recordings(Generic[K]):
    """Recordings of all threads. Those of a context that is closed are dropped: they keep kernels and scratch memory.

    Other threads' are dropped, too, which is safe: they hold what they use, and who makes a recording while its context
    is closed adds it to what nobody finds any more.
    """

    def __init__(self, new: Callable[[], K]) -> None:
        self._new_known = new
        self._mine = threading.local()
        self._lock = threading.RLock()  # a collection inside may run code that multiplies
        self._threads: WeakRegistry[_Contexts] = WeakRegistry()

    def of(self, context: Context) -> K:
        """Those of this thread in a context."""
        try:
            found: K = self._mine.contexts[context.key]
            return found
        except (AttributeError, KeyError):
            return self._new(context)

    def _new(self, context: Context) -> K:
        known = self._new_known()
        if context.closed:
            return known
        contexts = getattr(self._mine, "contexts", None)
        with self._lock:
            if contexts is None:
                contexts = self._mine.contexts = _Contexts()
                self._threads.add(contexts)
                of_threads.add(contexts)
            contexts[context.key] = known
        context.holders.add(self)
        return known

    def forget(self, context: Context) -> None:
        """Drop those of a context that is closed, in all threads."""
        with self._lock:
            dropped = [contexts.pop(context.key, None) for contexts in self._threads]
        del dropped  # destructors call the driver: not while others wait
