"""Arrays of other libraries as operands of device arrays, and device arrays in other libraries."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import MemoryNotSharedError
from portagpu.runtime.arrays.array import DeviceNDArray

HOST = np.arange(4.0, dtype=np.float32)


def _check(x, other):
    for found, expected in (
        (xp.asarray(other), HOST),
        (x + other, 2 * HOST),
        (xp.multiply(x, other), HOST * HOST),
        (xp.where(x > 1, other, x), HOST),
        (xp.concat([x, xp.asarray(other)]), np.tile(HOST, 2)),
    ):
        assert isinstance(found, DeviceNDArray) and found.dtype == HOST.dtype
        np.testing.assert_array_equal(found.copy_to_host(), expected)
    x += other
    x[1:] = other[1:]
    np.testing.assert_array_equal(x.copy_to_host(), HOST)


def test_numpy(device):
    x = cuda.to_device(HOST)
    _check(x, HOST.copy())
    assert isinstance(HOST + x, DeviceNDArray) and isinstance(np.float32(2) * x, DeviceNDArray)
    with pytest.raises(MemoryNotSharedError, match="copy"):
        xp.asarray(HOST, copy=False)


@pytest.mark.opencl
def test_pyopencl(device):
    x = cuda.to_device(HOST)
    own = (x + 0).to_pyopencl()
    shared = xp.asarray(own)
    shared += 1  # the same memory
    np.testing.assert_array_equal(own.get(), HOST + 1)
    shared -= 1
    _check(x, own)


def test_torch(device):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    x = cuda.to_device(HOST)
    _check(x, torch.from_numpy(HOST.copy()))
    assert isinstance(torch.from_numpy(HOST.copy()) + x, DeviceNDArray)


def test_jax(device):
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x, other = cuda.to_device(HOST), jax.device_put(HOST, jax.devices("cpu")[0])
    _check(x, other)
    assert isinstance(other * x, DeviceNDArray)


def test_host_views_of_what_was_put_off(device):
    """DLPack computes first; a host array is always a copy."""
    x = cuda.to_device(HOST) * 2
    host = np.asarray(x)
    np.testing.assert_array_equal(host, 2 * HOST)
    host[0] = 9
    assert x.copy_to_host()[0] == 0
    if device.capabilities.host_unified_memory:
        y = x + 1
        np.testing.assert_array_equal(np.from_dlpack(y), 2 * HOST + 1)
