"""The subgroup-matrix kernel with its instruction emulated by the extension's layout, on real subgroups."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.blas.gemm.core.kernel_arguments import Factors
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.subgroup.matrix_variant import (
    SubgroupMatrixConfig,
    SubgroupMatrixVariant,
    matrix_kernel,
    plan_of,
)

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]


def _emulation(size, threads):
    """`subgroup_matrix_mad` of float16, row by row as cl_intel_subgroup_matrix_multiply_accumulate defines it."""
    eight = cuda.float32x8
    width = 1 if size == 16 else 2  # elements of a row of A in a lane

    @cuda.jit(device=True)
    def number(bits):
        """The float32 of a half's bits."""
        wide = np.uint32(bits) & np.uint32(0xFFFF)
        magnitude = ((wide & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32) * np.float32(2.0**112)
        return -magnitude if wide >= np.uint32(0x8000) else magnitude

    @cuda.jit(device=True)
    def multiply(a, b, acc):
        left = cuda.shared.array((threads, 8), np.int32)
        right = cuda.shared.array((threads, 8), np.int32)
        s = cuda.local.array(8, np.float32)
        t = cuda.threadIdx.x
        for e in cuda.unroll(range(8)):
            left[t, e] = np.int32(a[e])
            right[t, e] = b[e]
        cuda.syncthreads()
        first = t - t % size
        for row in cuda.unroll(range(8)):
            total = np.float32(acc[row])
            for k in range(16):
                x = left[first + k // width, row] >> ((k % width) * 16)
                y = right[t, k // 2] >> ((k % 2) * 16)
                total += number(x) * number(y)
            s[row] = total
        cuda.syncthreads()
        return eight(s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7])

    return multiply


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize(
    ("m", "n", "k", "ta", "tb", "scaled"),
    [(64, 64, 32, False, False, False), (32, 64, 32, True, True, True), (37, 41, 19, False, True, False)],
)
def test_the_indices_of_fragments(device, size, m, n, k, ta, tb, scaled):
    if size not in device.capabilities.subgroup_sizes or not device.capabilities.subgroup_block_io:
        return
    config = SubgroupMatrixConfig(parts_m=2, parts_n=1, size=size, groups_m=2, groups_n=2)
    generator = np.random.default_rng(m + size)
    a, b = (generator.integers(-8, 9, size=s).astype(np.float16) for s in ((m, k), (k, n)))
    c = generator.integers(-8, 9, size=(m, n)).astype(np.float32) if scaled else np.full((m, n), np.nan, np.float32)
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    wanted = 2 * wanted + 3 * c if scaled else wanted
    bits = [np.ascontiguousarray(x.T if t else x).view(np.int16) for x, t in ((a, ta), (b, tb))]
    exact = m % config.tile_m == n % config.tile_n == k % 16 == 0
    factors = Factors(np.float32(2), np.float32(3)) if scaled else Factors(np.float32(1), np.float32(0))
    grid = (-(-n // config.tile_n), -(-m // config.tile_m))
    plan = plan_of(config, "float16", ta, tb, exact=exact, scaled=scaled)
    plan = plan._replace(multiply=_emulation(size, config.threads))
    matrix_kernel(size, config.threads)[grid, config.threads](*bits, c, factors, plan)
    assert np.array_equal(c, wanted)


def test_what_is_supported():
    variant = SubgroupMatrixVariant()
    problem = Problem(m=4096, n=4096, k=4096, dtype="float16")
    there = {name for name, target in TARGETS.items() if variant.supports(problem, target.capabilities)}
    assert there == {"bmg", "dg2", "pvc"}
    assert all(variant.shortlist(problem, TARGETS[name].capabilities) for name in there)
