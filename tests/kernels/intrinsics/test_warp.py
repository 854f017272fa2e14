"""Warp operations: on CPUs a warp is 32 consecutive threads of the block."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import types
from portagpu.errors import KernelTypeError, KernelValueError, LaunchConfigError

FULL = 0xFFFFFFFF
pytestmark = pytest.mark.oclgrind

# the dtypes that shuffles exchange
DTYPES = [np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64, np.int16]


def lacks(device, dtype):
    return dtype is np.float64 and not device.capabilities.fp64


@pytest.mark.parametrize("dtype", DTYPES)
def test_shuffles(device, dtype):
    if lacks(device, dtype):
        pytest.skip("no float64")

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        value = x[i]
        out[0, i] = cuda.shfl_sync(FULL, value, 5)
        out[1, i] = cuda.shfl_up_sync(FULL, value, 3)
        out[2, i] = cuda.shfl_down_sync(FULL, value, 4)
        out[3, i] = cuda.shfl_xor_sync(FULL, value, 17)
        out[4, i] = cuda.shfl_sync(FULL, value, (i + 1) % 32)

    n = 64
    x = (np.arange(n) * 1234567 - 777).astype(dtype)
    out = np.zeros((5, n), dtype)
    kernel[1, n](x, out)
    rows, lane = x.reshape(2, 32), np.arange(32)
    np.testing.assert_array_equal(out[0].reshape(2, 32), np.repeat(rows[:, 5:6], 32, axis=1))
    np.testing.assert_array_equal(out[1].reshape(2, 32), rows[:, np.where(lane >= 3, lane - 3, lane)])
    np.testing.assert_array_equal(out[2].reshape(2, 32), rows[:, np.where(lane < 28, lane + 4, lane)])
    np.testing.assert_array_equal(out[3].reshape(2, 32), rows[:, lane ^ 17])
    np.testing.assert_array_equal(out[4].reshape(2, 32), rows[:, (lane + 1) % 32])


def test_votes(device):
    @cuda.jit
    def kernel(x, votes, ballots):
        i = cuda.threadIdx.x
        votes[0, i] = cuda.all_sync(FULL, x[i])
        votes[1, i] = cuda.any_sync(FULL, x[i])
        votes[2, i] = cuda.eq_sync(FULL, x[i])
        ballots[0, i] = cuda.ballot_sync(FULL, x[i] > 0)
        ballots[1, i] = cuda.activemask()
        ballots[2, i] = cuda.lanemask_lt()

    x = np.zeros((4, 32), np.int32)
    x[1], x[2, ::3], x[3, 31] = 7, 1, 2
    votes, ballots = np.zeros((3, 128), np.bool_), np.zeros((3, 128), np.uint32)
    kernel[1, 128](x.reshape(-1), votes, ballots)
    np.testing.assert_array_equal(votes[:, ::32], [[0, 1, 0, 0], [0, 1, 1, 1], [1, 1, 0, 0]])
    expected = ((x > 0).astype(np.uint64) << np.arange(32, dtype=np.uint64)).sum(axis=1)
    np.testing.assert_array_equal(ballots[0], np.repeat(expected, 32))
    assert (ballots[1] == FULL).all()
    np.testing.assert_array_equal(ballots[2], np.tile((1 << np.arange(32)) - 1, 4))


def test_partial_masks_in_divergent_branches(device):
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 4 == 0:
            out[i] = cuda.ballot_sync(0x11111111, True)
        elif i % 4 == 1:
            out[i] = cuda.ballot_sync(0x22222222, True)
        elif i % 4 == 2:
            out[i] = cuda.ballot_sync(0x44444444, True)
        else:
            out[i] = cuda.ballot_sync(0x88888888, True)

    out = np.zeros(32, np.uint32)
    kernel[1, 32](out)
    np.testing.assert_array_equal(out, np.tile([0x11111111, 0x22222222, 0x44444444, 0x88888888], 8))


def test_match(device):
    @cuda.jit
    def kernel(x, same, masks, agree):
        i = cuda.threadIdx.x
        same[i] = cuda.match_any_sync(FULL, x[i])
        mask, predicate = cuda.match_all_sync(FULL, x[i])
        masks[i] = mask
        agree[i] = predicate

    x = np.concatenate([np.arange(32) % 2, np.full(32, 9)]).astype(np.float32)
    same, masks, agree = np.zeros(64, np.uint32), np.zeros(64, np.uint32), np.zeros(64, np.bool_)
    kernel[1, 64](x, same, masks, agree)
    np.testing.assert_array_equal(same[:32], np.tile([0x55555555, 0xAAAAAAAA], 16))
    assert (same[32:] == FULL).all()
    np.testing.assert_array_equal(masks, np.repeat([0, FULL], 32))
    np.testing.assert_array_equal(agree, np.repeat([False, True], 32))


@cuda.jit
def lanes_alike(x, same, bits: cuda.constexpr, first: cuda.constexpr):
    i = cuda.threadIdx.x
    few = x[i] & ((1 << bits) - 1)
    if i % 32 < first:
        same[i] = cuda.match_any_sync((1 << first) - 1, few)
    else:
        same[i] = cuda.match_any_sync(FULL ^ ((1 << first) - 1), few)


@pytest.mark.parametrize("first", [5, 31])
@pytest.mark.parametrize("bits", [1, 2, 5, 8, 9])
def test_match_of_values_of_few_bits(device, bits, first):
    """Where warps vote on each bit of such values, lanes of another mask count for nothing."""
    x = np.random.default_rng(bits).integers(0, 1 << 16, 64).astype(np.uint16)
    x[40:50] = x[40]
    same = np.zeros(64, np.uint32)
    lanes_alike[1, 64](x, same, bits, first)
    few = (x & ((1 << bits) - 1)).reshape(2, 32)
    side = np.arange(32) < first
    alike = (few[:, :, None] == few[:, None, :]) & (side[:, None] == side)
    expected = (alike * (np.uint64(1) << np.arange(32, dtype=np.uint64))).sum(-1)
    np.testing.assert_array_equal(same, expected.ravel())


@cuda.jit(device=True)
def warp_sum(value):
    offset = cuda.warpsize // 2
    while offset > 0:
        value += cuda.shfl_down_sync(FULL, value, offset)
        offset //= 2
    return value


@cuda.jit
def block_sums(x, out):
    partial = cuda.shared.array(32, np.float32)
    tid = cuda.threadIdx.x
    i = cuda.grid(1)
    value = x[i] if i < x.size else np.float32(0)
    value = warp_sum(value)
    if tid % 32 == 0:
        partial[tid // 32] = value
    cuda.syncthreads()
    if tid < 32:
        total = partial[tid] if tid < cuda.blockDim.x // 32 else np.float32(0)
        total = warp_sum(total)
        if tid == 0:
            out[cuda.blockIdx.x] = total


@pytest.mark.parametrize("block", [32, 96])
def test_reduction_of_a_block(device, block):
    x = np.arange(200, dtype=np.float32)
    blocks = -(-x.size // block)
    out = np.zeros(blocks, np.float32)
    block_sums[blocks, block](x, out)
    np.testing.assert_array_equal(out, [x[k : k + block].sum() for k in range(0, x.size, block)])


def test_threads_that_left_take_no_part(device):
    @cuda.jit
    def kernel(x, out, seen):
        i = cuda.grid(1)
        if i >= x.size:
            return
        seen[i] = cuda.activemask()
        out[i] = cuda.shfl_down_sync(cuda.activemask(), x[i], 1)

    x = np.arange(40, dtype=np.int32)
    out, seen = np.zeros(40, np.int32), np.zeros(40, np.uint32)
    kernel[1, 64](x, out, seen)
    expected = np.arange(40) + 1
    expected[31] -= 1  # the neighbour is in another warp
    np.testing.assert_array_equal(out[:39], expected[:39])  # CUDA leaves open what a thread reads of one that left
    np.testing.assert_array_equal(seen, np.repeat([FULL, 0xFF], [32, 8]))


def test_a_row_for_each_warp(device):
    """Warps run the outer loop and the inner one differently often."""

    @cuda.jit
    def kernel(starts, values, out):
        lane = cuda.laneid
        row = cuda.grid(1) // 32
        while row < out.size:
            total = 0.0
            for k in range(starts[row] + lane, starts[row + 1], 32):
                total += values[k]
            for offset in (16, 8, 4, 2, 1):
                total += cuda.shfl_down_sync(FULL, total, offset)
            if lane == 0:
                out[row] = total
            row += cuda.gridsize(1) // 32

    lengths = np.array([3, 40, 0, 65, 7, 1, 33])
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    values = np.arange(starts[-1], dtype=np.float32)
    out = np.zeros(lengths.size, np.float32)
    kernel[2, 64](starts, values, out)
    expected = [values[a:b].sum() for a, b in pairwise(starts)]
    np.testing.assert_array_equal(out, expected)


def test_loop_that_warps_leave_apart(device):
    """`break`, `continue` and `return` inside a loop with votes."""

    @cuda.jit
    def kernel(limits, rounds, hits):
        i = cuda.threadIdx.x
        warp = i // 32
        count = 0
        while True:
            count += 1
            if cuda.all_sync(FULL, count >= limits[i]):
                break
            if count % 2 == 0:
                continue
            if warp == 2 and count > 2:
                return
            hits[i] += cuda.popc(cuda.ballot_sync(FULL, count < limits[i]))
        rounds[i] = count

    limits = np.zeros(96, np.int32)
    limits[:32], limits[40], limits[70] = 3, 6, 9
    rounds, hits = np.zeros(96, np.int32), np.zeros(96, np.int32)
    kernel[1, 96](limits, rounds, hits)
    np.testing.assert_array_equal(rounds, np.repeat([3, 6, 0], 32))
    np.testing.assert_array_equal(hits, np.repeat([32, 3, 1], 32))


def test_only_one_warp_reduces(device):
    @cuda.jit
    def kernel(x, out):
        i = cuda.threadIdx.x
        if i // 32 == 1:
            value = x[i]
            offset = 16
            while offset > 0:
                value = max(value, cuda.shfl_xor_sync(FULL, value, offset))
                offset //= 2
            cuda.syncwarp()
            if cuda.laneid == 0:
                out[0] = value

    x = np.random.default_rng(3).integers(0, 1000, 96).astype(np.int64)
    out = np.zeros(1, np.int64)
    kernel[1, 96](x, out)
    assert out[0] == x[32:64].max()


def test_syncwarp_orders_shared_memory(device):
    @cuda.jit
    def kernel(out):
        cells = cuda.shared.array(64, np.int32)
        i = cuda.threadIdx.x
        if i < 32:
            cells[i] = i
            cuda.syncwarp()
            cells[32 + i] = cells[31 - i]
            cuda.syncwarp(0xFFFFFFFF)
            out[i] = cells[32 + (i ^ 1)]

    out = np.zeros(64, np.int32)
    kernel[1, 64](out)
    np.testing.assert_array_equal(out[:32], 31 - (np.arange(32) ^ 1))
    assert not out[32:].any()


def test_scan_in_two_dimensions(device):
    """A warp is 32 threads in linear order, whatever the block's shape."""

    @cuda.jit
    def kernel(x, out):
        i = cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x
        value = x[i]
        for n in range(5):
            other = cuda.shfl_up_sync(FULL, value, 1 << n)
            if cuda.laneid >= 1 << n:
                value += other
        out[i] = value

    x = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.int32)
    kernel[1, (8, 8)](x, out)
    np.testing.assert_array_equal(out.reshape(2, 32), np.cumsum(x.reshape(2, 32), axis=1))


def test_wrong_uses(device):
    @cuda.jit
    def of_an_array(x):
        x[0] = cuda.shfl_sync(FULL, x, 0)

    @cuda.jit
    def float_mask(x):
        cuda.syncwarp(1.5)

    for kernel in (of_an_array, float_mask):
        with pytest.raises(KernelTypeError):
            kernel[1, 32](np.zeros(32, np.float32))


def test_blocks_beyond_a_cuda_block(device):
    if device.capabilities.warp_instructions or device.capabilities.max_work_group_size < 2048:
        pytest.skip("the device itself refuses such a block")

    @cuda.jit
    def kernel(x):
        x[cuda.grid(1)] = cuda.shfl_sync(FULL, cuda.laneid, 0)

    with pytest.raises(LaunchConfigError, match="1024"):
        kernel[1, 2048](np.zeros(2048, np.int32))


@pytest.mark.parametrize(
    ("mask", "predicate", "message"),
    [
        (1.0, 1, "Mask type must be an integer: in cuda.all_sync it is float64"),
        (np.float32(1), 1, "Mask type must be an integer"),
        (True, 1, "Mask type must be an integer"),
        (1, 1.5, "Predicate must be an integer or boolean: in cuda.all_sync it is float64"),
        (1, np.float32(1), "Predicate must be an integer or boolean"),
    ],
)
def test_types_of_masks_and_predicates(mask, predicate, message):
    def vote(x, mask, predicate):
        x[0] = cuda.all_sync(mask, predicate)

    declared = types.void(types.int32[:], cuda.typeof(mask), cuda.typeof(predicate))
    with pytest.raises(KernelTypeError, match=message):
        cuda.jit(declared)(vote)


def test_flags_and_integers_of_both_signs_are_predicates():
    def vote(x, mask, predicate):
        x[0] = cuda.all_sync(mask, predicate)

    for mask in (types.int32, types.uint32, types.int64):
        for predicate in (types.boolean, types.int8, types.uint32):
            cuda.jit(types.void(types.int32[:], mask, predicate))(vote)


def test_axes_of_a_grid_are_literal():
    def kernel(x, n):
        x[0] = cuda.grid(n)

    with pytest.raises(KernelValueError, match="RequireLiteralValue"):
        cuda.jit("void(int64[:], int64)")(kernel)
