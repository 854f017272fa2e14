"""A factory of device arrays of one shape and dtype, with what follows from them worked out once."""

from __future__ import annotations

from typing import Any

from portagpu.runtime.arrays.array import DeviceNDArray, allocations


class ArrayFactory:
    """Makes uninitialised arrays of the shape, strides and dtype of a pattern, which owns its memory.

    It keeps neither the pattern nor its memory alive.
    """

    __slots__ = ("_context", "_facts", "_nbytes")

    def __init__(self, pattern: DeviceNDArray) -> None:
        own = ("__weakref__", "_buffer", "allocation_key", "token")
        self._context, self._nbytes = pattern.context, pattern.alloc_size
        self._facts = tuple((name, getattr(pattern, name)) for name in DeviceNDArray.__slots__ if name not in own)
        assert pattern.base is None

    def array(self, buffer: Any = None) -> DeviceNDArray:
        """A new array, by default in new memory. Raises `OutOfMemoryError`."""
        made = DeviceNDArray.__new__(DeviceNDArray)
        for name, value in self._facts:
            setattr(made, name, value)
        made._buffer = self._context.allocate(self._nbytes) if buffer is None else buffer
        made.allocation_key = next(allocations)
        made.token = object()
        return made
