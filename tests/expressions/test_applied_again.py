"""Functions of elements that are applied again and again, to arrays that are alike, the same, or something else."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.errors import ClosedError, DTypeError, ShapeError

pytestmark = pytest.mark.one_device(fast=True)

VALUES = np.random.default_rng(3).integers(1, 100, (6, 8))
LAYOUTS = [
    lambda x: x,
    lambda x: x[1:, 2:],
    lambda x: x[::2, ::-2],
    lambda x: x.T,
    lambda x: x[0],
    lambda x: x[:1],
    lambda x: x[2:3, 3:4],
    lambda x: x[:0],
]
FUNCTIONS = [np.add, np.subtract, np.true_divide, np.maximum, np.less, np.negative, np.sqrt, np.isfinite]
NUMBERS = [2, True, 0.5, -1, 2.0, np.float32(3), np.float64(0.25), np.int8(4), 1 + 2j]
DTYPES = [np.float32, np.float64, np.int32, np.uint8, np.complex64]

operands = st.one_of(st.tuples(st.integers(0, 5), st.sampled_from(LAYOUTS)), st.sampled_from(NUMBERS))
calls = st.tuples(st.sampled_from(FUNCTIONS), operands, operands, st.sampled_from(["new", "out", "in place", "chain"]))


def same(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert found.dtype == wanted.dtype


@given(st.lists(calls, min_size=2, max_size=6), st.lists(st.sampled_from(DTYPES), min_size=3, max_size=3))
def test_in_turns(device, calls, dtypes):
    """Three arrays and three that lie like them, in all roles; each list of calls twice."""
    host = [VALUES.astype(dtype) + n for n in range(2) for dtype in dtypes]
    there = [cuda.to_device(x) for x in host]
    for function, first, second, how in calls * 2:
        chosen = [first, second][: function.nin]
        mine = [x[1](there[x[0]]) if isinstance(x, tuple) else x for x in chosen]
        theirs = [x[1](host[x[0]]) if isinstance(x, tuple) else x for x in chosen]
        if not any(isinstance(x, tuple) for x in chosen):
            continue
        with np.errstate(all="ignore"):
            try:
                wanted = function(*theirs)
            except (ValueError, TypeError, OverflowError):
                with pytest.raises((ShapeError, DTypeError)):
                    function(*mine)
                continue
            if how == "new":
                same(function(*mine).copy_to_host(), wanted)
            elif how == "chain":
                same((function(*mine) + mine[0]).copy_to_host(), wanted + theirs[0])
            else:
                out, target = (
                    (mine[0], theirs[0]) if how == "in place" else (cuda.to_device(wanted), np.empty_like(wanted))
                )
                try:
                    function(*theirs, out=target)
                except (ValueError, TypeError, AttributeError):
                    with pytest.raises((ShapeError, DTypeError, TypeError, ValueError)):
                        function(*mine, out=out)
                    continue
                function(*mine, out=out)
                same(out.copy_to_host(), target)
    for x, y in zip(there, host, strict=True):
        same(x.copy_to_host(), y)


def test_numbers_beyond_a_dtype_raise_each_time(device):
    x = cuda.to_device(VALUES.astype(np.uint8))
    for number in (3, 3, 300, 3, -1):
        if 0 <= number < 256:
            same((x + number).copy_to_host(), VALUES.astype(np.uint8) + np.uint8(number))
            assert not (x == number).copy_to_host()[number != VALUES].any()
        else:
            with pytest.raises(DTypeError, match="out of bounds"):
                x + number
            assert (x != number).copy_to_host().all()  # of comparisons it is known


def test_results_are_apart_and_operands_may_change(device):
    x, y = (cuda.to_device(VALUES.astype(np.float32)) for _ in range(2))
    found = []
    for n in range(4):
        found.append(x + y)
        x[...] = n  # what is put off has read it
    for n, each in enumerate(found):
        same(each.copy_to_host(), VALUES.astype(np.float32) + np.float32(VALUES if n == 0 else n - 1))


def test_arrays_that_are_closed_or_read_only(device):
    x, y = (cuda.to_device(VALUES.astype(np.float32)) for _ in range(2))
    for _ in range(3):
        (x + y).copy_to_host()
        x += y
    kept = x.as_readonly()
    with pytest.raises(TypeError):
        kept += y
    same((kept + y).copy_to_host(), (x + y).copy_to_host())
    x.close()
    with pytest.raises(ClosedError):
        (x + y).copy_to_host()
    with pytest.raises(ClosedError):
        x += y
    with pytest.raises(ClosedError):
        y += x


RECORDS = np.dtype([("small", np.uint8), ("x", np.float32)])
TARGETS = [lambda x: x[1:9], lambda x: x[1:9][::-1], lambda x: x[2:18:2]]


@pytest.mark.parametrize("target", TARGETS)
def test_into_arrays_that_overlap_operands_first_and_then_not(device, target):
    """What was computed to other memory, since the operand is there, too, says nothing of launches that write there."""
    host = np.arange(20, dtype=np.float32)
    for apart in (False, False, False, True, True):
        x, wanted = host.copy(), host.copy()
        mine = cuda.to_device(x)
        operand = cuda.to_device(x) if apart else mine
        np.add(x[:8], 3, out=target(wanted))
        np.add(operand[:8], 3, out=target(mine))
        same(mine.copy_to_host(), wanted)


def test_into_fields_of_records(device):
    values = VALUES.reshape(-1)[:10].astype(np.float32)
    for n in range(5):
        records = cuda.to_device(np.zeros(10, RECORDS))
        np.add(cuda.to_device(values), n, out=records["x"])
        found = records.copy_to_host()
        same(found["x"], values + np.float32(n))
        assert not found["small"].any()


def test_other_streams(device):
    """Operands bound to streams, current streams, and results that are read in another."""
    x, y = (cuda.to_device(VALUES.astype(np.float32)) for _ in range(2))
    streams = [cuda.stream(), cuda.stream()]
    for n in range(4):
        with streams[n % 2]:
            z = x + y
            y += 1
        bound = x.bind(streams[1])
        bound += z
        same((z + x).copy_to_host(), (z.copy_to_host() + x.copy_to_host()))
    same(y.copy_to_host(), VALUES.astype(np.float32) + 4)


def test_threads(device):
    """Launches that are kept beside a function take each thread's own arrays."""
    problems = []

    def work(number):
        x = cuda.to_device(np.full((6, 8), number, np.float32))
        total = cuda.to_device(np.zeros((6, 8), np.float32))
        for n in range(60):
            total += x
            one = (x * 2 + n).copy_to_host()
            if not (one == number * 2 + n).all():
                problems.append((number, n, one))
        if not (total.copy_to_host() == number * 60).all():
            problems.append((number, total.copy_to_host()))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems
