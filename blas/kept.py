"""Arrays of the library's own that are kept on a device for the next product."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context


class Kept:
    """The latest arrays of all contexts, by context and key; at most so many. A closed context's are dropped."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._arrays: OrderedDict[Any, DeviceNDArray] = OrderedDict()

    def get(self, context: Context, key: Any) -> DeviceNDArray | None:
        """The array that was kept for a key."""
        with self._lock:
            found = self._arrays.get((context, key))
            if found is not None:
                self._arrays.move_to_end((context, key))
            return found

    def keep(self, context: Context, key: Any, array: DeviceNDArray) -> None:
        """Keep an array; the one that was not asked for longest may go."""
        context.holders.add(self)
        with self._lock:
            self._arrays[context, key] = array
            if len(self._arrays) > self._most:
                self._arrays.popitem(last=False)

    def forget(self, context: Context) -> None:
        """Drop the arrays of a context that is closed."""
        with self._lock:
            for key in [key for key in self._arrays if key[0] is context]:
                del self._arrays[key]
