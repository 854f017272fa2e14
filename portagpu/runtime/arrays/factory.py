"""A factory of device arrays of one shape, strides and dtype, with what follows from them worked out once."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from portagpu.runtime.arrays import facts
from portagpu.runtime.arrays.array import DeviceNDArray, allocations
from portagpu.runtime.arrays.facts import Facts, facts_for, facts_of
from portagpu.runtime.execution.context import Context


class ArrayFactory:
    """Makes arrays that are like a pattern: uninitialised ones in new memory, or views of other arrays.

    It keeps neither the pattern nor its memory alive.
    """

    __slots__ = ("_context", "_facts", "_nbytes", "_stream")

    def __init__(self, pattern: DeviceNDArray) -> None:
        self._context, self._nbytes, self._stream = pattern.context, pattern.alloc_size, pattern.stream
        self._facts = facts_of(pattern)

    def array(self, buffer: Any = None) -> DeviceNDArray:
        """A new array, by default in new memory; the pattern owns its memory. Raises `OutOfMemoryError`."""
        made = with_facts(self._facts)
        made._buffer = self._context.allocate(self._nbytes) if buffer is None else buffer
        made.base, made.stream = None, self._stream
        made.allocation_key = next(allocations)
        return made

    def view(self, owner: DeviceNDArray, allocation_key: int | None = None) -> DeviceNDArray:
        """A view of an array's memory, at the pattern's offset. The key: that of its allocation, by default its own."""
        made = with_facts(self._facts)
        made._buffer, made.stream = owner.buffer, owner.stream
        made.base = owner if owner.base is None else owner.base
        made.allocation_key = owner.allocation_key if allocation_key is None else allocation_key
        return made


with_facts: Callable[[Facts], DeviceNDArray] = partial(facts.with_facts, DeviceNDArray)
"""An array without memory, which the caller gives it."""


def new_array(context: Context, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceNDArray:
    """An uninitialised array in C order, not of records, whose facts are looked up. Raises `OutOfMemoryError`."""
    return made_of(facts_for(DeviceNDArray, context, shape, dtype))


def made_of(facts: Facts) -> DeviceNDArray:
    """An uninitialised array with the facts of one without gaps. Raises `OutOfMemoryError`."""
    made = with_facts(facts)
    made._buffer = made.context.allocate(made.size * made.itemsize)
    made.base = None
    made.stream = 0
    made.allocation_key = next(allocations)
    return made


def view_with(x: DeviceNDArray, facts: Facts) -> DeviceNDArray:
    """A view of an array's memory with the facts of one of an array that lies alike."""
    view, base = with_facts(facts), x.base
    view.stream, view.allocation_key = x.stream, x.allocation_key
    if base is None:
        view._buffer, view.base = x._buffer or x.buffer, x
    else:
        view._buffer, view.base = x.buffer, base
    return view
