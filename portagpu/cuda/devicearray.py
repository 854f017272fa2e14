"""Device arrays and what asks about them, under CUDA-Python's module name."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.cuda.shared_memory import ManagedNDArray, MappedNDArray, SharedNDArray
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.array import DeviceNDArray, DeviceRecord, device_array
from portagpu.runtime.creation import as_device_array, device_array_like, is_device_like, to_device
from portagpu.runtime.stream import Stream

DeviceNDArrayBase = DeviceNDArray

__all__ = [
    "DeviceNDArray",
    "DeviceNDArrayBase",
    "DeviceRecord",
    "ManagedNDArray",
    "MappedNDArray",
    "auto_device",
    "device_array",
    "device_array_like",
    "from_array_like",
    "from_record_like",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
    "to_device",
]


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether ``obj`` is a device array, or an array that host and device share."""
    return isinstance(obj, DeviceNDArray | SharedNDArray)


def require_cuda_ndarray(obj: Any) -> None:
    """Raise `ArgumentTypeError` unless ``obj`` is a device array."""
    if not is_cuda_ndarray(obj):
        raise ArgumentTypeError(f"a device array is needed, not {type(obj).__name__}", hint="use cuda.to_device(x)")


def from_array_like(ary: Any, stream: Stream | int = 0, gpu_data: Any = None) -> DeviceNDArray:
    """A device array like ``ary``, for ``stream``: uninitialised, or around ``gpu_data``, a `pyopencl.Buffer`."""
    if gpu_data is None:
        return device_array_like(ary, stream)
    return as_device_array(gpu_data, dtype=ary.dtype, shape=ary.shape)


def from_record_like(rec: Any, stream: Stream | int = 0, gpu_data: Any = None) -> DeviceNDArray:
    """A device record like ``rec``, a NumPy record; ``stream`` and ``gpu_data`` as with `from_array_like`."""
    return from_array_like(np.asarray(rec), stream, gpu_data)


def auto_device(obj: Any, stream: Stream | int = 0, copy: bool = True, user_explicit: bool = False) -> tuple[Any, bool]:
    """``obj`` on the device, and whether it is a new array; device arrays stay as they are.

    ``stream`` and ``copy`` are as with `to_device`; ``user_explicit`` changes nothing.
    """
    if is_cuda_ndarray(obj):
        return obj, False
    if is_device_like(obj):
        return as_device_array(obj), False
    return to_device(np.array(obj, copy=None, subok=True), stream=stream, copy=copy), True
