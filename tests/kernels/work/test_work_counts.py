"""Counts of a launch's work against closed forms, at odd sizes."""

from __future__ import annotations

import math

import counted_kernels as kernels
import numpy as np
import pytest
from counted_kernels import TILE
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.dispatch.counting.work import Traffic, Work

NOTHING = Traffic()


def ones(*shape, dtype=np.float32):
    return np.ones(shape, dtype)


def blocks(n, block):
    return -(-n // block)


def check(work: Work, *, operations, loaded=0, stored=0, atomic=0, read, written, shared=NOTHING):
    """All of a count: operations without those that did not occur."""
    found = {dtype: {k: n for k, n in kinds.items() if n} for dtype, kinds in work.operations.items()}
    assert {dtype: kinds for dtype, kinds in found.items() if kinds} == operations
    assert work.memory == Traffic(loaded=loaded, stored=stored, atomic=atomic)
    assert work.shared == shared
    assert (work.touched.read, work.touched.written) == (read, written)


@pytest.mark.oclgrind
@given(n=st.integers(1, 1000), block=st.integers(1, 96))
def test_vector_add(device, n, block):
    work = kernels.vector_add[blocks(n, block), block].count_work(ones(n), ones(n), ones(n))
    check(work, operations={"float32": {"add": n}}, loaded=8 * n, stored=4 * n, read=8 * n, written=4 * n)
    assert (work.kernel, work.threads) == ("vector_add", blocks(n, block) * block)
    assert (work.flops, work.bytes, work.touched_bytes, work.intensity) == (n, 12 * n, 12 * n, 1 / 12)


@given(n=st.integers(1, 1000), grid=st.integers(1, 5))
def test_saxpy_with_a_stride_of_the_grid(device, n, grid):
    work = kernels.saxpy[grid, 32].count_work(np.float32(2), ones(n), ones(n))
    check(work, operations={"float32": {"add": n, "mul": n}}, loaded=8 * n, stored=4 * n, read=8 * n, written=4 * n)


def test_a_fused_multiply_add_is_two(device):
    n = 77
    work = kernels.fused_saxpy[3, 32].count_work(np.float32(2), ones(n), ones(n))
    check(work, operations={"float32": {"fma": n}}, loaded=8 * n, stored=4 * n, read=8 * n, written=4 * n)
    assert work.flops == 2 * n


@given(rows=st.integers(3, 40), columns=st.integers(3, 40))
def test_a_stencil_with_borders(device, rows, columns):
    source = ones(rows, columns)
    grid = blocks(rows, 8), blocks(columns, 4)
    work = kernels.five_points[grid, (8, 4)].count_work(source, ones(rows, columns))
    inner = (rows - 2) * (columns - 2)
    check(
        work,
        operations={"float32": {"add": 3 * inner, "mul": inner}},
        loaded=4 * (4 * inner + rows * columns - inner),
        stored=source.nbytes,
        read=source.nbytes - 4 * (inner == 1),  # of which nobody is a neighbour
        written=source.nbytes,
    )


@pytest.mark.oclgrind
@given(rows=st.integers(1, 40), columns=st.integers(1, 40))
def test_a_transpose_through_shared_memory(device, rows, columns):
    source = ones(rows, columns)
    grid = blocks(columns, TILE), blocks(rows, TILE)
    work = kernels.transposed[grid, (TILE, TILE)].count_work(source, ones(columns, rows))
    n = source.nbytes
    check(work, operations={}, loaded=n, stored=n, read=n, written=n, shared=Traffic(loaded=n, stored=n))
    assert work.flops == 0 and work.intensity == 0


@given(m=st.integers(1, 20), n=st.integers(1, 20), k=st.integers(1, 20))
def test_a_naive_product(device, m, n, k):
    grid = blocks(m, 8), blocks(n, 8)
    work = kernels.naive_product[grid, (8, 8)].count_work(ones(m, k), ones(k, n), ones(m, n))
    check(
        work,
        operations={"float32": {"add": m * n * k, "mul": m * n * k}},
        loaded=8 * m * n * k,
        stored=4 * m * n,
        read=4 * k * (m + n),
        written=4 * m * n,
    )
    assert work.flops == 2 * m * n * k


@pytest.mark.oclgrind
@given(m=st.integers(1, 20), n=st.integers(1, 20), k=st.integers(1, 20))
def test_a_tiled_product(device, m, n, k):
    grid = blocks(n, TILE), blocks(m, TILE)
    work = kernels.tiled_product[grid, (TILE, TILE)].count_work(ones(m, k), ones(k, n), ones(m, n))
    threads, tiles = work.threads, blocks(k, TILE)
    steps = threads * tiles * TILE
    check(
        work,
        operations={"float32": {"add": steps, "mul": steps}},
        loaded=4 * (m * k * grid[0] + k * n * grid[1]),
        stored=4 * m * n,
        read=4 * k * (m + n),
        written=4 * m * n,
        shared=Traffic(loaded=8 * steps, stored=8 * threads * tiles),
    )


@pytest.mark.oclgrind
@given(n=st.integers(1, 300))
def test_a_reduction_in_blocks(device, n):
    grid = blocks(n, 64)
    work = kernels.block_sums[grid, 64].count_work(ones(n), ones(grid))
    check(
        work,
        operations={"float32": {"add": 63 * grid}},
        loaded=4 * n,
        stored=4 * grid,
        read=4 * n,
        written=4 * grid,
        shared=Traffic(loaded=4 * grid * (2 * 63 + 1), stored=4 * grid * (64 + 63)),
    )


@pytest.mark.oclgrind
@given(st.lists(st.integers(0, 15), min_size=1, max_size=200))
def test_a_histogram_with_atomics(device, numbers):
    values, counts = np.array(numbers, np.int32), np.zeros(16, np.int32)
    grid = blocks(values.size, 64)
    work = kernels.histogram[grid, 64].count_work(values, counts)
    found = [len(set(numbers[64 * b : 64 * b + 64])) for b in range(grid)]
    check(
        work,
        operations={},
        loaded=values.nbytes,
        atomic=4 * sum(found),
        read=values.nbytes + 4 * len(set(numbers)),
        written=4 * len(set(numbers)),
        shared=Traffic(loaded=4 * (16 * grid + sum(found)), stored=64 * grid, atomic=values.nbytes),
    )
    np.testing.assert_array_equal(counts, 0)


@given(width=st.integers(1, 40), height=st.integers(1, 30), most=st.integers(1, 30))
def test_a_loop_that_data_ends(device, width, height, most):
    steps = cuda.to_device(np.zeros((height, width), np.int32))
    args = steps, np.int32(width), np.int32(height), np.int32(most)
    launch = kernels.mandelbrot[(blocks(height, 8), blocks(width, 8)), (8, 8)]
    work = launch.count_work(*args)
    np.testing.assert_array_equal(steps.copy_to_host(), 0)
    launch(*args)
    found = steps.copy_to_host()
    n, turns = found.size, int(found.sum())
    asked = turns + int((found < most).sum())  # the second half of the condition
    check(
        work,
        operations={
            "float32": {"mul": 2 * n + 2 * asked + 4 * turns, "add": 2 * n + asked + 3 * turns, "compare": asked}
        },
        stored=4 * n,
        read=0,
        written=4 * n,
    )


@given(n=st.integers(1, 100), degree=st.integers(0, 9))
def test_a_device_function_of_float64(device, n, degree):
    coefficients, x = ones(degree + 1, dtype=np.float64), ones(n, dtype=np.float64)
    work = kernels.polynomial[blocks(n, 32), 32].count_work(coefficients, x, np.zeros(n))
    steps = n * (degree + 1)
    check(
        work,
        operations={"float64": {"mul": steps, "add": steps, "special": n, "div": n}},
        loaded=8 * (steps + 2 * n),
        stored=8 * n,
        read=8 * (degree + 1 + n),
        written=8 * n,
    )
    assert (work.special, work.flops) == (n, 2 * steps + n)


@pytest.mark.oclgrind
@given(st.lists(st.integers(-4, 4), min_size=1, max_size=40))
def test_device_functions_in_conditions(device, numbers):
    x, add, mul, compare, loads = np.array(numbers, np.float32), 0, 0, 0, 0

    def is_beyond(value, limit):
        nonlocal add, mul, compare, loads
        add, mul, compare, loads = add + 1, mul + 1, compare + 1, loads + 1
        return 2 * value * value > limit

    for value in numbers:
        k = 0
        while is_beyond(value, k):
            mul, compare, loads = mul + 1, compare + 1, loads + 1
            if not value * 2 > k:
                break
            k += 1
        found = is_beyond(value, 9)
        if not found:
            compare, loads = compare + 1, loads + 1
        if found or value < -2:
            add, loads = add + 1, loads + 1
    work = kernels.guarded[blocks(x.size, 32), 32].count_work(x, np.zeros_like(x))
    check(
        work,
        operations={"float32": {"add": add, "mul": mul, "compare": compare} if mul else {}},
        loaded=4 * loads,
        stored=x.nbytes,
        read=x.nbytes,
        written=x.nbytes,
    )


def test_a_function_in_each_lane(device):
    work = kernels.twice_in_lanes[1, 1].count_work(ones(4), ones(4))
    check(work, operations={"float32": {"add": 4}}, loaded=16, stored=16, read=16, written=16)


@pytest.mark.parametrize(("dtype", "real"), ((np.complex64, "float32"), (np.complex128, "float64")))
def test_complex_numbers(device, dtype, real):
    n, size = 37, np.dtype(dtype).itemsize
    work = kernels.complex_step[2, 32].count_work(ones(n, dtype=dtype), ones(n, dtype=dtype))
    check(
        work,
        operations={real: {"mul": 4 * n, "add": 4 * n}},
        loaded=3 * size * n,
        stored=size * n,
        read=2 * size * n,
        written=size * n,
    )
    assert work.flops == 8 * n


@pytest.mark.oclgrind
@given(n=st.integers(1, 300))
def test_exchanges_between_lanes(device, n):
    grid = blocks(n, 64)
    work = kernels.warp_sums[grid, 64].count_work(ones(n), ones(2 * grid))
    check(
        work,
        operations={"float32": {"add": 5 * 64 * grid}},
        loaded=4 * n,
        stored=8 * grid,
        read=4 * n,
        written=8 * grid,
    )


@given(n=st.integers(4, 200))
def test_vectors(device, n):
    work = kernels.vectors[blocks(n // 4, 32), 32].count_work(ones(n), ones(n))
    whole = n // 4 * 4
    check(
        work,
        operations={"float32": {"mul": whole}},
        loaded=4 * whole,
        stored=4 * whole,
        read=4 * whole,
        written=4 * whole,
    )


@given(st.lists(st.lists(st.sampled_from((-1, 1, 200)), min_size=6, max_size=6), min_size=1, max_size=40))
def test_breaks_continues_and_conditions_of_loops(device, rows):
    x = np.array(rows, np.float32)
    asked = high = 0
    touched = set()
    for row, values in enumerate(rows):
        k = 0
        while k < len(values):
            asked += 1
            touched.add((row, k))
            if values[k] < 0:
                break
            k += 1
            if k % 2 == 0:
                continue
            high += 1
            if values[k - 1] > 100:
                break
    work = kernels.first_negative[blocks(len(rows), 32), 32].count_work(x, np.zeros(len(rows), np.int32))
    check(
        work,
        operations={"float32": {"compare": asked + high}},
        loaded=4 * (asked + high),
        stored=4 * len(rows),
        read=4 * len(touched),
        written=4 * len(rows),
    )
    assert math.isclose(work.intensity, 0)
