"""The subgroup variant, run where a device has subgroups with loads of blocks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.subgroup.variant import SubgroupConfig, SubgroupVariant
from portagpu.runtime.execution.context import current_context

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

_CONFIGS = [
    SubgroupConfig(rows=8, vectors=2, size=8, groups_m=2, groups_n=2),
    SubgroupConfig(rows=4, vectors=1, size=16, groups_m=2, groups_n=1),
]


@pytest.mark.parametrize("config", _CONFIGS, ids=["small", "large"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("m", "n", "k", "ta", "tb", "alpha", "beta"),
    [(64, 64, 64, 0, 0, 1, 0), (48, 96, 32, 1, 1, 2, 3), (37, 41, 19, 0, 1, 1, 0), (5, 70, 33, 1, 0, 2, 0)],
)
def test_products(device, config, dtype, m, n, k, ta, tb, alpha, beta):
    if config.size not in device.capabilities.subgroup_sizes or not device.capabilities.subgroup_block_io:
        pytest.skip("no loads of blocks by subgroups of this size")
    generator = np.random.default_rng(k)
    a, b = (generator.integers(-8, 9, size=s).astype(dtype) for s in ((m, k), (k, n)))
    c = np.full((m, n), np.nan, dtype) if beta == 0 else generator.integers(-8, 9, size=(m, n)).astype(dtype)
    da = cuda.to_device(np.ascontiguousarray(a.T)).T if ta else cuda.to_device(a)
    db = cuda.to_device(np.ascontiguousarray(b.T)).T if tb else cuda.to_device(b)
    dc = cuda.to_device(c)
    stream = current_context().default_stream
    SubgroupVariant().run(config, Product(a=da, b=db, c=dc, stream=stream, alpha=alpha, beta=beta))
    wanted = alpha * (a @ b) + (beta * c if beta else 0)
    assert np.array_equal(dc.copy_to_host(), wanted)


def test_what_is_supported(device):
    variant, caps = SubgroupVariant(), device.capabilities
    problem = Problem(m=64, n=64, k=64, dtype="float32")
    assert not variant.supports(problem, replace(caps, subgroup_sizes=()))
    gpu = replace(caps, local_memory_dedicated=True, subgroup_sizes=(8, 16), subgroup_block_io=True)
    assert variant.supports(problem, gpu)
    assert variant.shortlist(problem, gpu)
    assert not variant.supports(replace(problem, dtype="float16"), gpu)
    assert not variant.supports(replace(problem, a_order=""), gpu)
