"""Sums in pieces: one launch, any number of pieces, calls one after the other and on several streams."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from hopper import HOPPER

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.workspace import workspaces
from portagpu.blas.gemm.kernels.launch import is_modest, pieces_of
from portagpu.blas.gemm.kernels.split_k import counters_of
from portagpu.blas.gemm.selection.registry import default_config
from portagpu.blas.gemm.variants.mma.float64_variant import DoubleConfig, DoubleVariant
from portagpu.blas.gemm.variants.mma.variant import FragmentConfig, FragmentVariant
from portagpu.blas.gemm.variants.simt_async.variant import PipelinedConfig, PipelinedVariant
from portagpu.runtime.execution.recorder import Recorder, active

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

CASES = {
    "float32": (
        PipelinedVariant(),
        PipelinedConfig(warps_m=1, warps_n=2, thread_m=8, thread_n=4, tile_k=8, stages=4, group=2, spread=2, split_k=1),
    ),
    "float64": (
        DoubleVariant(),
        DoubleConfig(warps_m=2, warps_n=2, blocks_m=2, blocks_n=4, tile_k=16, stages=4, group=8, split_k=1),
    ),
    "float16": (
        FragmentVariant(),
        FragmentConfig(warps_m=2, warps_n=2, blocks_m=2, blocks_n=4, bytes_k=64, stages=4, group=8, split_k=1),
    ),
}


def operands(dtype, shape, seed=3):
    m, n, k = shape
    random = np.random.default_rng(seed)
    return tuple(random.integers(-4, 5, size).astype(dtype) for size in ((m, k), (k, n), (m, n)))


def able(dtype):
    """The variant and configuration, where the device can run them."""
    variant, known = CASES[dtype]
    caps = replace(cuda.current_context().capabilities, local_memory_dedicated=True)
    if not variant.supports(Problem(m=64, n=64, k=64, dtype=dtype), caps):
        pytest.skip("the device does not have the units")
    return variant, known


@pytest.mark.parametrize("dtype", CASES)
@pytest.mark.parametrize("shape", [(64, 64, 520), (72, 200, 1000), (40, 56, 320)])
@pytest.mark.parametrize("split", [2, 3, 8, 12, 64])
def test_every_number_of_pieces(device, dtype, shape, split):
    """Integers, whose sums have no rounding: equal, whatever the order of the parts."""
    variant, config = able(dtype)
    config = replace(config, split_k=split)
    a, b, c = operands(dtype, shape)
    x, y, stream = cuda.to_device(a), cuda.to_device(b), cuda.current_context().default_stream
    for alpha, beta in ((1, 0), (0.5, 2), (1, 0)):
        z = cuda.to_device(c if beta else np.full_like(c, np.nan))
        variant.run(config, Product(a=x, b=y, c=z, stream=stream, alpha=alpha, beta=beta))
        exact = alpha * (a.astype(np.float64) @ b.astype(np.float64)) + beta * c.astype(np.float64)
        assert np.array_equal(z.copy_to_host(), exact.astype(dtype))
    assert not workspaces.zeros(stream, "arrived", 1).copy_to_host().any()


def test_one_launch_and_the_same_bits_each_time(device):
    variant, config = able("float32")
    config = replace(config, split_k=12)
    random = np.random.default_rng(5)
    a, b = (cuda.to_device(random.standard_normal(s).astype(np.float32)) for s in ((100, 700), (700, 90)))
    stream = cuda.current_context().default_stream
    results = []
    for _ in range(5):
        c = cuda.device_array((100, 90), np.float32)
        product = Product(a=a, b=b, c=c, stream=stream)
        before, active.recorder = active.recorder, Recorder(sys._getframe())
        try:
            variant.run(config, product)
            launches = len(active.recorder.steps)
        finally:
            active.recorder = before
        results.append(c.copy_to_host())
    assert launches == 1
    assert all(np.array_equal(results[0], other) for other in results[1:])


def test_streams_have_counters_of_their_own(device):
    variant, config = able("float32")
    config = replace(config, split_k=16)
    streams = [cuda.stream(), cuda.stream()]
    a, b, c = operands("float32", (96, 96, 600))
    x, y = cuda.to_device(a), cuda.to_device(b)
    cuda.synchronize()
    found = []
    for turn in range(8):
        z = cuda.to_device(c)
        variant.run(config, Product(a=x, b=y, c=z, stream=streams[turn % 2], alpha=1, beta=turn))
        found.append(z)
    cuda.synchronize()
    for turn, z in enumerate(found):
        assert np.array_equal(z.copy_to_host(), a @ b + turn * c)


def test_pieces_have_steps_and_fit():
    assert pieces_of(8, 16, 40) == 3
    assert pieces_of(8, 16, 4096) == 8
    assert is_modest((128, 128), (65536, 65536), 1, 1)
    assert not is_modest((128, 128), (65536, 65536), 1, 2)
    assert counters_of(8) == 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_tiles_of_long_sums_fill_the_device(dtype):
    """One tile of 64 x 64: as many pieces as the device has units; at 1000, waves of blocks are nearly whole."""
    deep = default_config(Problem(m=64, n=64, k=65536, dtype=dtype), HOPPER)
    assert deep.split_k >= 64
    small = default_config(Problem(m=1000, n=1000, k=1000, dtype=dtype), HOPPER)
    tiles = -(-1000 // small.tile_m) * -(-1000 // small.tile_n) * small.split_k
    waves = tiles / 132
    assert waves / np.ceil(waves) > 0.9
    large = default_config(Problem(m=8192, n=8192, k=8192, dtype=dtype), HOPPER)
    assert large.split_k == 1
    assert large.tile_m * large.tile_n >= 128 * 128
