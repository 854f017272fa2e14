"""Barriers behind early returns and divergent branches: every thread of a block must reach them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from portagpu import cuda

BLOCK = 32


@cuda.jit
def reverse_in_block(x, y):
    tile = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= x.size:
        return
    tile[t] = x[i]
    cuda.syncthreads()
    last = min(BLOCK, x.size - cuda.blockIdx.x * BLOCK) - 1
    y[i] = tile[last - t]


@pytest.mark.oclgrind
@pytest.mark.parametrize("n", [1, 31, 32, 33, 100])
def test_return_before_a_barrier(device, n):
    x = np.arange(n, dtype=np.float32)
    y = np.zeros(n + 64, np.float32)
    reverse_in_block[-(-n // BLOCK), BLOCK](x, y[:n])
    expected = np.concatenate([x[k : k + BLOCK][::-1] for k in range(0, n, BLOCK)])
    np.testing.assert_array_equal(y[:n], expected)
    assert not y[n:].any()


@cuda.jit
def block_sums(data, sums, n):
    tile = cuda.shared.array(BLOCK, np.int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = 0
    if i < n:
        tile[t] = data[i]
        cuda.syncthreads()
        s = cuda.blockDim.x // 2
        while s > 0:
            if t < s:
                tile[t] += tile[t + s]
            s //= 2
            cuda.syncthreads()
        if t == 0:
            sums[cuda.blockIdx.x] = tile[0]


@pytest.mark.oclgrind
@pytest.mark.parametrize("n", [5, 32, 70])
def test_barriers_inside_a_divergent_branch(device, n):
    data = np.arange(1, n + 1, dtype=np.int64)
    sums = np.zeros(-(-n // BLOCK), np.int64)
    block_sums[len(sums), BLOCK](data, sums, n)
    expected = [data[k : k + BLOCK].sum() for k in range(0, n, BLOCK)]
    np.testing.assert_array_equal(sums, expected)


@cuda.jit
def diffusion(buf, steps, k):
    """The heat equation of the CUDA-Python guide, in one block."""
    i = cuda.grid(1)
    if i >= len(buf):
        return
    following = 0
    for step in range(steps):
        if step % 2 == 0:
            data, other = buf, buf
        else:
            data, other = buf, buf
        current = data[i]
        if i == 0:
            following = current + k * (data[i + 1] - current)
        elif i == len(data) - 1:
            following = current + k * (data[i - 1] - current)
        else:
            following = current + k * (data[i - 1] - 2 * current + data[i + 1])
        cuda.syncthreads()
        other[i] = following
        cuda.syncthreads()


@pytest.mark.oclgrind
def test_barriers_in_a_loop_after_a_return(device):
    buf = np.zeros(21)
    buf[10] = 100.0
    expected = buf.copy()
    for _ in range(9):
        padded = np.concatenate([expected[:1], expected, expected[-1:]])
        expected = expected + 0.25 * (padded[:-2] - 2 * expected + padded[2:])
    diffusion[1, 32](buf, 9, 0.25)
    np.testing.assert_allclose(buf, expected, rtol=1e-12, atol=1e-12)


@cuda.jit(device=True)
def block_max(value, tile):
    t = cuda.threadIdx.x
    tile[t] = value
    cuda.syncthreads()
    s = BLOCK // 2
    while s > 0:
        if t < s:
            tile[t] = max(tile[t], tile[t + s])
        cuda.syncthreads()
        s >>= 1
    return tile[0]


@cuda.jit
def normalise(x, y, n):
    tile = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tile[t] = -1e30
    cuda.syncthreads()
    if i >= n:
        return
    y[i] = x[i] / block_max(x[i], tile)


@pytest.mark.oclgrind
@pytest.mark.parametrize("n", [7, 32, 50])
def test_a_device_function_with_barriers_behind_a_return(device, n):
    x = np.arange(1, n + 1, dtype=np.float32)
    y = np.zeros_like(x)
    normalise[-(-n // BLOCK), BLOCK](x, y, n)
    expected = np.concatenate([x[k : k + BLOCK] / x[k : k + BLOCK].max() for k in range(0, n, BLOCK)])
    np.testing.assert_allclose(y, expected, rtol=3e-7)


@cuda.jit(device=True)
def neighbour(x, i, tile):
    """A device function that returns early itself."""
    t = cuda.threadIdx.x
    if i >= x.size:
        return -1
    tile[t] = x[i]
    cuda.syncthreads()
    if t + 1 == cuda.blockDim.x or i + 1 == x.size:
        return 0
    return tile[t + 1]


@cuda.jit
def shift(x, y):
    tile = cuda.shared.array(BLOCK, np.int64)
    i = cuda.grid(1)
    value = neighbour(x, i, tile)
    if i < y.size:
        y[i] = value


@pytest.mark.oclgrind
def test_early_return_in_a_device_function(device):
    x = np.arange(40, dtype=np.int64)
    y = np.zeros(64, np.int64)
    shift[2, BLOCK](x, y)
    expected = np.full(64, -1)
    expected[:40] = np.append(x[1:], 0)
    expected[31] = 0
    np.testing.assert_array_equal(y, expected)


@cuda.jit
def votes(x, count, every, some):
    i = cuda.grid(1)
    if i >= x.size:
        return
    c = cuda.syncthreads_count(x[i] > 2)
    a = cuda.syncthreads_and(x[i] >= 0)
    o = cuda.syncthreads_or(x[i] == x.size - 1)
    count[i], every[i], some[i] = c, a, o


@pytest.mark.oclgrind
def test_votes_leave_out_threads_that_have_returned(device):
    x = np.arange(10, dtype=np.int32)
    count, every, some = (np.full(10, -1, np.int32) for _ in range(3))
    votes[1, BLOCK](x, count, every, some)
    assert (count == 7).all()
    assert (every != 0).all()
    assert (some != 0).all()


@cuda.jit
def search(x, found, wanted):
    """Returns from the middle of a loop around a barrier."""
    tile = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    for start in range(0, x.size, BLOCK):
        tile[t] = x[start + t]
        cuda.syncthreads()
        for k in range(BLOCK):
            if tile[k] == wanted + t:
                found[t] = start + k
                return
        cuda.syncthreads()
    found[t] = -1


@pytest.mark.oclgrind
def test_return_from_inside_loops_around_a_barrier(device):
    x = np.random.default_rng(1).permutation(128).astype(np.int32)
    found = np.zeros(BLOCK, np.int32)
    search[1, BLOCK](x, found, 100)
    expected = [int(np.flatnonzero(x == 100 + t)[0]) if 100 + t < 128 else -1 for t in range(BLOCK)]
    # a thread that has left fills its part of the tile no more, so only the first tile is certain for all
    certain = np.array(expected)
    first = (certain >= 0) & (certain < BLOCK)
    np.testing.assert_array_equal(found[first], certain[first])


@cuda.jit
def both_branches(x):
    tile = cuda.shared.array(BLOCK, np.int32)
    t = cuda.threadIdx.x
    if t % 2 == 0:
        tile[t] = t
        cuda.syncthreads()
        x[t] = tile[BLOCK - 2 - t]
    else:
        tile[t] = 100 + t
        cuda.syncthreads()
        x[t] = tile[BLOCK - t]


@pytest.mark.oclgrind
def test_barriers_in_both_branches(device):
    x = np.zeros(BLOCK, np.int32)
    both_branches[1, BLOCK](x)
    expected = [30 - t if t % 2 == 0 else 100 + BLOCK - t for t in range(BLOCK)]
    np.testing.assert_array_equal(x, expected)


@cuda.jit
def row_sums(ptr, data, out, n):
    """One block a row: the return is the same for the whole block, and the bounds come from memory."""
    tile = cuda.shared.array(BLOCK, np.float64)
    row = cuda.blockIdx.x
    if row >= n:
        return
    t = cuda.threadIdx.x
    total = 0.0
    for start in range(ptr[row], ptr[row + 1], BLOCK):
        tile[t] = data[start + t] if start + t < ptr[row + 1] else 0.0
        cuda.syncthreads()
        for k in range(BLOCK):
            total += tile[k]
        cuda.syncthreads()
    if t == 0:
        out[row] = total


@pytest.mark.oclgrind
def test_uniform_returns_stay(device):
    ptr = np.array([0, 3, 3, 70], np.int32)
    data = np.arange(70, dtype=np.float64)
    out = np.full(3, -1.0)
    row_sums[5, BLOCK](ptr, data, out, 3)
    np.testing.assert_array_equal(out, [data[a:b].sum() for a, b in pairwise(ptr)])
    (source,) = row_sums.inspect_opencl().values()
    assert "live" not in source


@cuda.jit
def stop_together(x, rounds):
    """A loop that the block leaves together, by a flag in shared memory, after some threads have returned."""
    done = cuda.shared.array(1, np.int32)
    i = cuda.grid(1)
    if i >= x.size:
        return
    if i == 0:
        done[0] = 0
    cuda.syncthreads()
    step = 0
    while True:
        if done[0] > 0:
            break
        cuda.syncthreads()
        x[i] += 1
        step += 1
        if i == 0 and step == 5:
            done[0] = 1
        cuda.syncthreads()
    rounds[i] = step


@pytest.mark.oclgrind
def test_a_break_from_shared_memory_after_a_return(device):
    x, rounds = np.zeros(20, np.int32), np.zeros(20, np.int32)
    stop_together[1, BLOCK](x, rounds)
    assert (x == 5).all()
    assert (rounds == 5).all()


def test_memory_says_how_often_a_loop_runs_after_a_return(device):
    @cuda.jit
    def counted(x, counts):
        i = cuda.grid(1)
        if i >= x.size:
            return
        for _ in range(counts[cuda.blockIdx.x]):
            x[i] += 1
            cuda.syncthreads()

    x = np.zeros(5)
    counted[1, BLOCK](x, np.array([3], np.int32))
    np.testing.assert_array_equal(x, np.full(5, 3.0))


@cuda.jit
def flagged_steps(x, flag, updates, steps):
    """Only some threads work, in each step twice with a barrier between; one driver then forgot which."""
    i = cuda.grid(1)
    for step in range(steps + 1):
        if i < 5:
            x[i] += 1
        cuda.syncthreads()
        if i < 5 and x[i] > 0:
            flag[0] = 1
        cuda.syncthreads()
        if flag[0] > 0:
            updates[i] += 1
        cuda.syncthreads()


@cuda.jit
def flagged_branch(x, flag, updates, steps):
    i = cuda.grid(1)
    if steps > 1:
        if i < 5:
            x[i] += 1
        cuda.syncthreads()
        if i < 5 and x[i] > 0:
            flag[0] = 1
        cuda.syncthreads()
        if flag[0] > 0:
            updates[i] += 1


@pytest.mark.oclgrind
@pytest.mark.parametrize(("kernel", "rounds"), [(flagged_steps, 3), (flagged_branch, 1)])
def test_conditions_of_threads_cross_barriers(device, kernel, rounds):
    x, flag, updates = np.zeros(8, np.int32), np.zeros(1, np.int32), np.zeros(8, np.int32)
    kernel[1, 8](x, flag, updates, 2)
    assert x.tolist() == [rounds] * 5 + [0] * 3
    assert flag.tolist() == [1]
    assert updates.tolist() == [rounds] * 8


def test_memory_is_read_again_after_a_barrier(device):
    @cuda.jit
    def kernel(x, y):
        i = cuda.grid(1)
        before = x[1]
        cuda.syncthreads()
        if i == 1:
            x[i] = 7
        cuda.syncthreads()
        y[i] = 100 * before + x[1]

    x, y = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    kernel[1, 4](x, y)
    assert y.tolist() == [107] * 4
    (text,) = (t for t in kernel.inspect_opencl().values())
    assert "restrict" not in text.replace("const int* restrict", "")
