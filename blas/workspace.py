"""Scratch memory of products, kept for the next one: new memory costs time, and so do tensor maps of it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.blas.piece_kernels import clear
from portagpu.runtime.array import DeviceNDArray, device_array
from portagpu.runtime.context import Context
from portagpu.runtime.stream import Stream

_REMEMBERED = 16  # arrays
_COUNTERS = 1024
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

    def zeros(self, stream: Stream, role: str, count: int) -> DeviceNDArray:
        """Numbers of 32 bits that are zero, and are again when the product that uses them is done."""
        count = max(_COUNTERS, 1 << (count - 1).bit_length())
        return self.of(stream, role, (count,), np.dtype(np.int32), first=clear)

    def of(
        self,
        stream: Stream,
        role: str,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        first: Callable[[DeviceNDArray, Stream], None] | None = None,
    ) -> DeviceNDArray:
        """An uninitialised array for one product on a stream, another one for each role. Raises `OutOfMemoryError`.

        ``first`` is called with an array that is new.
        """
        context = stream.context
        key = (context, stream, threading.get_ident(), role, shape, dtype)
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
        made = device_array(shape, dtype, context=context)
        if first is not None:
            first(made, stream)
        if made.nbytes <= context.capabilities.global_memory // _SHARE:
            context.holders.add(self)
            with self._lock:
                self._kept[key] = made
                if len(self._kept) > _REMEMBERED:
                    self._kept.popitem(last=False)
        return made


workspaces = Workspaces()
