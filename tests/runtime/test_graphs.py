"""Graphs of launches: recorded while a block runs, launched again on any stream; what they cannot have is refused."""

from __future__ import annotations

import copy
import gc
import pickle
import threading

import numpy as np
import pyopencl as cl
import pyopencl.array
import pytest
from gates import closed_gate
from own_contexts import native_context

import portagpu
from portagpu import cuda
from portagpu.errors import ClosedError, GraphError
from portagpu.runtime.execution.context import Context

N = 256


@cuda.jit
def smooth(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = (x[i] + x[(i + 1) % x.size]) * np.float32(0.5)


@cuda.jit
def add(x, value):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += value


def smoothed(host, steps):
    for _ in range(steps):
        host = (host + np.roll(host, -1)) * np.float32(0.5)
    return host


@pytest.fixture
def pair(device):
    host = np.random.default_rng(1).random(N, np.float32)
    return host, cuda.to_device(host), cuda.device_array(N, np.float32)


def test_the_block_runs_and_is_launched_again(pair):
    host, x, y = pair
    with cuda.graph() as graph:
        smooth[2, 128](x, y)
        smooth[2, 128](y, x)
    np.testing.assert_array_equal(x.copy_to_host(), smoothed(host, 2))
    for _ in range(5):
        graph.launch()
    np.testing.assert_array_equal(x.copy_to_host(), smoothed(host, 12))
    assert len(graph) == 2 and "2 steps" in repr(graph)


def test_copies_on_the_device_are_steps(pair):
    host, x, y = pair
    with cuda.graph() as graph:
        add[2, 128](x, np.float32(1))
        y.copy_to_device(x)
        add[2, 128](x, np.float32(1))
        y[::2].copy_to_device(x[1::2])
    x.copy_to_device(host)
    graph.launch()
    wanted = host + np.float32(1)
    wanted[::2] = (host + np.float32(1) + np.float32(1))[1::2]
    np.testing.assert_array_equal(y.copy_to_host(), wanted)


def test_copies_alone(pair):
    host, x, y = pair
    with cuda.graph() as graph:
        y.copy_to_device(x)
    add[2, 128](x, np.float32(3))
    graph.launch()
    np.testing.assert_array_equal(y.copy_to_host(), host + np.float32(3))


def test_nothing_at_all(device):
    with cuda.graph() as graph:
        pass
    graph.launch()
    assert len(graph) == 0


def test_numbers_are_those_of_the_recording(pair):
    host, x, _ = pair
    value = np.float32(2)
    with cuda.graph() as graph:
        add[2, 128](x, value)
    value = np.float32(100)
    graph.launch()
    np.testing.assert_array_equal(x.copy_to_host(), host + np.float32(2) + np.float32(2))


def test_streams_take_turns(pair):
    host, x, y = pair
    first, second = cuda.stream(), cuda.stream()
    with cuda.graph() as graph:
        smooth[2, 128, first](x, y)
        first.synchronize()
        smooth[2, 128, second](y, x)
    for _ in range(3):
        graph.launch(first)
        graph.launch(second)
    graph.launch(stream=first)
    first.synchronize()
    np.testing.assert_array_equal(x.copy_to_host(), smoothed(host, 16))


def test_what_orders_streams_is_no_step(pair):
    host, x, y = pair
    first, second = cuda.stream(), cuda.stream()
    done = cuda.event()
    with cuda.graph() as graph:
        smooth[2, 128, first](x, y)
        second.wait_stream(first)
        smooth[2, 128, second](y, x)
        done.record(second)
        done.wait(first)
        smooth[2, 128, first](x, y)
    graph.launch(second)
    assert len(graph) == 3
    second.synchronize()
    np.testing.assert_array_equal(y.copy_to_host(), smoothed(host, 5))


@pytest.mark.opencl
def test_launches_are_in_order_with_the_queues_of_other_libraries(device):
    native = native_context(device)
    try:
        queue, other = cl.CommandQueue(native), cl.CommandQueue(native)
        x, y = cl.array.zeros(queue, N, np.float32), cl.array.zeros(other, N, np.float32)
        with Context.wrap(native), cuda.graph() as graph:
            add[2, 128](x, np.float32(1))
            smooth[2, 128](x, y)  # two queues in one launch
        with closed_gate(queue) as gate:
            cl.enqueue_fill_buffer(queue, x.data, np.float32(7), 0, x.nbytes)
            graph.launch()  # after the queue's work
            gate.open_soon()
            np.testing.assert_array_equal(y.get(), np.full(N, 8, np.float32))  # y's queue waits for the launch
        np.testing.assert_array_equal(x.get(), np.full(N, 8, np.float32))
    finally:
        Context.wrap(native).close()


def test_it_keeps_memory_and_programs(device):
    @cuda.jit
    def count(x, y):
        x[0] += y[0]

    x, y = cuda.to_device(np.zeros(1, np.int32)), cuda.to_device(np.full(1, 3, np.int32))
    with cuda.graph() as graph:
        count[1, 1](x, y)
    del y, count
    gc.collect()
    others = [cuda.to_device(np.full(1, 77, np.int32)) for _ in range(8)]
    graph.launch()
    graph.launch()
    assert x.copy_to_host()[0] == 9 and len(others) == 8


def test_library_calls_have_scratch_memory_of_their_own(device):
    generator = np.random.default_rng(2)
    a, b = (generator.standard_normal((48, 300)).astype(np.float32) for _ in range(2))
    left, right = cuda.to_device(a), cuda.to_device(b.T.copy())
    c = cuda.device_array((48, 48), np.float32)
    with cuda.graph() as graph:
        portagpu.matmul(left, right, out=c)
        add[9, 256](c.ravel(), np.float32(1))
    a[0] = 0
    left.copy_to_device(a)
    graph.launch()
    other = portagpu.matmul(right.T, left.T)  # the same kernels and scratch memory on the same stream
    graph.launch()
    wanted = a.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(c.copy_to_host(), wanted + 1, atol=1e-3)
    np.testing.assert_allclose(other.copy_to_host(), wanted.T, atol=1e-3)


def test_another_thread_launches_it(pair):
    host, x, y = pair
    with cuda.graph() as graph:
        smooth[2, 128](x, y)
        smooth[2, 128](y, x)
    context = cuda.current_context()

    def launch():
        with context:
            graph.launch()

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    np.testing.assert_array_equal(x.copy_to_host(), smoothed(host, 4))


def test_threads_launch_it_one_after_the_other(pair):
    """On streams of their own: each launch reads what the one before wrote."""
    host, x, y = pair
    with cuda.graph() as graph:
        smooth[2, 128](x, y)
        smooth[2, 128](y, x)
    context = cuda.current_context()

    def launch():
        with context:
            stream = cuda.stream()
            for _ in range(10):
                graph.launch(stream)
            stream.synchronize()

    threads = [threading.Thread(target=launch) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(x.copy_to_host(), smoothed(host, 62))


def test_other_threads_are_not_recorded(pair):
    _, x, y = pair
    context = cuda.current_context()

    def launch():
        with context:
            add[2, 128](y, np.float32(1))

    with cuda.graph() as graph:
        add[2, 128](x, np.float32(1))
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    assert len(graph) == 1


# refusals ------------------------------------------------------------------------------------------------------------


def refused(block):
    graph = cuda.graph()
    with pytest.raises(GraphError, match="cannot be part of a graph") as caught, graph:
        block()
    assert caught.value.span.filename == __file__ and "host" in caught.value.hint
    with pytest.raises(GraphError, match="is not recorded"):
        graph.launch()
    return caught.value.span.text


def test_copies_from_and_to_the_host_are_refused(pair):
    host, x, _ = pair
    add.specialize(x, np.float32(1))
    assert "add[2, 128](host" in refused(lambda: add[2, 128](host, np.float32(1)))
    assert "to_device(host)" in refused(lambda: cuda.to_device(host))
    assert "copy_to_host" in refused(lambda: (add[2, 128](x, np.float32(1)), x.copy_to_host()))


def test_checked_kernels_are_refused(device):
    @cuda.jit(debug=True)
    def checked(x):
        x[cuda.grid(1)] = 1 // x[0]

    x = cuda.to_device(np.ones(4, np.int32))
    checked[1, 4](x)
    assert "checked[1, 4](x)" in refused(lambda: checked[1, 4](x))


def test_an_error_in_the_block_is_the_users(pair):
    _, x, _ = pair
    graph = cuda.graph()
    with pytest.raises(ZeroDivisionError), graph:
        add[2, 128](x, np.float32(1))
        raise ZeroDivisionError
    with pytest.raises(GraphError, match="is not recorded"):
        graph.launch()
    with cuda.graph() as again:  # nothing is left of the other one
        add[2, 128](x, np.float32(1))
    assert len(again) == 1


def test_one_graph_at_a_time(pair):
    _, x, _ = pair
    with cuda.graph() as graph:
        with pytest.raises(GraphError, match="recorded already"), cuda.graph():
            pass
        with pytest.raises(GraphError, match="is not recorded"):
            graph.launch()
        add[2, 128](x, np.float32(1))
    assert len(graph) == 1
    with pytest.raises(GraphError, match="recorded already"), graph:
        pass


def test_the_device_is_that_of_the_steps(device):
    """Also where there are copies and fills alone, and another device is current when the block begins."""
    context = cuda.current_context()
    others = [d for d in cuda.gpus if d.context is not context] if hasattr(cuda.gpus, "__iter__") else []
    x, y = cuda.to_device(np.ones(N, np.float32)), cuda.device_array(N, np.float32)
    for other in others[:1]:
        with other.context:
            far = cuda.to_device(np.ones(N, np.float32))
            with cuda.graph() as graph:
                x[:] = 0
                y.copy_to_device(x)
            assert context.device.name in repr(graph)
            with pytest.raises(GraphError, match="a graph is of one device; this one has steps on"), cuda.graph():
                far[:] = 0
                x[:] = 0
        y[:] = 7
        graph.launch()
        np.testing.assert_array_equal(y.copy_to_host(), 0)


def test_graphs_stay_where_they_are(pair):
    _, x, _ = pair
    with cuda.graph() as graph:
        add[2, 128](x, np.float32(1))
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(GraphError, match="cannot be pickled, copied"):
            take(graph)
    with pytest.raises(GraphError, match="is not being recorded"):
        graph.__exit__(None, None, None)


def test_closed_memory_is_noticed(pair):
    _, x, y = pair
    with cuda.graph() as graph:
        smooth[2, 128](x, y)
    y.close()
    with pytest.raises(ClosedError, match="given back"):
        graph.launch()
