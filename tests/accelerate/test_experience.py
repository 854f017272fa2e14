"""What calls really took decides, where it is not what was expected."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import portagpu
from portagpu.accelerate import acceleration
from portagpu.accelerate.experience import Experience
from portagpu.accelerate.rates import Expected, Rates

KEY = ("numpy.matmul, @", "8x8 8x8", "float32")


def told(device=(), numpy=()):
    found = Experience()
    for seconds in (99.0, *device):  # the first one compiled
        found.of_device(KEY, seconds)
    for seconds in numpy:
        found.of_numpy(KEY, seconds)
    return found


def test_a_device_that_is_slower_than_numpy_should_be_is_left():
    assert not told().prefers_numpy(KEY, 1.0)
    assert told([2.5]).prefers_numpy(KEY, 1.0) and not told([2.5]).prefers_numpy(KEY, 3.0)
    assert not told([2.5]).prefers_numpy(("numpy.dot", *KEY[1:]), 1.0)
    # not so far off, it is tried some times
    assert not told([1.5, 1.5]).prefers_numpy(KEY, 1.0) and told([1.5, 1.5, 1.5]).prefers_numpy(KEY, 1.0)
    assert not told([0.5, 0.5, 9.0]).prefers_numpy(KEY, 1.0)  # one that was disturbed


def test_what_numpy_took_counts_more_than_what_it_should_take():
    assert told([2.5], [4.0]).prefers_numpy(KEY, 1.0)  # which one call does not tell
    assert not told([2.5, 2.5, 2.5], [4.0, 4.0, 4.0]).prefers_numpy(KEY, 1.0)
    assert told([2.5, 2.5, 2.5], [4.0, 1.5, 1.5]).prefers_numpy(KEY, 1.0)


def test_the_last_calls_count():
    before = told([2.0] * 9, [3.0] * 9)
    assert not before.prefers_numpy(KEY, 1.0)
    for _ in range(3):
        before.of_device(KEY, 5.0)
    assert before.prefers_numpy(KEY, 1.0)
    for _ in range(3):
        before.of_numpy(KEY, 6.0)
    assert not before.prefers_numpy(KEY, 1.0)


def test_few_kinds_of_calls_are_remembered():
    found = Experience()
    for number in range(5000):
        for _ in range(2):
            found.of_device(("f", str(number), "float32"), 2.5)
    assert not found.prefers_numpy(("f", "0", "float32"), 1.0) and found.prefers_numpy(("f", "4999", "float32"), 1.0)


@pytest.mark.one_device
def test_calls_go_where_they_are_faster(device, monkeypatch):
    """A device that takes longer than it should is tried, then NumPy is; the report says so."""
    monkeypatch.setattr(acceleration, "_experience_of", lambda key: Experience())
    monkeypatch.setattr(Rates, "expected", lambda self, work: Expected(numpy=1e-2, device=1e-3))
    ticks = itertools.count(0.0, 5e-2)  # each clock reading comes 50 ms after the one before
    monkeypatch.setattr(acceleration.time, "perf_counter", lambda: next(ticks))
    a = np.random.default_rng(0).standard_normal((200, 200)).astype(np.float32)
    with portagpu.accelerate(device=device) as block:
        for _ in range(3):
            a @ a
    report = str(block.report())
    assert "NumPy is as fast, by earlier calls" in report
    rows = {row.why: row.calls for row in block.report().left}
    assert rows == {"NumPy is as fast, by earlier calls": 1}
