"""Counts of random kernels' work are those of plain Python, which counts while it runs them."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, note
from hypothesis import strategies as st
from random_work import SIZE, programs, work_in_python

from portagpu import cuda

THREADS = 5


@given(text=programs(), data=st.lists(st.integers(-3, 3), min_size=SIZE, max_size=SIZE))
def test_random_kernels(device, text, data):
    note(text)
    x, y = np.array(data, np.float32), np.zeros(THREADS, np.float32)
    expected, (read_x, read_y) = work_in_python(text, x, y, THREADS)
    scope = {"cuda": cuda, "np": np, "math": math}
    exec(text, scope)
    work = scope["kernel"][1, 8].count_work(x, y)
    found = work.operations.get("float32", {}) | {"loaded": work.memory.loaded, "stored": work.memory.stored}
    assert {kind: n for kind, n in found.items() if n} == {kind: n for kind, n in expected.items() if n}
    assert work.touched.read == 4 * (len(read_x.read) + len(read_y.read))
    assert work.touched.written == 4 * len(read_y.written)
