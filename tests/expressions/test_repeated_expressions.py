"""Expressions whose launches are looked up: others of the same shapes are computed as what they are."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_contexts import native_context

from portagpu import cuda
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device(fast=True)

SIDE = 6
LAYOUTS = (
    lambda x: x[:SIDE, :SIDE],
    lambda x: x[:SIDE, :SIDE].T,
    lambda x: x[1 : SIDE + 1, 2 : SIDE + 2],
    lambda x: x[: 2 * SIDE : 2, SIDE - 1 :: -1],
    lambda x: x[3, :SIDE],
    lambda x: x[:SIDE, :1],
    lambda x: x[1:2, 1:2],
    lambda x: x[5, 4, ...],
)
HOST = np.arange(1, 145).reshape(12, 12) % 23 + 1
FORMS = (
    lambda x, y: x + y,
    lambda x, y: x * y + x,
    lambda x, y: (x - y) * (x + 2),
    lambda x, y: 2 - x * y,
    lambda x, y: x - 2,
    lambda x, y: np.maximum(y, x) * x,
)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(LAYOUTS),
            st.sampled_from(LAYOUTS),
            st.sampled_from(FORMS),
            st.sampled_from([np.float32, np.int32]),
            st.sampled_from([np.float32, np.int16]),
        ),
        min_size=4,
        max_size=10,
    )
)
def test_operands_that_lie_otherwise_in_turns(device, cases):
    for first, second, form, kind, other in cases * 2:
        a, b = HOST.astype(kind), HOST[::-1].astype(other)
        x, y = first(cuda.to_device(a)), second(cuda.to_device(b))
        wanted = form(first(a), second(b))
        found = form(x, y)
        np.testing.assert_allclose(found.copy_to_host(), wanted, rtol=1e-6)
        assert found.dtype == wanted.dtype and found.shape == wanted.shape


def test_one_memory_in_several_places(device):
    a = np.arange(12, dtype=np.float32)
    for _ in range(2):
        x, y = cuda.to_device(a), cuda.to_device(a[::-1].copy())
        pairs = ((x, y), (x, x), (x[:6], x[6:]), (x[1:], x[:-1]), (x[:6], x[:6]), (x, y))
        hosts = ((a, a[::-1]), (a, a), (a[:6], a[6:]), (a[1:], a[:-1]), (a[:6], a[:6]), (a, a[::-1]))
        for (u, v), (p, q) in zip(pairs, hosts, strict=True):
            np.testing.assert_array_equal((u * v + v).copy_to_host(), p * q + q)


def test_into_arrays_and_in_place(device):
    a = np.arange(36, dtype=np.float32).reshape(6, 6)
    for _ in range(2):
        for out_layout in (lambda x: x, lambda x: x.T, lambda x: x[::-1], lambda x: x[::2, 1:]):
            out, host = cuda.to_device(a), a.copy()
            x, y = cuda.to_device(a + 1), a + 1
            np.multiply(out_layout(x), out_layout(x), out=out_layout(out))
            np.multiply(out_layout(y), out_layout(y), out=out_layout(host))
            np.testing.assert_array_equal(out.copy_to_host(), host)
            view, same = out_layout(out), out_layout(host)
            view += 3
            same += 3
            view *= view
            same *= same
            np.testing.assert_array_equal(out.copy_to_host(), host)
            np.subtract(2, out, out=out)
            np.subtract(2, host, out=host)
            np.add(out.T, out, out=out)  # elements that others need
            np.add(host.T.copy(), host, out=host)
            np.testing.assert_array_equal(out.copy_to_host(), host)


def test_parts_that_the_program_keeps(device):
    a = np.arange(8, dtype=np.float32)
    for keeps in (False, True, False, True):
        x, y = cuda.to_device(a), cuda.to_device(a + 1)
        part = x * y
        whole = part + x
        if not keeps:
            del part
        np.testing.assert_array_equal(whole.copy_to_host(), a * (a + 1) + a)
        if keeps:
            x[...] = 0
            np.testing.assert_array_equal(part.copy_to_host(), a * (a + 1))


def test_parts_that_come_twice(device):
    a = np.arange(8, dtype=np.float32)
    for _ in range(2):
        x, y = cuda.to_device(a), cuda.to_device(a + 1)
        shared = x * 2
        np.testing.assert_array_equal((shared + shared * y).copy_to_host(), a * 2 + a * 2 * (a + 1))
        np.testing.assert_array_equal((x * 2 + (x * 2) * y).copy_to_host(), a * 2 + a * 2 * (a + 1))
        np.testing.assert_array_equal((x * 2 + (y * 2) * y).copy_to_host(), a * 2 + (a + 1) * 2 * (a + 1))


def test_numbers_and_arrays_in_either_order(device):
    a = np.arange(1, 9, dtype=np.float32)
    for number in (2, 3.5, np.float32(4), 2):
        x = cuda.to_device(a)
        np.testing.assert_array_equal((x - number).copy_to_host(), a - number)
        np.testing.assert_array_equal((number - x).copy_to_host(), number - a)
        np.testing.assert_array_equal(np.where(x > number, x, number).copy_to_host(), np.where(a > number, a, number))
        np.testing.assert_array_equal(np.where(x > number, number, x).copy_to_host(), np.where(a > number, number, a))


def test_contexts_in_turns(device):
    here, there = cuda.current_context(), Context.wrap(native_context(device))
    a = np.arange(8, dtype=np.float32)
    for n in range(3):
        for context in (here, there):
            x = to_device(a + n, context=context)
            found = x * x + 1
            assert found.context is context
            np.testing.assert_array_equal(found.copy_to_host(), (a + n) ** 2 + 1)
            assert float(x.sum()) == float((a + n).sum())


def test_reductions_of_what_lies_otherwise(device):
    host = HOST.astype(np.float32)
    for _ in range(2):
        for kind in (np.float32, np.int32, np.bool_):
            own = (host > 9) if kind is np.bool_ else host.astype(kind)
            x = cuda.to_device(own)
            for layout in LAYOUTS[:5]:
                for axis in (None, 0, -1):
                    np.testing.assert_allclose(layout(x).sum(axis).copy_to_host(), layout(own).sum(axis), rtol=1e-6)
                    np.testing.assert_array_equal(layout(x).max(axis).copy_to_host(), layout(own).max(axis))
            np.testing.assert_allclose(x.mean().copy_to_host(), own.mean(), rtol=1e-6)


def test_writes_do_not_overtake_expressions_of_threads(device):
    """What was written when an expression was made is what it is computed of, whoever computes it."""
    wrong = []
    gc.collect()

    def work(number):
        for n in range(30):
            x = cuda.to_device(np.full(64, number + n, np.float32))
            found = [x * 2 + k for k in range(3)]
            x[...] = found[0]
            if any(f.copy_to_host()[0] != 2 * (number + n) + k for k, f in enumerate(found)):
                wrong.append((number, n))
            if x.copy_to_host()[5] != 2 * (number + n):
                wrong.append((number, n))

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_streams_of_arrays(device):
    stream = cuda.stream()
    a = np.arange(8, dtype=np.float32)
    for _ in range(2):
        x, y = cuda.to_device(a), cuda.to_device(a).bind(stream)
        np.testing.assert_array_equal((x + x * 2).copy_to_host(), a * 3)
        np.testing.assert_array_equal((y + y * 2).copy_to_host(), a * 3)
        np.testing.assert_array_equal((x + y * 2).copy_to_host(), a * 3)


def test_recorded_and_made_again(device):
    a = np.arange(8, dtype=np.float32)
    x, y = cuda.to_device(a), cuda.to_device(a)
    y *= 2  # the launches are known before
    y += x
    wanted = a * 3
    with cuda.graph() as graph:
        y *= 2
        y += x
    wanted = wanted * 2 + a
    np.testing.assert_array_equal(y.copy_to_host(), wanted)
    graph.launch()
    np.testing.assert_array_equal(y.copy_to_host(), wanted * 2 + a)
