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


def test_a_device_that_is_slower_than_numpy_should_be_is_left():
    found = Experience()
    found.of_device(KEY, 9.0)  # which compiled
    assert not found.prefers_numpy(KEY, 1.0)
    found.of_device(KEY, 2.0)
    assert found.prefers_numpy(KEY, 1.0) and not found.prefers_numpy(KEY, 3.0)
    assert not found.prefers_numpy(("numpy.dot", *KEY[1:]), 1.0)


def test_what_numpy_took_counts_more_than_what_it_should_take():
    found = Experience()
    for seconds in (9.0, 2.0):
        found.of_device(KEY, seconds)
    found.of_numpy(KEY, 2.5)  # more than was expected: the device was better
    assert not found.prefers_numpy(KEY, 1.0)
    found.of_numpy(KEY, 1.5)
    assert found.prefers_numpy(KEY, 3.0)


def test_few_kinds_of_calls_are_remembered():
    found = Experience()
    for number in range(5000):
        for _ in range(2):
            found.of_device(("f", str(number), "float32"), 2.0)
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
