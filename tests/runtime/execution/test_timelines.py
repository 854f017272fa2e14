"""What is known of streams and memory where something comes in between: finalisers, signal handlers, other threads."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
import weakref

import numpy as np
import pyopencl as cl
import pytest
from gates import closed_gate
from host_memory import shares
from interrupts import before_lines, by_another_thread
from own_contexts import native_context
from small_kernels import copy, put

from portagpu import cuda, errors
from portagpu.dispatch.launch_plans import Plan
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution import timeline as tail_module
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.ordering import enqueuing
from portagpu.runtime.execution.stream import Stream
from portagpu.runtime.execution.timeline import Timeline, marker

pytestmark = pytest.mark.one_device

_LONGEST = 60  # seconds


@pytest.fixture
def arrays(own):
    x, y = (to_device(np.zeros(8, np.float32), context=own) for _ in range(2))
    put[1, 8](x, 0)
    copy[1, 8](x, y)
    own.synchronize()
    return x, y


def measured(own, stream):
    """What makes a stream get another queue."""

    def run():
        with own:
            cuda.event().record(stream)

    return run


@pytest.mark.parametrize("way", [by_another_thread, lambda action: action], ids=["thread", "finaliser"])
@pytest.mark.parametrize("of_default", [False, True])
def test_a_stream_gets_another_queue_while_it_is_put_in_order(own, arrays, way, of_default):
    x, y = arrays
    other = own.stream()
    put[1, 8, other](x, 0)
    cuda.synchronize()
    first, then = (other, own.default_stream) if of_default else (own.default_stream, other)
    with closed_gate(first.queue) as gate:
        put[1, 8, first](x, 7)
        with before_lines(Stream.ready, {"if queue is None": way(measured(own, then))}) as called:
            copy[1, 8, then](x, y)
        assert called
        gate.open_soon()
        then.synchronize()
    assert y.copy_to_host().tolist() == [7] * 8


def test_another_thread_on_the_new_queue_waits_for_what_the_former_waits_for(own, arrays):
    x, y = arrays
    other = own.stream()
    put[1, 8, other](x, 0)
    cuda.synchronize()

    def launch():
        with own:
            copy[1, 8, other](x, y)

    with closed_gate(own.default_stream.queue) as gate:
        put[1, 8](x, 7)
        with before_lines(Stream.ready, {"if queue is None": by_another_thread(other.measure)}) as called:
            around = enqueuing(other)
            around.__enter__()
        assert called
        by_another_thread(launch)()
        gate.open_soon()
        around.__exit__(None, None, None)
        other.synchronize()
    assert y.copy_to_host().tolist() == [7] * 8


def test_two_finalisers_within_one_change_of_queues(own, arrays, monkeypatch):
    if own.driver.always_measures:
        pytest.skip("its queues never change")
    x, y = arrays
    stream = own.stream()
    put[1, 8, stream](x, 0)
    own.synchronize()
    gates = []

    def hold():
        gate = closed_gate(stream._timeline.queue)
        gates.append((gate, gate.__enter__()))
        put[1, 8, stream](x, 7)

    def use():
        copy[1, 8, stream](x, y)

    within = {"if timeline.queue is former": hold, "while used != timeline.used": use}
    with before_lines(Stream.measure, within) as called:
        stream.measure()
    assert len(called) == 2
    gates[0][1].open_soon()
    stream.synchronize()
    gates[0][0].__exit__(None, None, None)
    assert y.copy_to_host().tolist() == [7] * 8


@pytest.mark.parametrize("way", ["closed", "dropped"])
def test_tails_of_streams_go_where_nobody_uses_the_default_one(own, arrays, way):
    x, _ = arrays
    for _ in range(20):
        stream = own.stream()
        put[1, 8, stream](x, 7)
        stream.synchronize()
        if way == "closed":
            stream.close()
    del stream
    until = time.monotonic() + _LONGEST
    while len(own.timelines) > 2 and time.monotonic() < until:  # markers take a while
        own.stream()
    assert len(own.timelines) <= 2


def test_a_stream_that_finalisers_use_after_its_tail_was_dropped(own, arrays):
    x, y = arrays
    other = to_device(np.zeros(8, np.float32), context=own)
    stream = own.stream()
    put[1, 8, stream](x, 0)
    cuda.synchronize()
    gates = []

    class Finalised:
        def __del__(self):
            self.stream.__del__()  # as the collector may order finalisers
            put[1, 8](other, 1)  # the default stream looks, and the other one is gone
            assert not own.timelines
            gate = closed_gate(self.queue)
            gates.append((gate, gate.__enter__()))
            put[1, 8, self.stream](x, 7)
            copy[1, 8](x, y)

    cycle = Finalised()
    cycle.cycle, cycle.stream, cycle.queue = cycle, stream, stream.queue
    copy[1, 8](x, y)
    del cycle, stream
    gc.collect()
    gates[0][1].open_soon()
    found = y.copy_to_host().tolist()
    gates[0][0].__exit__(None, None, None)
    assert found == [7] * 8


def test_streams_that_only_a_cycle_holds_are_closed_with_their_context(device):
    own = Context.wrap(native_context(device))
    found = []

    class Finalised:
        def __del__(self):
            own.close()
            found.append(self.stream.closed)
            with pytest.raises(errors.ClosedError):
                self.stream.ready()
            found.append("raised")

    cycle = Finalised()
    with own:
        cycle.cycle, cycle.stream = cycle, own.stream()
    del cycle
    gc.collect()
    assert found == [True, "raised"]


def test_two_contexts_and_their_finalisers(device, monkeypatch):
    """Each thread puts streams of one context in order while a finaliser in it uses the other context."""
    contexts = [Context.wrap(native_context(device)) for _ in range(2)]
    made = []
    for context in contexts:
        with context:
            x, stream = to_device(np.zeros(8, np.float32), context=context), context.stream()
            put[1, 8](x, 0)
            put[1, 8, stream](x, 0)
            context.synchronize()
            put[1, 8, stream](x, 1)  # which the default stream has not seen
            made.append((x, stream))
    real, local, both = cl.enqueue_barrier, threading.local(), threading.Barrier(2)

    def enqueue_barrier(*args, **kwargs):
        finaliser = local.__dict__.pop("finaliser", None)
        if finaliser is not None:
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait(0.5)  # the other thread is here, too, or waits
            finaliser()
        return real(*args, **kwargs)

    monkeypatch.setattr(cl, "enqueue_barrier", enqueue_barrier)

    def run(mine, others):
        local.finaliser = lambda: put[1, 8](made[others][0], 2)
        with contexts[mine]:
            put[1, 8](made[mine][0], 1)

    threads = [threading.Thread(target=run, args=args, daemon=True) for args in ((0, 1), (1, 0))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(_LONGEST)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    monkeypatch.undo()
    for context in contexts:
        context.close()


def test_an_array_closed_while_a_launch_reads_it(own, arrays):
    x, _ = arrays
    for value in (1, 1, 1):
        put[1, 8](x, value)
    with before_lines(Plan._launch, {"epoch = context.epoch": x.close}) as called, pytest.raises(errors.ClosedError):
        put[1, 8](x, 2)
    assert called


# memory of others ---------------------------------------------------------------------------------------------------


def test_memory_of_others_while_another_thread_drops_the_tail(device, own, arrays):
    if not shares(device):
        pytest.skip("the device has memory of its own")
    x, _ = arrays
    host = np.zeros(5000, np.float32)
    seen = weakref.ref(host)
    shared, stream = cuda.from_dlpack(host), own.stream()
    put[1, 8, stream](shared, 0)
    cuda.synchronize()

    def launch():
        with own:
            put[1, 8](x, 1)

    with closed_gate(stream.queue) as gate:
        put[1, 8, stream](shared, 7)
        del stream  # its work is still there
        within = {"while not self._are_done": by_another_thread(launch)}
        with before_lines(tail_module.RetainedMemory.keep, within) as called:
            del host, shared
        gc.collect()
        assert called and not own.timelines
        assert seen() is not None
        gate.open_soon()
        cuda.synchronize()
    gc.collect()
    assert seen() is None


@pytest.mark.opencl
def test_memory_of_others_where_a_queue_fails(device, own, monkeypatch):
    if not shares(device):
        pytest.skip("the device has memory of its own")
    host = np.zeros(5000, np.float32)
    seen = weakref.ref(host)
    shared, stream = cuda.from_dlpack(host), own.stream()
    put[1, 8, stream](shared, 0)
    cuda.synchronize()

    def failing(driver, queue):
        if own.default_stream.owns(queue):
            raise cl.LogicError("a queue that failed")
        return marker(driver, queue)

    with closed_gate(stream.queue) as gate:
        put[1, 8, stream](shared, 7)
        monkeypatch.setattr(tail_module, "marker", failing)
        del host, shared
        monkeypatch.undo()
        assert seen() is not None
        gate.open_soon()
        cuda.synchronize()


@pytest.mark.opencl
def test_memory_stays_in_sight_while_it_is_looked_at(own, monkeypatch):
    queue = cl.CommandQueue(own.cl_context)
    timeline = Timeline(own.driver, queue)
    timeline.ended = True
    with closed_gate(queue) as gate:
        timeline.keep(marker(own.driver, queue), object())
        over, real = [], own.driver.is_done

        def is_done(event):
            if not over:
                over.append(None)
                over[0] = timeline.is_over()  # by another thread
            return real(event)

        monkeypatch.setattr(own.driver, "is_done", is_done)
        timeline.trim()
        assert over == [False] and len(timeline.pending) == 1
        gate.open()
        queue.finish()
    timeline.trim()
    assert timeline.is_over()
