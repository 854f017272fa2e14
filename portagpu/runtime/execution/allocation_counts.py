"""Counts of a context's allocations, and memory that it retains."""

from __future__ import annotations

import threading
from typing import NamedTuple, Protocol

from portagpu.backends.handles import Allocator
from portagpu.runtime.execution.host_pool import results


class MemoryInfo(NamedTuple):
    """Bytes of a device's memory."""

    free: int
    total: int


class Deallocations:
    """Blocks of freed memory that a context keeps for the next arrays; ``len`` counts them."""

    __slots__ = ("_lock", "_pool")

    def __init__(self, pool: Allocator, lock: threading.RLock) -> None:
        self._pool, self._lock = pool, lock

    def __len__(self) -> int:
        return self._pool.held_blocks

    @property
    def is_locked(self) -> bool:
        """False: giving memory back never waits for anything, so nothing ever puts it off."""
        return False

    def clear(self) -> None:
        """Give the blocks back to the driver, and host memory that earlier results have left to the system."""
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
