"""Memory that arrays share through other libraries, whose owners do not tell."""

from __future__ import annotations

import ctypes
import gc
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

import portagpu
from portagpu import cuda
from portagpu.backends.opencl import copying
from portagpu.device.capabilities import DeviceType
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays import overlap
from portagpu.runtime.arrays.creation import as_device_array
from portagpu.runtime.arrays.overlap import may_overlap

_COUNT = 50_000  # of elements: memory that is used in place


@pytest.fixture(autouse=True)
def device(device):
    """CPUs, whose memory is the host's."""
    if device.capabilities.device_type is not DeviceType.CPU:
        pytest.skip("nothing is shared with other libraries")
    return device


@cuda.jit
def shift(a, b):
    if cuda.grid(1) == 0:
        for i in range(1, a.size):
            b[i] = a[i - 1]


def by_pointer(x):
    return np.ctypeslib.as_array(x.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), x.shape)


def by_interface(x):
    class Wrapped:
        __array_interface__ = x.__array_interface__

    return np.asarray(Wrapped())


PAIRS = {
    "two imports": lambda x: (cuda.from_dlpack(x), cuda.from_dlpack(x)),
    "import and array": lambda x: (np.from_dlpack(x), x),
    "array and import": lambda x: (x, cuda.from_dlpack(x)),
    "pointers": lambda x: (by_pointer(x), by_pointer(x)),
    "interfaces": lambda x: (by_interface(x), by_interface(x)),
}


@pytest.mark.parametrize("pair", PAIRS)
def test_kernels_see_what_they_write(device, pair):
    x = np.arange(_COUNT, dtype=np.float32) + 1
    shift[1, 1](*PAIRS[pair](x))
    cuda.synchronize()
    assert np.all(x == 1)


def test_products_into_imports_of_operands(device):
    x = np.random.default_rng(0).standard_normal((80, 80)).astype(np.float32)
    wanted = x @ x
    portagpu.matmul(cuda.from_dlpack(x), cuda.from_dlpack(x), out=cuda.from_dlpack(x))
    cuda.synchronize()
    assert np.allclose(x, wanted, rtol=1e-4, atol=1e-4)


def test_products_into_exports_of_operands(device):
    host = np.random.default_rng(0).standard_normal((80, 80)).astype(np.float32)
    x = cuda.to_device(host)
    given = [np.from_dlpack(x), np.from_dlpack(x)]
    key = x.allocation_key
    portagpu.matmul(x, x, out=cuda.from_dlpack(given[0]))
    cuda.synchronize()
    assert np.allclose(x.copy_to_host(), host @ host, rtol=1e-4, atol=1e-4)
    del given[0]
    gc.collect()
    assert key in overlap._exported
    given.clear()
    gc.collect()
    cuda.synchronize()  # streams keep memory of others until they know that they are done with it
    assert key not in overlap._exported


def test_copies_between_imports(device):
    x = np.arange(_COUNT, dtype=np.float32)
    wanted = x[:-7].copy()
    cuda.from_dlpack(x[7:]).copy_to_device(cuda.from_dlpack(x[:-7]))
    cuda.synchronize()
    assert np.array_equal(x[7:], wanted)


@pytest.mark.opencl
def test_halves_are_apart(device):
    """Addresses tell, so that products into the other half of an array need no copy."""
    x = np.zeros(_COUNT, np.float32)
    low, high, whole = (cuda.from_dlpack(v) for v in (x[: _COUNT // 2], x[_COUNT // 2 :], x[::-1]))
    assert not may_overlap((low, high))
    assert not may_overlap((low[::-2], high.reshape(2, -1)))
    assert may_overlap((low, whole)) and may_overlap((high, low, whole))
    assert not may_overlap((low, cuda.device_array(10)))
    elsewhere = SimpleNamespace(hostbuf=object())
    unknown = SimpleNamespace(allocation_key=low.allocation_key - 1, buffer=elsewhere, context=low.context)
    assert may_overlap((low, unknown))  # nobody knows where it is


def test_broadcasts_are_read_only(device):
    row = cuda.to_device(np.ones((1, 3), np.float32))
    for view in (row.broadcast_to((3, 3)), np.broadcast_to(row, (3, 3))):
        assert view.readonly
        with pytest.raises(ArgumentTypeError, match="read-only"):
            portagpu.matmul(view, view, out=view)
        with pytest.raises(ArgumentTypeError, match="read-only"):
            view[0, 0] = 5
    assert np.all(row.copy_to_host() == 1)


def test_who_holds_the_owner_of_a_result_keeps_its_memory(device):
    a = np.random.default_rng(0).standard_normal((200, 200))
    root = portagpu.matmul(a, a)
    while root.base is not None:
        root = root.base
    before = root.copy()
    results = [portagpu.matmul(a, a + n) for n in range(4)]
    assert np.array_equal(root, before)
    assert len(results) == 4


@pytest.mark.opencl
def test_parts_of_buffers(device):
    """Those of PyOpenCL begin somewhere in their allocation, which may be memory of the host."""
    context = cuda.current_context()
    whole = cl.Buffer(context.cl_context, cl.mem_flags.READ_WRITE, 2**16)
    first, second = (
        as_device_array(whole.get_sub_region(at, 2**14), dtype=np.float32, shape=(64, 64), context=context)
        for at in (0, 2**15)
    )
    imported = [cuda.from_dlpack(np.from_dlpack(x)) for x in (first, second)]
    assert may_overlap((first, imported[0])) and may_overlap((second, imported[1]))
    assert not may_overlap((first, imported[1])) and not may_overlap((second, imported[0]))
    host = np.zeros(2**14, np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    part = cl.Buffer(context.cl_context, flags, hostbuf=host).get_sub_region(4096, 2**14)
    x = as_device_array(part, dtype=np.float32, context=context)
    assert may_overlap((x, cuda.from_dlpack(host)))


def test_copies_of_more_lines_than_a_grid_has(device, monkeypatch):
    """Each item copies several lines then."""
    monkeypatch.setattr(copying, "_is_by_tiles", lambda caps: False)
    monkeypatch.setattr(copying, "_spread", lambda columns, lines, caps: ((columns, 8), None))
    host = np.arange(7 * 100, dtype=np.float32).reshape(100, 7)
    x = cuda.to_device(np.repeat(host, 2, axis=1))[:, ::2]
    assert np.array_equal(x.copy_to_host(), host)
