"""Streams, events, contexts, pinned memory."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyopencl as cl
import pytest
from small_kernels import increment

from portagpu import cuda, errors


def test_kernels_on_streams_and_events(device):
    stream, other = cuda.stream(), cuda.stream()
    host = np.zeros(1000, np.float32)
    array = cuda.to_device(host, stream=stream)
    increment[4, 256, stream](array)
    done = cuda.event()
    done.record(stream)
    done.wait(other)
    increment[4, 256, other](array)
    result = array.copy_to_host(stream=other)
    other.synchronize()
    assert (result == 2).all()
    end = cuda.event()
    end.record(other)
    end.synchronize()
    assert end.query() and done.elapsed_time(end) >= 0


def test_auto_synchronize_and_callback(device):
    stream = cuda.stream()
    array = cuda.to_device(np.zeros(10, np.float32))
    called = threading.Event()
    with stream.auto_synchronize():
        increment[1, 10, stream](array)
        stream.add_callback(lambda s, status, arg: called.set())
    assert called.wait(10)
    assert (array.copy_to_host() == 1).all()


def test_closed_stream_and_unrecorded_event(device):
    stream = cuda.stream()
    stream.close()
    with pytest.raises(errors.ClosedError):
        stream.synchronize()
    unrecorded = cuda.event()  # has happened, as in CUDA, but at no time
    unrecorded.synchronize()
    unrecorded.wait()
    assert unrecorded.query()
    with pytest.raises(errors.ClosedError):
        unrecorded.elapsed_time(unrecorded)


@pytest.mark.opencl
def test_users_queue_as_stream(device):
    queue = cl.CommandQueue(cuda.current_context().cl_context)
    array = cuda.to_device(np.zeros(10, np.float32))
    increment[1, 10, queue](array)
    queue.finish()
    assert (array.copy_to_host() == 1).all()


def test_pinned_array(device):
    host = cuda.pinned_array((4, 5), np.float32)
    host[...] = 3
    with cuda.pinned(host):
        array = cuda.to_device(host)
    assert (array.copy_to_host() == 3).all()


def test_threads_share_a_kernel(device):
    record = device
    failures = []

    def work(seed):
        try:
            with cuda.select_device(record):
                for _ in range(20):
                    array = cuda.to_device(np.full(500, seed, np.float32))
                    increment[2, 256](array)
                    assert (array.copy_to_host() == seed + 1).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_in_out_wrappers(device):
    @cuda.jit
    def copy(source, target):
        i = cuda.grid(1)
        if i < source.size:
            target[i] = source[i]
            source[i] = -1

    source, target = np.arange(5000, dtype=np.float32), np.zeros(5000, np.float32)
    copy[20, 256](cuda.InOut(source), cuda.Out(target))
    np.testing.assert_array_equal(target, np.arange(5000))
    assert (source == -1).all()
    frozen = np.arange(5000, dtype=np.float32)
    frozen.flags.writeable = False
    with pytest.raises(errors.ArgumentTypeError):
        copy[20, 256](frozen, cuda.Out(frozen))


def test_synchronize_waits_for_callbacks(device):
    stream, order = cuda.stream(), []

    def slow(given, status, arg):
        given.synchronize()  # does not wait for itself
        time.sleep(0.05)
        order.append((given is stream, status, arg))

    for n, wait in enumerate((stream.synchronize, cuda.synchronize, stream.synchronize)):
        stream.add_callback(slow, n)
        wait()
        assert order[-1] == (True, 0, n)


def test_callbacks_are_functions_and_pinned_things_arrays(device):
    with pytest.raises(errors.ArgumentTypeError, match=r"a callback is a function .* not int"):
        cuda.stream().add_callback(3)
    words = r"cuda\.pinned takes NumPy arrays, not list"
    with pytest.raises(errors.ArgumentTypeError, match=words), cuda.pinned(np.zeros(3), [1, 2]):
        pass


@pytest.mark.parametrize("own", [cuda.stream, cuda.default_stream, cuda.per_thread_default_stream])
def test_assigning_to_an_array_with_a_stream_does_not_wait(device, monkeypatch, own):
    stream = own()
    bound = cuda.to_device(np.zeros(6, np.int32), stream=stream)
    plain = cuda.to_device(np.zeros(4, np.int32))
    waited = []
    monkeypatch.setattr(type(stream), "synchronize", lambda self: waited.append(self))
    values = np.array([3, 4], np.int32)
    bound[0] = 7
    bound[1:3] = values
    shared = bytearray(np.array([5, 6], np.int32))
    bound[4:] = memoryview(shared).cast("i")
    values[:] = 0  # what was assigned was of before
    shared[:] = bytes(8)
    bound[3:4] = plain[:1]
    assert not waited
    plain[0] = 7  # a number goes with the launch
    assert not waited
    plain[1:3] = values
    assert waited == [plain.context.default_stream]
    monkeypatch.undo()
    cuda.synchronize()
    assert bound.copy_to_host().tolist() == [7, 3, 4, 0, 5, 6]
