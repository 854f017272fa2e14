"""Cholesky factors and systems, residuals scaled as in LAPACK's tests."""

from __future__ import annotations

import numpy as np
import pytest
from matrices_in_memory import Placed, only_triangle, random
from option_pairs import in_short

from portagpu import cuda
from portagpu.blas.factorisations.cholesky import potrf, potrs

SIZES = [1, 5, 8, 16, 31, 64, 65, 130, 257, 600]
DTYPES = in_short(["float32", "float64", "complex64", "complex128"], "float32", "complex128")
MOST = 30  # of scaled residuals


def positive(generator, n, dtype, batch=()):
    x = random(generator, (*batch, n, n), dtype)
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(dtype)


def zeros(*shape):
    return cuda.to_device(np.zeros(shape, np.int32))


def check(n, dtype, order, lower, stream, batch=(), right=3):
    generator = np.random.default_rng(n)
    a = positive(generator, n, dtype, batch)
    given = only_triangle(a, lower, complex(np.nan, np.nan) if np.dtype(dtype).kind == "c" else np.nan)
    placed, info = Placed(given, order), zeros(*(batch or (1,)))
    potrf(placed.array, info, stream, lower=lower)
    found = placed.found()
    assert not info.copy_to_host().any()
    outside = ~np.tri(n, dtype=bool) if lower else ~np.tri(n, dtype=bool).T
    assert np.all(np.isnan(found[..., outside]))
    factor = only_triangle(found, lower, 0)
    back = factor @ factor.conj().swapaxes(-1, -2) if lower else factor.conj().swapaxes(-1, -2) @ factor
    eps = np.finfo(dtype).eps
    norms = np.abs(a).sum(axis=-2).max(axis=-1)
    assert np.all(np.abs(a - back).sum(axis=-2).max(axis=-1) <= MOST * n * eps * norms)
    b = random(generator, (*batch, n, right), dtype)
    sides = Placed(b, order)
    potrs(placed.array, sides.array, stream, lower=lower)
    x = sides.found()
    assert np.all(np.abs(a @ x - b).max() <= MOST * n * eps * np.abs(a).max() * np.abs(x).max())


@pytest.mark.each_value(thorough=True)
@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("order", ["C", "F"])
def test_factors(device, memory, stream, dtype, lower, order, share):
    for n in share(SIZES, dtype != "float32"):
        if n < 200 or dtype == "float32":
            check(n, dtype, order, lower, stream)


@pytest.mark.one_device(fast=True)
@pytest.mark.each_value
@pytest.mark.parametrize("dtype", in_short(["float32", "float64", "complex64"], "float64"))
def test_batches(device, memory, stream, dtype):
    for n, count in [(1, 3), (7, 40), (16, 9), (33, 5), (64, 3), (150, 2), (300, 2)]:
        check(n, dtype, "C", True, stream, (count,))
    check(12, dtype, "F", False, stream, (3,))


@pytest.mark.oclgrind
@pytest.mark.one_device
def test_small(device, memory, stream):
    check(18, "float32", "C", True, stream, (3,), right=2)
    check(9, "complex64", "F", False, stream, right=2)
    if memory == "shared":
        check(70, "complex64", "F", False, stream, right=2)  # panels of large matrices


@pytest.mark.one_device
def test_matrices_that_are_not_positive_definite(device, memory, stream):
    """The order of the leading minor, wherever it is; other matrices of a batch are factored."""
    for n, places in [(20, (0, 7, 19)), (150, (70, 149))]:
        a = np.stack([np.eye(n)] * (len(places) + 1)) * 4 + 0.5
        for i, place in enumerate(places):
            a[i, place, place] = -1
        placed, info = Placed(a, "C"), zeros(len(a))
        potrf(placed.array, info, stream, lower=True)
        np.testing.assert_array_equal(info.copy_to_host(), [place + 1 for place in places] + [0])
        factor = np.tril(placed.found()[-1])
        np.testing.assert_allclose(factor @ factor.T, a[-1], rtol=1e-14, atol=1e-14)
        one, info = Placed(a[-2], "C"), zeros(1)
        potrf(one.array, info, stream, lower=True)
        assert info.copy_to_host() == [places[-1] + 1]
    a = np.eye(9)
    a[4, 4] = np.nan
    placed, info = Placed(a, "C"), zeros(1)
    potrf(placed.array, info, stream, lower=True)
    assert info.copy_to_host() == [5]


@pytest.mark.one_device
def test_calls_that_are_repeated(device, memory, stream):
    """The third call makes the second one's launches again, for other memory."""
    generator = np.random.default_rng(0)
    for _ in range(4):
        a = positive(generator, 150, "float32")
        placed, info = Placed(a, "C"), zeros(1)
        potrf(placed.array, info, stream, lower=True)
        factor = np.tril(placed.found())
        np.testing.assert_allclose(factor @ factor.T, a, rtol=1e-4, atol=1e-3)


@pytest.mark.one_device
def test_no_rows(device, stream):
    placed = Placed(np.ones((0, 0)), "C")
    potrf(placed.array, zeros(1), stream, lower=True)
    assert placed.found().shape == (0, 0)
