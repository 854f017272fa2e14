"""The batch variant: register tiles, layouts, dtypes, scaling, shares of a batch that do not divide it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from portagpu import cuda
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.selection.registry import default_config
from portagpu.blas.gemm.variants.batch.variant import BatchConfig, BatchVariant

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

_SMALL = BatchConfig(tile_m=3, vectors_n=2, lanes=4, groups=2)


def whole(*shape, dtype=np.float32, seed=0):
    """Whole numbers, whose sums are exact in any order."""
    return np.random.default_rng(seed).integers(-5, 6, shape).astype(dtype)


def multiply(a, b, config=_SMALL, out=None, **scaling):
    """The product on the device, into threes between rows of nines."""
    (batch, m, _), n = a.shape, b.shape[-1]
    kind = out or a.dtype
    room = np.full((batch, m + 1, n + 1), 9, kind)
    room[:, :m, :n] = 3
    memory = cuda.to_device(room)
    c = with_strides(memory, (batch, m, n), memory.strides)
    gemm(cuda.to_device(a), cuda.to_device(b), c, cuda.default_stream(), config, **scaling)
    made = memory.copy_to_host()
    assert np.all(made[:, m] == 9) and np.all(made[:, :, n] == 9)
    return made[:, :m, :n]


@pytest.mark.oclgrind
@pytest.mark.parametrize("batch", [2, 7, 300])
@pytest.mark.parametrize("order", ["C", "F"])
def test_tiles_and_shares(device, batch, order):
    """Two tiles down, two to the right; rows of a or its columns side by side."""
    a, b = whole(batch, 6, 5), whole(batch, 5, 16, seed=1)
    if order == "F":
        a = np.swapaxes(np.swapaxes(a, 1, 2).copy(), 1, 2)
    assert np.array_equal(multiply(a, b), a @ b)


@pytest.mark.oclgrind
@pytest.mark.parametrize(("alpha", "beta"), [(2, 0), (1, 1), (-1, 0.5)])
def test_scaling(device, alpha, beta):
    a, b = whole(5, 3, 9), whole(5, 9, 8, seed=1)
    assert np.array_equal(multiply(a, b, alpha=alpha, beta=beta), alpha * (a @ b) + beta * 3)


@pytest.mark.parametrize(("dtype", "out"), [("float64", None), ("float16", "float32"), ("int8", "int32")])
def test_dtypes(device, dtype, out):
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    a, b = whole(4, 3, 7, dtype=dtype), whole(4, 7, 8, dtype=dtype, seed=1)
    kind = np.dtype(out or dtype)
    assert np.array_equal(multiply(a, b, out=kind), a.astype(kind) @ b.astype(kind))


def test_an_operand_that_all_products_share(device):
    a, b = whole(6, 3, 5), whole(1, 5, 8, seed=1)
    memory = cuda.to_device(b)
    shared = with_strides(memory, (6, 5, 8), (0, *memory.strides[1:]))
    c = cuda.device_array((6, 3, 8), np.float32)
    gemm(cuda.to_device(a), shared, c, cuda.default_stream(), replace(_SMALL, vectors_n=1))
    assert np.array_equal(c.copy_to_host(), a @ b)


def test_what_it_is_chosen_for(device):
    """Batches of small matrices on CPUs."""
    caps = replace(device.capabilities, local_memory_dedicated=False)
    small = Problem(m=8, n=8, k=8, dtype="float32", batch=1000)
    assert isinstance(default_config(small, caps), BatchConfig)
    supports = BatchVariant().supports
    assert supports(small, caps) and not supports(small, replace(caps, local_memory_dedicated=True))
    for other in ({"batch": 1}, {"n": 9}, {"k": 33}, {"b_order": "F"}, {"c_order": ""}):
        assert not supports(replace(small, **other), caps), other
