"""Counts of a context's allocations, and memory that it retains."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from portagpu.backends.handles import Allocator
from portagpu.runtime.execution.host_pool import results


class MemoryInfo(NamedTuple):
    """Bytes of a device's memory."""

    free: int
    total: int


class Deallocations:
    """Blocks of freed memory that a context keeps for the next arrays; ``len`` counts them."""

    def __init__(self, pool: Allocator, lock: threading.RLock) -> None:
        self._pool, self._lock = pool, lock
        self._deferring = 0  # blocks of `deferred` that are open

    def __len__(self) -> int:
        return self._pool.held_blocks

    @property
    def is_locked(self) -> bool:
        """Whether the driver gets no memory back: inside ``with cuda.defer_cleanup()``."""
        return self._deferring > 0

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Give no memory to the driver before the block ends."""
        with self._lock:
            self._deferring += 1
            self._pool.keep_apart(True)
        try:
            yield
        finally:
            with self._lock:
                self._deferring -= 1
                if not self._deferring:
                    self._pool.keep_apart(False)

    def clear(self) -> None:
        """Give the blocks back to the driver, and host memory that earlier results have left to the system."""
        if self.is_locked:
            return
        results.clear()
        with self._lock:
            self._pool.free_held()


class _Context(Protocol):
    @property
    def deallocations(self) -> Deallocations: ...

    def get_memory_info(self) -> MemoryInfo: ...


class MemoryManager:
    """A context's memory, by the names of CUDA-Python's memory managers; arrays are what allocates."""

    __slots__ = ("_context",)

    def __init__(self, context: _Context) -> None:
        self._context = context

    @property
    def deallocations(self) -> Deallocations:
        """Freed memory that is kept for the next arrays."""
        return self._context.deallocations

    def get_memory_info(self) -> MemoryInfo:
        """(free, total) bytes of device memory."""
        return self._context.get_memory_info()
