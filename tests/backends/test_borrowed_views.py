"""Arrays of another library on a device that both use: launches take their memory where it is, on their queue."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import tiny

from portagpu import cuda
from portagpu.backends import registry
from portagpu.backends.driver import HostRange
from portagpu.backends.foreign import ForeignArray
from portagpu.errors import ArgumentTypeError
from portagpu.runtime.arrays.foreign_views import borrowed_view, foreign_view
from portagpu.runtime.execution.context import Context


class Lent:
    """An array of a library whose arrays are NumPy's, in the memory of a tiny device, with a queue."""

    def __init__(self, data, queue, gradient=False):
        self.data, self.queue, self.gradient = data, queue, gradient


class Lending:
    """What a back end tells of such arrays."""

    @staticmethod
    def parts(self, array):
        if array.gradient:
            raise ArgumentTypeError("a gradient is recorded", hint="detach it")
        data = array.data
        memory = tiny.Memory(data.view(np.uint8))
        return ForeignArray(memory, 0, data.shape, data.strides, data.dtype, array.queue)

    @staticmethod
    def identity(self, value):
        if type(value) is not Lent or value.gradient:
            return None
        return value.data.ctypes.data, value.data.shape, value.data.dtype, id(value.queue)


@pytest.fixture
def context(monkeypatch):
    driver = tiny.TinyDriver
    monkeypatch.setattr(tiny.Tiny, "array_types", (Lent,))
    monkeypatch.setattr(tiny.Tiny, "parts", Lending.parts)
    monkeypatch.setattr(tiny.Tiny, "identity", Lending.identity)
    monkeypatch.setattr(driver, "knows_addresses", True)
    monkeypatch.setattr(driver, "host_range", lambda self, memory: HostRange(memory.data.ctypes.data))
    monkeypatch.setattr(driver, "may_overlap", _may_overlap)
    monkeypatch.setattr(driver, "handle", _handle)
    monkeypatch.setattr(driver, "alias", lambda self, memory: tiny.Memory(memory.data), raising=False)
    registry.register(tiny.backend)
    found = Context.for_device(tiny.records[0])
    yield found
    found.close()
    monkeypatch.undo()
    registry.register(tiny.backend)


def _handle(self, native):
    return native.data.ctypes.data if isinstance(native, tiny.Memory) else id(native)


def _may_overlap(self, places):
    begins = [(memory.data.ctypes.data, offset, memory.size) for memory, offset in places]
    spans = sorted((begin + offset, begin + size) for begin, offset, size in begins)
    return any(low[1] > high[0] for low, high in itertools.pairwise(spans))


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


def lent(queue, count=8, value=1.0):
    return Lent(np.full(count, value, np.float32), queue)


@pytest.mark.parametrize("taken", [lambda x: x, foreign_view], ids=["arrays", "views"])
def test_launches_use_the_memory_on_the_arrays_queue(context, taken):
    queue = context.driver.queue()
    launch = add[1, 8]
    a, b = lent(queue, value=1), lent(queue, value=2)
    results = [lent(queue) for _ in range(3)]
    for c in (*results, *results):  # the first launch makes the plan, the others follow it
        release = queue.hold()
        launch(taken(a), taken(b), taken(c))
        c.data[...] = 0
        context.default_stream.queue.flush()
        assert not c.data.any()  # it stands in the array's queue
        release()
        queue.finish()
        assert (c.data == 3).all()


def test_views_are_remembered_by_address(context):
    queue = context.driver.queue()
    a = lent(queue)
    view = borrowed_view(a)
    assert borrowed_view(a) is view and view.base is None
    assert borrowed_view(Lent(a.data, queue)) is view
    assert borrowed_view(lent(queue)) is not view
    assert borrowed_view(np.zeros(3)) is None and borrowed_view(cuda.device_array(3)) is None
    kept = foreign_view(a)
    assert kept.base is a and kept.token is None


def test_views_of_arrays_are_taken_like_these(context):
    queue = context.driver.queue()
    kept = foreign_view(lent(queue))
    view = borrowed_view(kept)
    assert view.token and view.base is None and view.stream is kept.stream
    assert borrowed_view(kept) is view
    part = borrowed_view(kept[2:6])
    assert part.shape == (4,) and part.offset == 8 and borrowed_view(kept[2:6]) is part
    assert borrowed_view(kept[2:6].as_readonly()) is not part
    kept.close()
    assert borrowed_view(kept) is None


def test_forall_runs_where_the_arrays_are(context):
    queue = context.driver.queue()
    a, b, c = lent(queue, value=1), lent(queue, value=2), lent(queue)
    for _ in range(2):
        add.forall(8)(a, b, c)
        queue.finish()
        assert (c.data == 3).all()
        c.data[...] = 0


def test_arrays_that_overlap_are_told(context):
    """A plan is for arrays apart: others launch a kernel that does not take them for apart."""
    queue = context.driver.queue()
    whole = np.zeros(16, np.float32)
    a, b, c = (Lent(whole[n : n + 8], queue) for n in (0, 0, 8))
    one, two, three = (lent(queue) for _ in range(3))
    launch = add[1, 8]
    launch(one, two, three)
    launch(one, two, three)
    overlapping = Lent(whole[4:12], queue)
    for _ in range(2):
        launch(a, b, c)
        launch(a, overlapping, overlapping)
    queue.finish()
    assert len(add.overloads) >= 1 and not whole.any()


def test_arrays_of_two_queues_and_streams_that_are_named(context):
    first, second, stream = context.driver.queue(), context.driver.queue(), context.stream()
    a, b, c = lent(first, value=1), lent(second, value=2), lent(first)
    for where in (0, stream, stream):
        c.data[...] = 0
        add[1, 8, where](a, b, c) if where else add[1, 8](a, b, c)
        first.finish()
        second.finish()
        context.synchronize()
        assert (c.data == 3).all()


def test_an_array_that_is_more_than_memory_after_one_that_is_not(context):
    queue = context.driver.queue()
    a, c = lent(queue), lent(queue)
    launch = add[1, 8]
    launch(a, a, c)
    with pytest.raises(ArgumentTypeError, match="gradient"):
        launch(Lent(a.data, queue, gradient=True), a, c)
