"""Functions of arrays on dpnp's arrays: no copies, and in the order of dpnp's own operations."""

from __future__ import annotations

import numpy as np
import pytest
from sycl_devices import WORKING, needs_dpnp, needs_sycl

from portagpu import cuda, xp
from portagpu.runtime.arrays.array import DeviceNDArray

pytestmark = needs_sycl
DEVICES = WORKING
SIZE = 1 << 20
READERS = {  # of an array of ones, and what they give
    "elements": (lambda x: xp.asarray(x) * 2 + 1, 3),
    "sum": (xp.sum, SIZE),
    "scan": (lambda x: xp.cumulative_sum(x)[-1:], SIZE),
    "sort": (xp.sort, 1),
    "concat": (lambda x: xp.concat([x, x]), 1),
    "copy": (lambda x: xp.asarray(x, copy=True), 1),
}


@pytest.fixture
def queue(device):
    """A queue of dpctl's on the device."""
    needs_dpnp()
    import dpctl

    cuda.current_context()  # the run time that dpctl uses is loaded with the drivers that we find
    return dpctl.SyclQueue(next(d for d in dpctl.get_devices() if d.sycl_platform.name == device.platform))


def test_order(queue):
    import dpnp

    for name, (read, wanted) in READERS.items():
        theirs = dpnp.zeros(SIZE, dtype="f4", sycl_queue=queue) + 1
        found = read(theirs)
        theirs.fill(0)
        np.testing.assert_array_equal(np.unique(found.copy_to_host()), wanted, err_msg=name)
    theirs = dpnp.ones(SIZE, dtype="f4", sycl_queue=queue)
    ours = xp.asarray(theirs)
    ours += 1
    ours[::2] = 5
    assert float((theirs * 1).sum()) == SIZE // 2 * 7
    theirs.fill(4)
    assert xp.sum(ours).item() == 4 * SIZE


def test_arrays_that_are_shown(queue):
    import dpnp
    import dpnp.tensor

    x = cuda.to_device(np.ones(SIZE, np.float32))
    before, put_off = x * 2, x + 2
    theirs = dpnp.asarray(dpnp.tensor.asarray(x))
    theirs.fill(0)
    after = x + 1
    theirs.fill(9)
    np.testing.assert_array_equal(np.unique(before.copy_to_host()), 2)
    np.testing.assert_array_equal(np.unique(after.copy_to_host()), 1)
    np.testing.assert_array_equal(np.unique(dpnp.asnumpy(dpnp.tensor.asarray(put_off))), 3)


def test_operators(queue):
    import dpnp

    theirs = dpnp.arange(4, dtype="f4", sycl_queue=queue)
    x = xp.asarray(theirs) + 0
    for found in (x + theirs, x * theirs, xp.add(theirs, x), xp.where(x > 1, theirs, x), x @ theirs[:, None]):
        assert isinstance(found, DeviceNDArray) and found.dtype == np.float32
    x += theirs
    x[1:] = theirs[1:]
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(4))
    with pytest.raises(TypeError):  # dpnp's own operator comes first, and refuses
        theirs + x


def test_layouts_and_dtypes(queue):
    import dpnp

    host = np.arange(24, dtype=np.int16).reshape(4, 6)
    for dtype in ("?", "u2", "i8", "f4", "c8"):
        own = (host % 2 if dtype == "?" else host).astype(dtype)
        whole = dpnp.asarray(own, sycl_queue=queue)
        for key in (np.s_[1:3, ::2], np.s_[::-1, ::-2], np.s_[2:, 1:4], np.s_[:0], np.s_[1, 2]):
            for x in (xp.asarray(whole[key]), xp.from_dlpack(whole[key])):
                assert x.dtype == own.dtype
                np.testing.assert_array_equal(x.copy_to_host(), own[key])
