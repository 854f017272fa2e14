"""Texts in which a float's type or width is not named: functions of it keep its digits, also where a driver needs
other functions (`portagpu.backends.opencl.known_floats`)."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda
from portagpu.runtime.programs.build import build

pytestmark = pytest.mark.opencl

_NUMBER = 1234567890.75  # whose whole part float32 does not hold


@pytest.mark.parametrize("call", ["floor(x[0].s0)", "floor(x[0]).s0", "trunc(y[0].lo).s0", f"floor({_NUMBER})"])
def test_float64(device, call):
    """Of vectors that are named: their elements, their halves; and of a literal."""
    context = cuda.current_context()
    if not context.capabilities.fp64:
        pytest.skip("no float64")
    text = f"__kernel void k(__global double2 *x, __global double8 *y) {{ x[0].s1 = {call}; }}"
    array = cuda.to_device(np.array([_NUMBER] + [0] * 7))
    kernel = cl.Kernel(build(context, text, ()), "k")
    kernel.set_args(array.buffer, array.buffer)
    cl.enqueue_nd_range_kernel(context.default_stream.queue, kernel, (1,), None)
    assert array.copy_to_host()[1] == int(_NUMBER)
