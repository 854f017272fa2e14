"""Native contexts that nobody else uses."""

from __future__ import annotations

import pyopencl as cl
import sycl_gates

from portagpu.backends.cuda.primary import primary


def native_context(device):
    """A new context of a device's interface; under CUDA, whose libraries all use one, that one."""
    if device.backend == "cuda":
        return primary(device.native)
    return sycl_gates.new_context(device) if device.backend == "sycl" else cl.Context([device.native])
