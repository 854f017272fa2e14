"""Calls of NumPy's functions with host arrays and with device arrays, whose results are compared."""

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.runtime.arrays.array import DeviceNDArray


def same(function, *arrays, rtol=1e-12, atol=1e-13, dtypes=True):
    """``function(*arrays)`` gives what it gives for NumPy's arrays: shapes, dtypes and values."""
    expected = function(*(x.copy() for x in arrays))
    found = function(*map(cuda.to_device, arrays))
    alike(found, expected, rtol=rtol, atol=atol, dtypes=dtypes)


def changed(function, array, *others):
    """``function(array, *others)`` changes a device array as it does one of NumPy's."""
    host, device = array.copy(), cuda.to_device(array)
    function(host, *others)
    function(device, *map(cuda.to_device, others))
    np.testing.assert_array_equal(device.copy_to_host(), host)


def alike(found, expected, *, rtol=1e-12, atol=1e-13, dtypes=True):
    """A result, or a tuple or list of them, is that of NumPy, and on the device."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, two in zip(found, expected, strict=True):
            alike(one, two, rtol=rtol, atol=atol, dtypes=dtypes)
        return
    assert isinstance(found, DeviceNDArray), type(found)
    assert found.shape == np.shape(expected)
    if dtypes:
        assert found.dtype == np.asarray(expected).dtype
    np.testing.assert_allclose(found.copy_to_host(), expected, rtol=rtol, atol=atol)
