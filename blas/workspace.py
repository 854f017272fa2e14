"""Scratch memory of products, kept for the next one: new memory costs time, and so do tensor maps of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

import numpy as np

from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.context import Context
from portagpu.runtime.stream import Stream

_REMEMBERED = 8  # arrays
_SHARE = 64  # of the device's memory: larger arrays are not kept


class Workspaces:
    """Arrays by thread, stream and shape. A stream runs one product after the other, so these can share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[Any, DeviceNDArray] = OrderedDict()

    def forget(self, context: Context) -> None:
        """Drop the arrays of a context that is closed."""
        with self._lock:
            for key in [key for key in self._kept if key[0] is context]:
                del self._kept[key]

    def of(self, stream: Stream, role: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceNDArray:
        """An uninitialised array for one product on a stream, another one for each role. Raises `OutOfMemoryError`."""
        context = stream.context
        key = (context, stream, threading.get_ident(), role, shape, dtype)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = device_array(shape, dtype, context=context)
        if made.nbytes <= context.capabilities.global_memory // _SHARE:
            context.holders.add(self)
            with self._lock:
                self._kept[key] = made
                if len(self._kept) > _REMEMBERED:
                    self._kept.popitem(last=False)
        return made


workspaces = Workspaces()
