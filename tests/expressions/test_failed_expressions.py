"""Expressions that fail: their readers raise the error, each time; work that does not read them goes on."""

from __future__ import annotations

import copy
import gc
import threading
import weakref
from contextlib import contextmanager

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.expressions import evaluation, together

pytestmark = pytest.mark.one_device

HOST = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
_STAGES = {
    "compiled": RuntimeError("std::bad_cast"),
    "allocated": errors.OutOfMemoryError("no memory is left"),
    "launched": errors.DriverError("the driver refuses"),
}


@contextmanager
def failing(monkeypatch, stage):
    """All expressions fail while they are compiled, get memory, or are launched."""
    error = _STAGES[stage]

    def fail(*_, **__):
        raise copy.copy(error)

    with monkeypatch.context() as patched:
        if stage == "allocated":
            patched.setattr(type(cuda.current_context()), "allocate", fail)
        elif stage == "compiled":
            for module, name in ((evaluation, "kernel_of"), (evaluation, "kernel_of_rows"), (together, "_run")):
                patched.setattr(module, name, fail)
        else:
            for module, name in ((evaluation, "_first_launch"), (together, "_run")):
                patched.setattr(module, name, fail)
        yield type(error)


@pytest.fixture
def x(device):
    cuda.current_context().expression_launches.clear()  # cached launches are not compiled
    cuda.current_context().applied.clear()
    return cuda.to_device(HOST)


@pytest.mark.parametrize("stage", _STAGES)
def test_only_readers_raise(x, monkeypatch, stage):
    failed = [x * n for n in range(2, 8)]  # more than are computed together
    reader = failed[0] + 1
    with failing(monkeypatch, stage) as kind:
        cuda.synchronize()  # has nothing to do with them
    for array in (*failed, reader):
        for _ in range(2):
            with pytest.raises(kind, match=str(_STAGES[stage])):
                array.copy_to_host()
    later = failed[1] - x
    with pytest.raises(kind):
        np.sum(failed[2] * 2).copy_to_host()
    with pytest.raises(kind):
        x[...] = failed[3]
    with pytest.raises(kind):
        later.copy_to_host()
    cuda.synchronize()
    np.testing.assert_array_equal((x * 2).copy_to_host(), HOST * 2)
    x[...] = 0
    assert not x.copy_to_host().any()


@pytest.mark.parametrize("stage", _STAGES)
def test_operands_that_are_written_since(x, monkeypatch, stage):
    """A failed expression is not computed from later values of its operands."""
    failed = x + 1
    with failing(monkeypatch, stage) as kind:
        cuda.current_context().unsettled.settle()
    x[...] = 0
    for reader in (failed, failed * 2):
        with pytest.raises(kind):
            reader.copy_to_host()


def test_memory_that_is_short_for_a_reader(x, monkeypatch):
    """The reader may try again, as long as nothing was to be done in between."""
    array = x * 3
    with failing(monkeypatch, "allocated"), pytest.raises(errors.OutOfMemoryError):
        array.copy_to_host()
    np.testing.assert_array_equal(array.copy_to_host(), HOST * 3)


def test_streams_and_threads(x, monkeypatch):
    failed = x * 5
    with failing(monkeypatch, "compiled") as kind:
        cuda.current_context().unsettled.settle()
    stream = cuda.stream()
    with stream:
        y = x * 2 + x
    stream.synchronize()
    np.testing.assert_array_equal(y.copy_to_host(), HOST * 3)
    raised = []

    def read():
        try:
            failed.copy_to_host()
        except kind as error:
            raised.append(error)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(raised) == 4 and len({*map(id, raised)}) == 4


def test_errors_keep_no_arrays_alive(x, monkeypatch):
    failed = x * 7
    with failing(monkeypatch, "launched") as kind:
        cuda.current_context().unsettled.settle()
    with pytest.raises(kind) as raised:
        failed.copy_to_host()
    kept, seen = raised.value.with_traceback(None), weakref.ref(failed)
    del raised, failed
    gc.collect()
    assert seen() is None and kept is not None


def test_an_interruption_leaves_all_deferred(x, monkeypatch):
    """Nothing overtakes what was not computed."""
    array = x * 9

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(evaluation, "kernel_of", interrupt)
        with pytest.raises(KeyboardInterrupt):
            x[...] = 0
    x[...] = 0
    np.testing.assert_array_equal(array.copy_to_host(), HOST * 9)


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x * 2 + 1,
        lambda x: np.add(x, 3),
        lambda x: np.where(x > 2, x, 5),
        lambda x: np.clip(x, 1, 2),
        lambda x: x.astype(np.float64),
        lambda x: np.roll(x, 1),
        lambda x: np.full_like(x, 7),
    ],
)
def test_errors_name_the_line_that_wrote_them(x, monkeypatch, write):
    failed = write(x)
    if failed.deferred is None:
        pytest.skip("it is computed at once")
    with failing(monkeypatch, "launched") as kind:
        cuda.current_context().unsettled.settle()
    for reader in (failed, failed * 2):
        with pytest.raises(kind, match=f"test_failed_expressions.py:{write.__code__.co_firstlineno}"):
            reader.copy_to_host()
