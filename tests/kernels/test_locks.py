"""Threads that wait for each other one by one: locks, tickets and turns."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.device.capabilities import DeviceType

SLOTS = 4
KEPT = 3


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
def keep(best, row, value):
    """Insert a value into a row of falling numbers; the place, or -1."""
    for k in range(best.shape[1]):
        if value > best[row, k]:
            for j in range(best.shape[1] - 1, k, -1):
                best[row, j] = best[row, j - 1]
            best[row, k] = value
            return k
    return -1


@cuda.jit
def both_ends(values, high, low, owners, locks):
    """Both ends of each slot's values, under the slot's lock: two lists that no single atomic operation can keep."""
    i = cuda.grid(1)
    if i < values.size:
        slot = i % SLOTS
        acquire(locks, slot)
        place = keep(high, slot, values[i])
        if place >= 0:
            owners[slot, place] = i  # written by whoever held the lock last
        keep(low, slot, -values[i])
        release(locks, slot)


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
def test_a_lock_for_each_slot(device, n):
    values = np.random.default_rng(n).permutation(n).astype(np.float64) + 1
    high, low = (np.full((SLOTS, KEPT), -np.inf) for _ in range(2))
    owners = np.full((SLOTS, KEPT), -1)
    both_ends[-(-n // 256), 256](values, high, low, owners, np.zeros(SLOTS, np.uint32))
    for slot in range(SLOTS):
        ascending = np.sort(values[slot::SLOTS])
        np.testing.assert_array_equal(high[slot], ascending[: -KEPT - 1 : -1])
        np.testing.assert_array_equal(low[slot], -ascending[:KEPT])
        assert values[owners[slot, 0]] == high[slot, 0]


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
        return ["vec_type_hint" in text for text in kernel.inspect_opencl().values()]

    assert not any(hinted(append_positive))
    assert all(hinted(total_under_a_ticket)) is on_cpu
