"""The default stream is CUDA's legacy one: it waits for the others, and they wait for it."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pyopencl as cl
import pytest
from gates import closed_gate
from own_contexts import native_context
from small_kernels import copy, put

from portagpu import cuda, errors
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context


@pytest.fixture
def arrays(device):
    return cuda.to_device(np.zeros(8, np.float32)), cuda.to_device(np.zeros(8, np.float32))


@pytest.fixture(params=["stream", "queue"])
def other(request, device):
    """A stream besides the default one: ours, or a user's queue."""
    context = cuda.current_context()
    if request.param == "stream":
        return context.stream()
    return context.wrap_queue(context.driver.queue())


def is_done(stream):
    event = cuda.event()
    event.record(stream)
    return event.query()


def test_launch_waits_for_other_streams(arrays, other):
    x, y = arrays
    with closed_gate(other.queue) as gate:
        put[1, 8, other](x, 7)
        copy[1, 8](x, y)
        assert not is_done(0)
        gate.open()
        assert (y.copy_to_host() == 7).all()


def test_other_streams_wait_for_the_default_stream(arrays, other):
    x, y = arrays
    with closed_gate(cuda.default_stream().queue) as gate:
        put[1, 8](x, 7)
        copy[1, 8, other](x, y)
        assert not is_done(other)
        gate.open()
        assert (y.copy_to_host(stream=0) == 7).all()


def test_stream_made_after_the_work(arrays):
    x, y = arrays
    with closed_gate(cuda.default_stream().queue) as gate:
        put[1, 8](x, 7)
        late = cuda.stream()
        copy[1, 8, late](x, y)
        assert not is_done(late)
        gate.open()
        late.synchronize()
        assert (y.copy_to_host() == 7).all()


def test_streams_do_not_wait_for_each_other(arrays):
    x, y = arrays
    held, free = cuda.stream(), cuda.stream()
    cuda.synchronize()
    with closed_gate(held.queue):
        put[1, 8, held](x, 7)
        put[1, 8, free](y, 5)
        free.synchronize()
        assert not is_done(held)


def test_order_over_three_streams(arrays):
    x, y = arrays
    first, last = cuda.stream(), cuda.stream()
    with closed_gate(first.queue) as gate:
        put[1, 8, first](x, 7)
        put[1, 8](y, 1)
        copy[1, 8, last](x, y)
        assert not is_done(last)
        gate.open()
        last.synchronize()
        assert (y.copy_to_host() == 7).all()


@pytest.mark.parametrize(
    "read",
    [
        lambda x: x.copy_to_host(),
        lambda x: x[::1].copy().copy_to_host(),
        lambda x: cuda.to_device(np.zeros(8, np.float32)).copy_to_device(x) or x.copy_to_host(),
        lambda x: np.full(8, x[3]),
        pytest.param(lambda x: x.to_pyopencl().get(), marks=pytest.mark.opencl),
    ],
    ids=["copy_to_host", "copy", "copy_to_device", "getitem", "to_pyopencl"],
)
def test_copies_wait_for_other_streams(arrays, other, read):
    x, _ = arrays
    with closed_gate(other.queue) as gate:
        put[1, 8, other](x, 7)
        gate.open_soon()
        assert (read(x) == 7).all()


def test_assignment_comes_after_other_streams(arrays, other):
    x, _ = arrays
    with closed_gate(other.queue) as gate:
        put[1, 8, other](x, 7)
        gate.open_soon()
        x[0] = 3
        assert x.copy_to_host().tolist() == [3] + [7] * 7


@pytest.mark.opencl
def test_product_waits_for_other_streams(device):
    twice = cuda.pinned_array((8, 8), np.float32)
    twice[...] = 2 * np.eye(8)
    a = cuda.to_device(np.eye(8, dtype=np.float32))
    other = cuda.stream()
    with closed_gate(other.queue) as gate:
        a.bind(other).copy_to_device(twice, other)
        product = a @ a
        gate.open()
        np.testing.assert_array_equal(product.copy_to_host(), 4 * np.eye(8))


def test_synchronize_waits_for_all_streams(arrays, other):
    x, _ = arrays
    done = cuda.event()
    with closed_gate(other.queue) as gate:
        put[1, 8, other](x, 7)
        done.record(other)
        assert not done.query()
        gate.open_soon()
        cuda.synchronize()
        assert done.query()


def test_work_of_a_stream_that_died(arrays):
    x, y = arrays
    other = cuda.stream()
    with closed_gate(other.queue) as gate:
        put[1, 8, other](x, 7)
        del other
        gc.collect()
        copy[1, 8](x, y)
        assert not is_done(0)
        gate.open()
        assert (y.copy_to_host() == 7).all()


@pytest.mark.opencl
def test_one_stream_needs_no_barriers(device, monkeypatch):
    context = Context.wrap(native_context(device))
    x = to_device(np.zeros(8, np.float32), context=context)

    def refuse(*args, **kwargs):
        raise AssertionError("a barrier")

    monkeypatch.setattr(cl, "enqueue_barrier", refuse)
    put[1, 8](x, 7)
    assert (x.copy_to_host() == 7).all()
    monkeypatch.undo()
    context.stream()
    put[1, 8](x, 8)
    assert (x.copy_to_host() == 8).all() and not context.ordered  # the stream is gone
    context.close()


def test_streams_are_not_kept(device):
    x = cuda.to_device(np.zeros(8, np.float32))
    stream = cuda.stream()
    put[1, 8, stream](x, 1)
    stream.synchronize()
    seen = weakref.ref(stream)
    del stream
    gc.collect()
    assert seen() is None


@pytest.mark.parametrize("size", [8, 5000])
def test_host_arguments_on_a_stream_that_waits(arrays, other, size):
    x, _ = arrays
    host = np.zeros(size, np.float32)
    with closed_gate(other.queue) as gate:
        put[1, 8, other](x, 7)
        gate.open_soon()
        copy[1, 8](x, host)
        assert (host[:8] == 7).all()


@pytest.mark.opencl
def test_lost_device_is_reported_once(device, monkeypatch):
    context = Context.wrap(native_context(device))
    x, other = to_device(np.zeros(8, np.float32), context=context), context.stream()
    put[1, 8, other](x, 1)

    def fail(queue):
        raise cl.RuntimeError(cl._cl._ErrorRecord(msg="dead", code=-36, routine="clEnqueueMarker"))

    monkeypatch.setattr(cl, "enqueue_marker", fail)
    with pytest.raises(errors.DeviceLostError):
        put[1, 8](x, 2)
    assert context.lost and not context.is_alive()
    monkeypatch.undo()
    context.close()


def test_threads_that_mix_streams(device):
    @cuda.jit
    def increment(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += 1

    failures = []

    def work():
        with cuda.select_device(device):
            for _ in range(20):
                x, stream = cuda.to_device(np.zeros(300, np.float32)), cuda.stream()
                for _ in range(3):
                    increment[2, 256](x)
                    increment[2, 256, stream](x)
                if not (x.copy_to_host() == 6).all():
                    failures.append(x.copy_to_host())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
