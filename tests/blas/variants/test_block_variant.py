"""The block variant: edges, several blocks along k, strips of columns, layouts, batches, scaling."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import portagpu
from portagpu import cuda
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.selection.registry import default_config, is_legal
from portagpu.blas.gemm.tuning.trial import verify
from portagpu.blas.gemm.variants.block import variant as block_variant
from portagpu.blas.gemm.variants.block.variant import BlockConfig, BlockVariant, even_depth
from portagpu.blas.gemm.variants.panel.variant import native_lanes

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

_SMALL = BlockConfig(tile_m=3, vectors_n=2, lanes=4, depth=16, group_m=2, group_n=2, copied=1, packs=0)


def operands(m, n, k, dtype=np.float32, batch=()):
    generator = np.random.default_rng(m + n + k)
    draw = generator.integers if np.dtype(dtype).kind == "i" else generator.uniform
    return draw(-9, 9, (*batch, m, k)).astype(dtype), draw(-9, 9, (*batch, k, n)).astype(dtype)


def multiply(a, b, config=_SMALL, out=np.float32, order="C", **scaling):
    """The product on the device, into threes."""
    c = cuda.to_device(np.full((*a.shape[:-1], b.shape[-1]), 3, out, order=order))
    gemm(cuda.to_device(a), cuda.to_device(b), c, cuda.default_stream(), config, **scaling)
    return c.copy_to_host()


_SHAPES = [(1, 1, 1), (6, 16, 16), (7, 17, 33), (12, 40, 50), (5, 3, 64)]


@pytest.mark.oclgrind
@pytest.mark.parametrize("copied", [0, 1])
@pytest.mark.parametrize("shape", _SHAPES)
def test_edges_and_blocks(device, shape, copied):
    a, b = operands(*shape)
    assert np.allclose(multiply(a, b, replace(_SMALL, copied=copied)), a @ b, rtol=1e-4, atol=1e-3)


@pytest.mark.oclgrind
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("group_n", [1, 2])
@pytest.mark.parametrize("shape", _SHAPES)
def test_groups_that_pack_their_own_panels(device, shape, group_n, order):
    a, b = operands(*shape)
    config = replace(_SMALL, copied=0, packs=1, group_n=group_n)
    assert np.allclose(multiply(a, np.asarray(b, order=order), config), a @ b, rtol=1e-4, atol=1e-3)


@pytest.mark.oclgrind
@pytest.mark.parametrize("copied", [0, 1])
@pytest.mark.parametrize("packs", [0, 1])
def test_tiles_ask_for_the_next_panel(device, packs, copied):
    """More tiles than a panel has columns, and fewer; a group's last panel has another one's after it."""
    a, b = operands(40, 37, 20)
    for group_m, group_n in ((32, 1), (32, 1024), (2, 1024), (2, 3)):
        config = replace(_SMALL, copied=copied, packs=packs, group_m=group_m, group_n=group_n)
        assert np.allclose(multiply(a, b, config), a @ b, rtol=1e-4, atol=1e-3)


def test_batches_of_groups_that_pack(device):
    a, b = operands(9, 20, 35, batch=(4,))
    config = replace(_SMALL, copied=0, packs=1)
    assert np.allclose(multiply(a, b, config), a @ b, rtol=1e-4, atol=1e-3)
    apart = np.zeros((4, 12, 35), np.float32)[:, :9]
    apart[...] = a
    for _ in range(2):  # matrices that share b, and that are not one tall matrix
        assert np.allclose(portagpu.matmul(apart, b[0]), a @ b[0], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("kind", ["transposed", "halves"])
def test_groups_that_must_copy_are_smaller(device, kind):
    """A configuration of large groups of rows serves other layouts too, such as those of the nearest tuned class."""
    config = replace(_SMALL, copied=0, packs=1, group_m=1024)
    a, b = operands(13, 21, 37, np.float16 if kind == "halves" else np.float32)
    left = np.asfortranarray(a) if kind == "transposed" else a
    wanted = a.astype(np.float64) @ b.astype(np.float64)
    assert np.allclose(multiply(left, b, config), wanted, rtol=1e-4, atol=1e-3)
    problem = Problem(m=64, n=64, k=64, dtype="float32", a_order="F")
    caps = replace(device.capabilities, local_memory_dedicated=False, local_memory_static=2**18)
    serving = replace(config, lanes=4, tile_m=6, vectors_n=1)
    assert BlockVariant().is_legal(serving, problem, caps)
    assert not BlockVariant().is_legal(replace(serving, copied=1), replace(problem, a_order="C"), caps)


@pytest.mark.oclgrind
@pytest.mark.parametrize("orders", ["CC", "CF", "FC", "FF"])
@pytest.mark.parametrize(("result", "copied"), [("C", 0), ("C", 1), ("F", 0)])
def test_layouts(device, orders, result, copied):
    a, b = operands(13, 21, 37)
    a, b = np.asarray(a, order=orders[0]), np.asarray(b, order=orders[1])
    assert np.allclose(multiply(a, b, replace(_SMALL, copied=copied), order=result), a @ b, rtol=1e-4, atol=1e-3)


@pytest.mark.oclgrind
def test_scaling(device):
    a, b = operands(8, 18, 40)
    assert np.allclose(multiply(a, b, alpha=2, beta=-1), 2 * (a @ b) - 3, rtol=1e-4, atol=1e-2)


@pytest.mark.parametrize("shared", [False, True])
def test_batches(device, shared):
    a, b = operands(9, 20, 35, batch=(4,))
    if shared:
        b = np.broadcast_to(b[:1], b.shape)
    host = cuda.to_device(b[0]) if shared else None
    c = cuda.to_device(np.zeros((4, 9, 20), np.float32))
    left = cuda.to_device(a)
    if host is None:
        gemm(left, cuda.to_device(b), c, cuda.default_stream(), replace(_SMALL, copied=0))
    else:
        for i in range(4):
            gemm(left[i], host, c[i], cuda.default_stream(), _SMALL)
    assert np.allclose(c.copy_to_host(), a @ b, rtol=1e-4, atol=1e-3)


def test_strips_of_columns(device, monkeypatch):
    monkeypatch.setattr(block_variant, "_PACKED_BYTES", 1)
    a, b = operands(10, 50, 35)
    assert np.allclose(multiply(a, b), a @ b, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(("dtype", "out"), [("int8", "int32"), ("float16", "float32"), ("float64", "float64")])
def test_dtypes(device, dtype, out):
    if dtype == "float64" and not device.capabilities.fp64:
        pytest.skip("no float64")
    a, b = operands(10, 21, 40, dtype)
    wanted = a.astype("float64") @ b.astype("float64")
    assert np.allclose(multiply(a, b, out=out), wanted, rtol=1e-4, atol=1e-2)


@pytest.mark.oclgrind
@pytest.mark.parametrize("copied", [0, 1])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("lower", [False, True])
def test_times_what_a_triangle_stands_for(device, lower, order, copied):
    """Several blocks of terms, of which some have none; what is beyond the triangle is not used."""
    a, b = operands(9, 53, 53)
    named = np.tril(b) if lower else np.triu(b)
    others = np.triu(np.ones_like(b), 1) if lower else np.tril(np.ones_like(b), -1)
    given = np.asarray(np.where(others > 0, np.float32(np.nan), b), order=order)
    unit = named - np.diag(np.diag(named)) + np.eye(53, dtype=np.float32)
    symmetric = named + named.T - np.diag(np.diag(named))
    wanted = {"triangle": named, "unit": unit, "symmetric": symmetric}
    left, right, variant = cuda.to_device(a), cuda.to_device(given), BlockVariant()
    for name, whole in wanted.items():
        c = cuda.to_device(np.full((9, 53), np.nan, np.float32))
        product = Product(a=left, b=right, c=c, stream=cuda.default_stream(), alpha=2.0)
        config = replace(_SMALL, copied=copied)
        if name == "symmetric":
            variant.run_times_symmetric(config, product, lower=lower)
        else:
            variant.run_times_triangle(config, product, lower=lower, unit=name == "unit")
        assert np.allclose(c.copy_to_host(), 2 * (a @ whole), rtol=1e-4, atol=1e-2), name


def test_nan_stays_where_it_is(device):
    a, b = operands(10, 20, 40)
    a[4, 33], b[2, 7] = np.nan, np.inf
    c = np.full((10, 20), np.nan, np.float32)
    target = cuda.to_device(c)
    gemm(cuda.to_device(a), cuda.to_device(b), target, cuda.default_stream(), _SMALL)
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    assert np.allclose(target.copy_to_host(), wanted, rtol=1e-4, atol=1e-3, equal_nan=True)


def test_even_depth():
    assert even_depth(512, 512, 16) == 512
    assert even_depth(513, 512, 16) == 272
    assert even_depth(1000, 512, 16) == 512
    assert even_depth(7, 512, 16) == 16


@pytest.mark.parametrize("width", [16, 8, 4])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_defaults_of_processors(device, width, dtype):
    if device.capabilities.local_memory_dedicated:
        pytest.skip("what a GPU can do is no processor's")
    caps = replace(
        device.capabilities,
        vector_width_float=width,
        vector_width_double=width // 2,
        local_memory_dedicated=False,
        local_memory_static=2**18,
        fp64=True,
    )
    variant = BlockVariant()
    for size in (100, 512, 1024, 4096):
        problem = Problem(m=size, n=size, k=size, dtype=dtype)
        config = default_config(problem, caps)
        assert is_legal(config, problem, caps)
        if size >= 512:
            assert isinstance(config, BlockConfig)
            assert config.registers <= (32 if width == 16 else 16)
        assert all(variant.is_legal(c, problem, caps) for c in variant.shortlist(problem, caps))


def test_groups_that_leave_no_room_for_copies_become_smaller(device):
    """What is tuned for rows serves columns, too: their copies of 96 rows of 1024 terms need 393 KB of local memory."""
    problem = Problem(m=300, n=300, k=1200, dtype="float32")
    lanes = native_lanes(device.capabilities, 4)
    config = BlockConfig(tile_m=6, vectors_n=2, lanes=lanes, depth=1024, group_m=16, group_n=4, copied=0, packs=0)
    if not BlockVariant().supports(problem, device.capabilities):
        pytest.skip("blocks are for devices without local memory of their own")
    assert verify(problem.values, registry.to_json(config)) is None
