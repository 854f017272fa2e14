"""Scratch memory that is kept: how much of it, and what becomes of what goes."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from own_contexts import native_context

import portagpu
from portagpu import cuda
from portagpu.blas.gemm.core.array_cache import ArrayCache
from portagpu.blas.gemm.core.workspace import Workspaces, workspaces
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.replay import device_products, host_products
from portagpu.blas.gemm.variants.vector import variant
from portagpu.blas.gemm.variants.vector.variant import VectorConfig
from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.execution.context import Context
from portagpu.runtime.execution.recorder import active

pytestmark = pytest.mark.one_device

_BYTE = np.dtype(np.uint8)


def room(context, nbytes):
    return device_array(nbytes, _BYTE, context=context)


def another(context):
    """A context on the same device."""
    return Context(context.device, native_context(context.device), context.settings)


def test_bytes_and_numbers_are_limited(device):
    context = cuda.current_context()
    limit = 2**16
    kept = ArrayCache(4, context.capabilities.global_memory // limit)
    limit = context.capabilities.global_memory // (context.capabilities.global_memory // limit)
    for n in range(8):
        kept.keep(context, n, room(context, 16))
    assert [n for n in range(8) if kept.get(context, n) is not None] == [4, 5, 6, 7]
    kept.get(context, 4)  # now the latest
    kept.keep(context, "half", room(context, limit // 2))
    kept.keep(context, "other half", room(context, limit // 2 - 16))
    assert kept.get(context, "half") is not None and kept.get(context, 4) is not None
    assert kept.kept_bytes(context) <= limit and kept.get(context, 7) is None
    kept.keep(context, "too large", room(context, limit + 1))
    assert kept.get(context, "too large") is None and kept.get(context, "half") is not None
    kept.keep(context, "half", room(context, limit))  # in place of the other one
    assert kept.kept_bytes(context) == limit and kept.get(context, "other half") is None


def test_contexts_do_not_drive_each_other_out(device):
    here = cuda.current_context()
    other = another(here)
    kept = ArrayCache(2, 64)
    kept.keep(here, "a", room(here, 16))
    for n in range(4):
        kept.keep(other, n, room(other, 16))
    assert kept.get(here, "a") is not None and kept.get(other, 3) is not None
    other.close()
    assert kept.get(other, 3) is None and kept.get(here, "a") is not None
    kept.keep(other, 4, kept.get(here, "a"))  # by a thread that did not see it closed
    assert kept.get(other, 4) is None


def test_what_a_recording_uses_outlives_the_workspace(device):
    """The next product that is not recorded gets another one; both are right."""
    context = cuda.current_context()
    generator = np.random.default_rng(0)
    host = [generator.standard_normal((128, 128)).astype(np.float32) for _ in range(2)]
    a, b = map(cuda.to_device, host)
    c, d = cuda.device_array_like(a), cuda.device_array_like(a)
    for _ in range(3):
        portagpu.matmul(a, b, out=c)
    workspaces.forget(context)
    others = [cuda.to_device(np.full((256, 256), 7, np.float32)) for _ in range(4)]
    portagpu.matmul(b, a, out=d)
    portagpu.matmul(a, b, out=c)
    assert device_products.again(a, b, c, None, (1, 0, int, int, None, None)) is c
    np.testing.assert_allclose(c.copy_to_host(), host[0] @ host[1], rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(d.copy_to_host(), host[1] @ host[0], rtol=1e-3, atol=1e-3)
    assert all((other.copy_to_host() == 7).all() for other in others)


def test_zeros_are_zero_when_they_are_new(device):
    stream = cuda.current_context().default_stream
    made = Workspaces()
    first = made.zeros(stream, "arrived", 10)
    assert made.zeros(stream, "arrived", 1000) is first and not first.copy_to_host().any()
    made.forget(stream.context)
    assert made.zeros(stream, "arrived", 10) is not first


def test_a_reset_gives_workspaces_and_recordings_back(device):
    context = cuda.current_context()
    a = cuda.to_device(np.ones((128, 128), np.complex64))
    b, c = cuda.device_array_like(a), cuda.device_array_like(a)
    for _ in range(3):
        portagpu.matmul(a, b, out=c)
    known = device_products._recordings.of(context).known
    kept = [weakref.ref(found.replay) for found in known.values() if not isinstance(found, bool)]
    assert kept
    del known
    context.reset()
    gc.collect()
    assert workspaces.kept_bytes(context) == 0 and not any(found() for found in kept)
    portagpu.matmul(a, a, out=c)
    np.testing.assert_array_equal(c.copy_to_host(), np.full((128, 128), 128, np.complex64))


def test_products_in_the_middle_of_others_have_their_own(device, monkeypatch):
    """A signal handler, or a finaliser, may multiply between the two launches of a product."""
    context = cuda.current_context()
    generator = np.random.default_rng(0)
    left, right = (generator.integers(-3, 4, s).astype(np.float32) for s in ((4, 512), (512, 64)))
    a, b, twice = cuda.to_device(left), cuda.to_device(right), cuda.to_device(left * 2)
    c, d = (cuda.device_array((4, 64), np.float32) for _ in range(2))
    config = VectorConfig(lines=1, split_k=4)
    launched = variant.add_parts
    inside = []

    def add_parts(*args):
        if not inside:
            inside.append(True)
            gemm(twice, b, d, context.default_stream, config)
        launched(*args)

    gemm(a, b, c, context.default_stream, config)
    monkeypatch.setattr(variant, "add_parts", add_parts)
    gemm(a, b, c, context.default_stream, config)
    assert inside
    assert np.array_equal(c.copy_to_host(), left @ right)
    assert np.array_equal(d.copy_to_host(), 2 * left @ right)


@pytest.mark.parametrize("on_device", [False, True])
def test_products_in_the_middle_of_others_leave_recordings_alone(device, on_device):
    """What a recording keeps may be what the product around them uses."""
    if not (on_device or device.capabilities.host_unified_memory):
        pytest.skip("NumPy arrays are copied to the device: such products are not recorded")
    generator = np.random.default_rng(0)
    left, right = (generator.standard_normal((96, 96)).astype(np.float32) for _ in range(2))
    a, b = (cuda.to_device(left), cuda.to_device(right)) if on_device else (left, right)
    table = device_products._recordings if on_device else host_products._recordings
    for _ in range(4):
        portagpu.matmul(a, b)
    mine = table.of(cuda.current_context())
    known = dict(mine.known)
    assert any(not isinstance(found, bool) for found in known.values())
    calls = None if on_device else dict(mine.calls)
    depth = active.depth
    active.depth = depth + 1
    try:
        found = portagpu.matmul(a, b)
    finally:
        active.depth = depth
    assert np.allclose(found.copy_to_host() if on_device else found, left @ right, rtol=1e-4, atol=1e-4)
    assert dict(mine.known) == known and (on_device or dict(mine.calls) == calls)


def test_interrupted_products_leave_no_trace(device, monkeypatch):
    context = cuda.current_context()
    a, c = cuda.to_device(np.ones((4, 512), np.float32)), cuda.device_array((4, 64), np.float32)
    b = cuda.to_device(np.ones((512, 64), np.float32))

    def interrupted(*args):
        assert active.depth == 1
        raise KeyboardInterrupt

    monkeypatch.setattr(variant, "add_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gemm(a, b, c, context.default_stream, VectorConfig(lines=1, split_k=4))
    assert active.depth == 0
