"""Copies between views that lie in different ways, by the kernels of GPUs and of CPUs."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl import copying

pytestmark = pytest.mark.opencl
DTYPES = ["int8", "float16", "float32", "complex64", "complex128", "V3", "V12"]
VIEWS = {
    "transposed": lambda x: x.transpose(2, 1, 0),
    "turned": lambda x: x.transpose(0, 2, 1),
    "reversed": lambda x: x[::-1, :, ::-1],
    "apart": lambda x: x[1::2, 3:, ::3],
    "one column": lambda x: x[:, :, 5],
    "few columns": lambda x: x[:, :, 5:7],
    "broadcast": lambda x: np.broadcast_to(x[:, :, :1], (5, 40, 90)),
    "rows of one": lambda x: np.broadcast_to(x[:1, None], (7, 4, 40, 90)),
}


@pytest.fixture(params=["of the device", "of others"])
def by_kernel(request, device, monkeypatch):
    if request.param == "of others":
        usual = copying._is_by_tiles
        monkeypatch.setattr(copying, "_is_by_tiles", lambda caps: not usual(caps))


def elements(shape, dtype):
    kind = np.dtype(dtype)
    count = int(np.prod(shape)) * kind.itemsize
    return (np.arange(count) % 251).astype(np.uint8).view(kind).reshape(shape)


@pytest.mark.in_turn
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(by_kernel, dtype, view):
    host = elements((5, 40, 90), dtype)
    x = cuda.to_device(host)
    shown = VIEWS[view](host)
    source = _broadcast(x, view) if view in ("broadcast", "rows of one") else VIEWS[view](x)
    assert source.copy().copy_to_host().tobytes() == np.ascontiguousarray(shown).tobytes()


def _broadcast(x, view):
    return x[:, :, :1]._broadcast((5, 40, 90)) if view == "broadcast" else x[:1, None]._broadcast((7, 4, 40, 90))


@pytest.mark.parametrize("shape", [(300_001,), (3, 100_000), (0, 7), ()])
def test_large_copies(device, shape):
    """Copies of all cores of a CPU are those of its driver."""
    host = elements(shape, "float64")
    x = cuda.to_device(host)
    assert x.copy().copy_to_host().tobytes() == host.tobytes()
    y = cuda.device_array(shape, np.float64, order="F")
    y.copy_to_device(x)
    assert np.array_equal(y.copy_to_host().view(np.int64), host.view(np.int64))


def test_parts_are_written_within_their_array(device):
    """Nothing beside the target changes."""
    host = elements((64, 70), "int32")
    x, whole = cuda.to_device(host), cuda.to_device(np.full((140, 130), -1, np.int32))
    whole[3:131:2, 5:75] = x
    expected = np.full((140, 130), -1, np.int32)
    expected[3:131:2, 5:75] = host
    assert np.array_equal(whole.copy_to_host(), expected)
    whole[:70, :64] = x.T
    expected[:70, :64] = host.T
    assert np.array_equal(whole.copy_to_host(), expected)
