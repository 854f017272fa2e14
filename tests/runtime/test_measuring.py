"""Streams measure time from the first event on that needs it; what was enqueued before stays before."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pytest
from gates import Gate, closed_gate

from portagpu import cuda, errors
from portagpu.runtime.stream import enqueuing

_MEASURES = cl.command_queue_properties.PROFILING_ENABLE


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


def measures(stream):
    return bool(stream.ready().properties & _MEASURES)


def test_only_events_with_timing_make_a_stream_measure(device):
    stream = cuda.stream()
    array = cuda.to_device(np.ones(1000, np.float32), stream=stream)
    double[4, 256, stream](array)
    plain = cuda.event(timing=False)
    plain.record(stream)
    assert not measures(stream)
    begin, end = cuda.event(), cuda.event()
    begin.record(stream)
    assert measures(stream)
    double[4, 256, stream](array)
    end.record(stream)
    assert 0 < begin.elapsed_time(end) < 60_000
    assert (array.copy_to_host(stream=stream) == 4).all()
    with pytest.raises(errors.DriverError, match="does not measure time"):
        plain.elapsed_time(end)


def test_a_queue_that_is_given_away_measures_and_stays(device):
    stream = cuda.stream()
    queue = stream.queue
    assert queue.properties & _MEASURES
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


def test_a_launch_that_is_under_way_when_the_queue_changes(device):
    """As when another thread records the first event between the choice of the queue and the launch."""
    stream = cuda.stream()
    array = cuda.to_device(np.ones(8, np.float32))
    host = cuda.pinned_array(8, np.float32)
    host[:] = 0
    cuda.synchronize()
    with enqueuing(stream) as queue:
        stream.measure()
        assert not stream.owns(queue)
        gate = Gate(queue)
        cl.enqueue_fill_buffer(queue, array.buffer, np.float32(7), array.offset, array.nbytes)
    try:
        array.copy_to_host(host, stream=stream)
        assert host.sum() == 0
    finally:
        gate.open()
    stream.synchronize()
    assert (host == 7).all()
