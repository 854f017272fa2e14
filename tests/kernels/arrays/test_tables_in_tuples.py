"""Constant tuples of tuples as tables, indexed at run time."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from portagpu import cuda, errors

pytestmark = pytest.mark.one_device

TABLE = ((np.float32(0.0), np.float32(0.5)), (np.float32(1.5), np.float32(2.0)), (np.float32(3.0), np.float32(4.5)))
Pair = namedtuple("Pair", "low high")
PAIRS = (Pair(1, 2), Pair(3, 4))
UNEVEN = ((1, 2), (3,))


def test_rows_are_chosen_at_run_time(device):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        row = TABLE[i]
        for k in range(len(row)):
            out[i, k] = row[k]
        out[i, 2] = TABLE[i - 3][1] + PAIRS[i % 2].high

    out = np.zeros((3, 3), np.float32)
    kernel[1, 3](out)
    np.testing.assert_array_equal(out[:, :2], np.array(TABLE))
    assert list(out[:, 2]) == [2.5, 6.0, 6.5]


def test_uneven_rows_are_refused(device):
    @cuda.jit
    def kernel(out):
        out[0] = UNEVEN[cuda.grid(1)][0]

    with pytest.raises(errors.KernelTypeError, match="no common type"):
        kernel[1, 1](np.zeros(1))
