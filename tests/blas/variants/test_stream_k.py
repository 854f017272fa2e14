"""Stream-K: the last tiles are shared out along k, whatever their number; sums are whole, and of the same bits."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hopper import HOPPER
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.launch import pieces_of_last
from portagpu.blas.gemm.kernels.stream_k import part_of, pieces_of_shares, start_of, whole_tiles, worker_of
from portagpu.blas.gemm.selection.registry import from_json
from portagpu.blas.gemm.variants.simt_async.variant import PipelinedConfig, PipelinedVariant

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

SMALL = PipelinedConfig(warps_m=1, warps_n=2, thread_m=8, thread_n=4, tile_k=8, stages=4, group=2, spread=2, split_k=1)
CONFIG = replace(SMALL, workers=1)
TILE = (CONFIG.tile_m, CONFIG.tile_n, CONFIG.tile_k)


@given(tiles=st.integers(1, 2000), workers=st.integers(1, 300), steps=st.integers(1, 700))
def test_shares_are_all_of_the_last_tiles(tiles, workers, steps):
    pieces = pieces_of_shares(tiles, workers, steps)
    whole = whole_tiles(tiles, workers)
    assert whole % workers == 0
    assert 0 <= tiles - whole <= 2 * workers
    if not pieces:
        return
    rest = tiles - whole
    share, more = divmod(rest * steps, workers)
    bounds = [start_of.py_func(w, share, more) for w in range(workers + 1)]
    assert bounds[0] == 0
    assert bounds[-1] == rest * steps
    assert all(begin < end for begin, end in pairwise(bounds))
    assert [worker_of.py_func(b, share, more) for b in bounds[:-1]] == list(range(workers))


@given(rest=st.integers(1, 40), workers=st.integers(1, 40), steps=st.integers(8, 60))
def test_parts_of_a_tile_are_numbered_from_its_first_worker_on(rest, workers, steps):
    share, more = divmod(rest * steps, workers)
    if share == 0:
        return
    bounds = [start_of.py_func(w, share, more) for w in range(workers + 1)]
    for tile in range(rest):
        begin, end = tile * steps, (tile + 1) * steps
        owners = [w for w in range(workers) if bounds[w] < end and bounds[w + 1] > begin]
        for number, worker in enumerate(owners):
            with_host = part_of.py_func.__globals__ | {"worker_of": worker_of.py_func}
            found = type(part_of.py_func)(part_of.py_func.__code__, with_host)(worker, tile, steps, share, more)
            assert found == (number, len(owners))


def operands(shape, batch, seed=3):
    m, n, k = shape
    random = np.random.default_rng(seed)
    outer = (batch,) if batch else ()
    return tuple(random.integers(-4, 5, (*outer, *size)).astype(np.float32) for size in ((m, k), (k, n), (m, n)))


def extents_of(tiles, k):
    """Extents of a product of so many tiles, whose last row and column are not whole."""
    return TILE[0] - 3, tiles * TILE[1] - 5, k


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("turns, rest, k", [(0, 1, 300), (1, 1, 403), (1, 3, 333), (2, 1, 640)])
def test_shared_tiles_are_exact(device, workers, turns, rest, k):
    """Integers, whose sums have no rounding."""
    context = cuda.current_context()
    units = context.capabilities.compute_units * workers
    if units == 1:
        pytest.skip("one worker shares with nobody")
    # of a large device few tiles would be in too many pieces, or workers have too few steps
    rest = max(rest, units // (5 if turns else 2))
    shape = extents_of(turns * units + rest, k)
    config = replace(CONFIG, workers=workers)
    assert pieces_of_last(TILE, shape, 1, units) > 1
    a, b, c = operands(shape, 0)
    x, y = cuda.to_device(a), cuda.to_device(b)
    for alpha, beta in ((1, 0), (0.5, 2)):
        z = cuda.to_device(c if beta else np.full_like(c, np.nan))
        PipelinedVariant().run(config, Product(a=x, b=y, c=z, stream=context.default_stream, alpha=alpha, beta=beta))
        assert np.array_equal(z.copy_to_host(), alpha * (a @ b) + beta * c)
    assert not workspaces.zeros(context.default_stream, "arrived", 1).copy_to_host().any()


def test_batches_layouts_and_the_same_bits(device):
    context = cuda.current_context()
    if context.capabilities.compute_units == 1:
        pytest.skip("one worker shares with nobody")
    batch, (m, n, k) = 3, extents_of(context.capabilities.compute_units + 1, 200)
    random = np.random.default_rng(5)
    a, b = (random.standard_normal((batch, *size)).astype(np.float32) for size in ((m, k), (k, n)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = (k + 4) * np.finfo(np.float32).eps * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    assert pieces_of_last(TILE, (m, n, k), batch, context.capabilities.compute_units)
    results = []
    for lying in (False, True):
        x = cuda.to_device(a)
        y = cuda.to_device(np.ascontiguousarray(b.swapaxes(1, 2))).transpose(0, 2, 1) if lying else cuda.to_device(b)
        for _ in range(3):
            z = cuda.device_array((batch, m, n), np.float32)
            PipelinedVariant().run(CONFIG, Product(a=x, b=y, c=z, stream=context.default_stream))
            results.append(z.copy_to_host())
            assert np.all(np.abs(results[-1] - exact) <= bound)
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_what_is_legal():
    variant = PipelinedVariant()
    large = replace(CONFIG, warps_m=2, warps_n=4, thread_m=16, thread_n=8, tile_k=16, stages=5, spread=4)
    square = Problem(m=4096, n=4096, k=4096, dtype="float32")
    assert variant.is_legal(large, square, HOPPER)
    assert not variant.is_legal(replace(large, split_k=2), square, HOPPER)  # sums are split in one way
    assert not variant.is_legal(large, replace(square, m=4224), HOPPER)  # 528 tiles: four full turns
    assert not variant.is_legal(large, square, replace(HOPPER, device_fences=False))  # fences may not reach far enough
    assert variant.predict(large, square, HOPPER) < variant.predict(replace(large, workers=0), square, HOPPER)
    assert variant.predict(replace(large, workers=2), square, HOPPER) == float("inf")  # one block fits


def test_points_of_older_stores_share_nothing():
    point = {"kind": "pipelined", **{f: getattr(CONFIG, f) for f in CONFIG.__slots__ if f != "workers"}}
    assert from_json(point) == replace(CONFIG, workers=0)
