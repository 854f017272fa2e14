"""Products of NumPy arrays on CPUs whose calls are kept by addresses: whatever lies there now is what counts."""

from __future__ import annotations

import dataclasses
import gc
import mmap
import weakref

import numpy as np
import pytest
from in_threads import in_threads
from own_contexts import native_context

import portagpu
from portagpu import cuda
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.replay import host_products, recordings
from portagpu.blas.gemm.replay.host_products import host_again
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.tuning.tuner import store_path, task_key
from portagpu.device.capabilities import DeviceType
from portagpu.errors import ArgumentTypeError, ClosedError
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.host_pool import results
from portagpu.runtime.replay import host_calls
from portagpu.tuning import Store

pytestmark = pytest.mark.one_device(fast=True)

_NUMBERS = (1, 0, None)


@pytest.fixture(autouse=True)
def device(device):
    """CPUs, whose drivers use memory in place."""
    if device.capabilities.device_type is not DeviceType.CPU:
        pytest.skip("each call has new buffers")
    return device


def matrix(rows, columns, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal((rows, columns)).astype(dtype)


def close(c, wanted):
    return c.shape == wanted.shape and np.allclose(c, wanted, rtol=1e-4, atol=1e-4)


def is_kept(a, b, out=None, numbers=_NUMBERS):
    """Whether the call is kept; makes it, and checks the result, if so."""
    found = host_again(a, b, out, numbers, None)
    assert found is None or out is None or found is out
    assert found is None or close(found, a @ b)
    return found is not None


def keep(a, b, out=None, **numbers):
    """Multiply until the call is kept; in between nothing must change where arrays lie."""
    for _ in range(4):
        result = portagpu.matmul(a, b, out, **numbers)
    return result


def another(context, **settings):
    """A context on the same device."""
    there = dataclasses.replace(context.settings, **settings)
    return Context(context.device, native_context(context.device), there)


def known():
    return host_products._recordings.of(cuda.current_context())


def test_drivers_use_memory_in_place(device):
    assert host_calls.is_in_place(cuda.current_context())


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("size", [48, 200])
def test_new_contents_count(device, dtype, size):
    """Results are arrays of their own, whether they are small or large."""
    a, b = matrix(size, size, dtype), matrix(size, size, dtype, seed=1)
    keep(a, b)
    assert is_kept(a, b)
    made = []
    for seed in range(6):
        a[...] = matrix(size, size, dtype, seed=seed)
        b[...] = matrix(size, size, dtype, seed=seed + 10)
        made.append((portagpu.matmul(a, b), a @ b))
    assert all(close(c, wanted) for c, wanted in made)
    assert len({c.__array_interface__["data"] for c, _ in made}) == 6
    assert all(c.flags.writeable and c.flags.c_contiguous and c.dtype == dtype for c, _ in made)


def test_out_is_known_by_its_address(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    outs = [np.zeros((96, 80), np.float32) for _ in range(3)]
    for out in outs:
        assert keep(a, b, out) is out
    for out in outs:
        out[...] = 0
        assert is_kept(a, b, out)
    outs[1].flags.writeable = False
    assert not is_kept(a, b, outs[1])
    with pytest.raises(ArgumentTypeError, match="read-only"):
        portagpu.matmul(a, b, out=outs[1])
    outs[1].flags.writeable = True
    assert is_kept(a, b, outs[1])


def test_views_of_one_place(device):
    """The same address with other shapes, strides and dtypes, in turns."""
    room = np.random.default_rng(0).standard_normal(2**14).astype(np.float32)
    b = matrix(64, 64, seed=1)
    views = [
        room[: 64 * 64].reshape(64, 64),
        room[: 64 * 64].reshape(64, 64).T,
        room[: 96 * 64].reshape(96, 64),
        room[: 128 * 64].reshape(128, 64)[::2],
        room[: 64 * 128].reshape(64, 128)[:, :64],
        room[: 64 * 128].reshape(64, 128)[:, ::2],
        np.lib.stride_tricks.as_strided(room, (64, 64), (0, 4)),
    ]
    assert len({view.__array_interface__["data"] for view in views}) == 1
    for _ in range(5):
        for view in views:
            assert close(portagpu.matmul(view, b), view @ b)
    assert all(is_kept(view, b) for view in views[:5])  # the others are copied first
    reverse = room[: 64 * 64].reshape(64, 64)[::-1, ::-1]
    doubles, wide = room[: 2 * 64 * 64].view(np.float64).reshape(64, 64), b.astype(np.float64)
    complexes = room[: 2 * 64 * 64].view(np.complex64).reshape(64, 64)
    for _ in range(5):
        assert close(portagpu.matmul(reverse, b), reverse @ b)
        assert close(portagpu.matmul(doubles, wide), doubles @ wide)
        assert close(portagpu.matmul(complexes, b.astype(np.complex64)), complexes @ b)
        assert close(portagpu.matmul(views[0], b), views[0] @ b)


def test_many_products_keep_the_calls_of_others(device, monkeypatch):
    """Where there is too much, calls go with their recording only: those of the latest products stay."""
    monkeypatch.setattr(host_products, "_REMEMBERED", 4)
    products = [(matrix(64 + n, 64), matrix(64, 80, seed=1)) for n in range(7)]
    for a, b in products:
        keep(a, b)
    assert [is_kept(a, b) for a, b in products] == [False] * 3 + [True] * 4
    assert len(known().calls) == 4


def test_arrays_may_be_resized(device):
    """No call keeps a reference, not even a weak one: NumPy would refuse."""
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    out = np.zeros((96, 80), np.float32)
    keep(a, b)
    keep(a, b, out)
    assert is_kept(a, b) and is_kept(a, b, out)
    for rows in (48, 200, 96):
        a.resize((rows, 64))
        out.resize((rows, 80))
        a[...] = matrix(rows, 64, seed=rows)
        for _ in range(5):
            assert close(portagpu.matmul(a, b), a @ b)
            assert close(portagpu.matmul(a, b, out=out), a @ b)
    gone = weakref.ref(a)
    del a
    assert gone() is None


def test_result_in_an_operand(device):
    """Also after a call that wrote to memory beside it."""
    room = np.zeros((4, 64, 64), np.float32)
    a, b, out = room[0], matrix(64, 64, seed=1), room[1]
    a[...] = matrix(64, 64)
    keep(a, b, out)
    assert is_kept(a, b, out)
    for target in (a, room.reshape(-1)[64 : 64 * 65].reshape(64, 64), a.T):
        for seed in range(5):
            a[...] = matrix(64, 64, seed=seed)
            wanted = a @ b
            assert close(portagpu.matmul(a, b, out=target), wanted)
    assert close(portagpu.matmul(a, b, out=out), a @ b)


def test_neighbours_keep_their_contents(device):
    """Between the rows of a result, before it and after it, nothing is written."""
    room = np.full((98, 100), 7, np.float32)
    a, b, out = matrix(96, 64), matrix(64, 80, seed=1), room[1:97, 3:83]
    for _ in range(6):
        out[...] = 0
        assert close(portagpu.matmul(a, b, out=out), a @ b)
    assert is_kept(a, b, out)
    out[...] = 7
    assert (room == 7).all()


@pytest.mark.parametrize("nbytes", [4096, 65540, 100004])
def test_results_own_what_buffers_are_rounded_to(nbytes):
    """Neighbours in the heap never share a cache line with them."""
    for _ in range(50):
        array, first = results.placed((nbytes // 4,), np.dtype(np.float32), nbytes)
        memory = array.base.base
        begin = memory.__array_interface__["data"][0]
        assert first % 128 == 0 and first == array.__array_interface__["data"][0]
        assert begin <= first and first + -(-nbytes // 128) * 128 <= begin + memory.nbytes


def test_memory_that_was_unmapped(device):
    """Buffers over memory that is gone are harmless, and right for what is mapped there afterwards."""
    b = matrix(256, 256, seed=1)
    places = set()
    for turn in range(8):
        room = mmap.mmap(-1, 256 * 256 * 4)
        a = np.frombuffer(room, np.float32).reshape(256, 256)
        a[...] = matrix(256, 256, seed=turn)
        places.add(a.__array_interface__["data"][0])
        for _ in range(4):
            assert close(portagpu.matmul(a, b), a @ b)
        assert is_kept(a, b)
        del a
        room.close()  # raises if anybody still refers to it
    others = [matrix(40 + n, 64, seed=n) for n in range(4)]
    for _ in range(5):
        for other in others:
            assert close(portagpu.matmul(other, b[:64]), other @ b[:64])
    known().clear()
    known().buffers.clear()  # the driver lets go of all of them
    assert close(portagpu.matmul(b, b), b @ b)


def test_few_calls_are_kept(device, monkeypatch):
    monkeypatch.setattr(host_calls, "_MOST", 8)
    known().calls.clear()
    known().buffers.clear()
    room = matrix(24 * 65, 64).reshape(24, 65, 64)  # all begin alike within a cache line
    sets = [(room[n, :64], room[n + 12, :64]) for n in range(12)]
    for _ in range(5):
        for a, b in sets:
            assert close(portagpu.matmul(a, b), a @ b)
    assert len(known().calls) == len(known().buffers) == 8
    assert is_kept(*sets[-1])
    assert not is_kept(*sets[0])


def test_numbers_and_streams_are_told_apart(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    out, stream = np.ones((96, 80), np.float32), cuda.stream()
    keep(a, b)
    for _ in range(5):
        assert close(portagpu.matmul(a, b, alpha=2), 2 * (a @ b))
        assert close(portagpu.matmul(a, b, alpha=1.0), a @ b)
        assert close(portagpu.matmul(a, b, stream=stream), a @ b)
        out[...] = 1
        assert close(portagpu.matmul(a, b, out, beta=3), a @ b + 3)
    with pytest.raises(ArgumentTypeError, match="alpha is complex"):
        portagpu.matmul(a, b, alpha=1 + 0j)
    stream.close()
    with pytest.raises(ClosedError):
        portagpu.matmul(a, b, stream=stream)


def test_default_stream_and_others_stay_in_order(device):
    """What another stream does to an operand comes first."""
    a, b = np.zeros((256, 256), np.float32), matrix(256, 256, seed=1)
    keep(a, b)
    there, stream = cuda.to_device(matrix(256, 256)), cuda.stream()
    for _ in range(5):
        a[...] = 0
        there.copy_to_host(a, stream=stream)
        assert close(portagpu.matmul(a, b), matrix(256, 256) @ b)


def test_threads_share_arrays(device):
    a, b = matrix(200, 200), matrix(200, 200, seed=1)
    wanted, context, problems = a @ b, cuda.current_context(), []

    def work():
        with context:
            kept = [portagpu.matmul(a, b) for _ in range(20)]
            if not all(close(c, wanted) for c in kept) or not is_kept(a, b):
                problems.append("wrong")

    in_threads(work)
    assert not problems


def test_contexts_in_turns_and_closed(device):
    here, other = cuda.current_context(), another(cuda.current_context())
    a, b = matrix(200, 200), matrix(200, 200, seed=1)
    for _ in range(5):
        assert close(portagpu.matmul(a, b), a @ b)
        with other:
            assert close(portagpu.matmul(a, b), a @ b)
    with other:
        assert is_kept(a, b)
        there = known()
        replays = [weakref.ref(call.replay) for call in there.calls.values()]
        stream = other.default_stream
        keep(a, b, stream=stream)
    assert close(portagpu.matmul(a, b, stream=stream), a @ b)  # a stream says where
    other.close()
    with pytest.raises(ClosedError):
        portagpu.matmul(a, b, stream=stream)
    del there
    gc.collect()
    assert not any(replay() for replay in replays)
    assert cuda.current_context() is here and is_kept(a, b)


def test_a_reset_gives_calls_back(device):
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    keep(a, b)
    cuda.current_context().reset()
    assert not is_kept(a, b)
    keep(a, b)
    assert is_kept(a, b)
    cuda.device_array(4, np.float32).close()  # memory that recordings may know of
    assert not is_kept(a, b)
    assert close(keep(a, b), a @ b)


def test_new_tuning_results_count(device, tmp_path):
    """Those of this process, and other settings."""
    other = another(cuda.current_context(), data_dir=tmp_path)
    a, b = matrix(96, 64), matrix(64, 80, seed=1)
    problem = Problem(m=96, n=80, k=64, dtype="float32")
    with other:
        keep(a, b)
        assert is_kept(a, b)
        default = registry.default_config(problem, other.capabilities)
        store = Store(store_path(other.settings))
        store.add_winner(task_key(problem, other.device.key), registry.to_json(default), 1e-6)
        assert not is_kept(a, b)
        assert close(keep(a, b), a @ b)
        assert is_kept(a, b)
        other.settings = dataclasses.replace(other.settings, shipped=not other.settings.shipped)
        assert not is_kept(a, b)
        assert close(keep(a, b), a @ b)
    other.close()


def test_drivers_that_copy_memory_get_new_buffers(device, monkeypatch):
    monkeypatch.setattr(recordings, "is_in_place", lambda context: False)
    other = another(cuda.current_context())
    with other:
        a, b = matrix(96, 64), matrix(64, 80, seed=1)
        assert close(keep(a, b), a @ b)
        assert known().known
        assert not known().calls and known().buffers is None
    other.close()


class Interrupted:
    """A kernel in whose arguments' setting something else comes, as a signal handler or a finaliser does."""

    def __init__(self, kernel, pending):
        self._kernel, self._pending = kernel, pending

    def set_arg(self, place, value):
        self._kernel.set_arg(place, value)
        if self._pending:
            self._pending.pop()()


def interrupt(replay, monkeypatch):
    """Calls in the list that is returned are made after the next argument is set."""
    pending = []
    places = [(Interrupted(kernel, pending), place, operand) for kernel, place, operand in replay._places]
    monkeypatch.setattr(replay, "_places", places)
    return pending


def test_products_within_products(monkeypatch):
    """Of other arrays of the same shapes, which have the same recording."""
    room = np.zeros(2**17, np.float32)
    first = -room.__array_interface__["data"][0] % 4096 // 4
    a, b, c, d = (room[first + n * 2**14 :][: 96 * 96].reshape(96, 96) for n in (0, 2, 4, 6))
    for n, array in enumerate((a, b, c, d)):
        array[...] = matrix(96, 96, seed=n)
    keep(a, b), keep(c, d)
    kept = host_products._recordings.of(cuda.current_context()).calls
    replay = next(reversed(kept.values())).replay
    pending = interrupt(replay, monkeypatch)
    inner = []
    for _ in range(3):
        keep(c, d)  # so that arguments are set for the next product
        pending.append(lambda: inner.append(portagpu.matmul(c, d)))
        assert close(portagpu.matmul(a, b), a @ b)
        assert not pending
        assert close(portagpu.matmul(a, b), a @ b)
    assert len(inner) == 3 and all(close(found, c @ d) for found in inner)
    assert is_kept(a, b) and is_kept(c, d)  # the recording is as usable as before
