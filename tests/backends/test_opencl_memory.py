"""Memory of OpenCL's pool where new blocks are filled, since the driver's migrations are not to be trusted."""

from __future__ import annotations

import gc
import warnings

import numpy as np
import pyopencl as cl
import pytest

from portagpu import cuda
from portagpu.backends.opencl import memory

pytestmark = pytest.mark.opencl
SIZE = 1000


@pytest.fixture
def filled(device, monkeypatch):
    """The blocks that were filled, and how often that is to fail."""
    real, filled, failing = cl.enqueue_fill_buffer, [], [0]

    def fill(queue, buffer, pattern, offset, nbytes):
        if failing[0]:
            failing[0] -= 1
            raise cl.MemoryError("clEnqueueFillBuffer failed: MEM_OBJECT_ALLOCATION_FAILURE")
        filled.append(buffer.int_ptr)
        return real(queue, buffer, pattern, offset, nbytes)

    monkeypatch.setattr(cl, "enqueue_fill_buffer", fill)
    return filled, failing


@pytest.fixture
def pool(device):
    context = cuda.current_context()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return memory.Pool(context.native, cuda.default_stream().queue, migrates=False)


def test_new_blocks_are_filled_and_those_that_come_back_are_not(pool, filled):
    one, two = pool.allocate(SIZE), pool.allocate(SIZE)
    assert filled[0] == [one.int_ptr, two.int_ptr]
    kept = one.int_ptr
    del one
    assert pool.held_blocks == 1
    again = pool.allocate(SIZE)
    assert again.int_ptr == kept and len(filled[0]) == 2
    host = np.arange(SIZE, dtype=np.uint8)
    cl.enqueue_copy(cuda.default_stream().queue, again, host).wait()
    back = np.zeros_like(host)
    cl.enqueue_copy(cuda.default_stream().queue, back, again).wait()
    np.testing.assert_array_equal(back, host)


def test_held_blocks_go_back_where_there_is_no_memory(pool, filled):
    del (large := [pool.allocate(100 * SIZE)])[0]
    assert pool.held_blocks == 1 and not large
    filled[1][0] = 1
    assert pool.allocate(SIZE).int_ptr == filled[0][-1]
    assert pool.held_blocks == 0


def test_a_block_without_memory_is_not_kept(pool, filled):
    filled[1][0] = 2
    with pytest.raises(cl.MemoryError):
        pool.allocate(SIZE)
    gc.collect()
    assert (pool.held_blocks, pool.used_bytes) == (0, 0)
    assert pool.allocate(SIZE).int_ptr == filled[0][-1]
