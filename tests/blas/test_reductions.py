"""Reductions of products: sums, largest elements and magnitudes of rows, columns and matrices, in every layout."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu
from portagpu import cuda, errors
from portagpu.blas.reductions.launch import reduce
from portagpu.blas.reductions.operations import Operation, checked_reductions

pytestmark = [pytest.mark.one_device, pytest.mark.each_value]

ALL = [(operation.value, axis) for operation in Operation for axis in (-1, -2, (-2, -1))]
SOME = [("sum", -1), ("max", -2), ("amax", (-2, -1))]


def expected(x, reduction):
    kind = reduction.dtype(x.dtype)
    if reduction.operation is Operation.SUM:
        return x.astype(kind).sum(axis=reduction.axes)
    return (x if reduction.operation is Operation.MAX else np.abs(x)).max(axis=reduction.axes).astype(kind)


def matrices(shape, dtype):
    """Whole numbers, whose sums are exact in any order; floats with NaN of both signs, zeros and infinities."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, shape).astype(dtype) if dtype == "bool" else rng.integers(-9, 10, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x += np.asarray(1j * rng.integers(-9, 9, shape), dtype)
    if np.dtype(dtype).kind == "f":
        x[..., 0, 0], x[..., 1, 1] = -np.float32(np.nan), np.nan
        x[..., -1, -1], x[..., -2, 0] = np.inf, -0.0
    return x


def laid_out(x, layout):
    """A device array with these elements: rows or columns that are one piece of memory, or neither."""
    if layout == "F":
        return np.swapaxes(cuda.to_device(np.ascontiguousarray(np.swapaxes(x, -1, -2))), -1, -2)
    if layout == "C":
        return cuda.to_device(x)
    apart = np.full((*x.shape[:-1], 2 * x.shape[-1]), 99, x.dtype)
    apart[..., ::2] = x
    return cuda.to_device(apart)[..., ::2]


@pytest.mark.each_value(thorough=True)
@pytest.mark.oclgrind
@pytest.mark.parametrize("layout", ["C", "F", "apart"])
@pytest.mark.parametrize("shape", [(70, 37), (2, 3, 130, 66)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint64", "bool", "complex64"])
def test_dtypes_and_layouts(device, dtype, shape, layout):
    """As NumPy's, NaN too; of rows in parts, of vectors and what is left of them, of matrices that are apart."""
    if np.dtype(dtype) == np.float64 and not device.capabilities.fp64:
        pytest.skip("no float64")
    x = matrices(shape, dtype)
    c = laid_out(x, layout)
    for reduction in checked_reductions([r for r in ALL if dtype != "complex64" or r[0] != "max"]):
        found = reduce(c, reduction, cuda.default_stream()).copy_to_host()
        wanted = expected(x, reduction)
        assert found.dtype == wanted.dtype
        if dtype == "complex64" and reduction.operation is Operation.AMAX:  # magnitudes are rounded
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
        else:
            np.testing.assert_array_equal(found, wanted, err_msg=str(reduction))


def shifted(value, row, column, bias):
    return max(value + bias[column], 0)


@pytest.mark.parametrize("on_device", [False, True])
def test_products(device, on_device):
    """Reductions of what is stored: after the epilogue, and of out; the same where calls are replayed."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(-5, 6, (3, 20, 30)).astype(np.float32), rng.integers(-5, 6, (30, 40)).astype(np.float32)
    bias, out = rng.integers(-9, 9, 40).astype(np.float32), np.zeros((3, 20, 40), np.float32)
    product = np.maximum(a @ b + bias, 0)
    moved = [cuda.to_device(x) if on_device else x for x in (a, b, bias, out)]
    for into in (None, None, None, moved[3], moved[3]):
        options = {"epilogue": shifted, "epilogue_args": (moved[2],), "reductions": SOME}
        found = portagpu.matmul(moved[0], moved[1], into, **options)
        assert isinstance(found, tuple)
        assert into is None or found[0] is into
        arrays = [x.copy_to_host() if on_device else x for x in found]
        assert np.array_equal(arrays[0], product)
        for array, reduction in zip(arrays[1:], checked_reductions(SOME), strict=True):
            assert np.array_equal(array, expected(product, reduction))
    assert isinstance(portagpu.matmul(a, b, reductions=[]), np.ndarray)


def test_sums_are_accurate_and_the_same_each_time(device):
    x = np.random.default_rng(0).random((3, 100_000), np.float32)
    for layout in ("C", "F"):
        for axis, y in ((-1, x), (-2, x.T.copy())):
            c = laid_out(y, layout)
            (reduction,) = checked_reductions([("sum", axis)])
            found = [reduce(c, reduction, cuda.default_stream()).copy_to_host() for _ in range(3)]
            assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
            exact = y.astype(np.float64).sum(axis)
            assert (abs(found[0] - exact) <= 16 * np.finfo(np.float32).eps * exact).all()


def test_nothing_to_reduce(device):
    a, b = np.ones((0, 3), np.float32), np.ones((3, 4), np.float32)
    for on_device in (False, True):
        x, y = (cuda.to_device(v) if on_device else v for v in (a, b))
        c, rows, columns, total = portagpu.matmul(x, y, reductions=[("sum", -1), ("sum", -2), ("sum", (-2, -1))])
        assert (c.shape, rows.shape, columns.shape, total.shape) == ((0, 4), (0,), (4,), ())
        assert not np.asarray(columns.copy_to_host() if on_device else columns).any()
        assert not (total.copy_to_host() if on_device else total)
        with pytest.raises(errors.ShapeError, match="amax of no elements"):
            portagpu.matmul(x, y, reductions=[("amax", -2)])


@pytest.mark.parametrize(
    ("reductions", "kind", "text"),
    [
        ("sum", errors.ArgumentTypeError, "reductions is a str"),
        (["sum"], errors.ArgumentTypeError, r"reductions\[0\] is 'sum'"),
        ([("sum", -1), ("mean", -1)], errors.UnknownOptionError, r"reductions\[1\] asks for 'mean'"),
        ([("sum", 0)], errors.ShapeError, r"reductions\[0\] has the axis 0"),
        ([("max", -1)], errors.DTypeError, "have no order"),
    ],
)
def test_what_is_refused(device, reductions, kind, text):
    x = np.ones((2, 2), np.complex64)
    for operand in (x, cuda.to_device(x)):
        with pytest.raises(kind, match=text):
            portagpu.matmul(operand, operand, reductions=reductions)
    with pytest.raises(errors.ShapeError, match="reductions are of matrices"):
        portagpu.matmul(np.ones(3), np.ones((3, 2)), reductions=[("sum", -1)])
