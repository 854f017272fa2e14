"""Device functions that return a local array of theirs: it lies in the caller."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda

pytestmark = pytest.mark.one_device

SIZE = 4


@cuda.jit(device=True, inline=True)
def scratch():
    return cuda.local.array(SIZE, np.float32)


@cuda.jit(device=True)
def filled(start, step):
    a = cuda.local.array(SIZE, np.float32)
    for i in range(SIZE):
        a[i] = start + i * step
    return a[1:]


@cuda.jit(device=True)
def both(start):
    """A local array of its own and one that another function returns, and a number."""
    a = scratch()
    for i in range(SIZE):
        a[i] = start
    return a, filled(start, 1), start + 1


def test_each_call_has_its_own(device):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        a, b = scratch(), scratch()
        for k in range(SIZE):
            a[k] = i
            b[k] = 10 * k
        for k in range(SIZE):
            out[i, k] = a[k] + b[k]

    out = np.zeros((8, SIZE), np.float32)
    kernel[2, 4](out)
    np.testing.assert_array_equal(out, np.arange(8)[:, None] + 10.0 * np.arange(SIZE))


def test_views_and_tuples(device):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        a, b, n = both(i)
        c = filled(100, i)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3], out[i, 4] = a[3], b[0], b[2], n, c[-1]
        out[i, 5] = len(c)

    out = np.zeros((4, 6))
    kernel[1, 4](out)
    for i in range(4):
        assert list(out[i]) == [i, i + 1, i + 3, i + 1, 100 + 3 * i, 3]


def test_across_barriers_and_loops(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(8, np.float32)
        held = scratch()
        for k in range(SIZE):
            shared[i] = x[i] + k
            cuda.syncthreads()
            held[k] = shared[(i + 1) % 8]
            cuda.syncthreads()
        total = np.float32(0)
        for k in range(SIZE):
            part = filled(held[k], 0)
            total += part[0] + part[2]
        out[i] = total

    x, out = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    kernel[1, 8](x, out)
    np.testing.assert_array_equal(out, 2 * (4 * np.roll(x, -1) + 6))
