"""A factory of device arrays of one shape, strides and dtype, with what follows from them worked out once."""

from __future__ import annotations

from typing import Any

from portagpu.runtime.arrays.array import DeviceNDArray, allocations

_OWN = frozenset({"__weakref__", "_buffer", "allocation_key", "base", "stream", "token"})


class ArrayFactory:
    """Makes arrays that are like a pattern: uninitialised ones in new memory, or views of other arrays.

    It keeps neither the pattern nor its memory alive.
    """

    __slots__ = ("_context", "_facts", "_nbytes", "_stream")

    def __init__(self, pattern: DeviceNDArray) -> None:
        self._context, self._nbytes, self._stream = pattern.context, pattern.alloc_size, pattern.stream
        self._facts = tuple((name, getattr(pattern, name)) for name in DeviceNDArray.__slots__ if name not in _OWN)

    def array(self, buffer: Any = None) -> DeviceNDArray:
        """A new array, by default in new memory; the pattern owns its memory. Raises `OutOfMemoryError`."""
        made = self._like_pattern()
        made._buffer = self._context.allocate(self._nbytes) if buffer is None else buffer
        made.base, made.stream = None, self._stream
        made.allocation_key = next(allocations)
        return made

    def view(self, owner: DeviceNDArray, allocation_key: int | None = None) -> DeviceNDArray:
        """A view of an array's memory, at the pattern's offset. The key: that of its allocation, by default its own."""
        made = self._like_pattern()
        made._buffer, made.stream = owner.buffer, owner.stream
        made.base = owner if owner.base is None else owner.base
        made.allocation_key = owner.allocation_key if allocation_key is None else allocation_key
        return made

    def _like_pattern(self) -> DeviceNDArray:
        made = DeviceNDArray.__new__(DeviceNDArray)
        for name, value in self._facts:
            setattr(made, name, value)
        made.token = object()
        return made
