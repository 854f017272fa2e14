"""Enqueueing of kernel objects and of copies on the device, on GPUs without an event for each.

PyOpenCL always asks for an event, and nobody here wants one: queues are in order, and what waits for a launch waits for
its queue. A driver may report each event to the host, which takes time between two kernels (1.5 to 2 us on one GPU, see
docs/gemm-how.md). On a CPU it was the other way round, 4 us for a launch with an event and 6 without, so that CPUs keep
PyOpenCL's call.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import pyopencl as cl
from pyopencl import _cl

from portagpu.backends.launches import Enqueue, LaunchSizes
from portagpu.device.capabilities import Capabilities, DeviceType

_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_uint32


def enqueue_with_event(queue: cl.CommandQueue, kernel: cl.Kernel, sizes: LaunchSizes) -> cl.Event:
    """Enqueue a kernel object with the arguments that it has, and return its event."""
    return cl.enqueue_nd_range_kernel(queue, kernel, sizes.global_size, sizes.local_size)


def copy_with_event(
    queue: cl.CommandQueue, target: Any, source: Any, nbytes: int, target_offset: int, source_offset: int
) -> None:
    """Enqueue a copy of bytes between two buffers that do not overlap."""
    cl.enqueue_copy(queue, target, source, src_offset=source_offset, dst_offset=target_offset, byte_count=nbytes)


def enqueue_on(capabilities: Capabilities) -> Enqueue:
    """How kernels are enqueued on a device."""
    return _enqueue_without_event() if capabilities.device_type is DeviceType.GPU else enqueue_with_event


def copy_on(capabilities: Capabilities) -> Callable[[cl.CommandQueue, Any, Any, int, int, int], None]:
    """How copies between buffers are enqueued on a device: as `copy_with_event`."""
    return _copy_without_event() if capabilities.device_type is DeviceType.GPU else copy_with_event


@functools.cache
def _enqueue_without_event() -> Enqueue:
    launch = _function(
        "clEnqueueNDRangeKernel", _POINTER, _POINTER, _COUNT, *[_POINTER] * 3, _COUNT, _POINTER, _POINTER
    )
    if launch is None:
        return enqueue_with_event

    def enqueue(queue: cl.CommandQueue, kernel: cl.Kernel, sizes: LaunchSizes) -> None:
        extents = (sizes.ndim, None, sizes.global_address, sizes.local_address)
        if launch(queue.int_ptr, kernel.int_ptr, *extents, 0, None, None) != 0:
            # PyOpenCL frees what is garbage and tries again, or says what is wrong
            enqueue_with_event(queue, kernel, sizes)

    return enqueue


@functools.cache
def _copy_without_event() -> Callable[[cl.CommandQueue, Any, Any, int, int, int], None]:
    copy = _function("clEnqueueCopyBuffer", *[_POINTER] * 3, *[ctypes.c_size_t] * 3, _COUNT, _POINTER, _POINTER)
    if copy is None:
        return copy_with_event

    def enqueue(
        queue: cl.CommandQueue, target: Any, source: Any, nbytes: int, target_offset: int, source_offset: int
    ) -> None:
        places = (source.int_ptr, target.int_ptr, source_offset, target_offset, nbytes)
        if copy(queue.int_ptr, *places, 0, None, None) != 0:
            copy_with_event(queue, target, source, nbytes, target_offset, source_offset)

    return enqueue


def _function(name: str, *types: Any) -> Any:
    """OpenCL's function, found in the order in which PyOpenCL's module finds it.

    That is the whole process first, where tracers and simulators that are loaded beforehand put theirs, then the loader
    that the module is linked with. None where neither can be searched for names (Windows).
    """
    for library in (None, _cl.__file__):
        try:
            found = getattr(ctypes.PyDLL(library), name)
        except (OSError, AttributeError, TypeError):
            continue
        found.argtypes, found.restype = types, ctypes.c_int32
        return found
    return None
