"""Host memory that launches use in place: neighbours share a buffer, since two that overlap are undefined."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.runtime.arrays.host_memory import SharedSpans, wrap_host

pytestmark = pytest.mark.one_device


@cuda.jit
def fill(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1
    if i < y.size:
        y[i] += 2


def neighbours(count, offset):
    """Arrays of one block of memory, of which each begins where the one before ends."""
    memory = np.zeros(count * 1500 + offset, np.float32)
    return [memory[offset + n * 1500 : offset + (n + 1) * 1500] for n in range(count)]


@pytest.mark.opencl
def test_neighbours_share_a_buffer(device):
    if not device.capabilities.host_unified_memory:
        pytest.skip("the device has memory of its own")
    context = cuda.current_context()
    arrays = neighbours(3, 1)
    far = np.zeros(4000, np.float32)[100:3900]  # whole arrays, too, may lie less than the rounding apart
    spans = SharedSpans([arrays[2], far, arrays[0]], [arrays[1]])
    wrapped = [wrap_host(context, array, spans=spans) for array in arrays]
    assert len({w.buffer.int_ptr for w in wrapped}) == 1
    assert [w.offset - wrapped[0].offset for w in wrapped] == [0, 6000, 12000]
    assert wrap_host(context, far, spans=spans).buffer.int_ptr != wrapped[0].buffer.int_ptr


@pytest.mark.parametrize("offset", [0, 1, 31])
def test_launch_on_neighbours(device, offset):
    x, y, z = neighbours(3, offset)
    fill[12, 128](x, cuda.InOut(z))
    fill[12, 128](x, y)
    fill[12, 128](y, y)
    assert (x == 2).all() and (y == 5).all() and (z == 2).all()


def test_product_of_neighbours(device):
    memory = np.zeros(3 * 40 * 40 + 1, np.float32)
    a, b, c = (memory[1 + n * 1600 : 1 + (n + 1) * 1600].reshape(40, 40) for n in range(3))
    a[...], b[...] = np.arange(1600).reshape(40, 40) % 7, np.eye(40)
    portagpu.matmul(a, b, out=c)
    np.testing.assert_array_equal(c, a)
    np.testing.assert_array_equal(portagpu.matmul(a, a), a @ a)
