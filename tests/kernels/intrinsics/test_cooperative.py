"""Cooperative groups: the grid as a group."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelValueError, LaunchConfigError, MissingCapabilityError

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


@cuda.jit
def smooth(x, y, steps):
    """Each step reads what other blocks wrote; every block has its own shared tile and its own number of barriers."""
    tile = cuda.shared.array(32, cuda.float64)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    group = cuda.cg.this_grid()
    for step in range(steps):
        tile[t] = x[i]
        cuda.syncthreads()
        for extra in range(cuda.blockIdx.x):
            if t == 0:
                tile[0] += 1
            cuda.syncthreads()
        first = tile[0]
        y[i] = x[(i + 1) % x.size] + first
        group.sync()
        x[i] = y[i]
        group.sync()


def test_blocks_keep_their_shared_arrays_and_their_barriers(device):
    blocks = 3
    x = np.arange(32.0 * blocks)
    expected = x.copy()
    for _ in range(4):
        first = expected.reshape(blocks, 32)[:, 0] + np.arange(blocks)
        expected = np.roll(expected, -1) + np.repeat(first, 32)
    smooth[blocks, 32](x, np.zeros_like(x), 4)
    np.testing.assert_array_equal(x, expected)


@cuda.jit
def places(out, sizes):
    x, y = cuda.grid(2)
    group = cuda.cg.this_grid()
    width = cuda.gridsize(2)[0]
    extra = cuda.shared.array(0, np.int32)
    here = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
    extra[here] = cuda.blockIdx.y * cuda.gridDim.x + cuda.blockIdx.x
    group.sync()
    out[y, x] = 1000 * extra[here] + 10 * here + cuda.laneid
    if x == 0 and y == 0:
        sizes[0], sizes[1], sizes[2] = width, cuda.gridDim.y, extra.size


def test_places_in_a_grid_of_two_dimensions(device):
    out, sizes = np.zeros((9, 8), np.int64), np.zeros(3, np.int64)
    places[(2, 3), (4, 3), 0, 12 * 4](out, sizes)
    y, x = np.mgrid[:9, :8]
    block, here = y // 3 * 2 + x // 4, y % 3 * 4 + x % 4
    np.testing.assert_array_equal(out, 1000 * block + 10 * here + here % 32)
    assert sizes.tolist() == [8, 3, 12]


@cuda.jit
def leaders_wait(x, total):
    """Only some blocks reach a barrier, others returned; warps shuffle beside it."""
    i = cuda.grid(1)
    group = cuda.cg.this_grid()
    value = x[i]
    for delta in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, delta)
    if cuda.laneid == 0:
        cuda.atomic.add(total, 0, value)
    group.sync()
    if cuda.blockIdx.x > 0:
        return
    cuda.syncthreads()
    if i == 0:
        total[1] = total[0]


def test_warps_and_returns_of_blocks(device):
    x, total = np.arange(256), np.zeros(2, np.int64)
    leaders_wait[4, 64](x, total)
    assert total.tolist() == [x.sum(), x.sum()]
    if not device.capabilities.cooperative_launch:
        with pytest.raises(KernelValueError, match="whole warps"):
            leaders_wait[4, 60](x, total)


def test_block_votes_need_one_block_where_the_grid_is_one_work_group(device):
    @cuda.jit
    def votes(x):
        cuda.cg.this_grid().sync()
        x[cuda.grid(1)] = cuda.syncthreads_count(cuda.threadIdx.x > 1)

    x = np.zeros(4, np.int32)
    votes[1, 4](x)
    assert x.tolist() == [2, 2, 2, 2]
    if not device.capabilities.cooperative_launch:
        with pytest.raises(MissingCapabilityError, match="syncthreads_count"):
            votes[2, 2](x)


def test_each_grid_has_its_own_specialisation(device):
    for blocks in (1, 2, 4, 2, 1):
        m = np.zeros((3, 8 * blocks), np.int32)
        m[0] = np.arange(m.shape[1])
        rows_in_turn[blocks, 8](m)
        np.testing.assert_array_equal(m[2], m[0] + 2)


@cuda.jit(device=True)
def wait(group):
    group.sync()


@cuda.jit(device=True)
def exchange(x, y):
    """Reads what the next block wrote, by way of dynamic shared memory."""
    group = cuda.cg.this_grid()
    tile = cuda.shared.array(0, np.float64)
    i, t = cuda.grid(1), cuda.threadIdx.x
    tile[t] = x[i]
    cuda.syncthreads()
    y[i] = tile[tile.size - 1 - t]
    wait(group)
    x[i] = y[(i + tile.size) % x.size]


@cuda.jit
def exchanges(x, y, steps):
    for step in range(steps):
        exchange(x, y)
        wait(cuda.cg.this_grid())


def test_device_functions_wait_for_the_grid_and_use_dynamic_shared_memory(device):
    x = np.arange(24.0)
    expected = x.reshape(3, 8)
    for _ in range(3):
        expected = np.roll(expected[:, ::-1], -1, axis=0)
    exchanges[3, 8, 0, 64](x, np.zeros_like(x), 3)
    np.testing.assert_array_equal(x, expected.ravel())
