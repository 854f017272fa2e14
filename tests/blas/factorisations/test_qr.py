"""QR factors, products with Q, inverses of triangles, residuals scaled as in LAPACK's tests; least squares."""

from __future__ import annotations

import numpy as np
import pytest
from matrices_in_memory import Placed, only_triangle, random
from option_pairs import in_short

from portagpu import cuda, errors, linalg
from portagpu.blas.factorisations.inverses import trtri
from portagpu.blas.factorisations.qr import geqrf, multiply_by_q

SHAPES = [(1, 1), (5, 3), (3, 5), (40, 33), (65, 130), (130, 65)]
DTYPES = in_short(["float32", "float64", "complex64", "complex128"], "float32", "complex128")
MOST = 30  # of scaled residuals


def check(m, n, dtype, order, stream, batch=()):
    generator = np.random.default_rng(m + n)
    a = random(generator, (*batch, m, n), dtype)
    k = min(m, n)
    placed, taus = Placed(a, order), cuda.to_device(np.zeros((*batch, k), dtype))
    geqrf(placed.array, taus, stream)
    found = placed.found()
    q = Placed(np.broadcast_to(np.eye(m, k, dtype=dtype), (*batch, m, k)).copy(), order)
    multiply_by_q(placed.array[..., :k], taus, q.array, stream, adjoint=False)
    whole, eps = q.found(), np.finfo(dtype).eps
    assert np.abs(whole @ np.triu(found)[..., :k, :] - a).max() <= MOST * max(m, n) * eps * np.abs(a).max()
    assert np.abs(whole.conj().swapaxes(-1, -2) @ whole - np.eye(k)).max() <= MOST * m * eps
    c = random(generator, (*batch, 4, m), dtype)
    for adjoint in (False, True):
        right, left = Placed(c, order), Placed(c.conj().swapaxes(-1, -2).copy(), order)
        multiply_by_q(placed.array[..., :k], taus, right.array, stream, adjoint=adjoint, right=True)
        multiply_by_q(placed.array[..., :k], taus, left.array, stream, adjoint=not adjoint)
        difference = np.abs(right.found() - left.found().conj().swapaxes(-1, -2)).max()
        assert difference <= MOST * m * eps * np.abs(c).max()


@pytest.mark.each_value(thorough=True)
@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_factors(device, memory, stream, dtype, order, share):
    for m, n in share(SHAPES, dtype != "float32"):
        check(m, n, dtype, order, stream)
    check(6, 4, dtype, order, stream, (3,))


@pytest.mark.oclgrind
@pytest.mark.one_device
def test_small(device, memory, stream):
    check(7, 5, "float32", "C", stream)
    check(5, 4, "complex64", "F", stream, (2,))


@pytest.mark.one_device
def test_columns_of_any_size(device, memory, stream):
    """Squares of the elements would overflow, or vanish; and columns that need no reflection."""
    for scale in (1e-30, 1e30):
        a = (random(np.random.default_rng(0), (9, 4), np.float32) * scale).astype(np.float32)
        q, r = linalg.qr(a)
        assert np.abs(q @ r - a).max() <= MOST * 9 * np.finfo(np.float32).eps * np.abs(a).max()
    q, r = linalg.qr(np.eye(3))
    np.testing.assert_array_equal(np.abs(q @ r), np.eye(3))
    q, r = linalg.qr(np.zeros((3, 2)))
    np.testing.assert_array_equal(q, np.eye(3, 2))


def is_qr(a):
    """Whether `linalg.qr` gives factors of a whose scaled residuals are small; in units of a's largest element."""
    q, r = linalg.qr(a)
    wide, largest = np.result_type(a.dtype, np.float64), np.abs(a).max() or 1
    eps, (m, n) = np.finfo(a.dtype).eps, a.shape
    q = q.astype(wide)
    difference = q @ (r.astype(wide) / largest) - a.astype(wide) / largest
    return (
        np.abs(difference).max() <= MOST * max(m, n) * eps
        and np.abs(q.conj().T @ q - np.eye(min(m, n))).max() <= MOST * m * eps
    )


@pytest.mark.each_value(thorough=True)
@pytest.mark.one_device
@pytest.mark.parametrize("dtype", DTYPES)
def test_columns_that_depend_on_others(device, memory, dtype):
    """What is left of them shrinks with each step, to the smallest numbers there are."""
    generator = np.random.default_rng(4)
    for n in (8, 16, 33, 100):
        x = random(generator, (n, n // 8), dtype)
        for a in (np.ones((n, n), dtype), np.repeat(x, 8, axis=1), (x @ x.T).astype(dtype), np.zeros((n, n), dtype)):
            assert is_qr(a), n


@pytest.mark.each_value(thorough=True)
@pytest.mark.one_device
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_of_all_magnitudes(device, memory, dtype):
    known, generator = np.finfo(dtype), np.random.default_rng(5)
    for m, n in ((7, 5), (40, 36)):
        for power in (known.minexp, known.minexp // 2, known.minexp // 4, known.maxexp // 2, known.maxexp - 8):
            a = (random(generator, (m, n), dtype) * 2.0**power).astype(dtype)
            assert is_qr(a), power
    a[m - 1, 0] = np.nan
    assert np.isnan(linalg.qr(a)[1]).any()


@pytest.mark.each_value(thorough=True)
@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_inverses_of_triangles(device, memory, stream, dtype, lower, unit):
    for n, batch in [(5, ()), (65, ()), (130, ()), (300, ()), (9, (3,))]:
        a = random(np.random.default_rng(n), (*batch, n, n), dtype) / np.sqrt(n).astype(np.float32)
        a += 3 * np.eye(n, dtype=a.dtype)
        given = only_triangle(a, lower)
        if unit:
            given[..., range(n), range(n)] = np.nan
        placed = Placed(given.astype(dtype), "C")
        trtri(placed.array, stream, lower=lower, unit_diagonal=unit)
        found, held = placed.found(), only_triangle(a, lower, 0)
        assert np.array_equal(np.isnan(found), np.isnan(given))
        inverse = only_triangle(found, lower, 0)
        if unit:
            held[..., range(n), range(n)] = inverse[..., range(n), range(n)] = 1
        error = np.abs(held @ inverse - np.eye(n)).max()
        assert error <= MOST * n * np.finfo(dtype).eps * np.abs(held).max() * np.abs(inverse).max()


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_linalg(device, dtype, share):
    """`qr` and `lstsq` against NumPy, both kinds of arrays."""
    generator = np.random.default_rng(0)
    tolerance = 1e-3 if dtype == "float32" else 1e-9
    for m, n, batch in share([(6, 6, (2,)), (4, 9, ()), (9, 4, ()), (40, 3, (2, 2))], dtype != "float32"):
        a = random(generator, (*batch, m, n), dtype)
        for mode in ("reduced", "complete"):
            q, r = linalg.qr(a, mode=mode)
            expected = np.linalg.qr(a, mode=mode)
            assert (q.shape, r.shape) == (expected.Q.shape, expected.R.shape)
            np.testing.assert_allclose(q @ r, a, atol=tolerance)
            there = linalg.qr(cuda.to_device(a), mode=mode)
            np.testing.assert_allclose(there.Q.copy_to_host() @ there.R.copy_to_host(), a, atol=tolerance)
        np.testing.assert_allclose(np.abs(linalg.qr(a, mode="r")), np.abs(np.linalg.qr(a, mode="r")), atol=tolerance)
        b = random(generator, (*batch, m, 2), dtype)
        x = linalg.lstsq(a, b)
        np.testing.assert_allclose(x, np.linalg.pinv(a) @ b, atol=tolerance)
        found = linalg.lstsq(cuda.to_device(a), cuda.to_device(b)).copy_to_host()
        np.testing.assert_allclose(found, x, atol=tolerance)
    assert linalg.lstsq(a, b[(*[0] * len(batch), slice(None), 0)]).shape == (*batch, n)
    with pytest.raises(errors.SingularMatrixError, match="dependent columns"):
        linalg.lstsq(np.zeros((4, 2)), np.ones(4))
    with pytest.raises(errors.ShapeError, match=r"b is \(4\)"):
        linalg.lstsq(np.ones((4, 2)), np.ones(3))
    with pytest.raises(errors.UnknownOptionError, match="mode"):
        linalg.qr(a, mode="full")
