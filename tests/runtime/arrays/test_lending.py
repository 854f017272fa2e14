"""Memory that a call lends to its launches: used where it is, under its own rules."""

import gc
import threading

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.lending import Lending, can_lend, lent, lent_now

pytestmark = pytest.mark.one_device


@cuda.jit
def double(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = 2 * x[i]


@cuda.jit
def shift(x, y):
    """Right for arrays that overlap, by one thread, where the compiler knows that they may."""
    for i in range(x.size):
        y[i] = x[i] + 1


def lie(array):
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


@pytest.fixture
def lending(device):
    """A function that lends NumPy arrays; arrays of others would do as well."""
    context = cuda.current_context()
    if not can_lend(context.capabilities):
        pytest.skip("the device has memory of its own")

    def lends(*arrays, readonly=()):
        made = {id(a): lent(context, lie(a), readonly=any(a is r for r in readonly)) for a in arrays}
        assert not any(a is None for a in made.values())
        return Lending(context, made)

    return lends


@pytest.mark.parametrize("size", [1, 10, 5000])
def test_memory_is_used_where_it_is(lending, size):
    x, y = np.arange(size, dtype=np.float32), np.zeros(3 * size, np.float32)[::-3]
    for _ in range(3):
        with lending(x, y):
            double[-(-size // 64), 64](x, y)
            np.testing.assert_array_equal(y, 2 * x)
        x += 1
    assert lent_now(None) == {}


def test_arrays_are_kept_and_keep_nothing(lending):
    context = cuda.current_context()
    x = np.arange(5000, dtype=np.float32)
    first = lent(context, lie(x))
    assert first is lent(context, lie(x)) and first is not lent(context, lie(x), readonly=True)
    assert type(first) is DeviceNDArray and first.layout_token is None
    alive = threading.Event()
    owner = np.ndarray.__new__(type("Owned", (np.ndarray,), {"__del__": lambda self: alive.set()}), 5000, np.float32)
    lent(context, lie(owner))
    del owner
    gc.collect()
    assert alive.is_set()
    for n in range(600):
        lent(context, lie(x[n:]))
    assert len(context.lent) <= 512


def test_read_only_memory(lending):
    x, y = np.ones(2000, np.float32), np.zeros(2000, np.float32)
    with lending(x, y, readonly=[x]):
        double[8, 256](x, y)
        with pytest.raises(KernelTypeError, match="read-only"):
            double[8, 256](y, x)
    assert (y == 2).all() and (x == 1).all()


def test_memory_that_overlaps(lending):
    memory = np.zeros(40, np.int64)
    x, y = memory[:-1], memory[1:]
    with lending(x, y):
        shift[1, 1](x, y)
        assert memory.tolist() == list(range(40))
        shift[1, 1](x, x)
    assert memory.tolist() == [*range(1, 40), 39]


def test_elements_that_are_not_aligned(lending):
    x = np.zeros(81, np.uint8)[1:].view(np.float64)
    assert lent(cuda.current_context(), lie(x)) is None


def test_other_threads_and_other_devices(lending):
    x, y = np.arange(2000, dtype=np.float32), np.zeros(2000, np.float32)
    seen = []
    with lending(x, y):
        inside = lent_now(None)
        assert len(inside) == 2
        thread = threading.Thread(target=lambda: seen.append(lent_now(None)))
        thread.start()
        thread.join()
        for other in cuda.gpus:
            with other:
                double[8, 256](x, y)
                np.testing.assert_array_equal(y, 2 * x)
                y[:] = 0
        with lending(x):
            assert len(lent_now(None)) == 1
        assert lent_now(None) == inside
    assert seen == [{}]
