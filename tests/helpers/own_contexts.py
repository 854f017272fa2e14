"""Native contexts that nobody else uses, and queues that the package did not make for a stream."""

from __future__ import annotations

import pyopencl as cl
import sycl_gates

from portagpu.backends.cuda.primary import primary


def native_context(device):
    """A new context of a device's interface; under CUDA, whose libraries all use one, that one."""
    if device.backend == "cuda":
        return primary(device.native)
    return sycl_gates.new_context(device) if device.backend == "sycl" else cl.Context([device.native])


def foreign_queue(context):
    """A queue of a context's, as a program may have made it, and the number by which streams are found."""
    if context.device.backend == "sycl":
        queue = sycl_gates.new_queue(context.cl_context, context.device)
        return queue, queue.key
    queue = cl.CommandQueue(context.cl_context, context.device.cl_device)
    return queue, queue.int_ptr
