"""Products of every dtype, with alpha, beta, batches and any strides, within derived bounds of exact ones.

A k-term sum of products in a format of unit roundoff u errs by at most ``(k + 2) u |a| |b|`` (N. Higham, "Accuracy and
Stability of Numerical Algorithms", 2nd ed., section 3.5); scaling and adding ``beta c`` add two roundings, storing in
another format one of that format. Of complex numbers the parts are sums of 2 k terms.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import portagpu
from portagpu import cuda, dtypes
from portagpu.blas.gemm.core.accumulation import OUTPUTS
from portagpu.blas.gemm.core.operands import with_strides
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.variants.panel.variant import PanelConfig
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.blas.gemm.variants.vector.variant import VectorConfig

pytestmark = [pytest.mark.one_device, pytest.mark.each_value]

PAIRS = [(dtype, out) for dtype in DTYPES for out in OUTPUTS[dtype]]
TILES = TileConfig(tile_m=16, tile_n=16, tile_k=4, thread_m=4, thread_n=4, group=2)
PANELS = PanelConfig(tile_m=6, vectors_n=2, lanes=4, unroll_k=2, group_m=2, group_n=2)


def numpy_dtype(name):
    return dtypes.parse(name).numpy


def numbers(shape, dtype, seed=0):
    generator = np.random.default_rng(seed)
    kind = numpy_dtype(dtype)
    if kind.kind in "iu":
        return generator.integers(-100 if kind.kind == "i" else 0, 100, shape).astype(kind)
    values = generator.standard_normal(shape)
    if kind.kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(kind)


def unit(dtype):
    """Unit roundoff; 0 for integers."""
    kind = numpy_dtype(dtype)
    if kind.name == "bfloat16":
        return 2.0**-8
    return 0.0 if kind.kind in "iu" else float(np.finfo(kind).eps) / 2


def check(found, a, b, *, alpha=1, beta=0, old=None, sums=None):
    wide = np.clongdouble if a.dtype.kind == "c" else np.longdouble
    left, right = (x.astype(np.float64 if x.dtype.name == "bfloat16" else x.dtype).astype(wide) for x in (a, b))
    exact = alpha * np.matmul(left, right)
    size = 2 * abs(alpha) * np.matmul(np.abs(left), np.abs(right))
    if beta != 0:
        before = old.astype(np.float64 if old.dtype.name == "bfloat16" else old.dtype).astype(wide)
        exact = exact + beta * before
        size = size + 2 * abs(beta) * np.abs(before)
    problem = Problem(m=1, n=1, k=1, dtype=a.dtype.name, out=found.dtype.name)
    terms = a.shape[-1] * (2 if problem.is_complex else 1) + 6
    stored = unit(found.dtype.name) if found.dtype.name != problem.accumulator else 0.0
    rounded = max(unit(problem.accumulator), unit("float32") if found.dtype.name == "float32" else 0.0)
    bound = terms * rounded * size + 2 * stored * np.abs(exact) + (2.0**-24 if found.dtype.name == "float16" else 0)
    assert found.shape == exact.shape
    got = found.astype(np.float64 if found.dtype.name == "bfloat16" else found.dtype).astype(wide)
    assert np.all(np.abs(got - exact) <= bound), float(np.max(np.abs(got - exact) / np.maximum(bound, 1e-30)))


@pytest.mark.parametrize("dtype, out", PAIRS)
@pytest.mark.parametrize("m, n, k", [(3, 5, 7), (70, 45, 66)])
def test_dtypes(device, dtype, out, m, n, k):
    a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
    found = portagpu.matmul(a, b, dtype=out)
    assert found.dtype == numpy_dtype(out)
    check(found, a, b)
    check(portagpu.matmul(cuda.to_device(a), cuda.to_device(b), dtype=out).copy_to_host(), a, b)


@pytest.mark.oclgrind
@pytest.mark.parametrize("config", [TILES, PANELS], ids=["tile", "panel"])
@pytest.mark.parametrize("dtype, out", [p for p in PAIRS if not p[0].startswith("complex")])
def test_portable_variants_take_every_real_dtype(device, config, dtype, out, share):
    """Whole tiles, and edges of tiles whose rows are aligned and not."""
    stream = cuda.default_stream()
    cases = (
        (32, 32, 16, False, (1, 0)),
        (37, 40, 24, False, (3, -2)),
        (33, 19, 21, True, (3, -2)),
    )
    for m, n, k, transposed, (alpha, beta) in share(cases, (config is TILES) == (out == "float32")):
        a = numbers((k, m) if transposed else (m, k), dtype)
        b = numbers((n, k) if transposed else (k, n), dtype, 1)
        old = numbers((m, n), out, 2)
        c = cuda.to_device(old)
        da, db = cuda.to_device(a), cuda.to_device(b)
        if transposed:
            a, b, da, db = a.T, b.T, da.T, db.T
        gemm(da, db, c, stream, config, alpha=alpha, beta=beta)
        check(c.copy_to_host(), a, b, alpha=alpha, beta=beta, old=old)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
@pytest.mark.parametrize(
    "config",
    [
        TileConfig(tile_m=16, tile_n=16, tile_k=4, thread_m=4, thread_n=4, group=2, split_k=5),
        TileConfig(tile_m=16, tile_n=16, tile_k=4, thread_m=4, thread_n=4, group=1, problems=4),
        TileConfig(tile_m=8, tile_n=8, tile_k=4, thread_m=4, thread_n=4, group=1, problems=8),
    ],
    ids=["split", "16", "8"],
)
def test_split_sums_and_several_products_a_block(device, dtype, config):
    stream = cuda.default_stream()
    for batch, m, n, k in ((7, 16, 16, 16), (3, 9, 13, 100), (1, 20, 24, 333)):
        a, b = numbers((batch, m, k), dtype), numbers((batch, k, n), dtype, 1)
        out = OUTPUTS[dtype][0]
        old = numbers((batch, m, n), out, 2)
        c = cuda.to_device(old)
        gemm(cuda.to_device(a), cuda.to_device(b), c, stream, config, alpha=2, beta=3)
        check(c.copy_to_host(), a, b, alpha=2, beta=3, old=old)


def strided(shape, dtype, layout, seed):
    """An array of a shape whose last two axes have another order, gaps, or negative steps."""
    *outer, rows, columns = shape
    match layout:
        case "C":
            return numbers(shape, dtype, seed)
        case "F":
            return np.swapaxes(numbers((*outer, columns, rows), dtype, seed), -1, -2)
        case "gaps":
            return numbers((*outer, rows, columns + 3), dtype, seed)[..., 1 : columns + 1]
        case "columns apart":
            return np.swapaxes(numbers((*outer, columns, rows + 5), dtype, seed)[..., :rows], -1, -2)
        case "steps":
            return numbers((*outer, 2 * rows, 3 * columns), dtype, seed)[..., ::2, ::-3]
        case "broadcast":
            return np.broadcast_to(numbers((*outer, 1, columns), dtype, seed), shape)
    raise AssertionError(layout)


def to_device(array):
    """On the device with the same steps."""
    base = array
    while base.base is not None and isinstance(base.base, np.ndarray):
        base = base.base
    whole = cuda.to_device(np.ascontiguousarray(base))
    offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return with_strides(whole, array.shape, array.strides, first=offset)


LAYOUTS = st.sampled_from(["C", "F", "gaps", "columns apart", "steps", "broadcast"])


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
@given(
    shape=st.tuples(st.integers(1, 70), st.integers(1, 70), st.integers(1, 70)),
    outer=st.sampled_from([((), ()), ((3,), (3,)), ((2, 3), (3,)), ((4,), ()), ((), (3,)), ((2, 1, 2), (1, 3, 1))]),
    layouts=st.tuples(LAYOUTS, LAYOUTS, st.sampled_from(["C", "F", "gaps", "columns apart", "steps"])),
    alpha=st.sampled_from([1, 2, -3, 0]),
    beta=st.sampled_from([0, 1, -2]),
)
def test_strides_batches_and_scaling(device, dtype, shape, outer, layouts, alpha, beta):
    m, n, k = shape
    a = strided((*outer[0], m, k), dtype, layouts[0], 0)
    b = strided((*outer[1], k, n), dtype, layouts[1], 1)
    batch = np.broadcast_shapes(*outer)
    out = strided((*batch, m, n), OUTPUTS[dtype][0], layouts[2], 2)
    old = out.copy()
    target = to_device(out)
    assert portagpu.matmul(to_device(a), to_device(b), target, alpha=alpha, beta=beta) is target
    check(target.copy_to_host(), a, b, alpha=alpha, beta=beta, old=old)
    portagpu.matmul(a, b, out, alpha=alpha, beta=beta)
    check(out, a, b, alpha=alpha, beta=beta, old=old)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_scalars(device, dtype):
    a, b, old = numbers((20, 40), dtype), numbers((40, 30), dtype, 1), numbers((20, 30), dtype, 2)
    for alpha, beta in ((1j, 0), (2 - 1j, 0.5), (0.5, 1 + 2j), (0, 1j), (1, -1)):
        out = old.copy()
        portagpu.matmul(a, b, out, alpha=alpha, beta=beta)
        check(out, a, b, alpha=alpha, beta=beta, old=old)
        found = cuda.to_device(old)
        portagpu.matmul(cuda.to_device(a), cuda.to_device(b), found, alpha=alpha, beta=beta)
        check(found.copy_to_host(), a, b, alpha=alpha, beta=beta, old=old)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64"])
@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 70, 200), (70, 60, 80)])
def test_what_is_not_read_may_be_nan(device, dtype, shape):
    m, n, k = shape
    a, b = numbers((m, k), dtype), numbers((k, n), dtype, 1)
    nothing = np.full((m, n), np.nan, numpy_dtype(dtype))
    out = nothing.copy()
    portagpu.matmul(a, b, out)
    check(out, a, b)
    out = np.ones_like(nothing)
    portagpu.matmul(np.full_like(a, np.nan), b, out, alpha=0, beta=2)
    np.testing.assert_array_equal(out, np.full_like(out, 2))
    portagpu.matmul(a, b, nothing, alpha=0)
    np.testing.assert_array_equal(nothing, np.zeros_like(nothing))
    out = np.full_like(out, np.nan)
    portagpu.matmul(a, b, out, beta=1)
    assert np.isnan(out).all()


@pytest.mark.parametrize("shape", [(4, 5, 6), (1, 70, 200), (200, 3, 300), (70, 60, 80)])
def test_nan_and_infinity_spread(device, shape):
    m, n, k = shape
    a, b = numbers((m, k), "float32"), numbers((k, n), "float32", 1)
    a[0, 1], b[3, 1], b[2, 0] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    found = portagpu.matmul(a, b)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isposinf(found), np.isposinf(wanted))
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(wanted))


def test_int32_sums_wrap_around(device):
    a, b = np.full((2, 150_000), 127, np.int8), np.full((150_000, 2), 127, np.int8)
    wanted = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int32)
    np.testing.assert_array_equal(portagpu.matmul(a, b), wanted)


def test_sums_without_terms(device):
    a, b = np.zeros((3, 0), np.float32), np.zeros((0, 4), np.float32)
    np.testing.assert_array_equal(portagpu.matmul(a, b), np.zeros((3, 4), np.float32))
    out = np.full((3, 4), 3, np.float32)
    portagpu.matmul(cuda.to_device(a), cuda.to_device(b))
    portagpu.matmul(a, b, out, beta=2)
    np.testing.assert_array_equal(out, np.full((3, 4), 6, np.float32))


def test_results_are_the_same_each_time(device):
    """Parts of split sums are added in order."""
    a, b = numbers((8, 5000), "float32"), numbers((5000, 8), "float32", 1)
    first = portagpu.matmul(a, b)
    for _ in range(3):
        np.testing.assert_array_equal(portagpu.matmul(a, b), first)


@pytest.mark.oclgrind
@pytest.mark.parametrize(
    "dtype, out, rows, split", [("float32", "float32", 3, 1), ("float16", "float32", 1, 3), ("int8", "int32", 6, 1)]
)
def test_vector_variant(device, all_combinations, dtype, out, rows, split):
    """Few rows or few columns, the large matrix in both orders, with and without aligned rows, wide and narrow."""
    stream = cuda.default_stream()
    narrow, wide = (VectorConfig(lines=lines, split_k=split) for lines in (2, 16))
    cases = (
        (40, 96, "C", "C", narrow),
        (37, 53, "F", "C", narrow),
        (40, 64, "F", "F", narrow),
        (37, 53, "C", "F", narrow),
        (37, 53, "C", "F", wide),
        (288, 64, "C", "C", wide),
        (531, 27, "C", "C", wide),
    )
    for number, (n, k, order, few, config) in enumerate(cases):
        turned = (number + rows) % 2 == 0  # a kernel of its own
        a = np.array(numbers((rows, k), dtype), order=few)
        b = np.array(numbers((k, n), dtype, 1), order=order)
        old = numbers((rows, n), out, 2)
        if all_combinations or not turned:
            c = cuda.to_device(old)
            gemm(cuda.to_device(a), cuda.to_device(b), c, stream, config, alpha=3, beta=-2)
            check(c.copy_to_host(), a, b, alpha=3, beta=-2, old=old)
        if all_combinations or turned:
            c = cuda.to_device(np.ascontiguousarray(old.T))
            gemm(cuda.to_device(b).T, cuda.to_device(a).T, c, stream, config, alpha=3, beta=-2)
            check(c.copy_to_host(), b.T, a.T, alpha=3, beta=-2, old=old.T)


def test_batches_of_matrix_vector_products(device):
    a, b = numbers((5, 1, 300), "float32"), numbers((5, 300, 80), "float32", 1)
    check(portagpu.matmul(a, b), a, b)
    check(portagpu.matmul(np.swapaxes(b, 1, 2), np.swapaxes(a, 1, 2)), np.swapaxes(b, 1, 2), np.swapaxes(a, 1, 2))
    x, y = numbers((100_000,), "float32"), numbers((100_000,), "float32", 1)
    check(np.asarray(portagpu.matmul(x, y)), x, y)
