"""Endless loops that a vote of the warp ends, after some threads of the block have left."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda


@cuda.jit(device=True)
def counted(x, limit):
    n = np.int32(0)
    mask = cuda.activemask()
    while True:
        finished = n >= limit
        if cuda.all_sync(mask, finished):
            return n
        if not finished:
            x[0] += 1
            n += 1


@pytest.mark.parametrize("here", [3, 32, 40])
def test_loops_without_a_condition(device, here):
    @cuda.jit
    def kernel(x, out, n):
        i = cuda.threadIdx.y
        if i >= n:
            return
        out[i] = counted(x[i:], i + 3)

    x, out = np.zeros(64), np.zeros(64, np.int32)
    kernel[1, (1, 64)](x, out, here)
    expected = np.where(np.arange(64) < here, np.arange(64) + 3, 0)
    np.testing.assert_array_equal(x, expected)
    np.testing.assert_array_equal(out, expected)
