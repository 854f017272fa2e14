"""Few rows or columns on GPUs: the kernels on every device, the matrix instruction emulated where there is none."""

from __future__ import annotations

import dataclasses
import itertools

import ml_dtypes
import numpy as np
import pytest

from portagpu import cuda
from portagpu.backends.opencl.codegen.generate import generate
from portagpu.blas.gemm.core.few_rows import read_only
from portagpu.blas.gemm.core.interface import Product
from portagpu.blas.gemm.core.kernel_arguments import (
    SUM,
    Epilogue,
    Extents,
    Factors,
    Matrix,
    Parts,
    Split,
    StridedMatrix,
)
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.kernels.skinny_split_k import StripPlan
from portagpu.blas.gemm.selection.registry import default_config, variant_of, variants_for
from portagpu.blas.gemm.variants.skinny import launch as skinny_launch
from portagpu.blas.gemm.variants.skinny.mma_kernels import SkinnyFragmentPlan, mma_float16, multiply_skinny_fragments
from portagpu.blas.gemm.variants.skinny.mma_variant import SkinnyFragmentConfig, SkinnyFragmentVariant, launch
from portagpu.blas.gemm.variants.skinny.variant import SkinnyConfig, SkinnyVariant
from portagpu.device.ideal_device import IDEAL
from portagpu.dispatch.arguments import conversion
from portagpu.ir.types import ConstantType
from portagpu.ir.verify import verify

pytestmark = [pytest.mark.one_device(fast=True), pytest.mark.each_value]

HOPPER = dataclasses.replace(
    IDEAL,
    local_memory_static=231424,
    compute_units=132,
    clock_mhz=1980,
    max_work_item_sizes=(1024, 1024, 64),
    global_memory=80 << 30,
)
SKINNY, FRAGMENTS = SkinnyVariant(), SkinnyFragmentVariant()
ORDERS = list(itertools.product("CF", repeat=2))
DTYPES = {"bfloat16": ml_dtypes.bfloat16}


def laid(host, order, gap):
    """A device matrix, or batch, in rows (columns, for "F") with ``gap`` elements behind each, which hold NaN or 99."""
    rows = np.swapaxes(host, -1, -2) if order == "F" else host
    wide = np.full((*rows.shape[:-1], rows.shape[-1] + gap), 99 if host.dtype.kind in "iu" else np.nan, host.dtype)
    wide[..., : rows.shape[-1]] = rows
    view = cuda.to_device(wide)[..., : rows.shape[-1]]
    if order == "C":
        return view
    return view.transpose((0, 2, 1) if host.ndim == 3 else (1, 0))


def whole_numbers(shape, dtype, seed):
    """Numbers whose sums are exact in every type."""
    return (
        np.random.default_rng(seed).integers(0 if dtype == "uint8" else -3, 4, shape).astype(DTYPES.get(dtype, dtype))
    )


def check(run, dtype, shape, orders, *, out="", batch=0, shared=False, gap=0, alpha=1, beta=0, swapped=False):
    """Compare with the exact product; what lies beside the result stays as it was."""
    m, n, k = shape
    outer = (batch,) if batch else ()
    few = whole_numbers((*outer, m, k), dtype, 1)
    large = whole_numbers((*(() if shared else outer), k, n), dtype, 2)
    old = whole_numbers((*outer, m, n), out or dtype, 3)
    x, b = laid(few, orders[0], gap), laid(large, orders[1], gap)
    if shared:
        b = b.broadcast_to((batch, *b.shape))
    turned = (0, 2, 1) if batch else (1, 0)
    if swapped:
        x, b, old = b.transpose(turned), x.transpose(turned), np.swapaxes(old, -1, -2)
    c = laid(old if beta else np.full_like(old, np.nan if old.dtype.kind not in "iu" else 77), "C", gap + 1)
    product = Product(a=x, b=b, c=c, stream=cuda.default_stream(), alpha=alpha, beta=beta)
    run(product)
    exact = alpha * (few.astype(np.float64) @ large.astype(np.float64))
    exact = np.swapaxes(exact, -1, -2) if swapped else exact
    exact = exact + beta * old.astype(np.float64) if beta else exact
    found = c.copy_to_host().astype(np.float64)
    np.testing.assert_array_equal(found, exact.astype(c.dtype).astype(np.float64))
    return found


def skinny(**values):
    return lambda product: SKINNY.run(SkinnyConfig(**{"lines": 1, "flight": 2, "splits": 1, **values}), product)


SMALL = {"C": {"threads_x": 8, "threads_y": 8}, "F": {"threads_x": 8, "threads_y": 8, "lines": 2}}


@pytest.mark.oclgrind
@pytest.mark.parametrize("orders", ORDERS)
@pytest.mark.parametrize("splits", [1, 3])
def test_skinny(device, orders, splits):
    run = skinny(**SMALL[orders[1]], splits=splits)
    check(run, "float32", (3, 40, 100), orders, gap=1, alpha=3, beta=-2)
    check(run, "float32", (1, 37, 131), orders, swapped=True)


@pytest.mark.oclgrind
@pytest.mark.parametrize("order", "CF")
def test_rings(device, order):
    """Sums that end within a turn, panels that change while copies are under way, parts; gaps that are not zero."""
    run = skinny(**SMALL[order], splits=2, stages=3)
    check(run, "float32", (3, 40, 148), "C" + order, gap=4, alpha=3, beta=-2)
    check(skinny(**SMALL[order], flight=1, stages=2), "float32", (16, 24, 700), "F" + order, batch=2, swapped=True)


@pytest.mark.parametrize("dtype, out, order", [("float16", "", "C"), ("bfloat16", "float32", "F")])
def test_rings_of_other_elements(device, dtype, out, order):
    run = skinny(**SMALL[order], stages=4)
    check(run, dtype, (7, 48, 80), "C" + order, out=out, gap=16)
    if order == "C":
        check(run, dtype, (7, 43, 77), "CC", out=out, gap=1)  # without copies: vectors begin anywhere


@pytest.fixture(params=["arriving", "added"])
def adding(request, monkeypatch):
    """Both ways of adding parts; that of the last block is a race in Oclgrind's eyes, which knows no fences."""
    monkeypatch.setattr(skinny_launch, "arrives", lambda caps: request.param == "arriving")


@pytest.mark.parametrize(
    "orders, rows, arriving",
    [("CC", 2, True), ("CF", 2, False), ("FC", 16, False), ("CF", 16, True), ("CC", 23, True), ("FF", 19, False)],
)
def test_skinny_rows(device, monkeypatch, orders, rows, arriving, share):
    monkeypatch.setattr(skinny_launch, "arrives", lambda caps: arriving)
    run = skinny(**SMALL[orders[1]], splits=4)
    cases = (
        ((rows, 64, 256), {"gap": 4}),
        ((rows, 70, 1101), {"batch": 3, "swapped": True, "alpha": 2, "beta": 1}),
    )
    for shape, others in share(cases, arriving == (orders[0] == orders[1])):
        check(run, "float32", shape, orders, **others)


@pytest.mark.parametrize(
    "dtype, out, orders",
    [
        *(("float64", "", "CC"), ("float64", "", "CF"), ("float16", "", "CC"), ("float16", "float32", "CF")),
        *(("bfloat16", "", "CC"), ("bfloat16", "float32", "CF"), ("int8", "int32", "CC"), ("int8", "float32", "CF")),
        ("uint8", "int32", "CC"),
    ],
)
def test_skinny_dtypes(device, dtype, out, orders):
    run = skinny(**SMALL[orders[1]], splits=2)
    check(run, dtype, (7, 45, 77), orders, out=out, alpha=3, beta=-2, gap=3)
    if dtype in ("float16", "int8"):
        check(run, dtype, (1, 80, 192), orders, out=out)


def test_batches_that_share_the_large_matrix(device):
    for orders in ORDERS:
        run = skinny(**SMALL[orders[1]], splits=2)
        check(run, "float32", (3, 50, 200), orders, batch=4, shared=True, beta=1, gap=2)


def test_sums_have_a_fixed_order(device, adding):
    a, b = (
        np.random.default_rng(i).standard_normal(s).astype(np.float32) for i, s in enumerate(((5, 3000), (3000, 90)))
    )
    x, y = cuda.to_device(a), cuda.to_device(b)
    found = []
    for _ in range(4):
        c = cuda.device_array((5, 90), np.float32)
        skinny(threads_x=8, threads_y=8, splits=7)(Product(a=x, b=y, c=c, stream=cuda.default_stream()))
        found.append(c.copy_to_host())
    assert all(np.array_equal(found[0], other) for other in found)
    np.testing.assert_allclose(found[0], a @ b, rtol=1e-4, atol=1e-3)


# the matrix instruction, emulated -------------------------------------------------------------------------------------


def emulated(threads, brain):
    """``acc += a @ b`` of m16n8k16 by its documented layout of 16-bit fragments."""

    @cuda.jit(device=True)
    def number(word, upper):
        """The float32 of one of a word's halves."""
        bits = word >> 16 if upper else word & np.uint32(0xFFFF)
        if brain:
            return (bits << 16).view(np.float32)
        size = ((bits & np.uint32(0x7FFF)) << 13).view(np.float32) * np.float32(2.0**112)
        return -size if bits >= np.uint32(0x8000) else size

    @cuda.jit(device=True)
    def multiply(acc, a, b):
        left = cuda.shared.array((threads, 4), np.uint32)
        right = cuda.shared.array((threads, 2), np.uint32)
        t = cuda.threadIdx.x
        for i in cuda.unroll(range(4)):
            left[t, i] = a[i]
        for i in cuda.unroll(range(2)):
            right[t, i] = b[i]
        cuda.syncthreads()
        first = t // 32 * 32
        for part in cuda.unroll(range(4)):
            row, column = t % 32 // 4 + part // 2 * 8, t % 4 * 2 + part % 2
            total = acc[part]
            for k in range(16):
                x = number(left[first + row % 8 * 4 + k % 8 // 2, row // 8 + k // 8 * 2], k % 2 == 1)
                y = number(right[first + column * 4 + k % 8 // 2, k // 8], k % 2 == 1)
                total += x * y
            acc[part] = total
        cuda.syncthreads()

    return multiply


def fragments(brain=False, **values):
    config = SkinnyFragmentConfig(**{"warps_n": 1, "warps_k": 1, "flight": 1, "splits": 1, **values})
    return lambda product: launch(config, product, emulated(config.threads, brain))


PLACES = {
    "swapped": (fragments(flight=2), "float16", (11, 72, 168), {"swapped": True}),
    "warps": (fragments(warps_n=2, warps_k=2, splits=2), "float16", (20, 136, 256), {"batch": 2, "out": "float32"}),
    "odd": (fragments(brain=True), "bfloat16", (11, 43, 75), {"gap": 1, "beta": -1}),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    "orders, arriving, cases",
    [
        *(("CC", True, ("odd",)), ("CF", False, ("swapped",))),
        *(("FC", False, ("warps",)), ("FF", True, ("odd",))),
    ],
)
def test_the_places_of_fragments(device, monkeypatch, orders, arriving, cases):
    if not device.capabilities.conditional_barriers:  # whose compiler takes minutes over so many barriers
        pytest.skip("the emulation is checked on other drivers")
    monkeypatch.setattr(skinny_launch, "arrives", lambda caps: arriving)
    for case in cases:
        run, dtype, shape, others = PLACES[case]
        check(run, dtype, shape, orders, **others)


def test_the_instruction_itself(device):
    if not FRAGMENTS.supports(Problem(m=4, n=4096, k=4096, dtype="float16"), device.capabilities):
        pytest.skip("this device has no such matrix units")
    kinds = itertools.product((1, 8, 13, 32), ORDERS, (("float16", ""), ("bfloat16", "float32")))
    for number, (rows, orders, (dtype, out)) in enumerate(kinds):
        known = FRAGMENTS.shortlist(Problem(m=rows, n=600, k=2050, dtype=dtype), device.capabilities)
        config = known[number * 7 % len(known)]  # each kind another one
        for n, k, gap in ((600, 2048, 8), (601, 2050, 3)):
            check(lambda p, c=config: FRAGMENTS.run(c, p), dtype, (rows, n, k), orders, out=out, gap=gap, beta=2)


@pytest.mark.parametrize("along", [False, True])
def test_text_of_fragments(device, along):
    """Loads that may begin early, the instruction, a fence for the whole device."""
    strip = StripPlan(
        rows=16,
        width=64,
        threads=256,
        lanes=1 if along else 8,
        stacked=False,
        split=True,
        arrive=True,
        epilogue=Epilogue(SUM),
    )
    plan = SkinnyFragmentPlan(
        multiply=mma_float16,
        strip=strip,
        warps_n=1,
        warps_k=8,
        flight=2,
        along=along,
        vectors=True,
        x_vectors=True,
    )
    halves, words = (read_only(cuda.device_array(64, kind)) for kind in (np.uint16, np.uint32))
    c, parts, arrived = (cuda.device_array(64, kind) for kind in (np.float16, np.float32, np.int32))
    n = np.uint32(8)
    given = (
        StridedMatrix(halves, n, n, n),
        words,
        Matrix(halves, n, n),
        words,
        StridedMatrix(c, n, n, n),
        Parts(parts, arrived),
        Extents(n, n, n),
        Split(n, n),
        Factors(np.float32(1), np.float32(0)),
        plan,
    )
    kernel = multiply_skinny_fragments
    names, fixed = kernel.source.parameters, kernel.source.constexpr
    types = tuple(
        ConstantType(value) if name in fixed else conversion.argument_type(value, alias=False)
        for name, value in zip(names, given, strict=True)
    )
    program = kernel.lowered(types, HOPPER)
    verify(program)
    text = generate(program, HOPPER).source
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in text
    assert "membar.gl" in text
    assert "__global const uint* restrict b_words" in text
    assert "*(__global const uint4*)" in text


# choices --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype, m, n, k, variant",
    [
        *(("float32", m, 4096, 4096, SKINNY) for m in (1, 2, 4, 8, 16)),
        *(("float16", m, 4096, 11008, FRAGMENTS) for m in (1, 4, 16)),
        *(("float32", 16, 4096, 11008, SKINNY), ("float64", 1, 4096, 4096, SKINNY), ("int8", 1, 4096, 4096, SKINNY)),
        *(("float32", 4096, 1, 4096, SKINNY), ("float32", 4096, 16, 11008, SKINNY)),
        ("bfloat16", 11008, 8, 4096, FRAGMENTS),
    ],
)
def test_few_rows_have_their_own_kernels(dtype, m, n, k, variant):
    problem = Problem(m=m, n=n, k=k, dtype=dtype)
    config = default_config(problem, HOPPER)
    assert type(variant_of(config)) is type(variant)
    assert variant.is_legal(config, problem, HOPPER)


@pytest.mark.parametrize("variant", [SKINNY, FRAGMENTS])
def test_models_and_shortlists(variant):
    for m, n, k in ((1, 4096, 4096), (16, 4096, 11008), (32, 4096, 4096), (5000, 3, 700), (1, 40, 20)):
        for dtype, order in itertools.product(("float16", "bfloat16"), "CF"):
            problem = Problem(m=m, n=n, k=k, dtype=dtype, b_order=order)
            known = variant.shortlist(problem, HOPPER)
            assert known and all(variant.predict(c, problem, HOPPER) > 0 for c in known)
            axes = {axis.name: axis.values for axis in variant.axes(problem, HOPPER)}
            assert all(getattr(c, name) in values for c in known for name, values in axes.items())
            assert all(variant.is_legal(c, problem, HOPPER) for c in known)
    assert not variant.supports(Problem(m=33, n=4096, k=4096, dtype="float16"), HOPPER)


def test_devices_without_what_they_need():
    half = Problem(m=4, n=4096, k=4096, dtype="float16")
    assert not FRAGMENTS.supports(half, dataclasses.replace(HOPPER, ptx_target=(7, 5)))
    assert not FRAGMENTS.supports(dataclasses.replace(half, dtype="float32"), HOPPER)
    on_cpu = dataclasses.replace(HOPPER, local_memory_dedicated=False)
    assert not SKINNY.supports(half, on_cpu)
    assert {v.name for v in variants_for(half, on_cpu)} >= {"vector"}
    assert "vector" not in {v.name for v in variants_for(half, HOPPER)}
