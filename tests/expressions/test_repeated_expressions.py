"""Expressions whose launches are looked up: others of the same shapes are computed as what they are."""

from __future__ import annotations

import gc
import itertools
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_contexts import native_context

from portagpu import cuda, errors, xp
from portagpu.expressions.program import Program
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


@pytest.fixture
def taken_apart(monkeypatch):
    """Expressions that were taken apart, since no launch was kept for them."""
    found = []
    begin = Program.__init__

    def counted(self, root, *args, **options):
        found.append(root)
        begin(self, root, *args, **options)

    monkeypatch.setattr(Program, "__init__", counted)
    return found


def steps_of_a_diamond(x, y):
    """Arrays that each are made of those before, the last one of all."""
    first = x * y
    second = first + 1
    third = second * first
    return first, second, third, third - second + x


@pytest.mark.parametrize("rolls", [False, True])
def test_what_the_program_keeps_on_the_way_is_stored_by_the_same_launch(device, taken_apart, rolls):
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    every = [set(some) for n in range(4) for some in itertools.combinations(range(3), n)]
    for turn in range(3):
        for keeps in every:
            x, y = cuda.to_device(a + turn), cuda.to_device(a - 2)
            host = (a + turn, a - 2)
            if rolls:
                x, host = xp.roll(x, turn, axis=1), (np.roll(host[0], turn, axis=1), host[1])
            made = list(steps_of_a_diamond(x, y))
            wanted = steps_of_a_diamond(*host)
            last = made.pop()
            made = [part if n in keeps else None for n, part in enumerate(made)]
            if turn and not rolls:
                taken_apart.clear()
            np.testing.assert_array_equal(last.copy_to_host(), wanted[-1])
            for n in keeps:
                assert made[n].deferred is None
                np.testing.assert_array_equal(made[n].copy_to_host(), wanted[n])
        assert turn == 0 or rolls or not taken_apart


def test_rolled_arrays_by_other_shifts_in_turns(device, taken_apart):
    a = np.arange(24, dtype=np.float32).reshape(4, 6)
    shifts = [(1, 0), (-1, 0), (2, 1), (1, 0), (3, 1)]
    for turn in range(2):
        for shift, axis in shifts:
            x, y = cuda.to_device(a + turn), cuda.to_device(a)
            host = a + turn
            found = xp.roll(x, shift, axis=axis) + xp.roll(x, -shift, axis=axis) - y * x
            alone = xp.roll(y, shift, axis=axis)
            if turn:
                taken_apart.clear()
            wanted = np.roll(host, shift, axis) + np.roll(host, -shift, axis) - a * host
            np.testing.assert_array_equal(found.copy_to_host(), wanted)
            np.testing.assert_array_equal(alone.copy_to_host(), np.roll(a, shift, axis))
            assert not (turn and taken_apart)


def test_numbers_of_the_device_and_reductions_of_expressions(device, taken_apart):
    """As in conjugate gradients: quotients of sums are put off, and parts of what comes next."""
    a = np.arange(1, 25, dtype=np.float32).reshape(4, 6)
    for turn in range(3):
        x, y = cuda.to_device(a + turn), cuda.to_device(a)
        host = a + turn
        if turn:
            taken_apart.clear()
        quotient = xp.sum(x * y) / xp.sum(y * y + x)
        found = x + quotient * y
        rest = xp.max(found * 2, axis=0)
        alpha = (host * a).sum() / (a * a + host).sum()
        np.testing.assert_allclose(rest.copy_to_host(), ((host + alpha * a) * 2).max(0), rtol=1e-5)
        np.testing.assert_allclose(found.copy_to_host(), host + alpha * a, rtol=1e-5)
        np.testing.assert_allclose(float(quotient), alpha, rtol=1e-5)
        assert not (turn and taken_apart)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_of_rolled_arrays(device, axis):
    a = np.arange(24, dtype=np.float32).reshape(4, 6) % 7
    for shift in (1, -2, 1):
        x = cuda.to_device(a)
        wanted = np.roll(a, shift, 0)
        np.testing.assert_array_equal(xp.roll(x, shift, axis=0).sum(axis).copy_to_host(), wanted.sum(axis))
        np.testing.assert_array_equal(np.roll(x, shift, 0).argmax(axis).copy_to_host(), wanted.argmax(axis))
        named = np.roll(x > 3, shift, 0)
        np.testing.assert_array_equal(named.any(axis).copy_to_host(), (wanted > 3).any(axis))
        np.testing.assert_array_equal(named.copy_to_host(), wanted > 3)
        np.testing.assert_array_equal((np.roll(x, shift, 0) * 2).max(axis).copy_to_host(), (wanted * 2).max(axis))


VALUES = {
    "one element": lambda x, xp: x[:1, :1] * 2,
    "a row": lambda x, xp: x[1] * 2 + 1,
    "a column": lambda x, xp: x[:, 2:3] - 1,
    "rolled": lambda x, xp: xp.roll(x, 1, 0),
    "rolled and more": lambda x, xp: xp.roll(x, -1, 1) * 3,
    "all": lambda x, xp: x * 2,
    "turned": lambda x, xp: (x + 1)[::-1],
    "a number": lambda x, xp: x[0, 0, ...] * 2,
}


@pytest.mark.parametrize("kind", VALUES)
def test_values_are_those_before_they_are_written_over(device, kind):
    """What is put off and reads an array is computed before that is written, also where it is what is written."""
    a = np.arange(1, 25, dtype=np.float32).reshape(4, 6)
    writes = {
        "assigned": lambda x, y: x.__setitem__(..., y),
        "to a part": lambda x, y: x.__setitem__(np.s_[:, :], y),
        "copied": lambda x, y: np.copyto(x, y),
        "added": lambda x, y: np.add(x, y, out=x),
        "in place": lambda x, y: x.__imul__(y),
    }
    for _ in range(2):
        for name, write in writes.items():
            x, host = cuda.to_device(a), a.copy()
            y, wanted = VALUES[kind](x, np), VALUES[kind](host, np).copy()
            write(x, y)
            write(host, wanted)
            np.testing.assert_array_equal(y.copy_to_host(), wanted, err_msg=name)
            np.testing.assert_array_equal(x.copy_to_host(), host, err_msg=name)


def test_reductions_while_other_threads_write(device):
    """Another thread's launch computes what this one is about to reduce."""
    a = np.ones(64, np.float32)
    interval, wrong = sys.getswitchinterval(), []
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(60):
            x = cuda.to_device(a)
            found = x + np.float32(1)
            go = threading.Barrier(2)
            other = threading.Thread(target=lambda x=x, go=go: (go.wait(), x.fill(0)))
            other.start()
            go.wait()
            wrong += [] if float(found.sum()) == 128 else [found]
            other.join()
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


def test_reductions_that_come_twice(device):
    """An expression is computed by its first reduction, and stored for the second."""
    a = np.arange(8, dtype=np.float32)
    for _ in range(3):
        x = cuda.to_device(a)
        squares = x * x
        assert float(squares.sum()) == float((a * a).sum())
        assert float(squares.max()) == 49
        assert squares.deferred is None
        np.testing.assert_array_equal(squares.copy_to_host(), a * a)


def test_views_that_were_written_are_not_written_again(device):
    """``x[k] += y`` is three steps; the last one has nothing to do, unless another array is assigned."""
    a = np.arange(36, dtype=np.float32).reshape(6, 6)
    for _ in range(2):
        x, host = cuda.to_device(a), a.copy()
        x[1:, :] -= x[:-1, :]
        host[1:, :] -= host[:-1, :].copy()
        part, same = x[1:3], host[1:3].copy()
        x[1:3] = part
        x[2:4] = part  # the same extent elsewhere
        host[2:4] = same
        x[:, 1:3] = x[:, 1:3].T[::-1, ::-1].T
        host[:, 1:3] = host[:, 1:3].T[::-1, ::-1].T.copy()
        np.testing.assert_array_equal(x.copy_to_host(), host)
        shown = x.view(np.int32)
        shown[1:3] = x[1:3]  # converted
        host.view(np.int32)[1:3] = host[1:3].copy()
        np.testing.assert_array_equal(x.copy_to_host(), host)
        fixed = x.broadcast_to((2, 6, 6))
        with pytest.raises(errors.ArgumentTypeError, match="read-only"):
            fixed[1:] = fixed[1:]


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
