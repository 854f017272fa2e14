"""The kernel of float64 with its instruction emulated by the documented layout: all layouts, and splits."""

from __future__ import annotations

import re
from types import FunctionType, SimpleNamespace

import numpy as np
import pytest
from hopper import HOPPER
from opencl_text import text_of

from portagpu import blas, cuda
from portagpu.blas.gemm import triangles
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.variants.mma import float64_kernels, float64_variant
from portagpu.blas.gemm.variants.mma.float64_variant import DoubleConfig, DoubleVariant

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

THREADS = 64
CONFIG = {"warps_m": 1, "warps_n": 2, "blocks_m": 1, "blocks_n": 2, "tile_k": 16, "stages": 3, "group": 8}


@cuda.jit(device=True)
def mma_sync(shape: cuda.constexpr, kind: cuda.constexpr, acc, rows, columns):
    """m16n8k8: lane 4 g + t holds rows g and g + 8 of k's t and t + 4 of A, these k's of column g of B."""
    left = cuda.shared.array((THREADS, 4), np.float64)
    right = cuda.shared.array((THREADS, 2), np.float64)
    thread = np.int32(cuda.threadIdx.x)
    for i in range(4):
        left[thread, i] = rows[i]
    for i in range(2):
        right[thread, i] = columns[i]
    cuda.syncthreads()
    warp = thread // 32 * 32
    g, t = thread % 32 // 4, thread % 4
    for i in range(4):
        total = acc[i]
        for k in range(8):
            x = left[warp + g * 4 + k % 4, i // 2 + k // 4 * 2]
            total += x * right[warp + (t * 2 + i % 2) * 4 + k % 4, k // 4]
        acc[i] = total
    cuda.syncthreads()


def emulated(threads):
    """The kernel with another `mma_sync`."""
    assert threads == THREADS
    given = float64_kernels.multiply_doubles.py_func
    names = {**given.__globals__, "cuda": SimpleNamespace(**{**vars(cuda), "mma_sync": mma_sync})}
    multiply = FunctionType(given.__code__, names, given.__name__, given.__defaults__, given.__closure__)
    multiply.__annotations__ = given.__annotations__
    return cuda.jit(multiply, block_dim=(threads, 1, 1))


@pytest.fixture
def variant(monkeypatch):
    monkeypatch.setattr(float64_variant, "_kernel", emulated)
    return DoubleVariant()


def lying(host, transposed):
    if not transposed:
        return cuda.to_device(host)
    return cuda.to_device(np.ascontiguousarray(np.swapaxes(host, -1, -2))).transpose(*range(host.ndim - 2), -1, -2)


@pytest.mark.parametrize(
    "layout, split, outer, persistent",
    [
        ((False, False), 12, (), 0),
        ((True, False), 2, (2,), 0),
        ((False, True), 5, (), 0),
        ((True, True), 1, (), 0),
        ((False, False), 1, (2,), 1),
        ((True, True), 1, (), 1),
        ((False, True), 1, (), 2),
    ],
)
def test_doubles(device, variant, layout, split, outer, persistent):
    if not device.capabilities.conditional_barriers:  # whose compiler takes minutes over so many barriers
        pytest.skip("the emulation is checked on other drivers")
    config = DoubleConfig(**CONFIG, split_k=split, persistent=persistent)
    random = np.random.default_rng(3)
    stream = cuda.current_context().default_stream
    m, n, k = 37, 50, 203
    a, b, c = (random.integers(-4, 5, (*outer, *s)).astype(np.float64) for s in ((m, k), (k, n), (m, n)))
    x, y = lying(a, layout[0]), lying(b, layout[1])
    for beta in (0.0, -2.0, 0.0):
        z = cuda.to_device(c if beta else np.full_like(c, np.nan))
        variant.run(config, Product(a=x, b=y, c=z, stream=stream, alpha=0.5, beta=beta))
        assert np.array_equal(z.copy_to_host(), 0.5 * (a @ b) + (beta * c if beta else 0))


@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
def test_local_memory_is_what_the_kernel_has(device, orders):
    config = DoubleConfig(**CONFIG, split_k=1, persistent=0)
    problem = Problem(m=64, n=64, k=64, dtype="float64", a_order=orders[0], b_order=orders[1])
    a, b = (lying(np.zeros((64, 64)), order == "F") for order in orders)
    texts = []

    class Launches:
        def __getitem__(self, launch):
            return lambda *args: texts.append(text_of(float64_kernels.multiply_doubles, *args, caps=HOPPER))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(float64_variant, "_kernel", lambda threads: Launches())
        DoubleVariant().run(
            config, Product(a=a, b=b, c=lying(np.zeros((64, 64)), False), stream=a.context.default_stream)
        )
    sizes = [int(n) * 8 for n in re.findall(r"__local double \w+\[(\d+)\]", texts[0])]
    assert len(sizes) == 2 and sum(sizes) == config.local_memory(problem)


@pytest.mark.parametrize("trans", [0, 1])
@pytest.mark.parametrize("lower", [0, 1])
def test_triangles_times_matrices(device, variant, monkeypatch, lower, trans):
    """What is beside the blocks on the diagonal is added by the double variant, whatever suits the smaller product."""
    if not device.capabilities.conditional_barriers:
        pytest.skip("the emulation is checked on other drivers")
    asked = []

    def choose(problem, context):
        asked.append(problem)
        return DoubleConfig(**CONFIG, split_k=1)

    monkeypatch.setattr(triangles, "choose", choose)
    monkeypatch.setattr(triangles, "variant_of", lambda config: variant)
    monkeypatch.setattr(triangles, "_LEAST_BLOCK", 32)
    n, m = 8 * 32 + 21, 19
    random = np.random.default_rng(8)
    a, b = (random.integers(-4, 5, shape).astype(np.float64) for shape in ((n, n), (n, m)))
    there = np.tril(a) if lower else np.triu(a)
    given = cuda.to_device(np.asfortranarray(np.where(there == a, a, np.nan)))
    found = blas.dtrmm(2.0, given, cuda.to_device(np.asfortranarray(b)), lower=lower, trans_a=trans)
    np.testing.assert_array_equal(found.copy_to_host(), 2 * ((there.T if trans else there) @ b))
    assert asked
