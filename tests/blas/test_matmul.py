"""`matmul` against NumPy in float64, within the rounding bound of a k-term sum: (k + 2) eps |a| |b|.

N. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., section 3.5.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from own_contexts import native_context

import portagpu
from portagpu import cuda, errors
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.engine import gemm
from portagpu.blas.gemm.selection.registry import candidates, default_config, from_json, is_legal, to_json
from portagpu.blas.gemm.variants.panel.variant import PanelConfig
from portagpu.blas.gemm.variants.tile.config import TileConfig
from portagpu.runtime.arrays.array import device_array
from portagpu.runtime.arrays.creation import to_device
from portagpu.runtime.execution.context import Context

pytestmark = [pytest.mark.one_device, pytest.mark.each_value]

DTYPES = ("float32", "float64")


def check(c, a, b):
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    assert c.shape == exact.shape
    assert c.dtype == a.dtype
    k = a.shape[-1]
    bound = (k + 2) * np.finfo(c.dtype).eps * np.matmul(np.abs(a).astype(np.float64), np.abs(b).astype(np.float64))
    assert np.all(np.abs(c - exact) <= bound)


def operand(shape, dtype, transposed=False, seed=0):
    generator = np.random.default_rng(seed)
    if transposed:
        return generator.standard_normal(shape[::-1]).astype(dtype).T
    return generator.standard_normal(shape).astype(dtype)


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("m, n, k", [(1, 1, 1), (5, 3, 7), (40, 33, 35)])
def test_small(device, dtype, m, n, k):
    a, b = operand((m, k), dtype), operand((k, n), dtype, seed=1)
    check(portagpu.matmul(a, b), a, b)
    check((cuda.to_device(a) @ cuda.to_device(b)).copy_to_host(), a, b)


@pytest.mark.parametrize("dtype", DTYPES)
@given(
    shape=st.tuples(st.integers(0, 140), st.integers(0, 140), st.integers(0, 140)),
    transposes=st.tuples(st.booleans(), st.booleans()),
    steps=st.tuples(st.sampled_from([1, 2, -1]), st.sampled_from([1, 3, -2])),
    on_device=st.booleans(),
)
def test_any_shape_and_strides(device, dtype, shape, transposes, steps, on_device):
    m, n, k = shape
    a = operand((m * abs(steps[0]), k), dtype, transposes[0])[:: steps[0]]
    b = operand((k, n * abs(steps[1])), dtype, transposes[1], seed=1)[:, :: steps[1]]
    if on_device:
        c = portagpu.matmul(cuda.to_device(a), cuda.to_device(b)).copy_to_host()
    else:
        c = portagpu.matmul(a, b)
    check(c, a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_views_of_device_arrays(device, dtype):
    a, b = operand((120, 130), dtype), operand((130, 90), dtype, seed=1)
    da, db = cuda.to_device(a), cuda.to_device(b)
    check((da[3:77, 5:] @ db[5:, ::2]).copy_to_host(), a[3:77, 5:], b[5:, ::2])
    check(np.matmul(db.T, da.T).copy_to_host(), b.T, a.T)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("on_device", [False, True])
def test_out(device, layout, on_device):
    a, b = operand((70, 80), "float32"), operand((80, 60), "float32", seed=1)
    if layout == "strided":
        base = np.zeros((140, 120), np.float32)
        out = base[::2, ::2]
    else:
        base = out = np.zeros((70, 60), np.float32, order=layout)
    if on_device:
        device_base = cuda.to_device(base)
        target = device_base[::2, ::2] if layout == "strided" else device_base
        assert portagpu.matmul(cuda.to_device(a), cuda.to_device(b), out=target) is target
        check(target.copy_to_host(), a, b)
    else:
        assert portagpu.matmul(a, b, out=out) is out
        check(out, a, b)


def test_out_may_overlap_an_operand(device):
    a, b = operand((64, 64), "float64"), operand((64, 64), "float64", seed=1)
    for on_device in (False, True):
        x = cuda.to_device(a) if on_device else a.copy()
        y = cuda.to_device(b) if on_device else b
        portagpu.matmul(x, y, out=x)
        check(x.copy_to_host() if on_device else x, a, b)


@pytest.mark.parametrize(
    "left, right",
    [((5,), (5,)), ((5,), (5, 4)), ((3, 5), (5,)), ((2, 3, 5), (5, 4)), ((3, 1, 4, 5), (2, 5, 6)), ((2, 5), (7, 5, 3))],
)
def test_vectors_and_batches(device, left, right):
    a, b = operand(left, "float64"), operand(right, "float64", seed=1)
    check(portagpu.matmul(a, b), a, b)
    check(np.matmul(cuda.to_device(a), cuda.to_device(b)).copy_to_host(), a, b)


def test_numpy_operands_of_two_dtypes_are_promoted(device):
    a, b = operand((4, 5), "float32"), operand((5, 6), "float64", seed=1)
    assert portagpu.matmul(a, b).dtype == np.float64


def test_product_of_two_vectors_is_a_scalar(device):
    x = operand((5,), "float32")
    found = portagpu.matmul(x, x)
    assert isinstance(found, np.float32)
    check(found, x, x)
    out = np.zeros((), np.float32)
    assert portagpu.matmul(x, x, out=out) is out
    assert out == found


@pytest.mark.parametrize("out", [np.zeros((3, 3), np.float32), np.zeros((3, 4), np.float64), [[0.0]], np.float32(1)])
@pytest.mark.parametrize("on_device", [False, True])
def test_wrong_out(device, out, on_device):
    a, b = operand((3, 5), "float32"), operand((5, 4), "float32", seed=1)
    if on_device:
        a, b = cuda.to_device(a), cuda.to_device(b)
        if isinstance(out, np.ndarray):
            out = cuda.to_device(out)
    with pytest.raises((errors.ShapeError, errors.DTypeError, errors.ArgumentTypeError), match="out"):
        portagpu.matmul(a, b, out=out)


def test_arrays_of_two_contexts(device):
    """Even on one device: a driver may crash on a foreign buffer, so it must never see one."""
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("a card has one context, which all libraries use")
    a, b = operand((3, 5), "float32"), operand((5, 4), "float32", seed=1)
    da, db = cuda.to_device(a), cuda.to_device(b)
    with Context.wrap(native_context(device)) as other:
        foreign_b = to_device(b, context=other)
        foreign_out = device_array((3, 4), np.dtype(np.float32), context=other)
        with pytest.raises(errors.ArgumentTypeError, match="different devices"):
            portagpu.matmul(da, foreign_b)
        with pytest.raises(errors.ArgumentTypeError, match="another device"):
            portagpu.matmul(da, db, out=foreign_out)


@pytest.mark.parametrize("dtype", DTYPES)
def test_nan_and_infinity_spread_as_in_numpy(device, dtype):
    a, b = operand((50, 60), dtype), operand((60, 40), dtype, seed=1)
    a[3, 7], b[9, 5], b[2, 2] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        wanted = a @ b
    found = portagpu.matmul(a, b)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(wanted))


CONFIGS = [
    PanelConfig(tile_m=4, vectors_n=2, lanes=4, unroll_k=2, group_m=2, group_n=1),
    PanelConfig(tile_m=6, vectors_n=1, lanes=8, unroll_k=1, group_m=4, group_n=2),
    TileConfig(tile_m=32, tile_n=32, tile_k=8, thread_m=4, thread_n=4, group=2),
    TileConfig(tile_m=64, tile_n=32, tile_k=16, thread_m=8, thread_n=4, group=4),
]


@pytest.mark.oclgrind
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("config", CONFIGS, ids=["panel-4x8", "panel-6x8", "tile-32x32", "tile-64x32"])
@pytest.mark.parametrize("m, n, k", [(64, 32, 16), (37, 41, 19)])
def test_both_variants_run_everywhere(device, config, dtype, m, n, k):
    """The GPU kernel runs on CPUs too, and the other way round: only speed decides which is chosen."""
    stream = cuda.default_stream()
    for transposed in (False, True):
        a, b = operand((m, k), dtype, transposed), operand((k, n), dtype, transposed, seed=1)
        c = cuda.device_array((m, n), np.dtype(dtype))
        gemm(cuda.to_device(a), cuda.to_device(b), c, stream, config)
        check(c.copy_to_host(), a, b)


def test_default_and_candidates_are_legal(device):
    caps = device.capabilities
    for dtype in DTYPES:
        for size in (1, 33, 512, 4096):
            problem = Problem(m=size, n=size, k=size, dtype=dtype)
            config = default_config(problem, caps)
            assert is_legal(config, problem, caps)
            assert from_json(to_json(config)) == config
        assert len(list(candidates(problem, caps))) > 50


@pytest.mark.parametrize(
    "a, b, error",
    [
        (np.zeros((2, 3), np.float32), np.zeros((4, 5), np.float32), errors.ShapeError),
        (np.zeros((2, 3), object), np.zeros((3, 5), np.int32), errors.DTypeError),
        (np.float32(1), np.zeros((3, 5), np.float32), errors.ShapeError),
        (np.zeros((2, 2, 3), np.float32), np.zeros((3, 3, 5), np.float32), errors.ShapeError),
        ("text", np.zeros((3, 5), np.float32), errors.ArgumentTypeError),
    ],
)
def test_wrong_operands(device, a, b, error):
    with pytest.raises(error) as caught:
        portagpu.matmul(a, b)
    assert str(caught.value)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"precision": ["tf32"]}, errors.UnknownOptionError),
        ({"dtype": [("re", "f4")]}, errors.DTypeError),
        ({"alpha": 10**400}, errors.ArgumentTypeError),
    ],
)
def test_odd_options_get_our_errors(device, on_device, options, error):
    a = np.ones((64, 64), np.float32)
    place = cuda.to_device if on_device else np.asarray
    with pytest.raises(error):
        portagpu.matmul(place(a), place(a), out=place(np.zeros_like(a)), **options)


def test_operands_without_a_common_dtype(device):
    bfloat16 = pytest.importorskip("ml_dtypes").bfloat16
    with pytest.raises(errors.DTypeError, match="no common dtype"):
        portagpu.matmul(np.ones((4, 4), bfloat16), np.ones((4, 4), np.float16))


@pytest.mark.parametrize("precision", ["tf32", "f16x3", "bf16x6", "bf16x9"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_precisions_are_leave_to_use_other_units(device, precision, dtype):
    """A device without them computes in float32."""
    generator = np.random.default_rng(1)
    a, b = (generator.standard_normal((64, 64)).astype(dtype) for _ in range(2))
    wanted = a.astype("complex128") @ b.astype("complex128")
    # each factor of TF32 may lose 2^-10 of it, where it is truncated, and each step of the sum 2^-23
    eps = 2 * 2.0**-10 if precision == "tf32" else 2.0**-20
    bound = 2 * (eps + 64 * 2.0**-23) * (np.abs(a).astype("float64") @ np.abs(b).astype("float64"))
    got = portagpu.matmul(a, b, precision=precision)
    assert got.dtype == a.dtype
    assert np.all(np.abs(got - wanted) <= bound)
    on_device = portagpu.matmul(cuda.to_device(a), cuda.to_device(b), precision=precision)
    assert np.all(np.abs(on_device.copy_to_host() - wanted) <= bound)


@pytest.mark.parametrize("layouts", ["NN", "NT", "TN", "TT"])
@pytest.mark.parametrize("m, n, k", [(512, 512, 512), (96, 72, 200), (4, 512, 512), (520, 260, 1000)])
def test_tf32_rounds_operands_to_nearest(device, m, n, k, layouts):
    """Truncated ones have two to three times the error: an rms of 7.7e-4 instead of 2.9e-4 for normal numbers."""
    if device.capabilities.ptx_target < (8, 0):
        pytest.skip("no TF32 of CUDA GPUs")
    generator = np.random.default_rng(7)
    a = generator.standard_normal((m, k) if layouts[0] == "N" else (k, m)).astype("float32")
    b = generator.standard_normal((k, n) if layouts[1] == "N" else (n, k)).astype("float32")
    left, right = (x if side == "N" else x.T for x, side in zip((a, b), layouts, strict=True))
    got = portagpu.matmul(
        *(x if side == "N" else x.T for x, side in zip(map(cuda.to_device, (a, b)), layouts, strict=True)),
        precision="tf32",
    ).copy_to_host()
    wanted = left.astype("float64") @ right.astype("float64")
    assert np.sqrt(np.mean((got - wanted) ** 2) / np.mean(wanted**2)) < 3.5e-4
