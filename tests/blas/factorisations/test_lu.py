"""LU factors and systems, residuals scaled as in LAPACK's tests, pivots against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from matrices_in_memory import Placed, random
from option_pairs import in_short

from portagpu import cuda
from portagpu.blas.factorisations.lu import getrf, getrs

SHAPES = [(1, 1), (5, 5), (8, 8), (9, 40), (40, 9), (33, 33), (64, 64), (65, 130), (130, 65), (257, 257)]
DTYPES = in_short(["float32", "float64", "complex64", "complex128"], "float32", "complex128")
MOST = 30  # of scaled residuals


def zeros(*shape):
    return cuda.to_device(np.zeros(shape, np.int32))


def exchanged(a, pivots):
    a = a.copy()
    for row, other in enumerate(pivots):
        a[[row, other]] = a[[other, row]]
    return a


def norm(x):
    return np.abs(x).sum(axis=-2).max()


def check(m, n, dtype, order, stream, batch=(), solved=True):
    generator = np.random.default_rng(m + n)
    a = random(generator, (*batch, m, n), dtype)
    placed, pivots, info = Placed(a, order), zeros(*batch, min(m, n)), zeros(*(batch or (1,)))
    getrf(placed.array, pivots, info, stream)
    found, rows = placed.found(), pivots.copy_to_host()
    assert not info.copy_to_host().any()
    eps, k = np.finfo(dtype).eps, min(m, n)
    for i in np.ndindex(batch):
        left, right = np.tril(found[i], -1)[:, :k] + np.eye(m, k, dtype=dtype), np.triu(found[i])[:k]
        assert norm(exchanged(a[i], rows[i]) - left @ right) <= MOST * max(m, n) * eps * norm(a[i])
        assert np.abs(left).max() <= 1.5  # complex ones are compared by the sum of their parts
        if k <= 33:
            np.testing.assert_array_equal(rows[i], scipy.linalg.lapack.get_lapack_funcs(("getrf",), (a,))[0](a[i])[1])
    if m != n or not solved:
        return
    b = random(generator, (*batch, n, 3), dtype)
    for transpose, conjugate in [(False, False), (True, False), (True, True)]:
        sides = Placed(b, order)
        getrs(placed.array, pivots, sides.array, stream, transpose=transpose, conjugate=conjugate)
        x = sides.found()
        op = a.swapaxes(-1, -2) if transpose else a
        op = op.conj() if conjugate else op
        assert np.abs(op @ x - b).max() <= MOST * n * eps * np.abs(a).max() * np.abs(x).max()


@pytest.mark.one_device(fast=True)
@pytest.mark.each_value(thorough=True)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_factors(device, memory, stream, dtype, order, share):
    for m, n in share(SHAPES, dtype != "float32"):
        if m < 200 or dtype == "float32":
            check(m, n, dtype, order, stream)


@pytest.mark.one_device(fast=True)
@pytest.mark.each_value
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_batches(device, memory, stream, dtype, share):
    for n, count in share([(1, 3), (7, 40), (16, 9), (33, 5), (64, 3), (150, 2)], dtype != "float32"):
        check(n, n, dtype, "C", stream, (count,))
    check(12, 9, dtype, "F", stream, (3,))


@pytest.mark.oclgrind
def test_small(device, memory, stream):
    check(13, 13, "float32", "C", stream, (3,))
    check(19, 6, "complex64", "F", stream)
    if memory == "shared":
        check(70, 10, "float32", "F", stream)  # in registers


@pytest.mark.one_device
def test_singular_matrices(device, memory, stream):
    """The number of the first pivot that is zero; the factors are complete."""
    for n, place in [(10, 3), (100, 70)]:
        a = np.random.default_rng(0).integers(-3, 4, (n, n)).astype(np.float64)
        a[:, place] = 0
        placed, pivots, info = Placed(a, "C"), zeros(n), zeros(1)
        getrf(placed.array, pivots, info, stream)
        assert info.copy_to_host() == [place + 1]
        found = placed.found()
        left, right = np.tril(found, -1) + np.eye(n), np.triu(found)
        np.testing.assert_allclose(left @ right, exchanged(a, pivots.copy_to_host()), atol=1e-11)
    a = np.zeros((4, 6))
    placed, pivots, info = Placed(a, "C"), zeros(4), zeros(1)
    getrf(placed.array, pivots, info, stream)
    assert info.copy_to_host() == [1]
    np.testing.assert_array_equal(pivots.copy_to_host(), range(4))


@pytest.mark.one_device
def test_equal_magnitudes(device, memory, stream):
    """The first of equal ones is the pivot, as in LAPACK."""
    for n in (40, 90):
        a = np.random.default_rng(0).choice([-1.0, 1.0], (n, n)).astype(np.float32)
        placed, pivots, info = Placed(a, "F"), zeros(n), zeros(1)
        getrf(placed.array, pivots, info, stream)
        assert pivots.copy_to_host()[0] == 0
        first = scipy.linalg.lapack.sgetrf(a[:, :5])[1]
        np.testing.assert_array_equal(pivots.copy_to_host()[:5], first)
