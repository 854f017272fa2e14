"""Streams measure time from the first event on that needs it; what was enqueued before stays before."""

from __future__ import annotations

import threading

import numpy as np
import pyopencl as cl
import pytest
from gates import closed_gate
from small_kernels import double, increment

from portagpu import cuda, errors
from portagpu.runtime.execution.ordering import enqueuing

pytestmark = pytest.mark.one_device

_MEASURES = cl.command_queue_properties.PROFILING_ENABLE


def is_profiled(queue):
    return bool(queue.properties & _MEASURES) if isinstance(queue, cl.CommandQueue) else queue.profiling


def measures(stream):
    return stream.context.driver.always_measures or is_profiled(stream.ready())


def test_only_events_with_timing_make_a_stream_measure(device):
    stream = cuda.stream()
    array = cuda.to_device(np.ones(1000, np.float32), stream=stream)
    double[4, 256, stream](array)
    plain = cuda.event(timing=False)
    plain.record(stream)
    assert measures(stream) == stream.context.driver.always_measures
    begin, end = cuda.event(), cuda.event()
    begin.record(stream)
    assert measures(stream)
    double[4, 256, stream](array)
    end.record(stream)
    assert 0 < begin.elapsed_time(end) < 60_000
    assert (array.copy_to_host(stream=stream) == 4).all()
    if not stream.context.driver.always_measures:
        with pytest.raises(errors.DriverError, match="does not measure time"):
            plain.elapsed_time(end)


def test_a_queue_that_is_given_away_measures_and_stays(device):
    stream = cuda.stream()
    queue = stream.queue
    assert stream.context.driver.always_measures or is_profiled(queue)
    cuda.event().record(stream)
    assert stream.owns(queue)


def test_work_on_the_former_queue_comes_first(device):
    stream = cuda.stream()
    array = cuda.to_device(np.ones(8, np.float32))
    host = cuda.pinned_array(8, np.float32)
    host[:] = 0
    cuda.synchronize()
    with closed_gate(stream.ready()) as gate:
        double[1, 8, stream](array)
        cuda.event().record(stream)
        double[1, 8, stream](array)
        array.copy_to_host(host, stream=stream)
        assert host.sum() == 0
        gate.open()
        stream.synchronize()
    assert (host == 4).all()


@pytest.mark.opencl
@pytest.mark.parametrize("thread", ["another", "this"])
def test_the_queue_changes_while_something_is_enqueued(device, thread):
    """Between the choice of the queue and the launch, by another thread or a signal handler: what follows waits."""
    stream = cuda.stream()
    array = cuda.to_device(np.ones(8, np.float32))
    cuda.synchronize()
    with enqueuing(stream) as queue:
        if thread == "another":
            other = threading.Thread(target=stream.measure)
            other.start()
            other.join()
        else:
            cuda.event().record(stream)
        assert not stream.owns(queue)
        gate = closed_gate(queue)
        gate.__enter__().open_soon()
        cl.enqueue_fill_buffer(queue, array.buffer, np.float32(7), array.offset, array.nbytes)
        queue.flush()
    try:
        assert (array.copy_to_host(stream=stream) == 7).all()
    finally:
        gate.__exit__(None, None, None)


def test_threads_that_share_a_stream_while_it_begins_to_measure(device):
    for _ in range(20):
        stream = cuda.stream()
        array = cuda.to_device(np.zeros(8, np.float32))
        cuda.synchronize()

        def work(first, stream=stream, array=array):
            if first:
                stream.measure()
            for _ in range(20):
                increment[1, 8, stream](array)

        threads = [threading.Thread(target=work, args=(first,)) for first in (False, True)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (array.copy_to_host(stream=stream) == 40).all()
