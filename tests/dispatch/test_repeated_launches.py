"""Launches with the arguments of an earlier launch take a shorter way, and must not differ in anything else."""

import enum
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

from portagpu import cuda
from portagpu.dispatch import launcher
from portagpu.dispatch.launch_plans import plan_of
from portagpu.errors import ArgumentCountError, ArgumentTypeError, ClosedError, KernelError
from portagpu.runtime.execution.context import current_context

pytestmark = pytest.mark.one_device


@cuda.jit
def add(x, k):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += k


@cuda.jit
def tell_sign(x, value):
    x[0] = 1.0 / value


@cuda.jit
def fill_shared(out):
    tile = cuda.shared.array(0, np.int32)
    tile[tile.size - 1] = tile.size
    out[0] = tile[tile.size - 1]


def zeros(n=8, dtype=np.float64):
    return cuda.to_device(np.zeros(n, dtype))


def test_each_launch_counts(device):
    a, b = zeros(), zeros()
    for _ in range(5):
        add[1, 8](a, 1)
    for _ in range(3):
        add[1, 8](a, 1)
        add[1, 8](b, 1)
        add[2, 4](b, 1)
    np.testing.assert_array_equal(a.copy_to_host(), 8)
    np.testing.assert_array_equal(b.copy_to_host(), 6)


def test_arguments_in_turns(device):
    arrays = [zeros() for _ in range(6)]
    for size in (2, 3, 6):
        for n in range(4 * size):
            add[1, 8](arrays[n % size], n % 2)
    expected = np.zeros(6)
    for size in (2, 3, 6):
        for n in range(4 * size):
            expected[n % size] += n % 2
    np.testing.assert_array_equal([a.copy_to_host()[0] for a in arrays], expected)


def test_numbers_that_compare_equal_are_told_apart(device):
    out = zeros(1)
    found = []
    for value in (0.0, -0.0, 0.0, -0.0, np.float64(0.0), np.float64(-0.0)):
        tell_sign[1, 1](out, value)
        found.append(out.copy_to_host()[0])
    assert found == [np.inf, -np.inf] * 3
    x = zeros(8, np.int64)
    for value in (1, True, 1.0, np.int8(1), np.uint64(1), 1, 2):
        add[1, 8](x, value)
    np.testing.assert_array_equal(x.copy_to_host(), 8)


class Line(NamedTuple):
    memory: Any
    step: Any


@cuda.jit
def add_line(target, sources, k):
    i = cuda.grid(1)
    if i < target.memory.size:
        target.memory[i * target.step] += sources[0].memory[i * sources[0].step] + sources[1] + k


@pytest.mark.opencl
def test_tuples_of_arrays_and_numbers(device, monkeypatch):
    """Items are looked at one by one: as many plans as there are types, and none for what is no plan's."""
    plans = []

    def counted(*args):
        plans.append(plan_of(*args))
        return plans[-1]

    monkeypatch.setattr(launcher, "plan_of", counted)
    x, y = zeros(), cuda.to_device(np.arange(8.0))
    launch = add_line[1, 8]
    for n in range(6):
        launch(Line(x, 1), (Line(y, n % 2), 0.5), n)
    assert len(plans) == 1 and plans[0] is not None
    np.testing.assert_array_equal(x.copy_to_host(), 3 * np.arange(8.0) + 6 * 0.5 + sum(range(6)))
    launch(Line(y, 1), (Line(x, 1), 0.5), 0)  # other arrays of the same types
    assert len(plans) == 1
    launch(Line(y, 1), (Line(x, np.int32(1)), 0.5), 0)
    assert len(plans) == 2
    before = x.copy_to_host()
    for value in (1, 1.0, True, np.float32(1)):  # equal, but of other types
        launch(Line(x, 1), (Line(y, 0), value), 0)
    np.testing.assert_array_equal(x.copy_to_host(), before + 4 * (y.copy_to_host()[0] + 1))


@pytest.mark.opencl
def test_the_same_array_twice_in_tuples(device):
    x = zeros()
    for _ in range(3):
        add_line[1, 8](Line(x, 1), (Line(x, 1), 1.0), 0)
    np.testing.assert_array_equal(x.copy_to_host(), 7)


class Way(enum.Enum):
    UP = 1
    DOWN = 2


@cuda.jit
def add_optional(x, other, way):
    i = cuda.grid(1)
    if i < x.size:
        step = 1 if way is Way.UP else -1
        x[i] += step if other is None else step * other[i]


@pytest.mark.opencl
def test_none_and_members_of_enums_have_plans(device):
    x, y = zeros(), cuda.to_device(np.arange(8.0))
    launch = add_optional[1, 8]
    for _ in range(3):
        for other, way in ((None, Way.UP), (None, Way.DOWN), (y, Way.UP), (None, Way.UP)):
            launch(x, other, way)
            assert launch._plan is not None
    np.testing.assert_array_equal(x.copy_to_host(), 3 + 3 * np.arange(8.0))


@cuda.jit
def add_rest(x, *rest):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += rest[0] if len(rest) == 1 else rest[0] + rest[1]


def test_what_a_parameter_collects_is_no_tuple_of_the_call(device):
    x = zeros()
    for _ in range(3):
        add_rest[1, 8](x, 1)
        add_rest[1, 8](x, 1, 2)
        with pytest.raises(KernelError):
            add_rest[1, 8](x, (1,))
    np.testing.assert_array_equal(x.copy_to_host(), 12)


@pytest.mark.opencl
def test_shared_memory_of_each_configuration(device):
    out = zeros(1, np.int32)
    found = []
    for nbytes in (64, 128, 64, 64, 256):
        fill_shared[1, 1, 0, nbytes](out)
        found.append(int(out.copy_to_host()[0]))
    assert found == [16, 32, 16, 16, 64]


def test_streams_of_repeated_launches(device):
    x = zeros()
    streams = [cuda.stream(), 0, cuda.stream(), 0]  # the default one is between two that nothing else orders
    for n in range(12):
        add[1, 8, streams[n % 4]](x, 1)
    np.testing.assert_array_equal(x.copy_to_host(), 12)
    closed = cuda.stream()
    add[1, 8, closed](x, 1)
    closed.close()
    with pytest.raises(ClosedError):
        add[1, 8, closed](x, 1)


@pytest.mark.parametrize("view", [False, True])
def test_closed_memory_is_noticed(device, view):
    owner = zeros()
    x = owner[2:6] if view else owner
    for _ in range(3):
        add[1, 8](x, 1)
    owner.close()
    with pytest.raises(ClosedError):
        add[1, 8](x, 1)


def test_wrong_calls_after_right_ones(device):
    x = zeros()
    add[1, 8](x, 1)
    with pytest.raises(ArgumentCountError):
        add[1, 8](x)
    with pytest.raises(ArgumentTypeError):
        add[1, 8](x, "1")
    add[1, 8](x, k=1)
    add[1, 8](x, 1)
    np.testing.assert_array_equal(x.copy_to_host(), 3)


def test_arrays_are_freed_after_their_launch(device):
    x = zeros(1 << 16)
    free = current_context().get_memory_info().free
    add[1, 8](x, 1)
    add[1, 8](x, 1)
    seen = weakref.ref(x)
    cuda.synchronize()
    del x
    gc.collect()
    assert seen() is None
    assert current_context().get_memory_info().free > free


def test_threads_bind_arguments_of_their_own(device):
    context = current_context()
    arrays = [cuda.to_device(np.zeros(8)) for _ in range(8)]

    def work(x):
        with context:
            for _ in range(50):
                add[1, 8](x, 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, arrays))
    for x in arrays:
        np.testing.assert_array_equal(x.copy_to_host(), 50)


@cuda.jit
def add_all(out, a, b, k):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i] * k


def test_other_arrays_of_the_same_types(device):
    launched = add_all[1, 8]
    values = [np.arange(8.0) + n for n in range(12)]
    arrays = [cuda.to_device(v) for v in values]
    for n in range(10):
        launched(arrays[n], arrays[n + 1], arrays[n + 2], n)
        values[n] = values[n + 1] + values[n + 2] * n
    for array, value in zip(arrays, values, strict=True):
        np.testing.assert_array_equal(array.copy_to_host(), value)


def test_other_types_after_a_plan(device):
    launched = add_all[1, 8]
    one, two = zeros(), cuda.to_device(np.full(8, 2.0))
    for factor in (3, 3.5, True, np.float32(0.5), np.int8(-2), 2**62):
        launched(one, two, two, factor)
        np.testing.assert_array_equal(one.copy_to_host(), 2 + 2 * float(factor))
    small = cuda.to_device(np.full(8, 2, np.int32))
    launched(one, small, two, 1)
    np.testing.assert_array_equal(one.copy_to_host(), 4)
    launched(one, two, two[::-1], 1)
    np.testing.assert_array_equal(one.copy_to_host(), 4)
    launched(one, one, one, 1)  # one allocation
    np.testing.assert_array_equal(one.copy_to_host(), 8)
    host = np.ones(8)
    launched(host, two, two, 1)
    np.testing.assert_array_equal(host, 4)
    with pytest.raises(ArgumentCountError):
        launched(one, two, two)
    with pytest.raises(ArgumentTypeError):
        launched(one, two, two, 2**64)
    with pytest.raises(ArgumentTypeError):
        launched(one, two, two, "text")


def test_an_array_is_closed_after_a_plan(device):
    launched = add_all[1, 8]
    arrays = [zeros() for _ in range(4)]
    launched(*arrays[:3], 1)
    view = arrays[3][:]
    arrays[3].close()
    for closed in (arrays[3], view):
        with pytest.raises(ClosedError):
            launched(arrays[0], arrays[1], closed, 1)
    launched(*arrays[:3], 2)


def test_declared_types_convert_each_launch(device):
    @cuda.jit("void(float32[::1], int32)")
    def store(x, k):
        x[0] = k

    launched = store[1, 1]
    arrays = [zeros(1, np.float32) for _ in range(12)]
    for n, array in enumerate(arrays):
        launched(array, n + 0.75)
        assert array.copy_to_host()[0] == n
    for n, array in enumerate(arrays):
        launched(array, 0xFFFFFFFF - n)
        assert array.copy_to_host()[0] == -1 - n
    with pytest.raises(ArgumentTypeError):
        launched(arrays[0], 2**40)


def test_launches_on_a_stream_follow_the_plan_of_the_first(device, monkeypatch):
    """``kernel[grid, block, stream]`` is a new configuration each time, but nothing is found out again."""
    plans = []

    def counted(*args):
        plans.append(plan_of(*args))
        return plans[-1]

    monkeypatch.setattr(launcher, "plan_of", counted)

    @cuda.jit
    def add(x, y):
        i = cuda.grid(1)
        if i < x.size:
            x[i] += y[i]

    for stream in (cuda.stream(), cuda.stream()):
        x, y = cuda.to_device(np.zeros(40, np.float32)), cuda.to_device(np.ones(40, np.float32))
        cuda.synchronize()
        for _ in range(5):
            add[2, 32, stream](x, y)
        np.testing.assert_array_equal(x.copy_to_host(stream=stream), 5)
    assert len(plans) == 1 and plans[0] is not None


@cuda.jit
def add_constant(x, amount, step: cuda.constexpr, kind: cuda.constexpr):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += amount + kind(step)


@pytest.mark.opencl
def test_compile_time_arguments_are_part_of_what_is_repeated(device):
    """1, True and 1.0 are equal, and other kernels; each launch gets its own, in any order."""
    x = cuda.device_array(4, np.float32)
    expected = np.zeros(4, np.float32)
    x[...] = 0
    for step, kind in [
        (1, np.float32),
        (1, np.float32),
        (2, np.float32),
        (1, np.float32),
        (1.5, np.float32),
        (1.5, np.int32),
    ]:
        for amount in (np.float32(1), np.float32(2)):
            add_constant[1, 4](x, amount, step, kind)
            expected += amount + kind(step)
    assert np.array_equal(x.copy_to_host(), expected)
