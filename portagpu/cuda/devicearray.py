"""Device arrays and what asks about them, under CUDA-Python's module name."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.cuda.shared_memory import ManagedNDArray, MappedNDArray, SharedNDArray
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.array import DeviceNDArray, DeviceRecord, device_array
from portagpu.runtime.arrays.creation import as_device_array, device_array_like, is_device_like, to_device, view_at
from portagpu.runtime.arrays.memory_pointer import MemoryPointer
from portagpu.runtime.execution.stream import Stream

DeviceNDArrayBase = DeviceNDArray
# a name of CUDA-Python's for a message of its own; copies between strided arrays work here
errmsg_contiguous_buffer = "the array is not contiguous in memory: pass numpy.ascontiguousarray(x)"

__all__ = [
    "DeviceNDArray",
    "DeviceNDArrayBase",
    "DeviceRecord",
    "ManagedNDArray",
    "MappedNDArray",
    "array_core",
    "auto_device",
    "device_array",
    "device_array_like",
    "errmsg_contiguous_buffer",
    "from_array_like",
    "from_record_like",
    "is_contiguous",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
    "to_device",
    "verify_cuda_ndarray_interface",
]


def is_cuda_ndarray(obj: Any) -> bool:
    """Whether ``obj`` is a device array, or an array that host and device share."""
    return isinstance(obj, DeviceNDArray | SharedNDArray)


def require_cuda_ndarray(obj: Any) -> None:
    """Raise `ArgumentTypeError` unless ``obj`` is a device array."""
    if not is_cuda_ndarray(obj):
        raise ArgumentTypeError(f"a device array is needed, not {type(obj).__name__}", hint="use cuda.to_device(x)")


def verify_cuda_ndarray_interface(obj: Any) -> None:
    """Raise `ArgumentTypeError` unless an object has what device arrays tell of themselves."""
    require_cuda_ndarray(obj)


def array_core(ary: Any) -> Any:
    """The part that a broadcast array ``ary`` repeats: the first element of each axis whose stride is 0."""
    if not ary.size or 0 not in ary.strides:
        return ary
    return ary[tuple(slice(None) if step else 0 for step in ary.strides)]


def is_contiguous(ary: Any) -> bool:
    """Whether the elements of ``ary`` lie in C order without gaps, repeated ones counted once."""
    return bool(array_core(ary).flags["C_CONTIGUOUS"])


def from_array_like(ary: Any, stream: Stream | int = 0, gpu_data: Any = None) -> DeviceNDArray:
    """A device array like ``ary``, for ``stream``: uninitialised, or of the memory ``gpu_data``.

    That is the ``gpu_data`` of a device array, with the strides of ``ary``, or a `pyopencl.Buffer`. Raises `ShapeError`
    where it is too small.
    """
    if gpu_data is None:
        return device_array_like(ary, stream)
    if isinstance(gpu_data, MemoryPointer):
        memory = gpu_data.owner
        bound = stream if isinstance(stream, Stream) else memory.stream
        return view_at(memory, ary.shape, ary.strides, ary.dtype, stream=bound)
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
