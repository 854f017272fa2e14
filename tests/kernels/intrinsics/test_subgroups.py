"""Subgroups where a device has them, and what is said where it does not."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.errors import KernelTypeError, KernelValueError, MissingCapabilityError, SettingsError


@cuda.jit(subgroup_size=16)
def indices(size, lane, which):
    i = cuda.threadIdx.x
    size[i] = cuda.subgroup_size()
    lane[i] = cuda.subgroup_lane()
    which[i] = cuda.subgroup_id()


@cuda.jit(subgroup_size=8)
def exchanges(x, first, reverse):
    i = cuda.threadIdx.x
    first[i] = cuda.subgroup_broadcast(x[i], 3)
    reverse[i] = cuda.subgroup_shuffle(x[i], 7 - cuda.subgroup_lane())


@cuda.jit(subgroup_size=16)
def blocks(x, y, width: cuda.constexpr):
    place = cuda.subgroup_id() * 16 * width
    value = cuda.subgroup_block_read(x, place, width=width)
    cuda.subgroup_block_write(value + value, y, place)


def test_indices(device):
    found = [np.full(64, -1, np.int32) for _ in range(3)]
    if not device.capabilities.subgroup_sizes:
        with pytest.raises(MissingCapabilityError, match="subgroups"):
            indices[1, 64](*found)
        return
    indices[1, 64](*found)
    assert (found[0] == 16).all()
    assert np.array_equal(found[1], np.arange(64) % 16)
    assert np.array_equal(found[2], np.arange(64) // 16)


@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32", "int64", "float64"])
def test_exchanges(device, dtype):
    x = np.arange(32).astype(dtype) * 3
    first, reverse = np.zeros_like(x), np.zeros_like(x)
    if not device.capabilities.subgroup_sizes:
        with pytest.raises(MissingCapabilityError, match="subgroup"):
            exchanges[1, 32](x, first, reverse)
        return
    exchanges[1, 32](x, first, reverse)
    rows = x.reshape(-1, 8)
    assert np.array_equal(first.reshape(-1, 8), np.broadcast_to(rows[:, 3:4], rows.shape))
    assert np.array_equal(reverse.reshape(-1, 8), rows[:, ::-1])


@pytest.mark.parametrize("width", [1, 2, 4, 8])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "float32", "float64"])
def test_blocks(device, dtype, width):
    x = np.arange(64 * width).astype(dtype)
    y = np.zeros_like(x)
    if not device.capabilities.subgroup_block_io:
        with pytest.raises(MissingCapabilityError, match="subgroup"):
            blocks[1, 64](x, y, width)
        return
    blocks[1, 64](x, y, width)
    assert np.array_equal(y, x + x)


@cuda.jit
def scattered(x, y, width: cuda.constexpr):
    lanes = cuda.subgroup_size()
    value = cuda.subgroup_block_read(x, cuda.subgroup_id() * lanes * width, width=width)
    for j in cuda.unroll(range(width)):
        y[cuda.subgroup_id() * lanes * width + cuda.subgroup_lane() * width + j] = value[j]


def test_a_component_of_a_block_is_a_row_of_lanes(device):
    if not device.capabilities.subgroup_block_io:
        return
    x, y = np.arange(256, dtype=np.int32), np.zeros(256, np.int32)
    scattered[1, 64](x, y, 4)
    lanes = next(n for n in (8, 16, 32, 64) if y[1] == n)
    assert np.array_equal(y.reshape(-1, lanes, 4), x.reshape(-1, 4, lanes).swapaxes(1, 2))


def test_wrong_uses(device):
    @cuda.jit
    def vector(x):
        x[0] = cuda.subgroup_broadcast(cuda.float32x2(1, 2), 0)[0]

    @cuda.jit
    def small(x):
        x[0] = cuda.subgroup_broadcast(np.int8(1), 0)

    @cuda.jit
    def lane(x):
        x[0] = cuda.subgroup_broadcast(x[0], 1.5)

    @cuda.jit
    def wide(x):
        x[0] = cuda.subgroup_block_read(x, 0, width=3)[0]

    @cuda.jit
    def other(x):
        cuda.subgroup_block_write(cuda.int32x2(1, 2), x, 0)

    @cuda.jit
    def memory(x):
        tile = cuda.shared.array(16, np.float32)
        x[0] = cuda.subgroup_block_read(tile, 0)

    x = np.zeros(64, np.float32)
    if not device.capabilities.subgroup_block_io:
        return
    for kernel, kind in (
        (vector, KernelTypeError),
        (small, KernelTypeError),
        (lane, KernelTypeError),
        (wide, KernelValueError),
        (other, KernelTypeError),
        (memory, KernelTypeError),
    ):
        with pytest.raises(kind):
            kernel[1, 16](x)


def test_sizes_that_do_not_exist():
    with pytest.raises(SettingsError, match="subgroup_size=12"):

        @cuda.jit(subgroup_size=12)
        def kernel(x):
            x[0] = 1
