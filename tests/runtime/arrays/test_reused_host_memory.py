"""Memory of NumPy results that later results use again."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.errors import OutOfMemoryError
from portagpu.runtime.execution import host_pool
from portagpu.runtime.execution.host_pool import HostPool, results

_ROOM = 300 * 300 * 4  # bytes of the arrays here


def address(array):
    return array.__array_interface__["data"][0]


def made(pool, shape=(300, 300), dtype=np.float32):
    return pool.empty(shape, np.dtype(dtype))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128, np.int32, np.int8])
def test_arrays_are_like_numpys(dtype):
    array = made(HostPool(), (300, 500), dtype)
    assert type(array) is np.ndarray
    assert (array.shape, array.dtype) == ((300, 500), np.dtype(dtype))
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert address(array) % 128 == 0
    array[...] = 3
    assert (array == 3).all()


@pytest.mark.parametrize("shape", [(1 << 24, 1 << 24), (1 << 40, 1 << 40)])
def test_what_the_host_has_no_memory_for_is_an_error_of_ours(shape):
    with pytest.raises(OutOfMemoryError, match=r"the host has no memory for a result of shape .*, float32: \d+ bytes"):
        made(HostPool(), shape)


def test_a_product_whose_result_finds_no_memory(device, monkeypatch):
    """Of the pool's sizes and of larger ones, in the first call and in later ones."""

    def full(*arguments):
        raise MemoryError("planted")

    a = np.ones((300, 300), np.float32)
    with cuda.select_device(device):
        portagpu.matmul(a, a)
        for _ in range(2):
            with monkeypatch.context() as patched:
                results.clear()
                patched.setattr(host_pool, "_Room", full)
                with pytest.raises(OutOfMemoryError, match="the host has no memory") as caught:
                    portagpu.matmul(a, a)
            assert isinstance(caught.value, MemoryError) and isinstance(caught.value.__cause__, MemoryError)
            assert (portagpu.matmul(a, a) == 300).all()


def test_memory_of_dead_arrays_serves_again():
    pool = HostPool()
    first = made(pool)
    place = address(first)
    other = made(pool)
    assert address(other) != place
    del first
    assert pool.held_bytes == _ROOM
    assert address(made(pool, (90000,))) == place  # as many bytes, whatever the shape


def test_views_keep_memory():
    pool = HostPool()
    array = made(pool)
    array[...] = 7
    view = array[5:, ::2].T
    del array
    gc.collect()
    assert pool.held_bytes == 0
    made(pool)[...] = 1
    assert (view == 7).all()
    del view
    assert pool.held_bytes == 2 * _ROOM


def test_what_is_kept_is_limited():
    pool = HostPool(kept_bytes=3 * _ROOM)
    arrays = [made(pool) for _ in range(3)] + [made(pool, (150, 300)) for _ in range(4)]
    arrays.clear()
    assert 0 < pool.held_bytes <= 3 * _ROOM
    assert made(pool, (3000, 3000)).base is None  # more than is ever kept
    pool.clear()
    assert pool.held_bytes == 0


def test_a_size_whose_only_array_lives_does_not_keep_others():
    pool = HostPool(kept_bytes=3 * _ROOM)
    made(pool)
    held = made(pool)  # in the room of the first: nothing is left of the size that was used the longest ago
    for rows in range(301, 310):
        made(pool, (rows, 300))
    assert 0 < pool.held_bytes <= 3 * _ROOM
    assert held.shape == (300, 300)


def test_as_many_as_are_allowed_are_kept():
    pool = HostPool(kept_bytes=3 * _ROOM // 2)
    arrays = [made(pool) for _ in range(3)]
    arrays.clear()
    assert pool.held_bytes == _ROOM


@pytest.mark.parametrize("shape", [(), (0, 4000), (4, 4)])
def test_small_arrays_are_numpys_own(shape):
    assert made(HostPool(), shape).base is None


def test_many_threads():
    pool, problems = HostPool(), []

    def work(number):
        for _ in range(300):
            array = made(pool)
            array[...] = number
            if not (array == number).all():
                problems.append(number)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
    assert pool.held_bytes <= 8 * _ROOM  # each thread has one more while it makes the next


def test_products_use_it_and_clearing_gives_it_back(device):
    a = np.ones((200, 200), np.float32)
    for _ in range(4):
        c = portagpu.matmul(a, a)
    assert (c == 200).all()
    place = address(c)
    del c
    assert results.held_bytes >= 200 * 200 * 4
    assert address(portagpu.matmul(a, a)) == place
    cuda.current_context().deallocations.clear()
    assert results.held_bytes == 0


def test_arrays_that_live_to_the_interpreters_end():
    """They die after the names of their pool's module have gone."""
    program = (
        "import builtins, numpy\n"
        "from portagpu.runtime.execution.host_pool import results\n"
        "builtins.kept = results.empty((100000,), numpy.dtype(numpy.float32))\n"
        "numpy.kept = results.empty((50000,), numpy.dtype(numpy.float32))\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
