"""Clusters of blocks: distributed shared memory, barriers, copies to several blocks; of one block on every device.

What takes several blocks runs where a device has clusters (the back end ``cuda`` on a card that does); elsewhere the
maker's compiler says whether the text is right.
"""

from __future__ import annotations

import numpy as np
import pytest
from opencl_text import text_of

from portagpu import cuda
from portagpu.backends.opencl.ptx import architecture as architecture_ptx
from portagpu.backends.registry import named
from portagpu.backends.survey import find_target
from portagpu.device.ideal_device import IDEAL
from portagpu.errors import KernelTypeError, KernelValueError, LaunchConfigError, MissingCapabilityError, SettingsError

BLOCKS = 4
THREADS = 64


@pytest.fixture
def clusters(device):
    """The device runs clusters."""
    if device.capabilities.cluster_size < BLOCKS:
        pytest.skip("this device runs no clusters of several blocks")


def assembled(kernel, signature, **given):
    """The text that CUDA's assembler took, where it is installed."""
    target = find_target("sm_90")
    missing = named(target.backend).missing_packages(target)
    if missing:
        pytest.skip(f"{', '.join(missing)} is missing")
    made = kernel.compile_for(target, signature, **given)
    assert not made.figures.spilled
    return made.assembly


# one block -----------------------------------------------------------------------------------------------------------


def reversed_among(cluster):
    """A kernel that reverses the elements of a cluster's blocks; each thread reads another block's memory."""

    @cuda.jit(cluster=cluster)
    def kernel(x, y, ranks):
        tile = cuda.shared.array(THREADS, x.dtype)
        together = cuda.cg.this_cluster()
        t, rank, blocks = cuda.threadIdx.x, together.block_rank(), together.num_blocks()
        tile[t] = x[cuda.grid(1)]
        together.sync()
        there = together.map_shared_rank(tile, blocks - 1 - rank)
        y[cuda.grid(1)] = there[THREADS - 1 - t]
        ranks[cuda.blockIdx.x] = 10 * blocks + rank
        together.sync()

    return kernel


def check_reversed(blocks, dtype, grid):
    x = (np.arange(grid * THREADS) % 120).astype(dtype)
    y, ranks = np.zeros_like(x), np.zeros(grid, np.int32)
    reversed_among(blocks)[grid, THREADS](x, y, ranks)
    np.testing.assert_array_equal(y, x.reshape(-1, blocks * THREADS)[:, ::-1].ravel())
    np.testing.assert_array_equal(ranks, 10 * blocks + np.arange(grid) % blocks)


@pytest.mark.parametrize("cluster", [None, 1, (1, 1, 1)])
def test_one_block_is_a_cluster_on_every_device(device, cluster):
    x = np.arange(3 * THREADS, dtype=np.float32)
    y, ranks = np.zeros_like(x), np.zeros(3, np.int32)
    reversed_among(cluster)[3, THREADS](x, y, ranks)
    np.testing.assert_array_equal(y, x.reshape(3, THREADS)[:, ::-1].ravel())
    np.testing.assert_array_equal(ranks, 10)


def test_the_halves_of_a_barrier_of_one_block(device):
    @cuda.jit
    def kernel(x):
        tile = cuda.shared.array(THREADS, np.int32)
        together = cuda.cg.this_cluster()
        t = cuda.threadIdx.x
        tile[t] = t
        together.barrier_arrive()
        mine = t * 2
        together.barrier_wait()
        x[t] = tile[THREADS - 1 - t] + mine

    x = np.zeros(THREADS, np.int32)
    kernel[1, THREADS](x)
    np.testing.assert_array_equal(x, THREADS - 1 + np.arange(THREADS))


# several blocks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"], ids=str
)
@pytest.mark.parametrize("blocks", [2, BLOCKS])
def test_memory_of_other_blocks(device, clusters, blocks, dtype):
    check_reversed(blocks, np.dtype(dtype), 2 * BLOCKS)


def test_a_cluster_of_several_axes(device, clusters):
    @cuda.jit(cluster=(2, 2))
    def kernel(x):
        cell = cuda.shared.array(1, np.int32)
        together = cuda.cg.this_cluster()
        cell[0] = cuda.blockIdx.x + 100 * cuda.blockIdx.y
        together.sync()
        total = 0
        for rank in range(together.num_blocks()):
            total += together.map_shared_rank(cell, rank)[0]
        x[cuda.blockIdx.y, cuda.blockIdx.x] = total
        together.sync()

    x = np.zeros((4, 6), np.int32)
    kernel[(6, 4), 1](x)
    own = np.arange(6)[None, :] + 100 * np.arange(4)[:, None]
    wanted = own.reshape(2, 2, 3, 2).sum(axis=(1, 3)).repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(x, wanted)


@cuda.jit(cluster=BLOCKS)
def counted(x, bins, sums):
    """A histogram whose bins are shared out among the blocks of a cluster, and sums in floats."""
    own = cuda.shared.array(16, np.int32)
    total = cuda.shared.array(1, np.float64)
    together = cuda.cg.this_cluster()
    t, rank = cuda.threadIdx.x, together.block_rank()
    if t < 16:
        own[t] = 0
    total[0] = 0
    together.sync()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        which = x[i]
        cuda.atomic.add(together.map_shared_rank(own, which // 16), which % 16, 1)
        cuda.atomic.add(together.map_shared_rank(total, 0), 0, np.float64(which))
    together.sync()
    if t < 16:
        cuda.atomic.add(bins, rank * 16 + t, own[t])
    if rank == 0 and t == 0:
        cuda.atomic.add(sums, 0, total[0])


def test_atomics_on_memory_of_other_blocks(device, clusters):
    x = np.random.default_rng(3).integers(0, 16 * BLOCKS, 5000).astype(np.int32)
    bins, sums = np.zeros(16 * BLOCKS, np.int32), np.zeros(1)
    counted[2 * BLOCKS, THREADS](x, bins, sums)
    np.testing.assert_array_equal(bins, np.bincount(x, minlength=16 * BLOCKS))
    assert sums[0] == x.sum()


def test_writes_are_seen_after_the_barrier(device, clusters):
    @cuda.jit(cluster=2)
    def kernel(x, steps):
        """Messages go to and fro; each is the last one plus 1."""
        box = cuda.shared.array(THREADS, np.int64)
        together = cuda.cg.this_cluster()
        t, rank = cuda.threadIdx.x, together.block_rank()
        box[t] = t
        together.sync()
        theirs = together.map_shared_rank(box, rank ^ 1)
        for step in range(steps):
            if step % 2 == rank:
                theirs[t] = box[t] + 1
            together.barrier_arrive()
            together.barrier_wait()
        x[cuda.grid(1)] = box[t]
        together.sync()

    x = np.zeros(2 * THREADS, np.int64)
    kernel[2, THREADS](x, 101)
    own = np.arange(THREADS)
    np.testing.assert_array_equal(x, np.concatenate([own + 100, own + 101]))


@cuda.jit
def encoded(maps, x):
    if cuda.grid(1) == 0:
        for i in range(maps.size):
            maps[i] = 0
        cuda.tensor_map_encode(maps, 0, x, x.shape, (128,), (16, 32), 0, "float32")


@cuda.jit(cluster=2)
def sent_to_both(maps, y):
    """Each block copies its half of a tile to both."""
    tile = cuda.shared.array((32, 32), np.float32, alignment=128)
    bars = cuda.shared.array(2, np.uint64)
    together = cuda.cg.this_cluster()
    t, rank = cuda.threadIdx.x, together.block_rank()
    if t == 0:
        cuda.tensor_map_acquire(maps, 0)
        cuda.mbarrier_init(bars, 0, 1)
        cuda.mbarrier_init(bars, 1, 2)
        cuda.fence_mbarrier_init()
        cuda.fence_proxy_async()
    together.sync()
    if t == 0:
        cuda.mbarrier_arrive_expect_tx(bars, 0, 32 * 32 * 4)
        cuda.tma_load(tile, (16 * rank, 0), maps, 0, (16 * rank, 0), bars, 0, multicast=3)
    cuda.mbarrier_wait_parity(bars, 0, 0)
    for row in range(32):
        y[cuda.blockIdx.x, row, t] = tile[row, t]
    if t < 2:
        cuda.mbarrier_arrive(together.map_shared_rank(bars, t), 1)
    cuda.mbarrier_wait_parity(bars, 1, 0)
    together.sync()


def test_copies_to_several_blocks(device, clusters):
    x = np.random.default_rng(5).random((32, 32), np.float32)
    d, maps, y = cuda.to_device(x), cuda.device_array(16, np.uint64), cuda.device_array((4, 32, 32), np.float32)
    encoded[1, 32](maps, d)
    sent_to_both[4, 32](maps, y)
    np.testing.assert_array_equal(y.copy_to_host(), np.broadcast_to(x, (4, 32, 32)))


@cuda.jit
def shifted(x, y):
    """Waits for the launch before it, which has let it begin early."""
    cuda.griddepcontrol_launch_dependents()
    cuda.griddepcontrol_wait()
    i = cuda.grid(1)
    y[i] = x[(i + 4097) % x.size] + 1


def test_launches_that_begin_early_see_what_came_before(device):
    if device.capabilities.ptx_target < (9, 0):
        pytest.skip("this device has no programmatic dependent launch")
    n, times = 1 << 16, 200
    x, y = cuda.to_device(np.arange(n, dtype=np.int64)), cuda.device_array(n, np.int64)
    for _ in range(times):
        shifted[n // 64, 64](x, y)
        shifted[n // 64, 64](y, x)
    np.testing.assert_array_equal(x.copy_to_host(), np.roll(np.arange(n), -2 * 4097 * times) + 2 * times)


def test_a_grid_is_whole_clusters(device, clusters):
    x = np.zeros(3 * THREADS, np.float32)
    with pytest.raises(LaunchConfigError, match=r"grid \(?3.* is no multiple of the kernel's cluster"):
        reversed_among(2)[3, THREADS](x, x.copy(), np.zeros(3, np.int32))


# texts ---------------------------------------------------------------------------------------------------------------


def test_the_assembler_takes_every_element():
    for name in ("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"):
        dtype = "boolean" if name == "bool" else name
        text = assembled(reversed_among(2), f"void({dtype}[:], {dtype}[:], int32[:])")
        assert ".reqnctapercluster 2, 1, 1" in text and ".explicitcluster" in text
        bits = np.dtype(name).itemsize * 8
        assert f"ld.shared::cluster.b{bits}" in text and "mapa.shared::cluster.u32" in text


def test_the_assembler_takes_dependent_launches():
    text = assembled(shifted, "void(int64[:], int64[:])")
    assert (
        text.index("griddepcontrol.launch_dependents;") < text.index("griddepcontrol.wait;") < text.index("ld.global")
    )


def test_the_assembler_takes_atomics_and_copies():
    text = assembled(counted, "void(int32[:], int32[:], float64[:])")
    assert "atom.shared::cluster.add.s32" in text and "atom.shared::cluster.add.f64" in text
    text = assembled(sent_to_both, "void(uint64[:], float32[:, :, :])")
    for instruction in (
        "mbarrier::complete_tx::bytes.multicast::cluster [",
        "mbarrier.arrive.release.cluster.shared::cluster.b64",
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
        "fence.mbarrier_init.release.cluster;",
    ):
        assert instruction in text


@pytest.mark.parametrize("name", ["add", "exch", "max", "min", "and_", "or_", "xor"])
@pytest.mark.parametrize("dtype", ["int32", "uint32", "int64", "uint64"])
def test_the_assembler_takes_atomics_of_integers(name, dtype):
    operation = getattr(cuda.atomic, name)

    @cuda.jit(cluster=2)
    def kernel(x):
        cell = cuda.shared.array(1, x.dtype)
        there = cuda.cg.this_cluster().map_shared_rank(cell, 1)
        x[0] = operation(there, 0, x[1])
        x[1] = cuda.atomic.cas(there, 0, x[0], x[1])

    text = assembled(kernel, f"void({dtype}[:])")
    assert f"atom.shared::cluster.{name.rstrip('_')}." in text and "atom.shared::cluster.cas.b" in text


def test_directives_go_to_the_head_of_the_entry():
    text = ".version 8.0\n.target sm_90\n.entry k(\n\t.param .u64 k_param_0\n)\n.reqntid 32, 1, 1\n{\n\tret;\n}\n"
    real = architecture_ptx.unmarked(text.encode(), f"{architecture_ptx.cluster_line((2, 4, 1))}\n").decode()
    assert real.replace(".explicitcluster\n.reqnctapercluster 2, 4, 1\n", "") == text
    assert real.index(".reqntid") < real.index(".explicitcluster") < real.index("{")
    assert architecture_ptx.unmarked(text.encode()).decode() == text


# refusals ------------------------------------------------------------------------------------------------------------


def test_a_device_without_clusters_says_so(device):
    if device.capabilities.cluster_size > 1:
        pytest.skip("this device runs clusters")
    x = np.zeros(2 * THREADS, np.float32)
    with pytest.raises(MissingCapabilityError, match="runs no clusters") as caught:
        reversed_among(2)[2, THREADS](x, x.copy(), np.zeros(2, np.int32))
    assert caught.value.span.filename == __file__ and 'select_device("cuda:0")' in caught.value.hint


def test_larger_clusters_than_a_device_runs(device):
    @cuda.jit(cluster=(4, 4))
    def kernel(x):
        x[0] = cuda.cg.this_cluster().block_rank()

    with pytest.raises(MissingCapabilityError, match="a cluster of 16 blocks; this device runs at most 8 together"):
        text_of(kernel, cuda.device_array(1, np.int32), caps=IDEAL)


def test_a_cluster_is_a_number_of_blocks():
    for wrong in (0, (2, 0), "two", (1, 2, 3, 4)):
        with pytest.raises((LaunchConfigError, SettingsError), match="cluster"):
            cuda.jit(cluster=wrong)


def refused(body):
    """A kernel of two blocks that says a thing that is not there."""

    @cuda.jit(cluster=2)
    def kernel(x):
        tile = cuda.shared.array(8, np.float32)
        body(tile, x)

    with pytest.raises((KernelTypeError, KernelValueError)) as caught:
        text_of(kernel, cuda.device_array(8, np.float32), caps=IDEAL)
    return str(caught.value)


@cuda.jit(device=True)
def _rank_outside(tile, x):
    x[0] = cuda.cg.this_cluster().map_shared_rank(tile, 2)[0]


@cuda.jit(device=True)
def _no_rank(tile, x):
    x[0] = cuda.cg.this_cluster().map_shared_rank(tile, None)[0]


@cuda.jit(device=True)
def _global_array(tile, x):
    x[0] = cuda.cg.this_cluster().map_shared_rank(x, 1)[0]


@cuda.jit(device=True)
def _vector(tile, x):
    x[0] = cuda.vload(cuda.cg.this_cluster().map_shared_rank(tile, 1), 0, 4)[0]


@cuda.jit(device=True)
def _maximum(tile, x):
    x[0] = cuda.atomic.max(cuda.cg.this_cluster().map_shared_rank(tile, 1), 0, x[1])


@cuda.jit(device=True)
def _complex(tile, x):
    pairs = cuda.shared.array(4, np.complex64)
    x[0] = cuda.cg.this_cluster().map_shared_rank(pairs, 1)[0].real


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (_rank_outside, "the rank 2 of a cluster of 2 blocks"),
        (_no_rank, "the rank of cuda.cg.this_cluster().map_shared_rank must be an integer, not None"),
        (_global_array, "takes an array of numbers in shared memory, not"),
        (_vector, "works on this block's memory, not on distributed shared array"),
        (_maximum, "no atomic max on float32 in distributed shared memory"),
        (_complex, "complex numbers of distributed shared memory"),
    ],
)
def test_what_is_not_there(device, body, said):
    assert said in refused(body)
