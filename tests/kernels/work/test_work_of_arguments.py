"""Counts of a launch's work: what its arguments are, that they stay as they are, and what is refused."""

from __future__ import annotations

import dataclasses

import counted_kernels as kernels
import numpy as np
import pytest

from portagpu import cuda
from portagpu.dispatch.code.requests import Counts
from portagpu.dispatch.counting.launches import count_work
from portagpu.errors import ArgumentTypeError, LaunchConfigError, UncountedWorkError

N = 37


@cuda.jit
def double(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= 2


@cuda.jit
def shift(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = x[i] + 1


@cuda.jit
def total_of_block(x, total):
    """Threads without an element leave before the barrier; the others count on."""
    tile = cuda.shared.array(32, np.float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    tile[t] = 0
    cuda.syncthreads()
    if i >= x.size:
        return
    tile[t] = x[i] * x[i]
    cuda.syncthreads()
    if t == 0:
        for n in range(32):
            total[cuda.blockIdx.x] += tile[n]


def test_arguments_stay_as_they_are(device):
    host, ours = np.ones(N, np.float32), cuda.to_device(np.ones(N, np.float32))
    for x in (host, ours, cuda.InOut(host), ours[::-1]):
        work = double[2, 32].count_work(x)
        assert (work.flops, work.memory.loaded, work.memory.stored) == (N, 4 * N, 4 * N)
        assert (work.touched.read, work.touched.written, work.touched_bytes) == (4 * N, 4 * N, 8 * N)
    assert (host == 1).all() and (ours.copy_to_host() == 1).all()


@pytest.mark.parametrize("on_device", (True, False))
def test_views_of_one_array_share_their_bytes(device, on_device):
    x = np.arange(2 * N, dtype=np.float32)
    x = cuda.to_device(x) if on_device else x
    work = shift[2, 32].count_work(x[:N], x[N // 2 : N // 2 + N])
    assert (work.touched.read, work.touched.written) == (4 * N, 4 * N)
    assert work.touched.granule == 4
    work = shift[2, 32].count_work(x[::2], x[::2])
    assert (work.bytes, work.touched_bytes) == (8 * N, 8 * N)


def test_an_array_for_all_threads_is_touched_once(device):
    row = cuda.to_device(np.ones(1, np.float32)).broadcast_to((N,))
    work = shift[2, 32].count_work(row, np.zeros(N, np.float32))
    assert (work.memory.loaded, work.touched.read) == (4 * N, 4)


def test_small_and_large_elements(device):
    work = shift[2, 32].count_work(np.ones(N, np.int8), np.ones(N, np.float64))
    assert (work.touched.read, work.touched.written, work.touched.granule) == (N, 8 * N, 1)
    assert work.flops == 0


def test_records(device):
    kind = np.dtype([("x", np.float64), ("n", np.int16), ("y", np.float32)])

    @cuda.jit
    def fields(records):
        i = cuda.grid(1)
        if i < records.size:
            records[i].y = records[i].x * records[i].n

    work = fields[2, 32].count_work(np.zeros(N, kind))
    assert (work.memory.loaded, work.memory.stored) == (10 * N, 4 * N)
    assert (work.touched.read, work.touched.written, work.touched.granule) == (10 * N, 4 * N, 1)
    assert work.operations["float64"] == {"mul": N}


def test_arrays_in_tuples_and_numbers(device):
    @cuda.jit
    def weighted(arrays, weights, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = arrays[0][i] * weights[0] + arrays[1][i] * weights[1]

    x = np.ones(N, np.float32)
    work = weighted[2, 32].count_work((x, x), (np.float32(1), np.float32(2)), np.zeros_like(x))
    assert work.flops == 3 * N
    assert (work.memory.loaded, work.touched.read) == (8 * N, 4 * N)


@pytest.mark.parametrize("dtype", (np.bool_, np.float16, np.uint16))
def test_elements_of_few_bytes(device, dtype):
    @cuda.jit
    def copy(x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = x[i]

    size = np.dtype(dtype).itemsize
    work = copy[2, 32].count_work(np.ones(N, dtype), np.zeros(N, dtype))
    assert (work.memory.loaded, work.memory.stored, work.touched_bytes) == (size * N, size * N, 2 * size * N)


@pytest.mark.oclgrind
def test_threads_that_leave_before_a_barrier(device):
    work = total_of_block[2, 32].count_work(np.ones(N, np.float32), np.zeros(2, np.float32))
    assert work.operations["float32"] == {"mul": N, "add": 64}
    assert work.memory.loaded == 4 * (2 * N + 64)
    assert (work.shared.loaded, work.shared.stored) == (4 * 64, 4 * (64 + N))
    assert (work.touched.read, work.touched.written) == (4 * N + 8, 8)


def test_copies_to_shared_memory(device):
    @cuda.jit
    def staged(source, target):
        tile = cuda.shared.array(4 * 32, np.float32)
        t = cuda.threadIdx.x
        place = 4 * cuda.grid(1)
        cuda.pipeline_memcpy_async(tile, 4 * t, source, place, 4, valid=place < source.size)
        cuda.pipeline_commit()
        cuda.pipeline_wait_prior(0)
        cuda.syncthreads()
        if place < source.size:
            target[place] = tile[4 * t]

    work = staged[2, 32].count_work(np.ones(4 * N, np.float32), np.zeros(4 * N, np.float32))
    assert (work.memory.loaded, work.memory.stored) == (16 * N, 4 * N)
    assert (work.shared.loaded, work.shared.stored) == (4 * N, 16 * 64)
    assert (work.touched.read, work.touched.written) == (16 * N, 4 * N)


def test_a_kernel_without_work(device):
    @cuda.jit
    def nothing(x):
        pass

    work = nothing[1, 32].count_work(np.ones(3))
    assert (work.flops, work.bytes, work.touched_bytes, work.intensity) == (0, 0, 0, 0)


def test_more_than_32_bits_count(device):
    """What the threads of a row of totals add makes its low word overflow."""

    @cuda.jit
    def busy(x, turns):
        total = x[0]
        for _ in range(turns):
            for _ in range(turns):
                total = cuda.fma(total, total, total)
        x[0] = total

    work = busy[1, 1].count_work(np.zeros(1, np.float32), 2**10)
    assert work.flops == 2 * 2**20
    program = busy.overloads  # the kernel itself was never launched
    assert not program


def test_without_marks(device):
    work = count_work(double, double[2, 32].shape, None, (np.ones(N),), {}, touched=False)
    assert (work.flops, work.bytes, work.marks) == (N, 16 * N, None)
    with pytest.raises(UncountedWorkError, match="was not counted"):
        _ = work.intensity


def test_a_count_is_a_specialisation_of_its_own(device):
    x = cuda.to_device(np.ones(N, np.float32))
    double[2, 32].count_work(x)
    before = dict(double.overloads)
    double[2, 32](x)
    np.testing.assert_array_equal(x.copy_to_host(), 2)
    double[2, 32].count_work(x)
    assert (x.copy_to_host() == 2).all()
    assert all("work_totals" not in o.kernel_source.source for o in double.overloads.values())
    assert len(double.overloads) - len(before) <= 1


def test_exceptions_of_a_thread(device):
    @cuda.jit(debug=True)
    def beyond(x):
        x[cuda.grid(1)] *= 2

    with pytest.raises(IndexError):
        beyond[1, 32].count_work(np.ones(31))
    assert beyond[1, 31].count_work(np.ones(31)).flops == 31


def test_arguments_of_launches_are_checked(device):
    with pytest.raises(ArgumentTypeError):
        double[1, 32].count_work("text")
    with pytest.raises(LaunchConfigError):
        double[1, 2**20].count_work(np.ones(3))


@cuda.jit
def waiting(x):
    group = cuda.cg.this_grid()
    x[cuda.grid(1)] += 1
    group.sync()


def test_blocks_that_wait_for_each_other(device):
    assert waiting[1, 8].count_work(np.ones(8)).flops == 8
    if not device.capabilities.cooperative_launch:
        with pytest.raises(UncountedWorkError, match="wait for each other"):
            waiting[2, 8].count_work(np.ones(16))


def test_memory_of_nobody(device):
    @cuda.jit
    def behind(x):
        x[0] = x[x.size]

    x = cuda.to_device(np.ones(8, np.float32))
    with pytest.raises(UncountedWorkError, match="none of its arguments"):
        behind[1, 1].count_work(x[:4])
    assert count_work(behind, behind[1, 1].shape, None, (x[:4],), {}, touched=False).memory.loaded == 4


class Extension:
    def prepare_args(self, kind, value, stream, retr):
        return kind, value


def test_extensions(device):
    kernel = cuda.jit(double.py_func, extensions=[Extension()])
    with pytest.raises(UncountedWorkError, match="extensions"):
        kernel[1, 1].count_work(np.ones(1))


def test_device_and_host_memory_in_one(device):
    x = np.ones(8, np.float32)
    try:
        ours = cuda.from_dlpack(x)
    except (BufferError, AttributeError):
        pytest.skip("the device has memory of its own")
    ours[0] = 2
    if x[0] != 2:
        pytest.skip("the array is a copy in the device's memory")
    with pytest.raises(UncountedWorkError, match="share memory"):
        shift[1, 8].count_work(ours, x)


def test_the_answer_is_a_value(device):
    work = kernels.vector_add[1, 32].count_work(*(np.ones(8, np.float32) for _ in range(3)))
    assert dataclasses.replace(work, kernel="other").flops == 8
    assert Counts(True) == Counts(touched=True)
