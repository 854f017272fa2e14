"""Freed memory that a context keeps."""

from __future__ import annotations

import threading
from typing import Any

from portagpu.runtime.hostpool import results


class Deallocations:
    """Blocks of freed memory that a context keeps for the next arrays; ``len`` counts them."""

    __slots__ = ("_lock", "_pool")

    def __init__(self, pool: Any, lock: threading.Lock) -> None:
        self._pool, self._lock = pool, lock

    def __len__(self) -> int:
        return int(self._pool.held_blocks)

    @property
    def is_locked(self) -> bool:
        """False: giving memory back never waits for anything, so nothing ever puts it off."""
        return False

    def clear(self) -> None:
        """Give the blocks back to the driver, and host memory that earlier results have left to the system."""
        results.clear()
        with self._lock:
            self._pool.free_held()
