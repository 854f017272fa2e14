"""NumPy arguments of one launch that overlap: the kernel works on one memory, as the same program does in NumPy."""

from __future__ import annotations

import contextlib
import dataclasses
import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

import portagpu
from portagpu import cuda
from portagpu.errors import ArgumentTypeError, OutOfMemoryError

pytestmark = pytest.mark.one_device

LENGTHS = (40, 3000)  # below and above the size from which host memory is used in place
PLACEMENTS = ("in place", "copied")


def mix(a, b, c):
    for j in range(min(a.size, b.size, c.size)):
        a[j] ^= ~b[j]  # never overflows, and no order of these gives the same
        c[j] ^= a[j] & 85


def add(a, b):
    for j in range(a.size):
        a[j] += b[j]


mix_kernel, add_kernel = cuda.jit(mix), cuda.jit(add)


@contextlib.contextmanager
def placed(how):
    """On CPUs host memory is used in place, on most GPUs it is copied: here either is done by what is at hand."""
    context = cuda.current_context()
    before = context.capabilities
    if how == "copied":
        context.capabilities = dataclasses.replace(before, host_unified_memory=False)
    elif not before.host_unified_memory:
        pytest.skip("the device has memory of its own")
    try:
        yield
    finally:
        context.capabilities = before


def fresh(count):
    return np.arange(count, dtype=np.int32) * 7 % 23


def read_only(view):
    result = view[...]
    result.flags.writeable = False
    return result


def check(views, launch=mix_kernel, program=mix, count=40, wrap=lambda views: views):
    """``views`` of fresh memory for the kernel, and of memory alike for the program."""
    memory, wanted = fresh(count), fresh(count)
    launch[1, 1](*wrap(views(memory)))
    program(*views(wanted))
    np.testing.assert_array_equal(memory, wanted)


def of_owner(owner, memory):
    owner[: memory.nbytes] = memory.tobytes()
    return [np.frombuffer(memoryview(owner), np.int32) for _ in range(3)]


VIEWS = {
    "shifted": lambda x: (x[1:], x[:-1], x[1:]),
    "same": lambda x: (x, x, x),
    "views": lambda x: (x, x.view(), x[:]),
    "interleaved": lambda x: (x[::2], x[1::2], x[: x.size // 2]),
    "reversed": lambda x: (x, x[::-1], x[::-2]),
    "one element": lambda x: (x[3:], as_strided(x[5:], (20,), (0,)), x[4:]),
    "window": lambda x: (as_strided(x, (30,), (0,)), x[5:35], x[35:]),
    "read-only part": lambda x: (x[1:], read_only(x[:-1]), x[2:]),
    "bytes between": lambda x: (x[2:], x.view(np.int8)[2:-2].view(np.int32), x[1:]),
    "records": lambda x: (x.view("i4,i4")["f0"], x.view("i4,i4")["f1"], x[: x.size // 2]),
    "apart": lambda x: (x[:10], x[10:20], x[20:]),
}


@pytest.mark.parametrize("count", LENGTHS)
@pytest.mark.parametrize("how", PLACEMENTS)
def test_views_of_one_memory(device, how, count):
    with placed(how):
        for views in VIEWS.values():
            check(views, count=count)


_STEPS = st.sampled_from([-3, -2, -1, 0, 1, 2, 3])
_VIEW = st.tuples(st.integers(0, 59), st.integers(0, 60), _STEPS)


def _view(memory, where):
    """From one of 60 pieces of memory to another, by a step; by none: an element as often as there are pieces."""
    first, last, step = where
    piece = memory.size // 60
    if step:
        return memory[first * piece : last * piece : step]
    return as_strided(memory[first * piece :], (last,), (0,))


@given(where=st.tuples(_VIEW, _VIEW, _VIEW), copied=st.booleans(), wrapped=st.tuples(st.booleans(), st.booleans()))
@pytest.mark.parametrize("count", [60, 6000])
def test_any_views(device, count, where, copied, wrapped):
    def views(memory):
        found = [_view(memory, w) for w in where]
        if wrapped[0]:
            found[1] = found[1].copy()  # what `In` is
        return found

    def wrap(found):
        a, b, c = found
        return a, cuda.In(b) if wrapped[0] else b, cuda.InOut(c) if wrapped[1] else c

    with placed("copied" if copied else "in place"):
        check(views, count=count, wrap=wrap)


@pytest.mark.parametrize("how", PLACEMENTS)
def test_two_axes_and_tuples(device, how):
    def spread(a, b):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                a[i, j] += b[i, j]

    def nested(both):
        for j in range(both[0].size):
            both[0][j] += both[1][j]

    with placed(how):
        for side in (6, 60):
            check(lambda x, n=side: (x.reshape(n, n), x.reshape(n, n).T), cuda.jit(spread), spread, side * side)
        check(lambda x: ((x[1:], x[:-1]),), cuda.jit(nested), nested)
        check(lambda x: ((x, x),), cuda.jit(nested), nested)


@pytest.mark.parametrize("how", PLACEMENTS)
@pytest.mark.parametrize("make", [bytearray, lambda n: mmap.mmap(-1, n)], ids=["bytearray", "mmap"])
def test_arrays_of_one_foreign_memory(device, how, make):
    """Each has another owner, so that only addresses tell."""
    with placed(how):
        for count in LENGTHS:
            arrays, wanted = of_owner(make(4 * count), fresh(count)), fresh(count)
            mix_kernel[1, 1](*arrays)
            mix(wanted, wanted, wanted)
            assert all(np.array_equal(array, wanted) for array in arrays)


@pytest.mark.parametrize("how", PLACEMENTS)
def test_other_dtypes_and_results_only(device, how):
    with placed(how):
        for count in LENGTHS:
            check(lambda x: (x[:-1], x.view(np.int16)[3:], x.view(np.int8)[1:]), count=count)
            x = fresh(count)
            add_kernel[1, 1](cuda.Out(x[1:]), x[:-1])  # what is read elsewhere is copied to the device
            assert np.array_equal(x, np.cumsum(fresh(count), dtype=np.int32))


@pytest.mark.parametrize("how", PLACEMENTS)
def test_what_lies_between_is_left_alone(device, how):
    """Not even written as it was: another thread may be at work there."""
    with placed(how):
        for count in LENGTHS:
            x = fresh(count)
            x[1::3] = 0
            between = x[1::3]
            calls = []

            class Beside:
                def prepare_args(self, kind, value, stream, retr, between=between, calls=calls):
                    if not calls:
                        calls.append(retr.append(lambda: between.fill(5)))  # before what is copied comes back
                    return kind, value

            cuda.jit(add, extensions=[Beside()])[1, 1](x[::3], x[::-3][::-1][: x[::3].size])
            assert (x[1::3] == 5).all()


def test_device_arrays_of_the_same_memory(device):
    if device.capabilities.device_type.value != "cpu":
        pytest.skip("nothing is shared with other libraries")
    for count in LENGTHS:
        x = fresh(count)
        add_kernel[1, 1](x[1:], cuda.from_dlpack(x)[:-1])
        cuda.synchronize()
        assert np.array_equal(x, np.cumsum(fresh(count), dtype=np.int32))
    shared = cuda.from_dlpack(x)
    with placed("copied"), pytest.raises(ArgumentTypeError, match="shares memory with a device array"):
        add_kernel[1, 1](x[1:], shared[:-1])


def test_more_than_the_device_gives(device):
    context = cuda.current_context()
    x = np.zeros(4096, np.int32)
    with placed("copied"):
        context.capabilities = dataclasses.replace(context.capabilities, max_allocation=4096)
        with pytest.raises(OutOfMemoryError, match="share memory span 16384 bytes"):
            add_kernel[1, 1](x[1:], x[:-1])
        add_kernel[1, 1](x[::512], x[1::512])  # columns that share nothing are copied one by one


@pytest.mark.parametrize("how", PLACEMENTS)
def test_functions_of_arrays(device, how):
    """They read all before they write, as NumPy's do."""
    double = portagpu.vectorize(["int32(int32, int32)"])(lambda a, b: a + b)

    @portagpu.guvectorize(["void(int32[:], int32[:])"], "(n)->(n)")
    def running(a, result):
        total = 0
        for j in range(a.size):
            total += a[j]
            result[j] = total

    with placed(how):
        for count in LENGTHS:
            x, wanted = fresh(count), fresh(count)
            np.add(wanted[:-1], wanted[1:], out=wanted[1:])
            double(x[:-1], x[1:], out=x[1:])
            assert np.array_equal(x, wanted)
            running(x[::-1], out=x)
            assert np.array_equal(x, np.cumsum(wanted[::-1], dtype=np.int32))
            side = int(count**0.5)
            m = (fresh(side * side) % 5).astype(np.float32).reshape(side, side)
            product = m @ m.T
            portagpu.matmul(m, m.T, out=m)
            assert np.array_equal(m, product)
