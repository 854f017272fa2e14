"""Copies through page-locked memory in threads: all bytes arrive, whatever the extents, and errors are raised."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda
from portagpu.runtime.arrays import staged_copies
from portagpu.runtime.arrays.staged_copies import Stage

pytestmark = pytest.mark.each_value

PIECE = 512


@pytest.fixture
def stage(device):
    return Stage.of(cuda.current_context(), cuda.default_stream().queue, PIECE, 3)


@pytest.fixture
def staged(device, monkeypatch):
    """Copies of some hundred bytes are staged; what is, in a list."""
    context = cuda.current_context()
    monkeypatch.setattr(staged_copies, "LEAST", 256)
    for cores in ("_cores", "_free_cores"):
        monkeypatch.setattr(staged_copies, cores, lambda: 3)
    monkeypatch.setattr(context, "capabilities", replace(context.capabilities, staged_copies=True))
    found = []
    for name in ("upload", "download"):
        real = getattr(Stage, name)
        monkeypatch.setattr(Stage, name, lambda *given, real=real, name=name: (found.append(name), real(*given))[1])
    yield found
    staged_copies._stages.pop(context, None)


@pytest.mark.parametrize("nbytes", [1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 6 * PIECE + 5, 20 * PIECE - 7])
@pytest.mark.parametrize("offset", [0, 24])
def test_all_bytes_arrive(stage, nbytes, offset):
    queue, random = cuda.default_stream().queue, np.random.default_rng(nbytes)
    given = random.integers(0, 256, nbytes, np.uint8)
    whole = cuda.to_device(np.full(nbytes + 64, 7, np.uint8))
    target = whole[offset : offset + nbytes]
    stage.upload(queue, target, given)
    want = np.full(nbytes + 64, 7, np.uint8)
    want[offset : offset + nbytes] = given
    np.testing.assert_array_equal(whole.copy_to_host(), want)
    found = np.full(nbytes + 2, 9, np.uint8)
    stage.download(queue, found[1:-1], target)
    np.testing.assert_array_equal(found, [9, *given, 9])


@pytest.mark.parametrize("dtype", [np.float32, np.complex128, [("x", "i1"), ("y", "f8")], "bfloat16"])
@pytest.mark.parametrize("order", "CF")
def test_arrays_of_any_dtype_and_order(staged, dtype, order):
    kind = pytest.importorskip("ml_dtypes").bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    given = np.zeros((37, 29), kind, order)
    given.ravel(order="K").view(np.uint8)[...] = np.random.default_rng(3).integers(0, 100, given.nbytes, np.uint8)
    device_array = cuda.to_device(given)
    assert device_array.copy_to_host().tobytes("A") == given.tobytes("A")
    assert staged == ["upload", "download"]


def test_small_page_locked_and_strided_ones(staged):
    small, locked = np.arange(3.0), cuda.pinned_array(500)
    locked[:] = 3
    cuda.to_device(small).copy_to_host()
    there = cuda.to_device(locked)
    there.copy_to_host(locked)
    assert not staged
    strided = np.arange(4000.0).reshape(50, 80)[::2, ::3]
    np.testing.assert_array_equal(cuda.to_device(strided).copy_to_host(), strided)
    target = np.zeros((25, 54))[:, ::2]
    cuda.to_device(strided).copy_to_host(target)
    np.testing.assert_array_equal(target, strided)


def test_copies_at_the_same_time(staged):
    """One has the places, others go the driver's way."""
    arrays = [np.full(50_000, n, np.float64) for n in range(8)]
    found = [None] * len(arrays)

    def copy(n):
        for _ in range(5):
            found[n] = cuda.to_device(arrays[n]).copy_to_host()

    threads = [threading.Thread(target=copy, args=(n,)) for n in range(len(arrays))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n, array in enumerate(arrays):
        np.testing.assert_array_equal(found[n], array)


def test_what_a_thread_raises_is_raised_and_the_places_serve_again(staged, monkeypatch):
    context = cuda.current_context()
    x = np.arange(5000.0)
    there = cuda.to_device(x)
    real, calls = type(context.driver).upload, []

    def failing(*arguments, **options):
        calls.append(threading.current_thread())
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(staged_copies, "_PIECE", PIECE)
    staged_copies._stages[context] = Stage.of(context, cuda.default_stream().queue, PIECE, 3)
    monkeypatch.setattr(type(context.driver), "upload", failing)
    with pytest.raises(KeyboardInterrupt):
        there.copy_to_device(-x)
    monkeypatch.undo()
    assert not [t for t in threading.enumerate() if t.name == "portagpu copy"]
    stage = staged_copies._stages[context]
    assert not stage.lock.locked()
    stage.upload(cuda.default_stream().queue, there, (2 * x).view(np.uint8))
    np.testing.assert_array_equal(there.copy_to_host(), 2 * x)


def test_where_no_thread_can_be_started(staged, monkeypatch):
    def refused(self):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    x = np.arange(10_000.0)
    np.testing.assert_array_equal(cuda.to_device(x).copy_to_host(), x)
    assert staged == ["upload", "download"]


@pytest.mark.opencl
def test_where_no_memory_can_be_locked(staged, monkeypatch):
    context = cuda.current_context()

    def none(*arguments):
        raise cl.MemoryError("no memory")

    monkeypatch.setattr(type(context.driver), "page_locked", none)
    x = np.arange(10_000.0)
    np.testing.assert_array_equal(cuda.to_device(x).copy_to_host(), x)
    assert not staged


def test_where_all_cores_are_busy(staged, monkeypatch):
    monkeypatch.setattr(staged_copies, "_free_cores", lambda: 1)
    x = np.arange(10_000.0)
    np.testing.assert_array_equal(cuda.to_device(x).copy_to_host(), x)
    assert not staged


@pytest.mark.parametrize("text, free", [("0.0 0.0 0.0 3/500 77", 6), ("nothing", 8), ("0 0 0 x/y 1", 8)])
def test_free_cores(tmp_path, monkeypatch, text, free):
    (tmp_path / "loadavg").write_text(text)
    monkeypatch.setattr(staged_copies, "_cores", lambda: 8)
    monkeypatch.setattr(staged_copies, "_LOAD", tmp_path / "loadavg")
    assert staged_copies._free_cores() == free
