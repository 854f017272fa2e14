"""Copies of page-locked memory on a stream return before they are done; those of other memory when they are."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref

import numpy as np
import pytest
from gates import closed_gate

import portagpu
from portagpu import cuda
from portagpu.runtime.execution import timeline

_AT_EXIT = """
import sys
import numpy as np
from portagpu import cuda
cuda.select_device(int(sys.argv[1]))
streams = [cuda.stream() for _ in range(3)]
arrays = [cuda.to_device(np.ones(1 << 22, np.float32), stream=s) for s in streams]
results = [cuda.pinned_array(1 << 22, np.float32) for _ in streams]
for a, r, s in zip(arrays, results, streams):
    a.copy_to_host(r, stream=s)
del results, streams[1]
"""


def pinned_zeros(*shape):
    host = cuda.pinned_array(shape)
    host[...] = 0
    return host


def test_copy_to_host_returns_at_once(device):
    stream = cuda.stream()
    array, host, part = cuda.to_device(np.arange(8.0)), pinned_zeros(8), pinned_zeros(4)
    with closed_gate(stream.queue) as gate:
        assert array.copy_to_host(host, stream=stream) is host
        array[::2].copy_to_host(part, stream=stream)
        assert not host.any() and not part.any()
        gate.open()
        stream.synchronize()
        np.testing.assert_array_equal(host, np.arange(8))
        np.testing.assert_array_equal(part, np.arange(0, 8, 2))


@pytest.mark.opencl
@pytest.mark.parametrize("on_device", [False, True])
def test_offsets_of_groups_are_read_on_the_products_stream(device, on_device):
    """Also where the array has a stream of its own: what is enqueued before the product makes them."""
    move = cuda.to_device if on_device else np.asarray
    a, b = np.ones((4, 2), np.float32), np.stack([np.full((2, 2), g, np.float32) for g in (1, 2)])
    offsets = cuda.to_device(np.array([0, 1, 4]), stream=cuda.stream())
    cuda.synchronize()
    stream, made = cuda.stream(), cuda.to_device(np.array([0, 3, 4]))
    operands = move(a), move(b)
    with closed_gate(stream.queue) as gate:
        offsets.copy_to_device(made, stream=stream)
        gate.open_soon()
        found = portagpu.grouped_matmul(*operands, offsets, stream=stream)
        stream.synchronize()
    assert (found.copy_to_host() if on_device else found)[:, 0].tolist() == [2, 2, 2, 4]


def test_pageable_memory_is_complete_at_once(device):
    stream = cuda.stream()
    array, host = cuda.to_device(np.zeros(8)), np.arange(8.0)
    with closed_gate(stream.queue) as gate:
        gate.open_soon()
        array.copy_to_device(host, stream=stream)
        host[:] = -1
        np.testing.assert_array_equal(array.copy_to_host(stream=stream), np.arange(8))


@pytest.mark.parametrize("how", ["to_device", "copy_to_device", "strided"])
def test_host_memory_lives_until_the_copy_is_done(device, how):
    stream = cuda.stream()
    array = cuda.to_device(np.zeros((4, 8)))[:, ::2] if how == "strided" else cuda.to_device(np.zeros((4, 4)))
    host = pinned_zeros(4, 4)
    host.flat = range(16)
    with closed_gate(stream.queue) as gate:
        if how == "to_device":
            array = cuda.to_device(host, stream=stream)
        else:
            array.copy_to_device(host, stream=stream)
        del host
        gc.collect()
        gate.open_soon()
        stream.synchronize()
        np.testing.assert_array_equal(array.copy_to_host(), np.arange(16).reshape(4, 4))


def owner_of(array):
    """Of the chain of arrays that views make, the last one that may be referred to weakly."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def test_copies_of_a_stream_that_died(device):
    stream = cuda.stream()
    array, host = cuda.to_device(np.arange(8.0)), pinned_zeros(8)
    with closed_gate(stream.queue) as gate:
        array.copy_to_host(host, stream=stream)
        owner = weakref.ref(owner_of(host))
        del stream, host
        gc.collect()
        assert owner() is not None  # nobody waits for the copy, but its memory is kept
        gate.open()
        cuda.synchronize()
    gc.collect()
    assert owner() is None


def test_kept_memory_is_bounded(device, monkeypatch):
    monkeypatch.setattr(timeline, "_MAX_PENDING", 4)
    stream = cuda.stream()
    array, host = cuda.to_device(np.arange(8.0)), pinned_zeros(8)
    for _ in range(20):
        array.copy_to_host(host, stream=stream)
        assert len(stream._timeline.pending) <= 4
    stream.synchronize()
    assert not stream._timeline.pending


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


@pytest.mark.opencl
def test_end_of_the_process_waits_for_copies(device):
    done = subprocess.run(
        [sys.executable, "-c", _AT_EXIT, str(device.index)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and not done.stderr
