"""Variants whose tiles travel by asynchronous copies: numbers where a device can run them, text and rules elsewhere."""

from __future__ import annotations

import itertools
from dataclasses import asdict, replace

import numpy as np
import pytest
from opencl_text import text_of

from portagpu import cuda
from portagpu.blas.gemm.core.flat_operands import operand
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import Extents, Factors, Matrix, Pieces
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.core.vector_types import vector_type
from portagpu.blas.gemm.variants.mma.float64_kernels import DoublePlan, multiply_doubles
from portagpu.blas.gemm.variants.mma.float64_variant import DoubleConfig, DoubleVariant
from portagpu.blas.gemm.variants.mma.kernels import FragmentPlan, multiply_fragments
from portagpu.blas.gemm.variants.mma.variant import FragmentConfig, FragmentVariant
from portagpu.blas.gemm.variants.simt_async.variant import PipelinedConfig, PipelinedVariant
from portagpu.device.ideal_device import IDEAL

pytestmark = pytest.mark.each_value

HOPPER = replace(IDEAL, compute_units=132, clock_mhz=1980, local_memory_static=227 * 1024)
LAYOUTS = list(itertools.product((False, True), repeat=2))
SMALL = PipelinedConfig(warps_m=1, warps_n=2, thread_m=8, thread_n=4, tile_k=8, stages=4, group=2, spread=2, split_k=1)
DOUBLES = DoubleConfig(warps_m=2, warps_n=4, blocks_m=4, blocks_n=4, tile_k=16, stages=4, group=8, split_k=1)
FRAGMENTS = FragmentConfig(warps_m=2, warps_n=2, blocks_m=4, blocks_n=4, bytes_k=64, stages=4, group=8, split_k=1)


def on_device(host, transposed, gap):
    """A device matrix (or batch) with ``gap`` elements between its rows, or columns if ``transposed``."""
    lying = np.ascontiguousarray(np.swapaxes(host, -1, -2)) if transposed else host
    wide = np.pad(lying, [(0, 0)] * (lying.ndim - 1) + [(0, gap)], constant_values=111)
    found = cuda.to_device(wide)[..., : lying.shape[-1]]
    if not transposed:
        return found
    return found.T if found.ndim == 2 else found.transpose(0, 2, 1)


def check(variant, config, dtype, shape, layout, *, batch=0, gap=0, alpha=1, beta=0, out="", precision="", eps=0.0):
    """Compare with float64, within the rounding bound of a k-term sum."""
    m, n, k = shape
    outer = (batch,) if batch else ()
    random = np.random.default_rng(7)
    if dtype in ("int8", "uint8"):
        a, b = (random.integers(0, 100, (*outer, *s)).astype(dtype) for s in ((m, k), (k, n)))
    else:
        a, b = (random.standard_normal((*outer, *s)).astype(dtype) for s in ((m, k), (k, n)))
    c = (8 * random.standard_normal((*outer, m, n))).astype(out or dtype)
    if not beta and c.dtype.kind == "f":
        c[...] = np.nan  # must not be read
    x, y, z = on_device(a, layout[0], gap), on_device(b, layout[1], gap), on_device(c, False, gap)
    stream = cuda.current_context().default_stream
    product = Product(a=x, b=y, c=z, stream=stream, alpha=alpha, beta=beta, precision=precision)
    caps = replace(cuda.current_context().capabilities, local_memory_dedicated=True)
    if not variant.supports(product.problem, caps):
        pytest.skip("the device does not have the units")
    variant.run(config, product)
    exact = alpha * np.matmul(a.astype(np.float64), b.astype(np.float64))
    bound = abs(alpha) * np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    if beta:
        exact, bound = exact + beta * c.astype(np.float64), bound + np.abs(beta * c.astype(np.float64))
    eps = eps or (np.finfo(c.dtype).eps if c.dtype.kind == "f" else 0.0)
    assert np.all(np.abs(z.copy_to_host().astype(np.float64) - exact) <= (k + 4) * eps * bound)


@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape, gap", [((64, 128, 32), 0), ((61, 99, 45), 0), ((20, 30, 5), 3), ((1, 7, 9), 1)])
def test_pipelined_shapes(device, layout, shape, gap):
    check(PipelinedVariant(), SMALL, "float32", shape, layout, gap=gap)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("split", [1, 3])
def test_pipelined_batches_scaling_and_pieces(device, layout, split, share):
    config = replace(SMALL, split_k=split)
    cases = (
        ((62, 90, 78), {"batch": 3, "gap": 2, "alpha": 1.5, "beta": -0.5}),
        ((61, 99, 199), {"batch": 2}),
    )
    for shape, others in share(cases, layout[0] == (split == 1)):
        check(PipelinedVariant(), config, "float32", shape, layout, **others)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_doubles(device, layout):
    for config in (DOUBLES, replace(DOUBLES, split_k=3)):
        for shape, gap in (((256, 256, 128), 0), ((301, 203, 77), 0), ((64, 40, 33), 3), ((1, 5, 9), 0)):
            check(DoubleVariant(), config, "float64", shape, layout, gap=gap, alpha=2.0, beta=-1.0)
        check(DoubleVariant(), config, "float64", (262, 134, 70), layout, batch=3, gap=2)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_doubles_with_a_block_triangular_matrix(device, layout, upper):
    """What is not read of it is NaN."""
    caps = replace(cuda.current_context().capabilities, local_memory_dedicated=True)
    variant, random = DoubleVariant(), np.random.default_rng(5)
    for config in (DOUBLES, replace(DOUBLES, warps_m=1, warps_n=2, split_k=3), replace(DOUBLES, persistent=2)):
        rows = variant.rows_of_blocks(config, least=128)
        n, m = 4 * rows, 203
        a, b, c = (random.standard_normal(shape) for shape in ((m, n), (n, n), (m, n)))
        block = np.arange(n) // rows
        there = block[:, None] <= block if upper else block[:, None] >= block
        given = np.where(there, b, np.nan)
        x, y, z = on_device(a, layout[0], 0), on_device(given, layout[1], 0), on_device(c, False, 0)
        stream = cuda.current_context().default_stream
        product = Product(a=x, b=y, c=z, stream=stream, alpha=-1.5, beta=1.0)
        if not variant.supports(product.problem, caps):
            pytest.skip("the device does not have the units")
        variant.run_block_triangle(config, product, rows=rows, upper=upper)
        want = c - 1.5 * (a @ np.where(there, b, 0))
        bound = np.abs(c) + 1.5 * (np.abs(a) @ np.where(there, np.abs(b), 0))
        found = z.copy_to_host()
        assert np.max(np.abs(found - want) / bound) <= (n + 4) * np.finfo(np.float64).eps


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "dtype, out, precision, eps",
    [("float16", "", "", 2.0**-10), ("float16", "float32", "", 0.0), ("float32", "", "tf32", 2.0**-9)],
)
def test_fragments(device, layout, dtype, out, precision, eps):
    options = {"out": out, "precision": precision, "eps": eps}
    for bytes_k in (64, 128):
        config = replace(FRAGMENTS, bytes_k=bytes_k)
        check(FragmentVariant(), config, dtype, (304, 208, 80), layout, alpha=2.0, beta=-1.0, **options)
        check(FragmentVariant(), config, dtype, (264, 144, 88), layout, batch=3, gap=16, **options)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_fragments_of_integers(device, dtype):
    check(FragmentVariant(), FRAGMENTS, dtype, (304, 208, 80), (False, True), alpha=2, beta=-1, out="int32")


def named_values(a, c, kind, parts=None):
    """What the kernels take before their constants, of matrices in this memory."""
    shared = (parts, cuda.device_array(64, np.int32)) if parts is not None else map(np.int32, (0, 0))
    step, one = np.uint32(8), np.int32(1)
    matrices = (Matrix(x, step, step) for x in (a, a, c))
    return (*matrices, Extents(one, one, one), one, Pieces(*shared, one, one), Factors(kind(1), kind(0)))


def arrivals(text):
    """How often a block is counted, and its fences for that."""
    assert text.count("membar.gl") == 2 * text.count("atomic_add")
    return text.count("atomic_add")


@pytest.mark.one_device
@pytest.mark.parametrize("levels", [0, 1, 2])
@pytest.mark.parametrize("along_a, along_b", LAYOUTS)
def test_text_of_doubles(device, along_a, along_b, levels):
    c = cuda.device_array(64, np.float64)
    plan = DoublePlan(
        **{name: value for name, value in asdict(DOUBLES).items() if name in DoublePlan._fields},
        a_along_k=along_a,
        b_along_k=along_b,
        transposed=not along_a and along_b,
        wide_a=2,
        wide_b=2,
        wide_c=2,
        guard_a=False,
        guard_b=True,
        tail=True,
        levels=levels,
    )
    given = named_values(c, c, np.float64, c if levels else None)
    text = text_of(multiply_doubles, *given, vector_type("float64", 2), plan)
    groups, fragments = 2, 16
    assert text.count("mma.sync.aligned.m16n8k8.row.col.f64") == groups * fragments
    assert ("cp.async.ca.shared.global [%0], [%1], 8" in text) == along_a  # transposed by its copies
    assert text.count("cp.async.wait_group 2") == 2
    assert (arrivals(text) > 0) == (levels > 0)


@pytest.mark.one_device
@pytest.mark.parametrize("levels", [0, 2])
@pytest.mark.parametrize("along_a, along_b", LAYOUTS)
@pytest.mark.parametrize("kind, shape, bits", [("float16", "m16n8k16", "uint16"), ("tfloat32", "m16n8k8", "uint32")])
def test_text_of_fragments(device, along_a, along_b, kind, shape, bits, levels):
    wide = 16 // np.dtype(bits).itemsize
    plan = FragmentPlan(
        **{name: value for name, value in asdict(FRAGMENTS).items() if name in FragmentPlan._fields},
        kind=kind,
        shape=shape,
        bits=np.dtype(bits),
        sums=vector_type("float32", 4),
        packed="",
        tile_k=4 * wide,
        a_along_k=along_a,
        b_along_k=along_b,
        wide_a=wide,
        wide_b=wide,
        guard_a=False,
        guard_b=False,
        tail=False,
        levels=levels,
    )
    x, c = cuda.device_array(64, bits), cuda.device_array(64, np.float32)
    text = text_of(multiply_fragments, *named_values(x, c, np.float32, c if levels else None), c, plan)
    assert text.count(f"mma.sync.aligned.{shape}.row.col.f32") == 2 * 16
    assert ("ldmatrix.sync.aligned.m8n8.x4.shared" in text) == (along_a or along_b)
    assert (".trans.shared" in text) == (kind == "float16" and not (along_a and along_b))
    assert arrivals(text) == levels


@pytest.mark.one_device
def test_operands_know_how_wide_copies_may_be(device):
    base = cuda.to_device(np.zeros((8, 24), np.float32))
    assert (operand(base).wide, operand(base).order, operand(base).pitch) == (4, "C", 24)
    assert operand(base[:, 2:]).wide == 2  # begins at 8 bytes
    assert operand(base[:, :21]).wide == 1  # a row of 21
    assert operand(base.T).order == "F"
    assert operand(base[1:2, :21]).wide == 1
    batch = cuda.to_device(np.zeros((3, 8, 24), np.float32))
    assert (operand(batch).batch, operand(batch).wide) == (192, 4)


@pytest.mark.parametrize(
    "variant, problem",
    [
        (PipelinedVariant(), Problem(m=4096, n=4096, k=4096, dtype="float32")),
        (DoubleVariant(), Problem(m=4096, n=4096, k=4096, dtype="float64")),
        (FragmentVariant(), Problem(m=4096, n=4096, k=4096, dtype="float16")),
        (FragmentVariant(), Problem(m=4096, n=4096, k=4096, dtype="float32", precision="tf32")),
        (FragmentVariant(), Problem(m=4096, n=4096, k=4096, dtype="int8", b_order="F")),
    ],
)
def test_model_and_shortlist(variant, problem):
    """Large tiles for large products, small ones or pieces for small products; the model's best is in the shortlist."""
    assert variant.supports(problem, HOPPER)
    known = variant.shortlist(problem, HOPPER)
    assert known
    best = min(known, key=lambda c: variant.predict(c, problem, HOPPER))
    assert best.tile_m * best.tile_n >= 128 * 128
    assert best.split_k == 1
    small = replace(problem, m=256, n=256)
    best = min(variant.shortlist(small, HOPPER), key=lambda c: variant.predict(c, small, HOPPER))
    assert best.tile_m * best.tile_n < 128 * 128 or best.split_k > 1
    assert all(variant.predict(c, problem, HOPPER) > 0 for c in known)
    assert set(known) <= set(variant.candidates(problem, HOPPER))


def test_what_needs_newer_devices_is_refused_by_older_ones():
    old = replace(HOPPER, ptx_target=(8, 0), architecture_ptx=False)
    older = replace(HOPPER, ptx_target=(7, 5), architecture_ptx=False)
    assert not DoubleVariant().supports(Problem(m=64, n=64, k=64, dtype="float64"), old)
    half = Problem(m=64, n=64, k=64, dtype="float16")
    assert FragmentVariant().supports(half, old)
    assert not FragmentVariant().supports(half, older)
    assert not FragmentVariant().supports(replace(half, k=63), old)  # copies move 4 bytes at least
    assert not FragmentVariant().supports(replace(half, dtype="int8"), old)  # B must lie along k
    assert PipelinedVariant().supports(Problem(m=64, n=64, k=64, dtype="float32"), older)
