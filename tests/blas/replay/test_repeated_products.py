"""Products that are asked for again: repeated launches give what new ones would."""

from __future__ import annotations

import dataclasses
import gc
import threading
import weakref

import numpy as np
import pytest
from in_threads import in_threads
from own_contexts import native_context

import portagpu
from portagpu import cuda
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.replay import device_products
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.tuning.tuner import store_path, task_key
from portagpu.runtime.execution.context import Context
from portagpu.runtime.replay.replay import kept_by, recorded
from portagpu.tuning import Store

pytestmark = pytest.mark.one_device


def operands(m=96, n=80, k=64, dtype=np.float32, seed=0):
    generator = np.random.default_rng(seed)
    a, b = generator.standard_normal((m, k)).astype(dtype), generator.standard_normal((k, n)).astype(dtype)
    return cuda.to_device(a), cuda.to_device(b), cuda.to_device(np.zeros((m, n), dtype)), a, b


def close(c, wanted):
    return np.allclose(c.copy_to_host(), wanted, rtol=1e-4, atol=1e-4)


def is_recorded(a, b, c):
    return device_products.again(a, b, c, None, (1, 0, int, int, None, None)) is c


def another(context, settings):
    """A context on the same device."""
    return Context(context.device, native_context(context.device), settings)


def recordings_of(context):
    return [
        found.replay for found in device_products._recordings.of(context).known.values() if not isinstance(found, bool)
    ]


def test_new_contents_count(device):
    a, b, c, host_a, host_b = operands()
    for factor in range(1, 6):
        a.copy_to_device(host_a * np.float32(factor))
        assert portagpu.matmul(a, b, out=c) is c
        assert close(c, factor * (host_a @ host_b))
    assert is_recorded(a, b, c)


def test_numbers_streams_and_arrays_are_told_apart(device):
    a, b, c, host_a, host_b = operands()
    other, stream = cuda.device_array_like(c), cuda.stream()
    product = host_a @ host_b
    for _ in range(4):
        for alpha in (1, 2.5):
            portagpu.matmul(a, b, out=c, alpha=alpha)
            assert close(c, alpha * product)
        portagpu.matmul(a, b, out=other, stream=stream)
        stream.synchronize()
        assert close(other, product)
        portagpu.matmul(a, b, out=c, alpha=1, beta=2)
        assert close(c, 6 * product)  # 2.5 of before, twice, and 1
        portagpu.matmul(a, b, out=c, alpha=1, beta=0)


def test_each_thread_has_its_own(device):
    a, b, _, host_a, host_b = operands()
    problems = []

    context = a.context

    def work():
        with context:
            multiply()

    def multiply():
        c = cuda.device_array((host_a.shape[0], host_b.shape[1]), np.float32)
        for _ in range(20):
            portagpu.matmul(a, b, out=c)
        if not close(c, host_a @ host_b):
            problems.append("wrong")

    in_threads(work)
    assert not problems


def test_new_results_of_tuning_end_a_recording(device, tmp_path, monkeypatch):
    context = cuda.current_context()
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, data_dir=tmp_path))
    a, b, c, host_a, host_b = operands()
    for _ in range(3):
        portagpu.matmul(a, b, out=c)
    assert is_recorded(a, b, c)
    problem = Problem(m=96, n=80, k=64, dtype="float32")
    default = registry.default_config(problem, context.capabilities)
    other = next(p for p in registry.candidates(problem, context.capabilities) if p != default)
    Store(store_path(context.settings)).add_winner(task_key(problem, context.device.key), registry.to_json(other), 1e-6)
    assert not is_recorded(a, b, c)
    portagpu.matmul(a, b, out=c)
    assert close(c, host_a @ host_b)


def test_memory_that_was_given_back_ends_a_recording(device):
    a, b, c, host_a, host_b = operands()
    for _ in range(3):
        portagpu.matmul(a, b, out=c)
    cuda.device_array(4, np.float32).close()
    assert not is_recorded(a, b, c)
    portagpu.matmul(a, b, out=c)
    assert close(c, host_a @ host_b)


@pytest.mark.parametrize("work", ["copy", "nothing"])
def test_only_launches_are_recorded(device, work):
    a, _, c, _, _ = operands(64, 64, 64)

    def call():
        if work == "copy":
            c.copy_to_device(a)

    assert recorded(call, (a, c)) is None


def test_recordings_keep_their_scratch_memory(device):
    n = 64
    generator = np.random.default_rng(0)
    host = [(generator.standard_normal((n, n)) + 1j * generator.standard_normal((n, n))) for _ in range(2)]
    a, b = (cuda.to_device(x.astype(np.complex64)) for x in host)
    c = cuda.to_device(np.zeros((n, n), np.complex64))
    for _ in range(3):
        portagpu.matmul(a, b, out=c)
    # new arrays of the size of the operand that complex products are made of
    others = [cuda.to_device(np.full((2 * n, 2 * n), 7, np.float32)) for _ in range(4)]
    portagpu.matmul(a, b, out=c)
    assert all((other.copy_to_host() == 7).all() for other in others)
    assert close(c, host[0] @ host[1])


def test_recordings_keep_little_scratch_memory(device):
    a, b, c, _, _ = operands(dtype=np.complex64)
    for _ in range(3):
        portagpu.matmul(a, b, out=c)
    known = device_products._recordings.of(a.context).known
    kept = kept_by(recordings_of(a.context))
    assert kept > 0
    device_products._bound(known, kept)
    assert kept_by(recordings_of(a.context)) == kept
    device_products._bound(known, kept - 1)
    assert kept_by(recordings_of(a.context)) < kept
    if not kept_by(recordings_of(a.context)):  # the only one, too large by itself
        device_products._bound(known, 0)
        portagpu.matmul(a, b, out=c)
        assert not is_recorded(a, b, c)


def test_contexts_in_turns_keep_their_recordings(device, tmp_path, monkeypatch):
    """Each context has its own tuning results: those of one say nothing of the other's recordings."""
    here = cuda.current_context()
    other = another(here, dataclasses.replace(here.settings, data_dir=tmp_path))
    sets = [operands()[:3]]
    with other:
        sets.append(operands()[:3])
    problem = Problem(m=96, n=80, k=64, dtype="float32")
    default = registry.default_config(problem, here.capabilities)
    Store(store_path(other.settings)).add_winner(task_key(problem, here.device.key), registry.to_json(default), 1e-6)
    for turn in range(4):
        for a, b, c in sets:
            assert turn < 2 or is_recorded(a, b, c)
            portagpu.matmul(a, b, out=c)
    other.close()


def test_recordings_of_a_closed_context_are_dropped(device):
    """They would keep kernels and scratch memory: those of other threads, too."""
    here = cuda.current_context()
    context = another(here, here.settings)
    done, go_on, alive = threading.Event(), threading.Event(), []

    def multiply():
        with context:
            a, b, c, _, _ = operands(dtype=np.complex64)
            for _ in range(3):
                portagpu.matmul(a, b, out=c)
            assert is_recorded(a, b, c)
            kept = recordings_of(context)
            assert kept[0].kept_bytes
            alive.extend(map(weakref.ref, kept))

    def work():
        multiply()
        done.set()
        go_on.wait()

    thread = threading.Thread(target=work)
    thread.start()
    assert done.wait(60)
    multiply()
    context.close()
    gc.collect()
    assert len(alive) == 2 and not any(replay() for replay in alive)
    assert not device_products._recordings.of(context).known
    go_on.set()
    thread.join()


def test_recordings_keep_no_stream(device):
    a, b, c, _, _ = operands()
    stream = cuda.stream()
    for _ in range(3):
        portagpu.matmul(a, b, out=c, stream=stream)
    seen = weakref.ref(stream)
    stream.synchronize()
    del stream
    gc.collect()
    assert seen() is None
