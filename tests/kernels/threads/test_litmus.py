"""Litmus tests of memory order: what threads may not see of each other's writes, by each operation that orders them.

The names are those of the literature (Alglave, Maranget, Tautschnig, "Herding cats", 2014): message passing (MP), store
buffering (SB), load buffering (LB), coherence of two reads (CoRR). Tests count outcomes that the operation forbids.
Whether two threads meet is up to the device, so rounds are many; ``--all-combinations`` runs fifty times as many.
"""

import numpy as np
import pytest

from portagpu import cuda
from portagpu.cuda import cg
from portagpu.errors import MissingCapabilityError

WARP = 32
FULL = 0xFFFFFFFF


# operations of a warp ------------------------------------------------------------------------------------------------


@cuda.jit(device=True)
def by_syncwarp(value):
    cuda.syncwarp()


@cuda.jit(device=True)
def by_syncwarp_mask(value):
    cuda.syncwarp(FULL)


@cuda.jit(device=True)
def by_shuffle(value):
    cuda.shfl_sync(FULL, value, 0)


@cuda.jit(device=True)
def by_shuffle_down(value):
    cuda.shfl_down_sync(FULL, value, 1)


@cuda.jit(device=True)
def by_ballot(value):
    cuda.ballot_sync(FULL, value > 0)


@cuda.jit(device=True)
def by_all(value):
    cuda.all_sync(FULL, value > 0)


@cuda.jit(device=True)
def by_any(value):
    cuda.any_sync(FULL, value > 0)


@cuda.jit(device=True)
def by_match(value):
    cuda.match_any_sync(FULL, value)


@cuda.jit(device=True)
def by_syncthreads(value):
    cuda.syncthreads()


@cuda.jit(device=True)
def by_count(value):
    cuda.syncthreads_count(value)


@cuda.jit(device=True)
def by_and(value):
    cuda.syncthreads_and(value)


@cuda.jit(device=True)
def by_or(value):
    cuda.syncthreads_or(value)


OPERATIONS = (
    *(by_syncwarp, by_syncwarp_mask, by_shuffle, by_shuffle_down, by_ballot, by_all, by_any, by_match),
    *(by_syncthreads, by_count, by_and, by_or),
)


@pytest.fixture(scope="module")
def rounds(request):
    """How often each place is tried, of some 1000 places."""
    return 50 if request.config.getoption("--all-combinations") else 1


@cuda.jit
def exchanges_in_global(data, bad, rounds):
    lane = cuda.threadIdx.x
    count = cuda.blockDim.x
    base = cuda.blockIdx.x * count
    for turn in range(rounds):
        for number, order in enumerate(OPERATIONS):
            data[base + lane] = turn + lane + number
            order(turn)
            found = data[base + (lane + 1) % count]
            first = data[base]
            order(turn)
            if found != turn + (lane + 1) % count + number or first != turn + number:
                cuda.atomic.add(bad, number, 1)


@cuda.jit
def exchanges_in_shared(data, bad, rounds):
    lane = cuda.threadIdx.x
    count = cuda.blockDim.x
    cells = cuda.shared.array(64, np.int32)
    for turn in range(rounds):
        for number, order in enumerate(OPERATIONS):
            cells[lane] = turn + lane + number
            order(turn)
            found = cells[(lane + 1) % count]
            first = cells[0]
            order(turn)
            if found != turn + (lane + 1) % count + number or first != turn + number:
                cuda.atomic.add(bad, number, 1)


@pytest.mark.oclgrind
@pytest.mark.parametrize("kernel", [exchanges_in_global, exchanges_in_shared], ids=["global", "shared"])
def test_threads_of_a_warp_see_what_was_written_before(device, rounds, kernel):
    bad = np.zeros(len(OPERATIONS), np.int32)
    kernel[4, WARP](np.zeros(4 * WARP, np.int32), bad, 20 * rounds)
    assert not bad.any(), [f.__name__ for f, n in zip(OPERATIONS, bad, strict=True) if n]


@cuda.jit
def first_lane_writes(ary):
    i = cuda.grid(1)
    if i == 0:
        ary[0] = 42
    cuda.syncwarp(FULL)
    ary[i] = ary[0]


@cuda.jit
def each_lane_once(ary, bad):
    i = cuda.grid(1)
    ary[i] = i
    before = ary[i ^ 1]
    cuda.syncwarp()
    ary[i] = i + 100
    cuda.syncwarp()
    if ary[i ^ 1] != (i ^ 1) + 100 or before < 0:
        bad[0] = 1


def test_a_value_read_before_is_read_again_after_syncwarp(device):
    for _ in range(5):
        ary = np.zeros(WARP, np.int32)
        first_lane_writes[1, WARP](ary)
        assert (ary == 42).all()
        bad = np.zeros(1, np.int32)
        each_lane_once[1, WARP](ary, bad)
        assert bad[0] == 0


# two blocks ----------------------------------------------------------------------------------------------------------

SB, LB, MP, CORR = range(4)
SHAPES = ("store buffering", "load buffering", "message passing", "coherence of two reads")


@cuda.jit(device=True)
def device_fence():
    cuda.threadfence()


@cuda.jit(device=True)
def system_fence():
    cuda.threadfence_system()


def between_blocks(fence):
    """A kernel of two blocks, whose threads of one number meet at each place, if the other one is running."""

    @cuda.jit
    def kernel(go, x, y, first, second):
        me = cuda.blockIdx.x
        for place in range(cuda.threadIdx.x, x.shape[1], cuda.blockDim.x):
            for shape in cuda.unroll(range(4)):
                cuda.atomic.add(go, (shape, place), 1)
                tries = 0
                while tries < 500 and cuda.atomic.add(go, (shape, place), 0) < 2:
                    tries += 1
                if me == 0:
                    if shape == SB:
                        x[shape, place] = 1
                        fence()
                        first[shape, place] = y[shape, place]
                    elif shape == LB:
                        first[shape, place] = x[shape, place]
                        fence()
                        y[shape, place] = 1
                    elif shape == MP:
                        x[shape, place] = 1
                        fence()
                        y[shape, place] = 1
                    else:
                        x[shape, place] = 1
                elif shape == SB:
                    y[shape, place] = 1
                    fence()
                    second[shape, place] = x[shape, place]
                elif shape == LB:
                    second[shape, place] = y[shape, place]
                    fence()
                    x[shape, place] = 1
                elif shape == MP:
                    first[shape, place] = y[shape, place]
                    fence()
                    second[shape, place] = x[shape, place]
                else:
                    first[shape, place] = x[shape, place]
                    fence()
                    second[shape, place] = x[shape, place]

    return kernel


def forbidden(first, second):
    """Where the two observations of each shape cannot both be, by the fence between the accesses."""
    return (
        (first[SB] == 0) & (second[SB] == 0),
        (first[LB] == 1) & (second[LB] == 1),
        (first[MP] == 1) & (second[MP] == 0),
        (first[CORR] == 1) & (second[CORR] == 0),
    )


@pytest.mark.parametrize("fence", [device_fence, system_fence], ids=["threadfence", "threadfence_system"])
def test_blocks_agree_on_an_order_across_fences(device, rounds, fence):
    kernel = between_blocks(fence)
    places, threads = 4096, 32 if device.capabilities.device_fences else 1
    for _ in range(rounds):
        go, x, y, first, second = (np.zeros((4, places), np.int32) for _ in range(5))
        kernel[2, threads](go, x, y, first, second)
        assert (x == 1).all() and (y[:3] == 1).all()
        for shape, wrong in zip(SHAPES, forbidden(first, second), strict=True):
            assert not wrong.any(), f"{shape}: {wrong.sum()} of {places}"


@cuda.jit
def under_a_lock(lock, cell, times):
    for _ in range(times):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        cell[0] += 1
        cell[1] = cell[0] * 2
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)


def test_a_lock_guards_global_memory(device, rounds):
    blocks, times = 8, 50 * rounds
    lock, cell = np.zeros(1, np.int32), np.zeros(2, np.int32)
    under_a_lock[blocks, 1](lock, cell, times)
    assert list(cell) == [blocks * times, 2 * blocks * times]


@cuda.jit
def last_of_all(partial, arrived, total):
    block, blocks = cuda.blockIdx.x, cuda.gridDim.x
    for turn in range(total.size):
        partial[turn, block] = turn + block
        cuda.threadfence()
        if cuda.atomic.add(arrived, turn, 1) == blocks - 1:
            cuda.threadfence()
            found = 0
            for other in range(blocks):
                found += partial[turn, other]
            total[turn] = found


def test_the_last_block_sees_what_the_others_wrote(device, rounds):
    blocks, turns = 8, 200 * rounds
    total = np.zeros(turns, np.int32)
    last_of_all[blocks, 1](np.zeros((turns, blocks), np.int32), np.zeros(turns, np.int32), total)
    assert np.array_equal(total, np.arange(turns) * blocks + blocks * (blocks - 1) // 2)


@cuda.jit
def across_the_grid(data, bad, rounds):
    grid = cg.this_grid()
    me = cuda.grid(1)
    for turn in range(rounds):
        data[me] = turn + me
        grid.sync()
        other = (me + cuda.blockDim.x + 1) % data.size
        if data[other] != turn + other:
            bad[0] = 1
        grid.sync()


def test_the_grid_sees_what_was_written_before_its_barrier(device, rounds):
    data, bad = np.zeros(4 * WARP, np.int32), np.zeros(1, np.int32)
    across_the_grid[4, WARP](data, bad, 20 * rounds)
    assert bad[0] == 0


# copies and barriers of parts of a block -----------------------------------------------------------------------------


@cuda.jit
def copies_what_was_written(data, bad, rounds):
    lane = cuda.threadIdx.x
    tile = cuda.shared.array(64, np.int32)
    for turn in range(rounds):
        data[lane] = turn + lane
        cuda.pipeline_memcpy_async(tile, lane, data, lane, 1)
        cuda.pipeline_commit()
        data_before = data[lane]
        cuda.pipeline_wait_prior(0)
        cuda.syncthreads()
        other = (lane + 33) % 64
        if tile[other] != turn + other or data_before != turn + lane:
            bad[0] = 1
        cuda.syncthreads()


def test_an_asynchronous_copy_takes_what_was_written_before(device, rounds):
    bad = np.zeros(1, np.int32)
    copies_what_was_written[1, 64](np.zeros(64, np.int32), bad, 20 * rounds)
    assert bad[0] == 0


@cuda.jit
def by_barrier_in_shared(data, bad, rounds):
    lane = cuda.threadIdx.x
    cells = cuda.shared.array(64, np.int32)
    barriers = cuda.shared.array(1, np.uint64)
    if lane == 0:
        cuda.mbarrier_init(barriers, 0, 64)
    cuda.syncthreads()
    for turn in range(rounds):
        data[lane] = turn + lane
        cells[lane] = turn + lane
        cuda.mbarrier_arrive(barriers, 0)
        cuda.mbarrier_wait_parity(barriers, 0, turn & 1)
        other = (lane + 33) % 64
        if data[other] != turn + other or cells[other] != turn + other:
            bad[0] = 1
        cuda.syncthreads()


@cuda.jit
def by_barrier_of_some(data, bad, rounds):
    lane = cuda.threadIdx.x
    for turn in range(rounds):
        data[lane] = turn + lane
        cuda.barrier_sync(1, 64)
        other = (lane + 33) % 64
        if data[other] != turn + other:
            bad[0] = 1
        cuda.barrier_sync(2, 64)


@pytest.mark.parametrize("kernel", [by_barrier_in_shared, by_barrier_of_some], ids=["mbarrier", "barrier_sync"])
def test_barriers_of_parts_of_a_block_order_global_memory(device, rounds, kernel):
    bad = np.zeros(1, np.int32)
    try:
        kernel[1, 64](np.zeros(64, np.int32), bad, 20 * rounds)
    except MissingCapabilityError as error:
        pytest.skip(str(error).splitlines()[0])
    assert bad[0] == 0


# what the compiler may keep ------------------------------------------------------------------------------------------


@cuda.jit
def polls(flag, out):
    while flag[0] == 0:
        cuda.threadfence()
    out[cuda.grid(1)] = flag[1]


@cuda.jit
def streams(x, out):
    i = cuda.grid(1)
    out[i] = x[i] + 1


@cuda.jit
def exchanges(x, out):
    i = cuda.grid(1)
    out[i] = cuda.shfl_xor_sync(FULL, x[i], 1)


def test_restrict_stands_only_where_threads_learn_nothing_of_each_other(device):
    flag, out = np.ones(2, np.int32), np.zeros(WARP, np.int32)
    for kernel, restricted in ((polls, 0), (streams, 2), (exchanges, 1)):
        kernel[1, WARP](flag if kernel is polls else np.arange(WARP, dtype=np.int32), out)
        (text,) = (
            kernel.inspect_opencl().values() if isinstance(kernel.inspect_opencl(), dict) else [kernel.inspect_opencl()]
        )
        assert text.count(" restrict ") == restricted, kernel.__name__
