"""Native contexts that nobody else uses."""

from __future__ import annotations

import pyopencl as cl
import sycl_gates


def native_context(device):
    """A new context of a device's interface."""
    return sycl_gates.new_context(device) if device.backend == "sycl" else cl.Context([device.native])
