"""Launches of the package's own kernels that are looked up: what kernels are compiled for tells them apart."""

from __future__ import annotations

import numpy as np
import pytest
from own_contexts import native_context

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device(fast=True)


@cuda.jit
def scaled(out, x, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * factor


@cuda.jit
def chosen(out, x, which: cuda.constexpr):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + (which if isinstance(which, int) else 10)


@cuda.jit
def shifted(out, x):
    i = cuda.grid(1)
    if i == 0:
        for k in range(out.size):
            out[k] = x[k] + 1


@cuda.jit
def of_pair(out, pair):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = pair[0][i] + pair[1]


def run(kernel, *args, threads=16):
    ready.launch(kernel, 1, threads, args)


def test_dtypes_layouts_and_numbers_in_turns(device):
    host = np.arange(24)
    cases = [
        (dtype, view, factor)
        for dtype in (np.float32, np.int32, np.int64)
        for view in (slice(0, 8), slice(1, 9), slice(0, 16, 2), slice(23, 15, -1))
        for factor in (3, 2.5, np.float32(0.5), np.int8(2), True)
    ]
    for dtype, view, factor in cases + cases[::7]:
        x = cuda.to_device(host.astype(dtype))
        out = cuda.device_array(8, np.float64 if device.capabilities.fp64 else np.float32)
        run(scaled, out, x[view], factor)
        np.testing.assert_allclose(out.copy_to_host(), host.astype(dtype)[view] * factor)


def test_a_number_beyond_64_bits_of_a_sign(device):
    x = cuda.to_device(np.ones(4, np.uint64))
    out = cuda.device_array(4, np.uint64)
    for factor in (3, 2**63 + 1, 5):
        run(scaled, out, x, factor)
        assert out.copy_to_host()[0] == factor


def test_compile_time_arguments_that_are_equal_but_differ(device):
    x = cuda.to_device(np.zeros(4, np.float32))
    out = cuda.device_array(4, np.float32)
    for which, wanted in ((1, 1), (1.0, 10), (0, 0), (1, 1), (0.0, 10), (-0.0, 10)):
        run(chosen, out, x, which)
        assert out.copy_to_host()[0] == wanted


def test_arrays_that_overlap_have_a_kernel_of_their_own(device):
    """The next element is that which the thread has just written, in the same memory only."""
    for _ in range(2):
        x, y = cuda.to_device(np.zeros(9, np.int32)), cuda.to_device(np.zeros(9, np.int32))
        run(shifted, y[1:], x[:8])
        np.testing.assert_array_equal(y.copy_to_host(), [0] + [1] * 8)
        run(shifted, x[1:], x[:8])
        np.testing.assert_array_equal(x.copy_to_host(), np.arange(9))


def test_tuples_of_arrays_and_numbers(device):
    for dtype in (np.float32, np.int32, np.float32):
        for number in (2, np.float32(0.5)):
            x = cuda.to_device(np.arange(4).astype(dtype))
            out = cuda.device_array(4, np.float32)
            run(of_pair, out, (x, number))
            np.testing.assert_array_equal(out.copy_to_host(), np.arange(4) + number)


def test_other_contexts_and_streams(device):
    here = cuda.current_context()
    there = Context.wrap(native_context(device))
    host = np.arange(8, dtype=np.float32)
    stream = cuda.stream()
    for _ in range(2):
        for context in (here, there):
            x, out = to_device(host, context=context), cuda.device_array(8, np.float32, stream=context.default_stream)
            run(scaled, out, x, 2)
            np.testing.assert_array_equal(out.copy_to_host(), host * 2)
        x, out = cuda.to_device(host), cuda.to_device(host)
        ready.launch(scaled, 1, 16, (out, x, 3), stream)
        np.testing.assert_array_equal(out.copy_to_host(stream=stream) if stream.synchronize() else out, host * 3)


def test_what_is_put_off_comes_first(device):
    x = cuda.to_device(np.ones(8, np.float32))
    out = cuda.to_device(np.ones(8, np.float32))
    before = out + 1  # of what is overwritten
    run(scaled, out, x + 2, 2)
    np.testing.assert_array_equal(before.copy_to_host(), np.full(8, 2, np.float32))
    np.testing.assert_array_equal(out.copy_to_host(), np.full(8, 6, np.float32))


def test_launches_are_bounded(device, monkeypatch):
    monkeypatch.setattr(ready, "_MOST", 8)
    x = cuda.to_device(np.ones(64, np.float32))
    out = cuda.device_array(64, np.float32)
    x.context.expression_launches.clear()
    for n in range(1, 30):
        ready.launch(scaled, n, 4, (out, x, 2))
    assert len(x.context.expression_launches) <= 8


def test_a_kernel_that_is_gone_is_compiled_again(device):
    host = np.arange(8, dtype=np.float32)
    x, out = cuda.to_device(host), cuda.device_array(8, np.float32)
    for factor in (2, 3):
        run(scaled, out, x, factor)
        np.testing.assert_array_equal(out.copy_to_host(), host * factor)
        x.context.reset()
