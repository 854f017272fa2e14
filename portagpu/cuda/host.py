"""The host side of the dialect: arrays, streams, events, contexts and devices under CUDA-Python's names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from portagpu.cuda.devices import Device, current_context, get_current_device, gpus, list_devices, select_device
from portagpu.cuda.interchange import from_dlpack
from portagpu.device import working_devices
from portagpu.errors import MemoryNotSharedError
from portagpu.runtime import fork
from portagpu.runtime.arrays.array import DeviceNDArray, DeviceRecord, device_array
from portagpu.runtime.arrays.creation import as_device_array, device_array_like, is_device_like, to_device
from portagpu.runtime.arrays.dlpack import shares_with_host
from portagpu.runtime.arrays.foreign import is_foreign
from portagpu.runtime.arrays.host_memory import pinned, pinned_array
from portagpu.runtime.execution.context import close, context_of
from portagpu.runtime.execution.event import Event
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.host_arguments import In, InOut, Out

fork.install()


def stream() -> Stream:
    """A new stream on the current device. Raises `NoDeviceError` where none works."""
    return current_context().stream()


def default_stream() -> Stream:
    """The stream that launches and copies use by default."""
    return current_context().default_stream


def event(timing: bool = True) -> Event:
    """A new event; `Event.elapsed_time` gives milliseconds between two, where both have ``timing``.

    The first event with ``timing`` on a stream gives it a queue that measures time, which makes launches dearer.
    """
    return Event(timing, context_of)


def synchronize() -> None:
    """Wait for all streams of the current device. Raises `DriverError` or `DeviceLostError` where work failed."""
    current_context().synchronize()


def is_available() -> bool:
    """Whether a device works; raises nothing."""
    return bool(working_devices())


def as_cuda_array(obj: Any, dtype: Any = None) -> DeviceNDArray:
    """A device array of the memory of ``obj``, without copying: a `pyopencl.array.Array`, or a `pyopencl.Buffer`.

    A buffer needs the ``dtype`` of its elements and becomes a 1-D array. Objects with ``__cuda_array_interface__`` may
    wrap device arrays of ours. Device arrays are returned as they are. Raises `ArgumentTypeError` for anything else,
    and `MemoryNotSharedError` for memory of CUDA's libraries. On CPU devices the memory of other libraries' arrays is
    used, too, where DLPack shows it.
    """
    if is_foreign(obj) and not is_device_like(obj):
        if not shares_with_host(current_context().capabilities):
            raise MemoryNotSharedError(
                f"{current_context().device.name} cannot use the memory of this {type(obj).__name__}",
                hint="cuda.to_device(x) copies it",
            )
        return from_dlpack(obj)
    return as_device_array(obj, dtype=dtype)


def is_cuda_array(obj: Any) -> bool:
    """Whether kernels take ``obj`` without copying: a device array, a `pyopencl.array.Array`, or a wrapper of one.

    Arrays that host and device share count, too.
    """
    return is_device_like(obj) or hasattr(type(obj), "__cuda_array_interface__")


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """A block in which the driver gets no memory of the current context back, since some wait for queues then."""
    with current_context().deallocations.deferred():
        yield


__all__ = [
    "Device",
    "DeviceNDArray",
    "DeviceRecord",
    "Event",
    "In",
    "InOut",
    "Out",
    "Stream",
    "as_cuda_array",
    "close",
    "current_context",
    "default_stream",
    "defer_cleanup",
    "device_array",
    "device_array_like",
    "event",
    "get_current_device",
    "gpus",
    "is_available",
    "is_cuda_array",
    "list_devices",
    "pinned",
    "pinned_array",
    "select_device",
    "stream",
    "synchronize",
    "to_device",
]
