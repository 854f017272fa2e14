"""Eviction of compiled kernels: a context keeps the most recently launched ones.

Dropping one ends nothing: the driver keeps a kernel until what was enqueued of it is done, and whoever launches keeps
the object. The next launch makes it anew, with the binary from the disk cache.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol


class Compiled(Protocol):
    """A compiled kernel: its number, whether it was launched since it was last looked at, a weak reference."""

    key: int
    used: bool

    @property
    def reference(self) -> Callable[[], Any]:
        """Gives the kernel as long as it lives."""


_Entry = tuple[Callable[[], Any], Any, Callable[[], Any]]


class KernelCache:
    """The compiled kernels of a context in the order in which they were made, or found in use.

    A launch only marks its kernel (`CompiledKernel.used`). Who is next to go and is marked loses the mark and goes to
    the end, so that what is launched between two searches stays.
    """

    def __init__(self, most: int) -> None:
        """``most``: how many are kept; 0 for any number."""
        self._most = most
        self._found: dict[int, _Entry] = {}
        self._lock = threading.RLock()  # finalisers in the middle of it may launch, too

    def __len__(self) -> int:
        return len(self._found)

    def add(self, owner: Any, name: Any, compiled: Compiled) -> None:
        """Note a new one, and drop others by ``owner.drop(name, compiled)`` where there are too many."""
        if not self._most:
            return
        with self._lock:
            self._found[compiled.key] = (weakref.ref(owner), name, compiled.reference)
            while len(self._found) > self._most:
                self._drop_one()

    def _drop_one(self) -> None:
        number = next(iter(self._found))
        entry = self._found.pop(number)
        owner, compiled = entry[0](), entry[2]()
        if compiled is None or owner is None:
            return
        if compiled.used:
            compiled.used = False
            self._found[number] = entry
        else:
            owner.drop(entry[1], compiled)

    def clear(self) -> None:
        """Forget all of them, which others have dropped."""
        with self._lock:
            self._found.clear()
