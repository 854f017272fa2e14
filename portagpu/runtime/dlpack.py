"""Memory of device arrays for other libraries through DLPack: on CPU devices, whose memory is the host's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portagpu.device.capabilities import Capabilities, DeviceType
from portagpu.errors import MemoryNotSharedError
from portagpu.runtime.stream import enqueuing

if TYPE_CHECKING:
    from portagpu.runtime.array import DeviceNDArray

CPU = (1, 0)  # DLPack's device
_BYTE = np.dtype(np.uint8)


def shares_with_host(caps: Capabilities) -> bool:
    """Whether a device's arrays are host memory that needs no calls before the host uses it."""
    return caps.host_unified_memory and caps.device_type is DeviceType.CPU


def device_of(array: DeviceNDArray) -> tuple[int, int]:
    """DLPack's device of an array. Raises `MemoryNotSharedError`."""
    if not shares_with_host(array.context.capabilities):
        raise MemoryNotSharedError(
            f"{array.context.device.name} does not share its memory with other libraries",
            hint="go through the host: x.copy_to_host()",
        )
    return CPU


def host_view(array: DeviceNDArray) -> np.ndarray[Any, Any]:
    """The array's own memory as a NumPy array, after the work of all streams; it keeps the memory alive.

    Raises `MemoryNotSharedError`.
    """
    device_of(array)
    if array.dtype.names is not None:
        raise MemoryNotSharedError("DLPack has no records", hint="share one field: x['name']")
    buffer = array.buffer
    access: Any = cl.map_flags.READ | cl.map_flags.WRITE
    with enqueuing(array.context.default_stream) as queue:
        mapped: Any
        mapped, _ = cl.enqueue_map_buffer(queue, buffer, access, 0, (buffer.size,), _BYTE, is_blocking=True)
    result: np.ndarray[Any, Any] = np.ndarray(
        array.shape, array.dtype, buffer=mapped, offset=array.offset, strides=array.strides
    )
    result.flags.writeable = not array.readonly
    return result
