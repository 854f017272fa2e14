"""Copies on a stream return before they are done, and their host memory lives until then."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from gates import closed_gate

from portagpu import cuda
from portagpu.runtime import stream as stream_module

_AT_EXIT = """
import sys
import numpy as np
from portagpu import cuda
cuda.select_device(int(sys.argv[1]))
streams = [cuda.stream() for _ in range(3)]
arrays = [cuda.to_device(np.ones(1 << 22, np.float32), stream=s) for s in streams]
results = [a.copy_to_host(stream=s) for a, s in zip(arrays, streams)]
del results, streams[1]
"""


def test_copy_to_host_returns_at_once(device):
    stream = cuda.stream()
    array, host = cuda.to_device(np.arange(8.0)), np.zeros(8)
    with closed_gate(stream.queue) as gate:
        assert array.copy_to_host(host, stream=stream) is host
        made = array.copy_to_host(stream=stream)
        strided = array[::2].copy_to_host(stream=stream)
        assert not host.any()
        gate.open()
        stream.synchronize()
        np.testing.assert_array_equal(host, np.arange(8))
        np.testing.assert_array_equal(made, np.arange(8))
        np.testing.assert_array_equal(strided, np.arange(0, 8, 2))


@pytest.mark.parametrize("how", ["to_device", "copy_to_device", "strided", "other order"])
def test_host_memory_lives_until_the_copy_is_done(device, how):
    stream = cuda.stream()
    array = cuda.to_device(np.zeros((4, 8)))[:, ::2] if how == "strided" else cuda.to_device(np.zeros((4, 4)))
    host = np.zeros((4, 4))  # the owner of its memory: a view's base would live on, not the view
    host.flat = range(16)
    seen = weakref.ref(host)
    with closed_gate(stream.queue) as gate:
        if how == "to_device":
            array = cuda.to_device(host, stream=stream)
        else:
            array = array.T if how == "other order" else array
            array.copy_to_device(host, stream=stream)
        del host
        gc.collect()
        assert (seen() is not None) == (how != "other order")  # there a copy in the other order is kept
        gate.open()
        stream.synchronize()
        assert seen() is None
        np.testing.assert_array_equal(array.copy_to_host(), np.arange(16).reshape(4, 4))


def test_dying_stream_finishes_its_copies(device):
    stream = cuda.stream()
    array, host = cuda.to_device(np.arange(8.0)), np.zeros(8)
    with closed_gate(stream.queue) as gate:
        array.copy_to_host(host, stream=stream)
        gate.open_soon()
        del stream
        gc.collect()
        np.testing.assert_array_equal(host, np.arange(8))


def test_kept_memory_is_bounded(device, monkeypatch):
    monkeypatch.setattr(stream_module, "_MAX_PENDING", 4)
    stream = cuda.stream()
    array = cuda.to_device(np.arange(8.0))
    for _ in range(20):
        array.copy_to_host(stream=stream)
        assert len(stream._pending) <= 4
    stream.synchronize()
    assert not stream._pending


def test_host_arguments_may_change_after_the_launch(device):
    @cuda.jit
    def add(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] += x[i]

    stream = cuda.stream()
    target, host = cuda.to_device(np.zeros(8)), np.ones(8)
    for n in range(5):
        host[:] = n
        add[1, 8, stream](cuda.In(host), target)
    host[:] = 100
    stream.synchronize()
    assert (target.copy_to_host() == 10).all()


def test_end_of_the_process_waits_for_copies(device):
    done = subprocess.run(
        [sys.executable, "-c", _AT_EXIT, str(device.index)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and not done.stderr
