"""The wave-matrix kernel with its instruction emulated by the documented layouts: indices of fragments are right.

The tables (`lane_tables`) are written lane by lane from the makers' documents, not from the kernel's own formulas.
"""

from __future__ import annotations

import numpy as np
import pytest
from lane_tables import of_a, of_sums

from portagpu import cuda
from portagpu.backends.opencl.offline.targets import TARGETS
from portagpu.blas.gemm.core.kernel_arguments import Factors
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.wave_matrix.kernels import multiply_waves
from portagpu.blas.gemm.variants.wave_matrix.variant import LAYOUTS, WaveConfig, WaveMatrixVariant, plan_of

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]


def _emulation(name, threads):
    layout = LAYOUTS[name]
    lanes, elements, results, depth = layout.lanes, layout.elements, layout.results, layout.depth
    holder = np.zeros((layout.size, depth, 2), np.int32)
    for lane in range(lanes):
        for e, (row, k) in enumerate(of_a(name, depth, lane)):
            holder[row, k] = lane, e
    places = np.array([of_sums(name, lane) for lane in range(lanes)], np.int32)
    four, eight, sixteen = cuda.float32x4, cuda.float32x8, cuda.float32x16

    @cuda.jit(device=True)
    def number(bits):
        """The float32 of a half's bits."""
        wide = np.uint32(bits) & np.uint32(0xFFFF)
        size = ((wide & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32) * np.float32(2.0**112)
        return -size if wide >= np.uint32(0x8000) else size

    @cuda.jit(device=True)
    def multiply(a, b, acc):
        left = cuda.shared.array((threads, elements), np.int16)
        right = cuda.shared.array((threads, elements), np.int16)
        where = cuda.const.array_like(holder)
        place = cuda.const.array_like(places)
        s = cuda.local.array(results, np.float32)
        t = cuda.threadIdx.x
        for e in cuda.unroll(range(elements)):
            left[t, e] = a[e]
            right[t, e] = b[e]
        cuda.syncthreads()
        lane = t % lanes
        for r in cuda.unroll(range(results)):
            total = np.float32(acc[r])
            for k in range(depth):
                i, j = place[lane, r, 0], place[lane, r, 1]
                x = number(left[t - lane + where[i, k, 0], where[i, k, 1]])
                y = number(right[t - lane + where[j, k, 0], where[j, k, 1]])
                total += x * y
            s[r] = total
        cuda.syncthreads()
        low = four(s[0], s[1], s[2], s[3])
        if results == 4:
            return low
        half = eight(low, s[4], s[5], s[6], s[7])
        if results == 8:
            return half
        return sixteen(half, s[8], s[9], s[10], s[11], s[12], s[13], s[14], s[15])

    return multiply


_SHAPES = {
    "mfma32": WaveConfig(layout="mfma32", tile_m=64, tile_n=32, tile_k=32, wave_m=32, wave_n=32, group=2),
    "mfma16": WaveConfig(layout="mfma16", tile_m=32, tile_n=32, tile_k=32, wave_m=16, wave_n=32, group=2),
    "wmma": WaveConfig(layout="wmma", tile_m=32, tile_n=32, tile_k=32, wave_m=32, wave_n=16, group=2),
    "wmma_halves": WaveConfig(layout="wmma_halves", tile_m=32, tile_n=32, tile_k=32, wave_m=16, wave_n=16, group=2),
}


@pytest.mark.parametrize("name", list(LAYOUTS))
@pytest.mark.parametrize(
    ("m", "n", "k", "ta", "tb", "scaled"),
    [(64, 64, 64, False, False, False), (64, 64, 64, True, True, True), (37, 41, 19, False, True, False)],
)
def test_the_indices_of_fragments(device, name, m, n, k, ta, tb, scaled):
    if not device.capabilities.conditional_barriers:  # whose compiler takes minutes over so many barriers
        pytest.skip("the emulation is checked on other drivers")
    config = _SHAPES[name]
    generator = np.random.default_rng(m + ta)
    a, b = (generator.integers(-8, 9, size=s).astype(np.float16) for s in ((m, k), (k, n)))
    c = generator.integers(-8, 9, size=(m, n)).astype(np.float32) if scaled else np.full((m, n), np.nan, np.float32)
    wanted = a.astype(np.float32) @ b.astype(np.float32)
    wanted = 2 * wanted + 3 * c if scaled else wanted
    bits = [np.ascontiguousarray(x.T if t else x).view(np.int16) for x, t in ((a, ta), (b, tb))]
    exact = m % config.tile_m == n % config.tile_n == k % config.tile_k == 0
    plan = plan_of(config, "float16", ta, tb, exact=exact, scaled=scaled)
    plan = plan._replace(multiply=_emulation(name, config.threads))
    tiles = -(-m // config.tile_m) * -(-n // config.tile_n)
    factors = Factors(np.float32(2), np.float32(3)) if scaled else Factors(np.float32(1), np.float32(0))
    multiply_waves[tiles, config.threads](*bits, c, factors, plan)
    assert np.array_equal(c, wanted)


def test_what_is_supported():
    variant = WaveMatrixVariant()
    problem = Problem(m=4096, n=4096, k=4096, dtype="float16")
    for name, target in TARGETS.items():
        caps = target.capabilities
        there = variant.supports(problem, caps)
        assert there == bool({"mfma", "wmma", "wmma_halves"} & set(caps.matrix_units)), name
        assert not there or variant.shortlist(problem, caps)
        assert not variant.supports(Problem(m=9, n=9, k=9, dtype="float64"), caps)
    bfloat = Problem(m=64, n=64, k=64, dtype="bfloat16")
    assert variant.supports(bfloat, TARGETS["gfx90a"].capabilities)
    assert not variant.supports(bfloat, TARGETS["gfx908"].capabilities)
