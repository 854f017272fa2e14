"""Asynchronous copies: on every device the data is there after the wait and a barrier."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors


def copier(dtype, count, threads=32):
    @cuda.jit
    def kernel(source, target, limit):
        tile = cuda.shared.array((2, threads * count), dtype)
        t = cuda.threadIdx.x
        base = cuda.blockIdx.x * threads * count
        for stage in range(2):
            place = base + t * count
            cuda.pipeline_memcpy_async(tile, (stage, t * count), source, (stage, place), count, valid=place < limit)
            cuda.pipeline_commit()
        for stage in range(2):
            if stage == 0:
                cuda.pipeline_wait_prior(1)
            else:
                cuda.pipeline_wait_prior(0)
            cuda.syncthreads()
            for i in range(count):
                target[stage, base + t * count + i] = tile[stage, (threads - 1 - t) * count + i]
            cuda.syncthreads()

    return kernel


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype, count", [("float32", 4), ("float32", 1), ("int8", 16), ("float64", 2), ("uint16", 4)])
def test_copies_arrive(device, dtype, count):
    size = 4 * 32 * count
    source = np.arange(2 * size).reshape(2, size).astype(dtype)
    target = np.zeros_like(source)
    limit = size - 32 * count
    copier(np.dtype(dtype), count)[4, 32](source, target, limit)
    valid = np.where(np.arange(size) < limit, source, 0).astype(dtype)
    expected = valid.reshape(2, 4, 32, count)[:, :, ::-1].reshape(2, size)
    assert np.array_equal(target, expected)


@pytest.mark.parametrize("dtype, count", [("float32", 3), ("float64", 4), ("int8", 2)])
def test_other_sizes_are_refused(device, dtype, count):
    with pytest.raises(errors.KernelValueError, match="4, 8 or 16 bytes"):
        copier(np.dtype(dtype), count)[1, 32](np.zeros((2, 256), dtype), np.zeros((2, 256), dtype), 1)


def test_layouts_are_refused(device):
    source = np.zeros((2, 64), np.float32)[:, ::2]
    with pytest.raises(errors.KernelTypeError, match="consecutive elements"):
        copier(np.dtype(np.float32), 1)[1, 32](cuda.to_device(np.zeros((2, 64), np.float32))[:, ::2], source, 1)
