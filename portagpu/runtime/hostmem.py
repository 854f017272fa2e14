"""Host memory that a device can use in place: wrapped NumPy arrays, pinned arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyopencl as cl
from numpy.lib.array_utils import byte_bounds

from portagpu.runtime.array import DeviceNDArray
from portagpu.runtime.context import Context, current_context
from portagpu.runtime.layout import checked_dtype, checked_shape, checked_strides, extent_of, strides_of
from portagpu.runtime.stream import Stream
from portagpu.runtime.translate import translate_cl_errors

_ALIGNMENT = 128  # bytes, the largest CL_DEVICE_MEM_BASE_ADDR_ALIGN of devices that share host memory
_BYTE = np.dtype(np.uint8)
_SMALL = 4096  # bytes; below, a copy is as cheap as a wrapper


def wrap_host(context: Context, array: np.ndarray[Any, Any], *, readonly: bool = False) -> DeviceNDArray | None:
    """The array's own memory as a device array, without a copy; None where the device cannot share it.

    Any strides. The device must use the host's memory, and the array must be writable unless it is wrapped
    ``readonly``. Call `map_back` before the host reads what a kernel wrote.
    """
    if not context.capabilities.host_unified_memory or array.nbytes < _SMALL or not array.flags.aligned:
        return None
    if not readonly and not array.flags.writeable:
        return None
    low, high = byte_bounds(array)
    # drivers copy host memory that is not aligned; rounding outwards stays inside the pages that hold the array
    low, high = low // _ALIGNMENT * _ALIGNMENT, -(-high // _ALIGNMENT) * _ALIGNMENT
    # PyOpenCL asks for a writable flat buffer, whatever the array's layout and flags; the kernel respects ``readonly``
    memory: Any = (ctypes.c_ubyte * (high - low)).from_address(low)
    flat = np.frombuffer(memory, np.uint8)
    flags = cl.mem_flags.USE_HOST_PTR | (cl.mem_flags.READ_ONLY if readonly else cl.mem_flags.READ_WRITE)
    with translate_cl_errors(context):
        buffer = cl.Buffer(context.cl_context, flags, hostbuf=flat)
    start = int(array.__array_interface__["data"][0])
    return DeviceNDArray(
        array.shape,
        array.dtype,
        array.strides,
        buffer,
        context,
        offset=start - low,
        base=array,
        readonly=readonly,
        allocation_key=_root_key(array),
    )


def map_back(shared: DeviceNDArray, stream: Stream) -> None:
    """Wait, and make the host see what kernels wrote into memory that both share."""
    buffer = shared.buffer
    with translate_cl_errors(shared.context):
        mapped: Any
        mapped, _ = cl.enqueue_map_buffer(
            stream.queue, buffer, cl.map_flags.READ, 0, (buffer.size,), _BYTE, is_blocking=True
        )
        mapped.base.release(stream.queue)
        stream.queue.finish()


def _root_key(array: np.ndarray[Any, Any]) -> int:
    """A key that views of one allocation share, so that a kernel knows that they may overlap."""
    root: Any = array
    while getattr(root, "base", None) is not None:
        root = root.base
    return -id(root.obj if isinstance(root, memoryview) else root)


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> np.ndarray[Any, Any]:
    """A NumPy array in page-locked memory, for fast and asynchronous copies."""
    context = current_context()
    kind, extents = checked_dtype(dtype), checked_shape(shape)
    steps = strides_of(extents, kind, order) if strides is None else checked_strides(extents, strides)
    nbytes, offset = extent_of(extents, steps, kind.itemsize)
    flags = cl.mem_flags.ALLOC_HOST_PTR | cl.mem_flags.READ_WRITE
    access: Any = cl.map_flags.READ | cl.map_flags.WRITE
    with translate_cl_errors(context):
        buffer = cl.Buffer(context.cl_context, flags, max(nbytes, 16))
        mapped: Any
        mapped, _ = cl.enqueue_map_buffer(
            context.default_stream.queue, buffer, access, 0, (max(nbytes, 1),), _BYTE, is_blocking=True
        )
    result: np.ndarray[Any, Any] = np.ndarray(extents, kind, buffer=mapped, offset=offset, strides=steps)
    return result


@contextmanager
def pinned(*arrays: np.ndarray[Any, Any]) -> Iterator[None]:
    """Kept for programs of CUDA-Python: OpenCL cannot pin existing memory, so copies inside run as outside."""
    yield
