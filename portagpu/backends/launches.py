"""What a launch consists of for a driver: its sizes, and the driver's call that enqueues it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any


class LaunchSizes:
    """Threads of a launch along one to three axes, and of a block: as tuples, and in memory as numbers of ``size_t``.

    Without a local size the driver chooses one.
    """

    __slots__ = ("_kept", "global_address", "global_size", "local_address", "local_size", "ndim")

    def __init__(self, global_size: tuple[int, ...], local_size: tuple[int, ...] | None) -> None:
        self.global_size, self.local_size = global_size, local_size
        self.ndim = len(global_size)
        array = ctypes.c_size_t * self.ndim
        threads, group = array(*global_size), None if local_size is None else array(*local_size)
        self._kept = threads, group
        self.global_address = ctypes.addressof(threads)
        self.local_address = None if group is None else ctypes.addressof(group)


Enqueue = Callable[[Any, Any, LaunchSizes], Any]
"""Enqueues a kernel object with the arguments that it has on a queue. What it returns is nothing to count on."""
