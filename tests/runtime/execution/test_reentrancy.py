"""Code that uses devices where a collection, a finaliser or a signal handler may run it: in the middle of anything."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref

import numpy as np
import pyopencl as cl
import pytest
from gates import closed_gate
from host_memory import shares
from small_kernels import copy, put

import portagpu.dispatch.launch_plans as plans_module
from portagpu import cuda, errors
from portagpu.runtime.arrays import cuda_array_interface
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution import timeline as tail_module
from portagpu.runtime.execution.weak_registry import WeakRegistry
from portagpu.runtime.programs.launch import _BOUND, CompiledKernel
from portagpu.tuning.choice import Chooser
from portagpu.tuning.store.store import Store, TaskKey

pytestmark = pytest.mark.one_device

_LONGEST = 60  # seconds; who waits for itself waits for ever


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def ends(work):
    """Run in a thread that may hang; what it raises is raised here."""
    failures, context = [], cuda.current_context()

    def run():
        try:
            with context:
                work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(_LONGEST)
    assert not thread.is_alive(), "it waits for itself"
    for failure in failures:
        raise failure


class Once:
    """Calls ``before`` before the first call of a function, not before those that this makes."""

    def __init__(self, function, before):
        self._function, self._before, self.called = function, before, False

    def __call__(self, *args, **kwargs):
        if not self.called:
            self.called = True
            self._before()
        return self._function(*args, **kwargs)


@pytest.fixture
def arrays(own):
    return [to_device(np.zeros(8, np.float32), context=own) for _ in range(2)]


@pytest.mark.opencl
@pytest.mark.parametrize("of_default", [True, False])
def test_a_launch_where_streams_are_put_in_order(own, arrays, monkeypatch, of_default):
    """Also there, it comes after what the launch around it waits for."""
    x, y = arrays
    other = own.stream()
    first, then = (other, own.default_stream) if of_default else (own.default_stream, other)
    put[1, 8, other](x, 0)  # compiled, and known to the default stream
    copy[1, 8](x, y)
    cuda.synchronize()

    def work():
        with closed_gate(first.queue) as gate:
            put[1, 8, first](x, 7)
            within = Once(cl.enqueue_barrier, lambda: copy[1, 8, then](x, y))
            monkeypatch.setattr(cl, "enqueue_barrier", within)
            gate.open_soon()
            put[1, 8, then](x, 9)
            assert within.called
            monkeypatch.undo()
            then.synchronize()
            assert y.copy_to_host().tolist() == [7] * 8

    ends(work)


@pytest.mark.opencl
def test_a_launch_where_a_stream_gets_another_queue(own, arrays, monkeypatch):
    """It may go to the former queue: what follows waits for it."""
    x, y = arrays
    stream = own.stream()
    put[1, 8, stream](x, 0)
    copy[1, 8, stream](x, y)
    cuda.synchronize()
    gates = []

    def within():
        gates.append(closed_gate(stream._timeline.queue))
        gates[0].__enter__().open_soon()
        put[1, 8, stream](x, 7)

    def work():
        once = Once(cl.enqueue_barrier, within)
        monkeypatch.setattr(cl, "enqueue_barrier", once)
        stream.measure()
        monkeypatch.undo()
        assert once.called
        copy[1, 8, stream](x, y)
        stream.synchronize()
        assert y.copy_to_host().tolist() == [7] * 8

    try:
        ends(work)
    finally:
        for gate in gates:
            gate.__exit__(None, None, None)


@pytest.mark.opencl
def test_two_threads_and_a_finaliser(own, arrays, monkeypatch):
    """One puts the default stream in order and launches on another one there, on which the other thread launches."""
    x, y = arrays
    other = own.stream()
    put[1, 8, other](x, 0)
    copy[1, 8](x, y)
    cuda.synchronize()
    launching = threading.Event()

    def within():
        thread.start()
        launching.wait(1)
        thread.join(0.1)
        put[1, 8, other](x, 7)

    def launch():
        with own:
            for _ in range(20):
                launching.set()
                put[1, 8, other](x, 7)

    thread = threading.Thread(target=launch, daemon=True)

    def work():
        third = own.stream()
        put[1, 8](x, 3)  # which the other one has not seen, so that its next launch asks for the order
        put[1, 8, third](x, 3)
        once = Once(cl.enqueue_barrier, within)
        monkeypatch.setattr(cl, "enqueue_barrier", once)
        put[1, 8](x, 9)
        assert once.called
        thread.join(_LONGEST)
        assert not thread.is_alive()
        monkeypatch.undo()
        cuda.synchronize()

    ends(work)


@pytest.mark.parametrize("launches", ["before", "after"])
def test_streams_in_cycles_are_waited_for(own, arrays, launches):
    """The collector forgets weak references before finalisers run, which may use the stream or the default one."""
    x, y = arrays
    stream = own.stream()
    put[1, 8, stream](x, 0)
    copy[1, 8](x, y)
    cuda.synchronize()

    class Finalised:
        def __del__(self):
            if launches == "after":
                self.stream.__del__()
                put[1, 8, self.stream](x, 7)
            copy[1, 8](x, y)

    with closed_gate(stream.queue) as gate:
        if launches == "before":
            put[1, 8, stream](x, 7)
        cycle = Finalised()
        cycle.cycle, cycle.stream = cycle, stream
        del cycle, stream
        gc.collect()
        gate.open_soon()
        assert y.copy_to_host().tolist() == [7] * 8


def test_tails_of_streams_do_not_pile_up(own, arrays):
    x, _ = arrays
    for _ in range(50):
        stream = own.stream()
        put[1, 8, stream](x, 7)
        stream.synchronize()
    del stream
    assert len(own.timelines) < 40  # some markers take a while
    cuda.synchronize()
    own.stream()
    cuda.synchronize()
    assert not own.timelines


def test_a_stream_made_while_the_default_one_looks(own, arrays, monkeypatch):
    x, _ = arrays
    own.stream()
    put[1, 8](x, 0)

    class Tails(list):
        def __iter__(self):  # as a collection between a look and what is noted of it
            yield from list.__iter__(self)
            if not made:
                made.append(None)
                made[0] = own.stream()

    made = []
    own.ordered = True
    monkeypatch.setattr(own, "timelines", Tails(own.timelines))
    put[1, 8](x, 1)
    assert made and own.ordered


def test_an_array_closed_within_a_launch(own, arrays, monkeypatch):
    """What the launch had is not taken for what comes after."""
    x, y = arrays
    view = x[2:]
    for _ in range(3):
        put[1, 8](view, 1)
        put[1, 8](y[2:], 1)

    def within():
        x.close()
        put[1, 8](y[2:], 2)

    monkeypatch.setattr(plans_module, "enqueuing", Once(plans_module.enqueuing, within))
    with contextlib.suppress(errors.ClosedError):
        put[1, 8](view, 3)
    monkeypatch.undo()
    with pytest.raises(errors.ClosedError):
        put[1, 8](view, 3)


def test_an_interrupt_after_a_launch_on_host_memory(device, monkeypatch):
    """The kernel ends before the exception lets go of the array."""
    host = np.zeros(5000)
    increment[-(-host.size // 64), 64](host)
    real = CompiledKernel.launch

    def launch(self, queue, *arguments, **options):
        gates.append(closed_gate(queue))
        gates[0].__enter__().open_soon()
        real(self, queue, *arguments, **options)
        raise KeyboardInterrupt

    gates = []
    monkeypatch.setattr(CompiledKernel, "launch", launch)
    with pytest.raises(KeyboardInterrupt):
        increment[-(-host.size // 64), 64](host)
    monkeypatch.undo()
    try:
        if shares(device):
            assert (host == 2).all()
    finally:
        gates[0].__exit__(None, None, None)


def test_arrays_made_where_arrays_are_made(own, monkeypatch):
    class Pool:
        """PyOpenCL's collects garbage before it gives up."""

        def __init__(self, pool):
            self._pool = pool
            self.allocate = Once(pool.allocate, lambda: cuda.to_device(np.zeros(8)))

        def __getattr__(self, name):
            return getattr(self._pool, name)

    monkeypatch.setattr(own, "_pool", Pool(own._pool))
    ends(lambda: cuda.to_device(np.zeros(8)))
    assert own._pool.allocate.called


def test_streams_made_while_streams_are_listed(own):
    streams = [own.stream() for _ in range(3)]
    listed = iter(own.streams)
    first = next(listed)
    made = [own.stream() for _ in range(50)]
    assert [first, *listed] == streams and len(list(own.streams)) == len(streams) + len(made)
    cuda.synchronize()


def test_what_is_known_as_long_as_it_lives():
    class Thing:
        __hash__ = None  # type: ignore[assignment]

    known, things = WeakRegistry(), [Thing(), Thing()]
    for thing in (*things, things[0]):
        known.add(thing)
    assert [id(thing) for thing in known] == [id(thing) for thing in things]
    del thing, things[0]
    gc.collect()
    assert list(known) == things
    things.clear()
    gc.collect()
    assert not known


def test_a_launch_between_a_plan_and_its_queue(device, monkeypatch):
    """As many launches as push a plan's kernel object out of those that keep their arguments."""

    @cuda.jit
    def fill(x, value):
        x[0] = value

    a, *others = (cuda.to_device(np.zeros(1, np.float32)) for _ in range(2 + _BOUND))
    for _ in range(3):
        fill[1, 1](a, 1)
    assert a[0] == 1
    a[0] = 0

    def within():
        for other in others:
            fill[1, 1](other, 1)

    once = Once(plans_module.enqueuing, within)
    monkeypatch.setattr(plans_module, "enqueuing", once)
    fill[1, 1](a, 1)
    assert once.called
    assert [int(array[0]) for array in (a, *others)] == [1] * (2 + _BOUND)


def task(name):
    return TaskKey(device="d", kernel=name, kernel_version="1", dtype="float32", shape_class="n=1")


def test_results_asked_for_while_results_are_read(tmp_path, monkeypatch):
    store, writer = Store(tmp_path / "s.jsonl"), Store(tmp_path / "s.jsonl")
    writer.add_winner(task("a"), {"p": 1}, 1.0)
    writer.add_winner(task("b"), {"p": 1}, 2.0)
    within = Once(store._read, lambda: store.winners())
    monkeypatch.setattr(store, "_read", within)
    ends(store.refresh)
    assert within.called and len(store.winners()) == 2
    writer.add_winner(task("c"), {"p": 1}, 3.0)  # what follows is read from its beginning
    assert len(store.winners()) == 3


def test_choices_asked_for_while_choices_are_made(tmp_path, monkeypatch):
    chooser = Chooser(Store(tmp_path / "s.jsonl"), ())
    within = Once(chooser._refresh, lambda: chooser.remembered("inner", lambda: 1))
    monkeypatch.setattr(chooser, "_refresh", within)
    ends(lambda: chooser.remembered("outer", lambda: 2))
    assert within.called
    assert [chooser.remembered(key, lambda: 0) for key in ("inner", "outer")] == [1, 2]


def test_memory_of_others_lives_until_kernels_are_done(device):
    if not shares(device):
        pytest.skip("the device has memory of its own")
    host = np.zeros(5000)
    seen = weakref.ref(host)
    stream = cuda.stream()  # launches in the default stream are done when they return, while the host shares memory
    with closed_gate(stream.queue) as gate:
        array = cuda.from_dlpack(host)
        increment[-(-array.size // 64), 64, stream](array)
        del array, host
        gc.collect()
        assert seen() is not None
        gate.open()
        cuda.synchronize()
    gc.collect()
    assert seen() is None


def test_memory_of_others_goes_at_once_where_nothing_runs(device, monkeypatch):
    monkeypatch.setattr(tail_module, "_SHORTLY", 30.0)  # on a machine that is busy with other tests
    host = np.zeros(5000)
    seen = weakref.ref(host)
    array = cuda.from_dlpack(host)
    increment[-(-array.size // 64), 64](array)
    assert array.copy_to_host()[-1] == 1
    del array, host
    gc.collect()
    assert seen() is None


@pytest.mark.opencl
def test_memory_that_a_users_queue_writes_is_not_given_to_others(own):
    queue = cl.CommandQueue(own.cl_context)
    x = cuda.to_device(np.zeros(5000, np.float32))
    with closed_gate(queue) as gate:
        theirs = x.to_pyopencl(queue)
        cl.enqueue_fill_buffer(queue, theirs.data, np.float32(7), 0, 20_000)
        del x, theirs
        gc.collect()
        others = [cuda.to_device(np.zeros(5000, np.float32)) for _ in range(4)]
        gate.open()
        queue.finish()
    assert not any(other.copy_to_host().any() for other in others)


@pytest.mark.opencl
def test_memory_of_others_under_pyopencls_arrays(device):
    host = np.full(5000, 3.0)
    seen = weakref.ref(host)
    theirs = cuda.from_dlpack(host).to_pyopencl()
    del host
    gc.collect()
    others = [np.full(5000, 9.0) for _ in range(4)]
    assert (theirs.get() == 3).all() and len(others) == 4
    assert (seen() is not None) == shares(device)


def test_addresses_are_those_of_living_arrays(device, monkeypatch):
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("addresses are those of the memory")
    for name, value in (("_SLOTS", 4), ("_slots", {}), ("_arrays", {})):
        monkeypatch.setattr(cuda_array_interface, name, value)
    kept = [cuda.to_device(np.full(3, n)) for n in range(2)]
    descriptions = [array.__cuda_array_interface__ for array in kept]
    for _ in range(10):
        assert cuda.to_device(np.zeros(3)).__cuda_array_interface__["data"][0]
    for n, description in enumerate(descriptions):
        assert cuda.from_cuda_array_interface(description).copy_to_host().tolist() == [n] * 3
    more = [cuda.to_device(np.zeros(3)) for _ in range(3)]
    with pytest.raises(errors.OutOfMemoryError, match="4 allocations"):
        [array.__cuda_array_interface__ for array in more]
