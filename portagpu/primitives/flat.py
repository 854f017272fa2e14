"""Elements side by side, and new memory, with as little work on the host as there can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray, allocations, device_array
from portagpu.runtime.arrays.copies import upload
from portagpu.runtime.arrays.factory import facts_of, with_facts
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream, as_stream

_MOST_FACTS = 1024  # shapes whose facts a context remembers


def flat(x: DeviceNDArray) -> DeviceNDArray:
    """The elements in C order with one axis: a view where they lie so, else a copy."""
    _check(x)
    if x.layout != "C":
        return x.copy().ravel()
    if x.ndim == 1:
        return x
    if x.shifted or x.readonly or x.align or x.token is None:
        return x.ravel()
    view = with_facts(_facts(x.context, (x.size,), x.dtype))
    view._buffer, view.stream, view.allocation_key = x.buffer, x.stream, x.allocation_key
    view.base = x if x.base is None else x.base
    return view


def stream_for(x: DeviceNDArray, stream: Any) -> Stream:
    """The stream in which a function of a device array works, to be made current. Raises `ArgumentTypeError`."""
    _check(x)
    return as_stream(stream, x.context)


def _check(x: Any) -> None:
    if not isinstance(x, DeviceNDArray):
        raise ArgumentTypeError(f"a device array is needed, not {type(x).__name__}", hint="cuda.to_device(x)")


def new(shape: tuple[int, ...], dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
    """An uninitialised array, C-contiguous. Raises `OutOfMemoryError`."""
    found = context.array_facts.get((shape, dtype))
    if found is None:
        made = device_array(shape, dtype, context=context)
        if not made.align:
            _remember(context, made)
        return made
    made = with_facts(found)
    made._buffer, made.base, made.stream = context.allocate(made.size * made.itemsize), None, 0
    made.allocation_key = next(allocations)
    return made


def _facts(context: Context, shape: tuple[int, ...], dtype: np.dtype[Any]) -> tuple[Any, ...]:
    found: tuple[Any, ...] | None = context.array_facts.get((shape, dtype))
    if found is None:
        strides, step = [], dtype.itemsize
        for extent in reversed(shape):
            strides.append(step)
            step *= max(extent, 1)
        found = _remember(context, DeviceNDArray(shape, dtype, tuple(reversed(strides)), None, context))
    return found


def _remember(context: Context, pattern: DeviceNDArray) -> tuple[Any, ...]:
    if len(context.array_facts) >= _MOST_FACTS:
        context.array_facts.clear()
    facts: tuple[Any, ...] = facts_of(pattern)
    context.array_facts[pattern.shape, pattern.dtype] = facts
    return facts


def uploaded(host: np.ndarray[Any, Any], context: Context) -> DeviceNDArray:
    """A copy of a host array that nobody else changes: the call does not wait for what the device does before."""
    made = new(host.shape, host.dtype, context)
    if host.size:
        upload(made, np.ascontiguousarray(host).reshape(-1), current_stream(context), blocking=False, is_own=True)
    return made
