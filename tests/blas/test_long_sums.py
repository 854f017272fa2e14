"""Sums of very many terms: in parts, whose errors do not grow with the sum that they are added to."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.kernels.launch import MOST_TERMS
from portagpu.blas.gemm.selection.registry import is_legal
from portagpu.blas.gemm.variants.panel import variant
from portagpu.blas.gemm.variants.panel.variant import PanelConfig, native_lanes
from portagpu.blas.gemm.variants.vector import variant as vector_variant
from portagpu.blas.gemm.variants.vector.variant import VectorConfig

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

_TERMS = 2**20


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("m, n", [(17, 17), (2, 3), (1, 3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_errors_of_long_sums(device, dtype, m, n, order):
    """Random errors of k additions add up to sqrt(k) of them (Higham and Mary, SIAM J. Sci. Comput. 41, 2019).

    One running sum would have more: of sums that are large the terms lose digits, always the same ones.
    """
    if device.capabilities.local_memory_dedicated:
        pytest.skip("on GPUs many threads share a sum, and some matrix units round towards zero")
    generator = np.random.default_rng(0)
    a, b = (
        np.asarray(generator.random(shape, np.float32).astype(dtype), order=order)
        for shape in ((m, _TERMS), (_TERMS, n))
    )
    exact = a.astype(np.float64) @ b.astype(np.float64)
    found = portagpu.matmul(a, b, dtype=np.float32)
    assert np.abs(found / exact - 1).max() <= np.sqrt(_TERMS) * np.finfo(np.float32).eps / 4


def whole(generator, shape, dtype):
    """Small whole numbers, whose products and sums are exact."""
    return generator.integers(-3, 4, shape).astype(dtype)


@pytest.mark.parametrize(
    "dtype, out", [("float32", "float32"), ("float16", "float32"), ("float16", "float16"), ("int8", "int32")]
)
@pytest.mark.parametrize("kind", ["panel", "vector"])
@pytest.mark.parametrize("batch", [0, 3])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("extents", [(5, 9), (7, 1), (1, 7), (17, 18)])
def test_sums_in_parts(device, monkeypatch, dtype, out, kind, batch, order, extents):
    caps = device.capabilities
    if caps.local_memory_dedicated:
        pytest.skip("variants of CPUs")
    for module in (variant, vector_variant):
        monkeypatch.setattr(module, "MOST_TERMS", 16)
    lanes = native_lanes(caps, 4)
    config = (
        PanelConfig(tile_m=4, vectors_n=1, lanes=lanes, unroll_k=2, group_m=1, group_n=1)
        if kind == "panel"
        else VectorConfig(lines=1, split_k=1)
    )
    generator = np.random.default_rng(1)
    m, n = extents
    k = 16 * 5 * (lanes if kind == "vector" else 1) + 3
    if not is_legal(config, Problem(m=m, n=n, k=k, dtype=dtype, out=out), caps):
        pytest.skip("the variant takes no such product")
    lead = (batch,) if batch else ()
    a, b = whole(generator, (*lead, m, k), dtype), whole(generator, (*lead, k, n), dtype)
    c = whole(generator, (*lead, m, n), out)
    laid = [np.swapaxes(np.ascontiguousarray(np.swapaxes(x, -1, -2)), -1, -2) if order == "F" else x for x in (a, b)]
    arrays = [cuda.to_device(x) for x in laid]
    for alpha, beta in ((1, 0), (2, 3)):
        wide = cuda.to_device(np.full((*lead, m, 2 * n + 1), 99, out))
        result = wide[..., ::2][..., :n] if order == "F" else wide[..., 1 : n + 1]
        result.copy_to_device(c)
        gemm(*arrays, result, cuda.default_stream(), alpha=alpha, beta=beta, config=config)
        expected = alpha * (a.astype(np.int64) @ b.astype(np.int64)) + beta * c.astype(np.int64)
        assert (np.abs(expected) < 2048).all()  # exact in float16
        assert (result.copy_to_host() == expected).all()
        assert (wide.copy_to_host() == 99).sum() >= c.size // n * (n + 1)  # nothing beside


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_dtypes_that_are_narrower_than_sums(device, dtype):
    """The parts of a sum are added before they are rounded."""
    generator = np.random.default_rng(2)
    k = 10 * MOST_TERMS
    a, b = (generator.random(shape, np.float32).astype(dtype) / 16 for shape in ((17, k), (k, 17)))
    exact = a.astype(np.float64) @ b.astype(np.float64)
    unit = float(ml_dtypes.finfo(dtype).eps)
    assert np.abs(portagpu.matmul(a, b).astype(np.float64) / exact - 1).max() <= unit / 2 * 1.02
