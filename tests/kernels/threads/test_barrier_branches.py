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
        other = x[t ^ 1]
        cuda.syncthreads()
        x[t] += other
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
    assert bool(inside) == device.capabilities.conditional_barriers


@cuda.jit
def leaving_together(x, out, n, mode):
    tile = cuda.shared.array(32, dtype=np.int64)
    t = cuda.threadIdx.x
    tile[t] = x[t]
    cuda.syncthreads()
    for k in range(n):
        if k == 1 and mode & 1:
            continue
        if x[k] < 0:
            if mode & 2:
                out[t] = -1 - k
                return
            break
        held = tile[t ^ 1]
        cuda.syncthreads()
        tile[t] = held + k
        cuda.syncthreads()
        if k == 3 and mode & 4:
            break
    else:
        tile[t] += 1000
    rounds = 0
    while True:
        rounds += 1
        cuda.syncthreads()
        if t == 0:
            tile[0] += 1
        cuda.syncthreads()
        seen = tile[0]
        cuda.syncthreads()
        if rounds > 9:
            return
        if seen % 7 == 0:
            if mode & 8:
                tile[t] -= 1
                cuda.syncthreads()
                continue
            break
    out[t] = tile[t] + rounds


def _leaving_together(x: np.ndarray, n: int, mode: int) -> np.ndarray:
    tile = x.copy()
    for k in range(n):
        if k == 1 and mode & 1:
            continue
        if x[k] < 0:
            if mode & 2:
                return np.full(32, -1 - k)
            break
        tile = tile[np.arange(32) ^ 1] + k
        if k == 3 and mode & 4:
            break
    else:
        tile = tile + 1000
    rounds = 0
    while True:
        rounds += 1
        tile[0] += 1
        if rounds > 9:
            return np.zeros(32, np.int64)
        if tile[0] % 7 == 0:
            if mode & 8:
                tile -= 1
                continue
            break
    return tile + rounds


@pytest.mark.parametrize("mode", range(16))
@pytest.mark.parametrize(("n", "stop"), ((0, 31), (2, 31), (6, 31), (8, 5)))
def test_blocks_that_leave_loops_and_kernels_together(device: DeviceRecord, mode: int, n: int, stop: int) -> None:
    x = np.arange(32, dtype=np.int64) ** 2
    x[stop] = -5
    out = np.zeros(32, np.int64)
    leaving_together[1, 32](x, out, n, mode)
    np.testing.assert_array_equal(out, _leaving_together(x, n, mode))


@cuda.jit(device=True)
def total(tile, t, n):
    if n == 0:
        return -1
    step = n // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    return tile[0]


@cuda.jit
def totals_of_chosen_blocks(x, out, n):
    tile = cuda.shared.array(32, dtype=np.int64)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    if x[b, 0] == 0:
        out[b, t] = -7
        return
    tile[t] = x[b, t]
    cuda.syncthreads()
    if b % 2 == 0:
        s = total(tile, t, n)
    else:
        s = total(tile, t, n // 2)
        cuda.syncthreads()
        if x[b, 1] > 3:
            tile[t] = s
            cuda.syncthreads()
            s = total(tile, t, n)
    cuda.syncthreads()
    tile[t] = s
    if t == 31 and b != 5:
        return
    for k in range(n - 28, 0, -1):
        cuda.syncthreads()
        s += tile[(t + k) % n]
    out[b, t] = s


def test_functions_with_barriers_that_only_some_blocks_call(device: DeviceRecord) -> None:
    rng = np.random.default_rng(3)
    x = rng.integers(-9, 9, (8, 32))
    x[2, 0], x[3, 0] = 0, 0
    x[1, 1], x[7, 1] = 9, 1
    expected = np.zeros((8, 32), np.int64)
    for b in range(8):
        if x[b, 0] == 0:
            expected[b] = -7
            continue
        if b % 2 == 0:
            s = x[b].sum()
        else:
            s = x[b, :16].sum()
            s = 32 * s if x[b, 1] > 3 else s
        tile = np.full(32, s)
        found = s + 4 * tile
        if b != 5:
            found[31] = 0
        expected[b] = found
    out = np.zeros((8, 32), np.int64)
    totals_of_chosen_blocks[8, 32](x, out, 32)
    np.testing.assert_array_equal(out, expected)
