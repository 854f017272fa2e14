"""Functions take arrays in memory of the host of any kind, by copies; memory that kernels cannot use is an error."""

from __future__ import annotations

import array

import numpy as np
import pytest

from portagpu import cuda, errors, xp
from portagpu.runtime.arrays.array import DeviceNDArray

HOST = np.array([3, 1, 2], np.float32)


class WithInterface:
    """Memory of the host by NumPy's interface alone."""

    def __init__(self, host):
        self.__array_interface__ = host.__array_interface__
        self._host = host


class WithArray:
    """What NumPy makes an array of."""

    def __init__(self, host):
        self._host = host

    def __array__(self, dtype=None, copy=None):
        return self._host


class WithDlpack:
    """Memory by DLPack alone, perhaps said to be on another device."""

    def __init__(self, host, device=(1, 0)):
        self._host, self._device = host, device

    def __dlpack__(self, **options):
        return self._host.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._device


class OnCard:
    """As CuPy's arrays show themselves, with an address that is none of ours."""

    def __init__(self, host):
        self.shape, self.dtype = host.shape, host.dtype
        self.__cuda_array_interface__ = {
            "shape": host.shape,
            "strides": None,
            "typestr": host.dtype.str,
            "data": (0x7F00_0000_1000, False),
            "version": 3,
            "stream": 1,
        }


KINDS = {
    "numpy": lambda host: host,
    "interface": WithInterface,
    "__array__": WithArray,
    "dlpack": WithDlpack,
    "memoryview": memoryview,
    "array": lambda host: array.array("f", host.tolist()),
    "list": lambda host: host.tolist(),
}
NOWHERE = {"a card's interface": OnCard, "a card's DLPack": lambda host: WithDlpack(host, (2, 0))}


def _in_place(x, other):
    x += other
    return x


def _assigned(x, other):
    x[:] = other
    return x


FUNCTIONS = {
    "x + o": lambda x, o: x + o,
    "o + x": lambda x, o: o + x,
    "add": lambda x, o: np.add(x, o),
    "xp.exp": lambda x, o: xp.exp(o),
    "sum": lambda x, o: xp.sum(o),
    "where": lambda x, o: np.where(x > 1, o, x),
    "concat": lambda x, o: xp.concat([x, o]),
    "np.concatenate": lambda x, o: np.concatenate([o, x]),
    "stack": lambda x, o: xp.stack([o, x]),
    "sort": lambda x, o: xp.sort(o),
    "searchsorted": lambda x, o: xp.searchsorted(xp.sort(x), o),
    "unique": lambda x, o: xp.unique_values(o),
    "matmul": lambda x, o: xp.matmul(x, o),
    "take": lambda x, o: xp.take(o, np.array([2, 0])),
    "reshape": lambda x, o: xp.reshape(o, (3, 1)),
    "flip": lambda x, o: xp.flip(o),
    "roll": lambda x, o: xp.roll(o, 1),
    "tile": lambda x, o: xp.tile(o, (2,)),
    "repeat": lambda x, o: xp.repeat(o, 2),
    "broadcast_to": lambda x, o: xp.broadcast_to(o, (2, 3)),
    "zeros_like": lambda x, o: xp.zeros_like(o),
    "meshgrid": lambda x, o: xp.meshgrid(o, x)[0],
    "+=": _in_place,
    "x[:] =": _assigned,
    "asarray": lambda x, o: xp.asarray(o),
    "to_device": lambda x, o: cuda.to_device(o),
    "astype": lambda x, o: xp.astype(o, np.int32),
}


@pytest.mark.one_device
@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_the_host_is_copied(device, kind):
    for name, function in FUNCTIONS.items():
        if kind == "list" and name in ("o + x", "to_device"):
            continue  # lists join
        x = cuda.to_device(HOST)
        own = HOST.copy()
        found = function(x, KINDS[kind](own))
        own[:] = 0  # what was there is what counts
        wanted = function(cuda.to_device(HOST), cuda.to_device(HOST))
        assert isinstance(found, DeviceNDArray), name
        np.testing.assert_allclose(found.copy_to_host(), wanted.copy_to_host(), rtol=1e-6, err_msg=name)


@pytest.mark.one_device
@pytest.mark.parametrize("kind", NOWHERE)
def test_memory_that_kernels_cannot_use(device, kind):
    """Not on the back end of cards, whose memory it may be."""
    for name, function in FUNCTIONS.items():
        with pytest.raises((errors.MemoryNotSharedError, errors.ArgumentTypeError), match="hint: ") as caught:
            function(cuda.to_device(HOST), NOWHERE[kind](HOST))
        assert "copy" in str(caught.value), name


@pytest.mark.one_device
def test_out_is_a_device_array(device):
    x = cuda.to_device(HOST)
    for target in (np.zeros(3, np.float32), WithDlpack(np.zeros(3, np.float32))):
        with pytest.raises((errors.ArgumentTypeError, TypeError), match=r"device array|out"):
            np.add(x, x, out=target)


@pytest.mark.one_device
def test_dtypes_of_operands(device):
    x = cuda.to_device(HOST)
    assert xp.result_type(x, WithDlpack(HOST.astype(np.float64))) == np.float64
    assert (x + WithDlpack(np.arange(3, dtype=np.int8))).dtype == np.float32
    for value in (np.array(["a", "b", "c"]), np.array([object()] * 3), np.ones(3, np.longdouble)):
        with pytest.raises((errors.DTypeError, errors.ArgumentTypeError)):
            x + value
