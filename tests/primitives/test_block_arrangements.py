"""Sorts, selections and run lengths of a block's threads, in kernels."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.primitives import block_run_lengths, block_select, block_sort, block_sort_by_key

MOST = 256


@cuda.jit(device=True)
def less(x, y):
    return x < y


@cuda.jit(device=True)
def greater(x, y):
    return x > y


@cuda.jit
def arranged(x, ascending, descending, places, selected, counts, values, lengths):
    floats, items = cuda.shared.array(MOST, np.float32), cuda.shared.array(MOST, np.int32)
    scratch = cuda.shared.array(MOST, np.int32)
    thread = cuda.threadIdx.x
    i = cuda.grid(1)
    ascending[i] = block_sort(x[i], less, floats)
    key, item = block_sort_by_key(x[i], thread, greater, floats, items)
    descending[i] = key
    places[i] = item
    chosen = block_select(x[i], x[i] > np.float32(2), floats, scratch)
    if thread < chosen:
        selected[i] = floats[thread]
    cuda.syncthreads()
    runs = block_run_lengths(x[i], floats, items, scratch)
    if thread < runs:
        values[i] = floats[thread]
        lengths[i] = items[thread]
    if thread == 0:
        counts[cuda.blockIdx.x, 0] = chosen
        counts[cuda.blockIdx.x, 1] = runs


@pytest.mark.parametrize("threads", [1, 37, 128, 256])
def test_in_kernels(device, threads):
    threads = min(threads, device.capabilities.max_work_group_size)
    blocks = 3
    x = np.random.default_rng(3).integers(0, 5, (blocks, threads)).astype(np.float32)
    results = [cuda.to_device(np.full(x.shape, -1, kind)) for kind in "ffif"]
    counts = cuda.device_array((blocks, 2), np.int32)
    values, lengths = cuda.to_device(np.full(x.shape, -1, "f")), cuda.to_device(np.full(x.shape, -1, "i"))
    flat = [r.reshape(-1) for r in (*results, values, lengths)]
    arranged[blocks, threads](cuda.to_device(x.reshape(-1)), *flat[:4], counts, *flat[4:])
    ascending, descending, places, selected = (r.copy_to_host() for r in results)
    numbers, found, often = counts.copy_to_host(), values.copy_to_host(), lengths.copy_to_host()
    np.testing.assert_array_equal(ascending, np.sort(x))
    order = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(descending, np.take_along_axis(x, order, -1))
    for row in range(blocks):
        chosen, runs = numbers[row]
        np.testing.assert_array_equal(selected[row, :chosen], x[row][x[row] > 2])
        assert (selected[row, chosen:] == -1).all()
        begins = np.flatnonzero(np.append(True, x[row, 1:] != x[row, :-1]))
        np.testing.assert_array_equal(found[row, :runs], x[row, begins])
        np.testing.assert_array_equal(often[row, :runs], np.diff(np.append(begins, threads)))
