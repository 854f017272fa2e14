"""Sums that several blocks share: the last one adds the parts, in their order, and leaves the counters at zero."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts, counters_of, fan_of, levels_of

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

THREADS, HELD = 32, 8


@cuda.jit
def share(x, parts, arrived, result, lasts, count, fan, vector: cuda.constexpr, levels: cuda.constexpr):
    """Block b: part ``b // numbers`` of sum ``b % numbers``; x: (count, numbers, HELD * THREADS)."""
    thread = np.int32(cuda.threadIdx.x)
    number = np.int32(cuda.blockIdx.x) % result.shape[0]
    part = np.int32(cuda.blockIdx.x) // np.int32(result.shape[0])
    sums = cuda.local.array((2, HELD // 2), vector.dtype)
    for i in cuda.unroll(range(HELD)):
        sums[i // (HELD // 2), i % (HELD // 2)] = x[part, number, i * THREADS + thread]
    own = Share(parts, arrived, np.int32(number), part, count, count, fan)
    if add_parts(sums.ravel(), own, thread, Team(HELD, vector, levels, 0, THREADS)):
        for i in cuda.unroll(range(HELD)):
            result[number, i * THREADS + thread] = sums[i // (HELD // 2), i % (HELD // 2)]
        if thread == 0:
            cuda.atomic.add(lasts, number, 1)


def in_order(parts, fan):
    """The sums as the blocks form them: groups of ``fan``, then the groups."""
    groups = []
    for first in range(0, len(parts), fan):
        total = np.zeros_like(parts[0])
        for part in parts[first : first + fan]:
            total = total + part
        groups.append(total)
    total = np.zeros_like(groups[0])
    for group in groups:
        total = total + group
    return total


@pytest.mark.parametrize("dtype, lanes", [("float32", 4), ("int32", 4), ("int32", 2), ("float64", 2)])
@pytest.mark.parametrize("count", [2, 3, 8, 9, 23, 100])
def test_the_last_block_adds_all_parts(device, dtype, lanes, count):
    numbers = 3
    x = (1000 * np.random.default_rng(count).standard_normal((count, numbers, HELD * THREADS))).astype(dtype)
    arrived = cuda.to_device(np.zeros(numbers * counters_of(count), np.int32))
    parts = cuda.device_array(count * x[0].size, dtype)
    for _ in range(2):  # the second launch finds the counters as the first left them
        result = cuda.to_device(np.zeros((numbers, HELD * THREADS), dtype))
        lasts = cuda.to_device(np.zeros(numbers, np.int32))
        share[count * numbers, THREADS](
            *(x, parts, arrived, result, lasts, np.int32(count), np.int32(fan_of(count))),
            *(vector_type(dtype, lanes), levels_of(count)),
        )
        assert np.array_equal(result.copy_to_host(), in_order(x, fan_of(count)))
        assert np.array_equal(lasts.copy_to_host(), [1] * numbers)
        assert not arrived.copy_to_host().any()


def test_levels():
    assert [levels_of(count) for count in (1, 2, 8, 9, 256)] == [0, 1, 1, 2, 2]
    for count in range(2, 600):
        fan = fan_of(count)
        groups = -(-count // fan)
        assert counters_of(count) == groups + 1
        assert (groups - 1) * fan < count <= groups * fan and groups <= fan
        assert (groups > 1) == (levels_of(count) == 2)
