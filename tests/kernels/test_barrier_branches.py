"""Many branches around barriers: what a compiler may copy for each one is taken apart before."""

# ruff: noqa: SIM102 - branches in branches are what is tested

from __future__ import annotations

import re

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device import DeviceRecord


@cuda.jit
def unrolled_sum(x, sums):
    """CUDA's classic reduction: the block's width chooses the steps."""
    tile = cuda.shared.array(1024, np.int32)
    t, width = cuda.threadIdx.x, cuda.blockDim.x
    i = cuda.grid(1)
    tile[t] = x[i] if i < x.size else 0
    cuda.syncthreads()
    if width >= 1024:
        if t < 512:
            tile[t] += tile[t + 512]
        cuda.syncthreads()
    if width >= 512:
        if t < 256:
            tile[t] += tile[t + 256]
        cuda.syncthreads()
    if width >= 256:
        if t < 128:
            tile[t] += tile[t + 128]
        cuda.syncthreads()
    if width >= 128:
        if t < 64:
            tile[t] += tile[t + 64]
        cuda.syncthreads()
    if width >= 64:
        if t < 32:
            tile[t] += tile[t + 32]
            cuda.syncthreads()
    if width >= 32:
        if t < 16:
            tile[t] += tile[t + 16]
            cuda.syncthreads()
    if width >= 16:
        if t < 8:
            tile[t] += tile[t + 8]
            cuda.syncthreads()
    if width >= 8:
        if t < 4:
            tile[t] += tile[t + 4]
            cuda.syncthreads()
    if width >= 4:
        if t < 2:
            tile[t] += tile[t + 2]
            cuda.syncthreads()
    if width >= 2:
        if t < 1:
            tile[t] += tile[t + 1]
            cuda.syncthreads()
    if t == 0:
        sums[cuda.blockIdx.x] = tile[0]


@pytest.mark.parametrize("width", (1, 2, 16, 64, 128, 1024))
def test_the_unrolled_reduction(device: DeviceRecord, width: int) -> None:
    x = np.arange(2000, dtype=np.int32)
    sums = np.zeros(-(-x.size // width), np.int32)
    unrolled_sum[sums.size, width](x, sums)
    np.testing.assert_array_equal(sums, np.add.reduceat(x, np.arange(0, x.size, width)))


@cuda.jit
def chosen_steps(x, out, mode, rounds):
    """Uniform branches of every shape: alternatives, nested, with values that live on, with a loop inside."""
    tile = cuda.shared.array(64, np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    seen = np.int64(t)
    if mode == 0:
        cuda.syncthreads()
        seen = tile[63 - t]
    elif mode == 1:
        cuda.syncthreads()
        seen = tile[t ^ 1]
        if rounds > 1:
            cuda.syncthreads()
            tile[t] = 2 * seen
            cuda.syncthreads()
            seen = tile[63 - t]
        else:
            cuda.syncthreads()
            tile[t] = 3 * seen
    elif mode == 2:
        for k in range(rounds):
            cuda.syncthreads()
            held = tile[(t + 1) % 64]
            cuda.syncthreads()
            tile[t] = held + k
        seen = tile[t]
    else:
        seen = -seen
    cuda.syncthreads()
    if rounds > 2:
        tile[t] = seen
        cuda.syncthreads()
        seen += tile[(t + 5) % 64]
    if mode > 2 and x[0] > 100:
        return
    out[t] = seen


def _chosen_steps(x: np.ndarray, mode: int, rounds: int) -> np.ndarray:
    tile, seen = x.copy(), np.arange(64)
    if mode == 0:
        seen = tile[::-1]
    elif mode == 1:
        seen = tile[np.arange(64) ^ 1]
        if rounds > 1:
            seen = (2 * seen)[::-1]
    elif mode == 2:
        for k in range(rounds):
            tile = np.roll(tile, -1) + k
        seen = tile
    else:
        seen = -seen
    return seen + np.roll(seen, -5) if rounds > 2 else seen


@pytest.mark.parametrize("mode", (0, 1, 2, 3))
@pytest.mark.parametrize("rounds", (0, 1, 2, 5))
def test_branches_of_every_shape(device: DeviceRecord, mode: int, rounds: int) -> None:
    x = np.arange(64, dtype=np.int64) ** 2
    out = np.zeros(64, np.int64)
    chosen_steps[1, 64](x, out, mode, rounds)
    np.testing.assert_array_equal(out, _chosen_steps(x, mode, rounds))


@cuda.jit
def three_branches(x, n):
    t = cuda.threadIdx.x
    if n > 1:
        x[t] += 1
        cuda.syncthreads()
    if n > 2:
        x[t] += x[t ^ 1]
        cuda.syncthreads()
    if n > 3:
        x[t] += 1
        cuda.syncthreads()


def test_no_barrier_is_left_in_a_branch_where_that_matters(device: DeviceRecord) -> None:
    x = np.ones(2, np.int64)
    three_branches[1, 2](x, 2)
    np.testing.assert_array_equal(x, [2, 2])
    (text,) = three_branches.inspect_opencl().values()
    kernel = text[text.index("__kernel") :]
    inside = re.findall(r"^ {8,}barrier\(", kernel, re.MULTILINE)
    assert bool(inside) == (device.capabilities.barrier_branches == 0)
