"""Enqueueing of kernel objects, on GPUs without an event for each.

PyOpenCL always asks for an event, and nobody here wants one: queues are in order, and what waits for a launch waits for
its queue. A driver may report each event to the host, which takes time between two kernels (1.5 to 2 us on one GPU, see
docs/gemm-how.md). On a CPU it was the other way round, 4 us for a launch with an event and 6 without, so that CPUs keep
PyOpenCL's call.
"""

from __future__ import annotations

import ctypes
import functools

import pyopencl as cl
from pyopencl import _cl

from portagpu.backends.base import Enqueue, LaunchSizes
from portagpu.device.capabilities import Capabilities, DeviceType


def enqueue_with_event(queue: cl.CommandQueue, kernel: cl.Kernel, sizes: LaunchSizes) -> cl.Event:
    """Enqueue a kernel object with the arguments that it has, and return its event."""
    return cl.enqueue_nd_range_kernel(queue, kernel, sizes.global_size, sizes.local_size)


def enqueue_on(capabilities: Capabilities) -> Enqueue:
    """How kernels are enqueued on a device."""
    return _enqueue_without_event() if capabilities.device_type is DeviceType.GPU else enqueue_with_event


@functools.cache
def _enqueue_without_event() -> Enqueue:
    """By OpenCL's function, found in the order in which PyOpenCL's module finds it.

    That is the whole process first, where tracers and simulators that are loaded beforehand put theirs, then the loader
    that the module is linked with. With an event where neither can be searched for names (Windows).
    """
    for library in (None, _cl.__file__):
        try:
            launch = ctypes.PyDLL(library).clEnqueueNDRangeKernel
            break
        except (OSError, AttributeError, TypeError):
            continue
    else:
        return enqueue_with_event
    pointer, count = ctypes.c_void_p, ctypes.c_uint32
    launch.argtypes = (pointer, pointer, count, pointer, pointer, pointer, count, pointer, pointer)
    launch.restype = ctypes.c_int32

    def enqueue(queue: cl.CommandQueue, kernel: cl.Kernel, sizes: LaunchSizes) -> None:
        extents = (sizes.ndim, None, sizes.global_address, sizes.local_address)
        if launch(queue.int_ptr, kernel.int_ptr, *extents, 0, None, None) != 0:
            # PyOpenCL frees what is garbage and tries again, or says what is wrong
            enqueue_with_event(queue, kernel, sizes)

    return enqueue
