"""Slices as values: captured ones, ``slice(...)`` in kernels, and their parts."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.one_device

HEAD, TAIL, EVERY_OTHER = slice(0, 2), slice(-2, None), slice(None, None, 2)
Parts = namedtuple("Parts", "first second")
PARTS = Parts(slice(0, 3), slice(3, 8))


@cuda.jit(device=True)
def total(x, part):
    s = x.dtype.type(0)
    for value in x[part]:
        s += value
    return s


def test_captured_slices(device):
    @cuda.jit
    def kernel(x, y, out):
        out[0] = total(x, HEAD)
        out[1] = total(x, TAIL)
        out[2] = total(x, EVERY_OTHER)
        out[3] = total(x, PARTS.second)
        y[HEAD, 1] = 5
        y[(slice(2, 4), 0)] = 7
        out[4] = len(x[PARTS.first])

    x, y, out = np.arange(8.0), np.zeros((4, 2)), np.zeros(5)
    kernel[1, 1](x, y, out)
    assert list(out) == [x[HEAD].sum(), x[TAIL].sum(), x[EVERY_OTHER].sum(), x[3:8].sum(), 3]
    expected = np.zeros((4, 2))
    expected[HEAD, 1], expected[2:4, 0] = 5, 7
    np.testing.assert_array_equal(y, expected)


def test_slices_of_numbers_known_at_run_time(device):
    @cuda.jit
    def kernel(x, n, out):
        part = slice(1, n)
        if n > 3:
            part = slice(2, n - 1)
        view = x[part]
        out[0] = len(view)
        out[1] = view[0]
        out[2] = part.start
        out[3] = part.stop
        out[4] = total(x, slice(n))
        for i in range(2):
            part = slice(i, i + 3, 2)
            out[5 + i] = total(x, part)

    x = np.arange(8.0)
    for n in (3, 6):
        out = np.zeros(7)
        kernel[1, 1](x, n, out)
        part = slice(2, n - 1) if n > 3 else slice(1, n)
        held = x[part]
        assert list(out) == [len(held), held[0], part.start, part.stop, x[:n].sum(), x[0:3:2].sum(), x[1:4:2].sum()]


def test_slices_of_shared_memory(device):
    @cuda.jit
    def kernel(out):
        memory = cuda.shared.array(8, np.float32)
        view = memory[PARTS.second]
        i = cuda.threadIdx.x
        memory[i] = i
        cuda.syncthreads()
        if i < 5:
            out[i] = view[4 - i]

    out = np.zeros(5, np.float32)
    kernel[1, 8](out)
    assert list(out) == [7, 6, 5, 4, 3]


def test_slices_that_mean_nothing(device):
    @cuda.jit
    def too_many(x):
        x[slice(0, len(x), 2, 3)] = 1

    @cuda.jit
    def stepping(x, n):
        x[slice(0, 8, n)] = 1

    with pytest.raises(errors.KernelError, match="one to three"):
        too_many[1, 1](np.zeros(8))
    with pytest.raises(errors.KernelValueError, match="step"):
        stepping[1, 1](np.zeros(8), 2)
