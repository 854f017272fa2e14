"""PyOpenCL's arrays beside device arrays: what either library writes comes in the order of the program."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from portagpu import cuda, xp

pytestmark = [pytest.mark.opencl, pytest.mark.filterwarnings("ignore::pyopencl.CompilerWarning")]
SIZE = 1 << 20
READERS = {  # of an array of ones, and what they give
    "elements": (lambda x: x * 2 + 1, 3),
    "sum": (xp.sum, SIZE),
    "scan": (lambda x: xp.cumulative_sum(x)[-1:], SIZE),
    "sort": (xp.sort, 1),
    "mask": (lambda x: xp.asarray(x)[xp.asarray(x) > 0], 1),
    "concat": (lambda x: xp.concat([x, x]), 1),
    "take": (lambda x: xp.take(x, np.arange(SIZE)), 1),
    "copy": (lambda x: xp.asarray(x, copy=True), 1),
    "product": (lambda x: xp.matmul(xp.asarray(x).reshape(1024, -1), xp.asarray(x).reshape(-1, 1024)), SIZE / 1024),
}


@pytest.fixture(params=["the default stream's queue", "a queue of the program's"])
def queue(device, request):
    """A queue of PyOpenCL's in the device's context."""
    cl = pytest.importorskip("pyopencl")
    own = cuda.current_context().default_stream.queue
    return own if request.param.startswith("the") else cl.CommandQueue(own.context)


def _ones(queue):
    import pyopencl.array

    made = pyopencl.array.empty(queue, SIZE, np.float32)
    made.fill(0)
    return made.fill(1)


@pytest.mark.parametrize("name", READERS)
def test_what_was_there_when_the_function_was_called(queue, name):
    read, wanted = READERS[name]
    theirs = _ones(queue)
    found = read(xp.asarray(theirs) if name == "elements" else theirs)
    theirs.fill(0)
    np.testing.assert_array_equal(np.unique(found.copy_to_host()), wanted)


def test_both_see_what_the_other_writes(queue):
    theirs = _ones(queue)
    ours = xp.asarray(theirs)
    ours += 1
    ours[::2] = 5
    np.testing.assert_array_equal(np.unique(theirs.get()), [2, 5])
    theirs.fill(4)
    np.testing.assert_array_equal(np.unique((xp.ones(SIZE) + theirs).copy_to_host()), 5)


def test_arrays_that_are_shown(queue):
    x = cuda.to_device(np.ones(SIZE, np.float32))
    before, put_off = x * 2, x + 2
    theirs = x.to_pyopencl(queue)
    theirs.fill(0)
    np.testing.assert_array_equal(np.unique(before.copy_to_host()), 2)
    np.testing.assert_array_equal(np.unique(put_off.to_pyopencl(queue).get()), 3)
    kept = (put_off * 1).to_pyopencl(queue)
    del put_off
    gc.collect()
    assert [(xp.zeros(SIZE) + n).sum().item() for n in range(3)] == [0, SIZE, 2 * SIZE]
    np.testing.assert_array_equal(np.unique(kept.get()), 3)


def test_in_the_default_streams_queue_nothing_has_to_be_said(device):
    x = cuda.to_device(np.ones(SIZE, np.float32))
    theirs = x.to_pyopencl()
    found = x * 2
    theirs.fill(0)
    np.testing.assert_array_equal(np.unique(found.copy_to_host()), 2)


def test_layouts(queue):
    import pyopencl.array

    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    whole = pyopencl.array.to_device(queue, host)
    for key in (np.s_[1:3], np.s_[:, ::2], np.s_[2:, 1:4]):
        np.testing.assert_array_equal((xp.asarray(whole[key]) * 2).copy_to_host(), host[key] * 2)
    np.testing.assert_array_equal((xp.asarray(whole.T) * 2).copy_to_host(), host.T * 2)
    number = pyopencl.array.to_device(queue, np.array(3, np.int16))
    assert xp.add(number, 1).item() == 4
    empty = pyopencl.array.empty(queue, (0, 3), np.float32)
    assert xp.exp(empty).shape == (0, 3) and xp.concat([xp.ones((1, 3)), empty]).shape == (1, 3)
