"""Programs that count on threads in lockstep are told; those with their barriers are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from remarks import FLOATS, remarks_of

from portagpu import cuda
from portagpu.errors import PortaGPUCorrectnessWarning

f32 = np.float32


def everybody_reads_the_first(w, out):
    t = cuda.threadIdx.x
    least = w[0]
    w[t] = 100.0 + t
    out[t] = least


def first_thread_writes(x, out):
    s = cuda.shared.array(32, f32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = x[0]
    out[t] = s[0]


def no_barrier_at_the_end_of_the_loop(x, out):
    s = cuda.shared.array(32, f32)
    t = cuda.threadIdx.x
    for _ in range(out.shape[0]):
        s[t] = x[t]
        cuda.syncthreads()
        out[t] += s[31 - t]


def last_warp(x, out):
    s = cuda.shared.array(64, f32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 16:
        s[t] += s[t + 16]
        s[t] += s[t + 8]
    out[t] = s[t]


def in_place(x, out):
    i = cuda.grid(1)
    if 0 < i < x.shape[0] - 1:
        x[i] = x[i - 1] + x[i + 1]


def under_a_condition_of_all(x, out):
    t = cuda.threadIdx.x
    if out.size > 10:
        x[t] = t
        out[t] = x[t ^ 1]


WRONG = [
    (everybody_reads_the_first, {("w", 2)}),
    (first_thread_writes, {("s", 5)}),
    (no_barrier_at_the_end_of_the_loop, {("s", 6)}),
    (last_warp, {("s", 7)}),
    (in_place, {("x", 3)}),
    (under_a_condition_of_all, {("x", 4)}),
]


@pytest.mark.parametrize(("function", "expected"), WRONG, ids=[f.__name__ for f, _ in WRONG])
def test_reads_of_what_others_write_are_told(function, expected):
    assert remarks_of(function, FLOATS, FLOATS) == expected


def with_barriers(x, out):
    s = cuda.shared.array(32, f32)
    t = cuda.threadIdx.x
    for _ in range(out.shape[0]):
        s[t] = x[t]
        cuda.syncthreads()
        out[t] += s[31 - t]
        cuda.syncthreads()


def reduction(x, out):
    s = cuda.shared.array(64, f32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def reduction_of_constant_size(x, out):
    s = cuda.shared.array(64, f32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    out[t] = s[0]


def stencil_with_halo(x, out):
    s = cuda.shared.array(34, f32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < x.shape[0]:
        s[t + 1] = x[i]
        if t == 0:
            s[0] = x[0]
        if t == 31:
            s[33] = x[31]
    cuda.syncthreads()
    if i < x.shape[0]:
        out[i] = s[t] + s[t + 1] + s[t + 2]


def one_side_or_the_other(x, out):
    s = cuda.shared.array(1, f32)
    t = cuda.threadIdx.x
    if x[0] > 0:
        if t == 0:
            s[0] = 1
    else:
        out[t] = s[0]


def exclusive_conditions(x, out):
    t = cuda.threadIdx.x
    wanted = x.size > 5
    if wanted and t == 0:
        out[0] = 1
    if not wanted:
        x[t] = out[0]


def grid_stride(x, out):
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        x[i] = x[i] * 2 + out[i]


def odd_and_even(x, out):
    t = cuda.threadIdx.x
    if t % 2 == 0:
        x[t] = x[t + 1]


def all_write_the_same(x, out):
    s = cuda.shared.array(1, f32)
    s[0] = 0
    out[cuda.threadIdx.x] = s[0]


def warp_barrier(x, out):
    s = cuda.shared.array(64, f32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncwarp()
    out[t] = s[t ^ 1]


def writes_back_what_it_read(x, out):
    i = cuda.grid(1)
    x[i] = x[0]


def swap_by_one_of_two(x, out):
    t = cuda.threadIdx.x
    partner = t ^ 4
    if partner > t:  # noqa: SIM102
        if x[t] > x[partner]:
            x[t], x[partner] = x[partner], x[t]


def from_the_end(x, out):
    x[cuda.threadIdx.x - 64] = x[cuda.threadIdx.x - 64] + x[-1] * 0


RIGHT = [
    *(with_barriers, reduction, reduction_of_constant_size, stencil_with_halo, one_side_or_the_other),
    *(exclusive_conditions, grid_stride, odd_and_even, all_write_the_same, warp_barrier, writes_back_what_it_read),
    *(swap_by_one_of_two, from_the_end),
]


@pytest.mark.parametrize("function", RIGHT, ids=lambda f: f.__name__)
def test_programs_without_races_are_left_alone(function):
    assert remarks_of(function, FLOATS, FLOATS) == set()


@pytest.mark.filterwarnings("ignore::portagpu.errors.PortaGPUPerformanceWarning")  # small launches
def test_the_warning_is_given_where_the_block_is_wide_enough(device, telling):
    kernel = cuda.jit(everybody_reads_the_first)
    w, out = np.zeros(32, f32), np.zeros(32, f32)
    kernel[1, 1](w, out)
    with pytest.warns(PortaGPUCorrectnessWarning, match=r"elements of `w` .*docs/lockstep.md") as told:
        kernel[1, 32](w, out)
    assert told[0].filename == __file__
    assert told[0].lineno == everybody_reads_the_first.__code__.co_firstlineno + 2
