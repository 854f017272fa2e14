"""Threads that wait for each other one by one: locks, tickets and turns."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device.capabilities import DeviceType

KEPT = 5


@cuda.jit(device=True)
def acquire(locks, where):
    while cuda.atomic.cas(locks, where, 0, 1) != 0:
        pass
    cuda.threadfence()


@cuda.jit(device=True)
def release(locks, where):
    cuda.threadfence()
    cuda.atomic.exch(locks, where, 0)


@cuda.jit(device=True)
def insert(row, value, k):
    for j in range(len(row) - 1, k, -1):
        row[j] = row[j - 1]
    row[k] = value


@cuda.jit(device=True)
def is_missing(value):
    return not (value <= 0 or value > 0)


@cuda.jit(device=True)
def keep_highest(best, y, x, value):
    """Insert a value into a cell's falling numbers; the place, or -1."""
    if not is_missing(value):
        for k in range(best.shape[2]):
            if is_missing(best[y, x, k]) or value > best[y, x, k]:
                insert(best[y, x], value, k)
                return k
    return -1


@cuda.jit(device=True)
def keep_lowest(best, y, x, value):
    if not is_missing(value):
        for k in range(best.shape[2]):
            if is_missing(best[y, x, k]) or value < best[y, x, k]:
                insert(best[y, x], value, k)
                return k
    return -1


@cuda.jit(device=True)
def add_to_cell(i, cx, cy, count, high, heights, low, lows, values, others, rows, locks):
    cuda.atomic.add(count, (cy, cx), 1)
    acquire(locks, (cy, cx))
    place = keep_highest(high, cy, cx, values[i])
    if place >= 0:
        insert(heights[cy, cx], others[i], place)
    place = keep_lowest(low, cy, cx, values[i])
    if place >= 0:
        insert(lows[cy, cx], rows[i], place)
    release(locks, (cy, cx))


@cuda.jit
def both_ends(xs, ys, scale, shift, xcells, ycells, count, high, heights, low, lows, values, others, rows, locks):
    """Both ends of the values that fall on each cell, and what belongs to them, under the cell's lock."""
    i = cuda.grid(1)
    if i < xs.shape[0]:
        x, y = xs[i], ys[i]
        if 0 <= x <= 1 and 0 <= y <= 1:
            cx, cy = int(x * scale + shift), int(y * scale + shift)
            cx, cy = (xcells - 1 if cx >= xcells else cx, ycells - 1 if cy >= ycells else cy)
            add_to_cell(i, cx, cy, count, high, heights, low, lows, values, others, rows, locks)


@cuda.jit
def total_under_a_ticket(values, total, ticket, serving):
    """Turns in the order of the tickets; the waiting stands in the loop's body."""
    i = cuda.grid(1)
    if i < values.size:
        mine = cuda.atomic.add(ticket, 0, 1)
        while True:
            now = cuda.atomic.add(serving, 0, 0)
            if now == mine:
                break
        cuda.threadfence()
        total[0] += values[i]
        cuda.threadfence()
        cuda.atomic.add(serving, 0, 1)


@cuda.jit
def append_positive(values, found, count):
    """A loop with an atomic operation that has no say in how often it runs."""
    i = cuda.grid(1)
    while i < values.size:
        if values[i] > 0:
            place = cuda.atomic.add(count, 0, 1)
            found[place] = values[i]
        i += cuda.gridsize(1)


@pytest.mark.parametrize("n", [20, 1000])
def test_a_lock_for_each_cell(device, n):
    rng = np.random.default_rng(n)
    values = rng.permutation(n).astype(np.float64)
    x, y = rng.integers(0, 2, (2, n)).astype(np.float64)
    count, locks = np.zeros((2, 2, 2), np.uint32)
    high, low = np.full((2, 2, 2, KEPT), np.nan)
    heights, lows = np.full((2, 2, KEPT), np.nan), np.full((2, 2, KEPT), -1)
    launch = both_ends[-(-n // 1024), 1024]
    launch(x, y, 2.0, 0.0, 2, 2, count, high, heights, low, lows, values, values / 2, np.arange(n), locks)
    for cell in np.ndindex(2, 2):
        ascending = np.sort(values[(x == cell[1]) & (y == cell[0])])
        assert count[cell] == ascending.size
        kept = min(KEPT, ascending.size)
        np.testing.assert_array_equal(high[cell][:kept], ascending[::-1][:kept])
        np.testing.assert_array_equal(low[cell][:kept], ascending[:kept])
        np.testing.assert_array_equal(2 * heights[cell][:kept], high[cell][:kept])
        np.testing.assert_array_equal(values[lows[cell][:kept]], low[cell][:kept])


@cuda.jit(device=True)
def first_free(claims, start):
    """Returns out of the loop; the claims are given back by whoever holds them."""
    k = start
    while True:
        if cuda.atomic.exch(claims, k, 1) == 0:
            return k
        k = (k + 1) % claims.size


@cuda.jit
def with_one_of_few(values, sums, claims):
    i = cuda.grid(1)
    if i < values.size:
        mine = first_free(claims, 0)
        cuda.threadfence()
        sums[mine] += values[i]
        cuda.threadfence()
        cuda.atomic.exch(claims, mine, 0)


def test_one_of_few_resources(device):
    values = np.arange(200)
    sums = np.zeros(2, np.int64)
    with_one_of_few[2, 100](values, sums, np.zeros(2, np.int32))
    assert sums.sum() == values.sum()


def test_turns_by_tickets(device):
    values = np.arange(1, 33)
    total = np.zeros(1, np.int64)
    total_under_a_ticket[1, 32](values, total, np.zeros(1, np.int32), np.zeros(1, np.int32))
    assert total[0] == values.sum()


def test_only_loops_that_wait_cost_the_vectors(device):
    on_cpu = device.capabilities.device_type is DeviceType.CPU
    values = np.arange(-50, 50)
    found, count = np.zeros(100, np.int64), np.zeros(1, np.int32)
    append_positive[1, 64](values, found, count)
    assert sorted(found[: count[0]]) == list(range(1, 50))
    total_under_a_ticket[1, 1](values[:1], np.zeros(1, np.int64), np.zeros(1, np.int32), np.zeros(1, np.int32))

    def hinted(kernel):
        if device.backend == "sycl":
            return ["NOT_VECTORISED" in text for text in kernel.inspect_sycl().values()]
        return ["vec_type_hint" in text for text in kernel.inspect_opencl().values()]

    assert not any(hinted(append_positive))
    assert all(hinted(total_under_a_ticket)) is on_cpu
