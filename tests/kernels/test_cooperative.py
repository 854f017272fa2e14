"""Cooperative groups: the grid as a group."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import LaunchConfigError

pytestmark = pytest.mark.oclgrind


@cuda.jit
def rows_in_turn(m):
    column = cuda.grid(1)
    group = cuda.cg.this_grid()
    rows, columns = m.shape
    opposite = columns - column - 1
    for row in range(1, rows):
        m[row, column] = m[row - 1, opposite] + 1
        group.sync()


def test_one_block(device):
    m = np.zeros((9, 32), np.int32)
    m[0] = np.arange(32)
    expected = m.copy()
    for row in range(1, 9):
        expected[row] = expected[row - 1, ::-1] + 1
    rows_in_turn[1, 32](m)
    np.testing.assert_array_equal(m, expected)


def test_as_many_blocks_as_run_at_once(device):
    m = np.zeros((5, 64), np.int32)
    rows_in_turn.specialize(m)
    (overload,) = (o for o in rows_in_turn.overloads.values() if o.compiled.context.device == device)
    assert overload.cooperative
    blocks = overload.max_cooperative_grid_blocks(32)
    assert blocks >= 1
    with pytest.raises(LaunchConfigError, match="whole grid"):
        rows_in_turn[blocks + 1, 32](np.zeros((2, 32 * (blocks + 1)), np.int32))
    m = np.zeros((6, 32 * blocks), np.int32)
    m[0] = np.arange(m.shape[1])
    expected = m.copy()
    for row in range(1, 6):
        expected[row] = expected[row - 1, ::-1] + 1
    rows_in_turn[blocks, 32](m)
    np.testing.assert_array_equal(m, expected)


def test_other_kernels_are_not_cooperative(device):
    @cuda.jit
    def kernel(x):
        x[0] = cuda.grid(1)

    kernel[1, 1](np.zeros(1, np.int32))
    assert not any(o.cooperative for o in kernel.overloads.values())
