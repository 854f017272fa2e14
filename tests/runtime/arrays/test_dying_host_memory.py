"""Memory of the host that its owner gives back as soon as nobody keeps it: it is scribbled over then.

Nobody who still works on it may see that. Buffers may outlive memory that was lent; then nobody touches it.
"""

from __future__ import annotations

import ctypes
import gc
import weakref

import numpy as np
import pytest
from gates import closed_gate
from host_memory import shares

import portagpu
from portagpu import cuda
from portagpu.errors import GraphError
from portagpu.runtime.arrays.host_memory import borrowed_memory
from portagpu.runtime.arrays.lending import Lending, lent

N = 2000
SCRIBBLE = 0xA5
pytestmark = pytest.mark.one_device


class Owner:
    """Memory, aligned or not, that is scribbled over when it is given back, and stays where the test can see it."""

    def __init__(self, values, shift=0):
        self.block = (ctypes.c_ubyte * (values.nbytes + 256))()
        base = -(-ctypes.addressof(self.block) // 128) * 128 + shift
        self.__array_interface__ = {
            "shape": values.shape,
            "typestr": values.dtype.str,
            "data": (base, False),
            "version": 3,
        }
        np.asarray(self)[...] = values

    def __del__(self):
        ctypes.memset(ctypes.addressof(self.block), SCRIBBLE, len(self.block))


@cuda.jit
def add_to(x, total):
    i = cuda.grid(1)
    if i < total.size:
        total[i] += x[i]


@pytest.fixture(params=[0, 4])
def memory(device, request):
    """The owner's array, what its elements are, and a reference to the owner; nobody else keeps it."""
    if not shares(device):
        pytest.skip("the device has memory of its own")
    values = np.arange(N, dtype=np.float32)
    owner = Owner(values, request.param)
    return [np.asarray(owner)], values, weakref.ref(owner)


def gone(alive):
    gc.collect()
    return alive() is None


def test_arrays_that_die_before_the_launch_runs(memory):
    held, values, alive = memory
    total = cuda.to_device(np.zeros(N, np.float32))
    stream = cuda.stream()
    x = cuda.from_dlpack(held[0])
    with closed_gate(stream.queue) as gate:
        add_to[8, 256, stream](x, total)
        add_to[8, 256, stream](x[:], total)
        del x
        held.clear()
        gc.collect()
        assert alive() is not None
        gate.open()
        stream.synchronize()
    np.testing.assert_array_equal(total.copy_to_host(), values * 2)
    cuda.synchronize()
    assert gone(alive)


def test_arrays_that_die_before_a_copy_runs(memory):
    held, values, alive = memory
    target = cuda.to_device(np.zeros(N, np.float32))
    strided = cuda.to_device(np.zeros((2, N), np.float32))
    x = cuda.from_dlpack(held[0])
    stream = cuda.stream()
    with closed_gate(stream.queue) as gate:
        target.copy_to_device(x, stream)
        strided[1].copy_to_device(x[::-1], stream)
        del x
        held.clear()
        gc.collect()
        gate.open()
        stream.synchronize()
    np.testing.assert_array_equal(target.copy_to_host(), values)
    np.testing.assert_array_equal(strided.copy_to_host()[1], values[::-1])
    cuda.synchronize()
    assert gone(alive)


def test_graphs_keep_what_they_launch_on(memory):
    held, values, alive = memory
    total = cuda.to_device(np.zeros(N, np.float32))
    x = cuda.from_dlpack(held[0])
    with cuda.graph() as graph:
        add_to[8, 256](x[1:], total[1:])
        total[:1].copy_to_device(x[5:6])
    del x
    held.clear()
    cuda.synchronize()
    gc.collect()
    graph.launch()
    cuda.synchronize()
    found = total.copy_to_host()
    np.testing.assert_array_equal(found[1:], values[1:] * 2)
    assert found[0] == values[5]
    del graph
    cuda.synchronize()
    assert gone(alive)


def test_kept_products_keep_no_operands(memory):
    """Products are recorded, and made again with other memory."""
    held, values, alive = memory
    x = cuda.from_dlpack(held[0]).reshape(40, 50)
    wanted = values.reshape(40, 50).astype(np.float64)
    other = cuda.to_device(np.ones((50, 40), np.float32))
    for _ in range(3):
        found = portagpu.matmul(x, other)
    del x
    held.clear()
    np.testing.assert_allclose(found.copy_to_host(), wanted @ np.ones((50, 40)), rtol=1e-5)
    again = portagpu.matmul(cuda.to_device(np.ones((40, 50), np.float32)), other)
    np.testing.assert_array_equal(again.copy_to_host(), np.full((40, 40), 50, np.float32))
    cuda.synchronize()
    assert gone(alive)


def test_failing_launches_let_go_when_they_are_done(memory):
    held, values, alive = memory
    small = cuda.device_array(4, np.complex64)
    with pytest.raises(portagpu.errors.PortaGPUError):
        add_to[8, 256](held[0], small, 3)
    add_to[8, 256](held[0], np.zeros(N, np.float32))
    np.testing.assert_array_equal(held[0], values)
    held.clear()
    assert gone(alive)


def test_graphs_refuse_lent_memory_whenever_it_comes(device):
    """Device arrays of it are kept by how it lies, and keep nothing."""
    if not shares(device):
        pytest.skip("the device has memory of its own")
    context = cuda.current_context()
    block = np.zeros(N, np.float32)
    total = cuda.to_device(np.zeros(N, np.float32))
    lie = (block.__array_interface__["data"][0], block.shape, block.strides, block.dtype)

    def launch():
        made = lent(context, lie)
        with Lending(context, {id(block): made}):
            add_to[8, 256](block, total)

    for _ in range(3):
        launch()
        with pytest.raises(GraphError, match="cannot be part of a graph") as caught, cuda.graph():
            launch()
        assert caught.value.span.filename == __file__


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("shift", [0, 1, 4, 64, 100])
def test_buffers_that_outlive_memory_do_not_touch_it(device, shift):
    """Drivers may copy what they cannot use in place, and copy it back later."""
    if not shares(device):
        pytest.skip("the device has memory of its own")
    context = cuda.current_context()
    kind = np.dtype(np.float32 if shift % 4 == 0 else np.uint8)
    for count in (1, 5, 1000, 5001):
        block = np.zeros(count * kind.itemsize + 512, np.uint8)
        address = -(-block.ctypes.data // 128) * 128 + shift
        begin = address - block.ctypes.data
        made = borrowed_memory(context, address, (count,), (kind.itemsize,), kind, readonly=False)
        ones = cuda.to_device(np.ones(count, kind))
        add_to[-(-count // 256), 256](ones, made)
        cuda.synchronize()
        np.testing.assert_array_equal(block[begin : begin + count * kind.itemsize].view(kind), 1)
        block[:] = SCRIBBLE
        del made
        gc.collect()
        cuda.synchronize()
        assert (block == SCRIBBLE).all()
