"""PyOpenCL's arrays and queues: launches run where the array's own methods see them."""

from __future__ import annotations

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest
from gates import closed_gate
from own_contexts import native_context
from small_kernels import double

import portagpu
from portagpu import cuda, errors
from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.launch import CompiledKernel

pytestmark = pytest.mark.opencl


@cuda.jit
def add(x, y):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += y[i]


@pytest.fixture
def own(device):
    """A user's context."""
    context = native_context(device)
    yield context
    Context.wrap(context).close()


@pytest.fixture
def launched(monkeypatch):
    """The queues of the launches."""
    queues = []

    def recording(launch):
        def record(self, queue, *rest):
            queues.append(queue.int_ptr)
            return launch(self, queue, *rest)

        return record

    for name in ("launch", "launch_again"):
        monkeypatch.setattr(CompiledKernel, name, recording(getattr(CompiledKernel, name)))
    return queues


def ones(queue):
    return pyopencl.array.to_device(queue, np.ones(8, np.float32))


@pytest.mark.parametrize("wrap", [lambda a: a, cuda.as_cuda_array, lambda a: cuda.as_cuda_array(a)[:]])
def test_launch_runs_on_the_arrays_queue(own, launched, wrap):
    array = ones(cl.CommandQueue(own))
    double[1, 8](wrap(array))
    double[1, 8, 0, 0](wrap(array))
    assert launched == [array.queue.int_ptr] * 2
    np.testing.assert_array_equal(array.get(), np.full(8, 4))


def test_arrays_of_several_queues(own, launched):
    x, y = ones(cl.CommandQueue(own)), ones(cl.CommandQueue(own))
    with closed_gate(y.queue) as gate:
        cl.enqueue_fill_buffer(y.queue, y.base_data, np.float32(5), 0, y.nbytes)  # waits at the gate, and so x does
        add[1, 8](x, y)
        gate.open_soon()
        np.testing.assert_array_equal(x.get(), np.full(8, 6))
    add[1, 8](y, x)
    np.testing.assert_array_equal(y.get(), np.full(8, 11))
    assert launched == [x.queue.int_ptr, y.queue.int_ptr]


def test_array_on_another_stream_than_its_queue(own, launched):
    array = ones(cl.CommandQueue(own))
    stream = Context.wrap(own).stream()
    with closed_gate(stream.queue) as gate:
        double[1, 8, stream](array)
        gate.open_soon()
        np.testing.assert_array_equal(array.get(), np.full(8, 2))


def test_out_of_order_queues_are_refused(own):
    try:
        queue = cl.CommandQueue(own, properties=cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE)
    except cl.Error:
        pytest.skip("the device has no such queues")
    array = pyopencl.array.Array(queue, 8, np.float32)
    for call in (
        lambda: double[1, 8](array),
        lambda: double[1, 8, queue](np.ones(8)),
        lambda: cuda.to_device(np.ones(8), stream=queue),
    ):
        with pytest.raises(errors.ArgumentTypeError, match="out of order") as caught:
            call()
        assert caught.value.hint


def test_arrays_are_made_in_the_queues_context(own):
    queue = cl.CommandQueue(own)
    context = Context.wrap(own)
    array = cuda.to_device(np.ones(8, np.float32), stream=queue)
    assert array.context is context
    assert cuda.device_array(8, stream=queue).context is context
    assert cuda.device_array_like(array, stream=queue).context is context
    double[1, 8, queue](array)
    host = array.copy_to_host(stream=queue)
    queue.finish()
    np.testing.assert_array_equal(host, np.full(8, 2))
    x = np.ones(8)
    double[1, 8, queue](x)
    assert (x == 2).all()


def test_streams_and_events_of_other_contexts(device, own):
    foreign = Context.wrap(own).stream()
    array = cuda.to_device(np.ones(8, np.float32))
    event = cuda.event()
    event.record(foreign)
    here = cuda.event()
    here.record()
    for call in (
        lambda: double[1, 8, foreign](array),
        lambda: array.copy_to_host(stream=foreign),
        lambda: array.copy_to_device(np.ones(8, np.float32), stream=foreign),
        lambda: array.copy_to_device(np.ones(8, np.float32), stream=cl.CommandQueue(own)),
        lambda: array.bind(foreign),
        lambda: event.wait(cuda.stream()),
        lambda: cuda.stream().wait_event(event),
        lambda: event.elapsed_time(here),
        lambda: double[1, 8, cuda.stream()](ones(cl.CommandQueue(own))),
    ):
        with pytest.raises(errors.ArgumentTypeError, match="context") as caught:
            call()
        assert caught.value.hint
    assert cuda.current_context().is_alive()


@pytest.mark.parametrize("code", [-34, -36, -14])
def test_wrong_context_is_not_a_lost_device(device, code):
    context = cuda.current_context()
    error = cl.RuntimeError(cl._cl._ErrorRecord(msg="it failed", code=code, routine="clEnqueueNDRangeKernel"))
    found = context.translated(error)
    assert type(found) is errors.DriverError and "another context" in found.hint
    assert context.is_alive()
    context = Context.wrap(native_context(device))
    context.close()
    assert isinstance(context.translated(error), errors.DeviceLostError)


def test_time_between_events_of_a_queue_without_profiling(own):
    queue = cl.CommandQueue(own)
    begin, end = cuda.event(), cuda.event()
    begin.record(queue)
    end.record(queue)
    with pytest.raises(errors.DriverError, match="does not measure time") as caught:
        begin.elapsed_time(end)
    assert "PROFILING_ENABLE" in caught.value.hint


def test_wrapped_queues_are_forgotten(own):
    context = Context.wrap(own)
    array = cuda.to_device(np.ones(8, np.float32), stream=context.default_stream)
    for _ in range(40):
        double[1, 8, cl.CommandQueue(own)](array)
        double[1, 8, 0](array)
    assert len(context._wrapped) <= 16
    assert context.wrap_queue(context.default_stream.queue) is context.default_stream
    stream = context.stream()
    assert context.wrap_queue(stream.queue) is stream


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("view", [np.s_[:, ::2], np.s_[::-1], np.s_[:, 1:]], ids=["steps", "backwards", "part"])
def test_products_of_views_wait_for_the_arrays_queue(own, view):
    """Operands and results that are copied are in order with the array's own methods, as those of kernels are."""
    queue = cl.CommandQueue(own)
    x, y = (pyopencl.array.to_device(queue, np.ones((40, 40), np.float32)) for _ in range(2))
    a = cuda.as_cuda_array(x)[view]
    b = cuda.as_cuda_array(y)[: a.shape[1]]
    for number in (1, 2, 3):
        with closed_gate(queue) as gate:
            cl.enqueue_fill_buffer(queue, x.base_data, np.float32(number), 0, x.nbytes)
            product = portagpu.matmul(a, b)
            gate.open_soon()
            assert (product.copy_to_host() == number * a.shape[1]).all()
    stream = Context.wrap(own).stream()
    left, right = (device_array((40, 40), np.float32, context=Context.wrap(own)) for _ in range(2))
    right.copy_to_device(np.ones((40, 40), np.float32))
    out = cuda.as_cuda_array(y)[view]
    for number in (1, 2, 3):
        left.copy_to_device(np.full((40, 40), number, np.float32))
        with closed_gate(stream.queue) as gate:
            portagpu.matmul(left[: out.shape[0]], right[:, : out.shape[1]], out, stream=stream)
            gate.open_soon()
            assert (y.get()[view] == number * 40).all()


def test_a_queue_that_its_maker_ended_does_not_keep_a_context_open(device, monkeypatch):
    context = Context.wrap(native_context(device))
    stream = context.wrap_queue(cl.CommandQueue(context.cl_context))

    def ended(queue):
        raise cl.LogicError("the queue is gone")

    monkeypatch.setattr(context.driver, "finish_foreign", ended)
    context.close()
    assert context.closed and stream.closed
