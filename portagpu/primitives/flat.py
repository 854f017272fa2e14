"""Elements side by side, and new memory, with as little work on the host as there can be."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.copies import upload
from portagpu.runtime.arrays.factory import new_array, view_with
from portagpu.runtime.arrays.facts import facts_for
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.current import current_stream
from portagpu.runtime.execution.stream import Stream, as_stream


def flat(x: DeviceNDArray) -> DeviceNDArray:
    """The elements in C order with one axis: a view where they lie so, else a copy."""
    _check(x)
    if x.layout != "C":
        return x.copy().ravel()
    if x.ndim == 1:
        return x
    if x.shifted or x.readonly or x.align or x.token is None:
        return x.ravel()
    return view_with(x, facts_for(DeviceNDArray, x.context, (x.size,), x.dtype))


def stream_for(x: DeviceNDArray, stream: Any) -> Stream:
    """The stream in which a function of a device array works, to be made current. Raises `ArgumentTypeError`."""
    _check(x)
    return as_stream(stream, x.context)


def _check(x: Any) -> None:
    if not isinstance(x, DeviceNDArray):
        raise ArgumentTypeError(f"a device array is needed, not {type(x).__name__}", hint="cuda.to_device(x)")


def new(shape: tuple[int, ...], dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
    """An uninitialised array, C-contiguous. Raises `OutOfMemoryError`."""
    return new_array(context, shape, dtype) if dtype.names is None else device_array(shape, dtype, context=context)


def uploaded(host: np.ndarray[Any, Any], context: Context) -> DeviceNDArray:
    """A copy of a host array that nobody else changes: the call does not wait for what the device does before."""
    made = new(host.shape, host.dtype, context)
    if host.size:
        flat = np.ascontiguousarray(host).reshape(-1)
        with context.unsettled:
            upload(made, flat, current_stream(context), blocking=False, is_own=True)
    return made
