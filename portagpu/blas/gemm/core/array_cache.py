"""A cache of device arrays that the library keeps for the next product."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context


class ArrayCache:
    """The latest arrays of each context, by key: at most so many, and of a share of the device's memory.

    ``share`` 64 means that they take at most a 64th of it together; a larger array is not kept at all. Arrays that go
    live on where somebody else holds them, as recordings of launches do (`portagpu.blas.gemm.replay.device_products`
    has its own limit).
    """

    def __init__(self, most: int, share: int) -> None:
        self._most, self._share = most, share
        self._lock = threading.RLock()  # a collection inside may run code that multiplies
        self._arrays: dict[int, OrderedDict[Any, DeviceNDArray]] = {}  # by context

    def get(self, context: Context, key: Any) -> DeviceNDArray | None:
        """The array that was kept for a key."""
        with self._lock:
            arrays = self._arrays.get(context.key)
            found = None if arrays is None else arrays.get(key)
            if arrays is not None and found is not None:
                arrays.move_to_end(key)
            return found

    def keep(self, context: Context, key: Any, array: DeviceNDArray) -> None:
        """Keep an array; those that were not asked for longest may go."""
        most = context.capabilities.global_memory // self._share
        if array.nbytes > most:
            return
        context.holders.add(self)
        dropped = []  # until the lock is free: their destructors call the driver
        with self._lock:
            arrays = self._arrays.setdefault(context.key, OrderedDict())
            arrays[key] = array
            kept = sum(other.nbytes for other in list(arrays.values()))
            while arrays and (kept > most or len(arrays) > self._most):  # a finaliser may have emptied it
                dropped.append(arrays.popitem(last=False)[1])
                kept -= dropped[-1].nbytes
        if context.closed:  # meanwhile, by another thread
            self.forget(context)

    def kept_bytes(self, context: Context) -> int:
        """Bytes of a context's arrays."""
        with self._lock:
            return sum(array.nbytes for array in list(self._arrays.get(context.key, {}).values()))

    def forget(self, context: Context) -> None:
        """Drop the arrays of a context: it is closed, or gives back what is kept for reuse."""
        with self._lock:
            dropped = self._arrays.pop(context.key, None)
        del dropped
