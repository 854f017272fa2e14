"""`portagpu.linalg`'s products with symmetric and triangular matrices, and sums: leading axes, out=, errors."""

from __future__ import annotations

import numpy as np
import pytest
from level3_arrays import host, numbers, triangle_of

from portagpu import cuda, errors, linalg

pytestmark = pytest.mark.each_value
NAN = float("nan")
BATCHES = ((), (5,), (2, 3))


def _near(found, wanted):
    found = host(found)
    assert found.shape == wanted.shape
    eps = np.finfo(found.dtype).eps
    return np.allclose(found, wanted, rtol=100 * eps, atol=2000 * eps)


def _turned(x):
    return np.swapaxes(x, -1, -2)


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("n", [20, 270])
def test_triangles(device, dtype, on_device, n):
    generator, move = np.random.default_rng(7), cuda.to_device if on_device else np.asarray
    for turn, batch in enumerate(BATCHES if n == 20 else BATCHES[:2]):
        lower = bool(turn % 2)
        there = triangle_of(n, lower)
        a, b = (numbers(generator, (*batch, n, 33), dtype) for _ in range(2))
        for hermitian in (False, True):
            right = _turned(a.conj() if hermitian else a)
            wanted = np.where(there, a @ right, 0)
            assert _near(linalg.syrk(move(a), lower=lower, hermitian=hermitian), wanted)
            out = move(np.full(wanted.shape, NAN, dtype))
            made = linalg.syrk(move(a), lower=lower, hermitian=hermitian, out=out)
            assert made is out
            assert np.isnan(host(out)[..., ~there]).all() and _near(np.where(there, host(out), 0), wanted)
        out = move(np.ones((*batch, n, n), dtype))
        linalg.gemmt(move(a), move(_turned(b[0] if batch else b)), lower=lower, alpha=2, beta=3, out=out)
        assert _near(out, np.where(there, 2 * (a @ _turned(b[0] if batch else b)) + 3, 1))
        matrix = np.where(there, numbers(generator, (*batch, n, n), dtype), NAN)
        full = np.where(there, matrix, _turned(matrix))
        assert _near(linalg.symm(move(matrix), move(a), lower=lower), full @ a)
        assert _near(linalg.symm(move(matrix), move(_turned(a)), lower=lower, left=False), _turned(a) @ full)
        triangle = np.where(there, matrix, 0)
        assert _near(linalg.trmm(move(matrix), move(a), lower=lower, alpha=2), 2 * (triangle @ a))
        assert _near(linalg.trmm(move(matrix), move(_turned(a)), lower=lower, left=False), _turned(a) @ triangle)
        one = matrix[0] if batch else matrix  # shared by the batch
        if len(batch) == 1:
            assert _near(linalg.trmm(move(one), move(a), lower=lower), triangle[0] @ a)
            assert _near(linalg.symm(move(one), move(a), lower=lower), full[0] @ a)


@pytest.mark.parametrize("on_device", [False, True])
def test_sums_and_copies(device, on_device):
    generator, move = np.random.default_rng(8), cuda.to_device if on_device else np.asarray
    for batch in BATCHES:
        a = numbers(generator, (*batch, 40, 35), np.complex64)
        b, x = numbers(generator, (40, 35), np.complex64), numbers(generator, (*batch, 40), np.complex64)
        assert _near(linalg.transpose(move(a), alpha=2j, conjugate=True), 2j * _turned(a.conj()))
        assert _near(linalg.geam(move(a), move(b), alpha=3), 3 * a + b)
        assert _near(linalg.geam(move(a), _turned(move(_turned(a).copy())), beta=-1), 0 * a)
        assert _near(linalg.dgmm(move(a), move(x)), a * x[..., None])
        assert _near(linalg.dgmm(move(a), move(b[0]), left=False), a * b[0])
        held = move(a.copy())
        assert linalg.geam(held, move(b), out=held) is held and _near(held, a + b)


@pytest.mark.one_device
def test_refusals(device):
    a, square = np.ones((3, 2)), np.eye(3)
    for call, error, words in (
        (lambda: linalg.syrk(a, beta=1), errors.ArgumentTypeError, "no out"),
        (lambda: linalg.syrk(a + 0j, alpha=1j, hermitian=True), errors.ArgumentTypeError, "alpha is 1j"),
        (lambda: linalg.syrk(a, out=a), errors.ShapeError, "out has shape"),
        (lambda: linalg.syrk(a[0]), errors.ShapeError, "a has shape"),
        (lambda: linalg.gemmt(a, a), errors.ShapeError, "b "),
        (lambda: linalg.symm(a, a), errors.ShapeError, "square"),
        (lambda: linalg.trmm(square, a.T), errors.ShapeError, "left=False"),
        (lambda: linalg.trmm(square, square, out=square), errors.ArgumentTypeError, "shares memory"),
        (lambda: linalg.dgmm(a, np.ones(2)), errors.ShapeError, "x"),
        (lambda: linalg.geam(a, cuda.to_device(a)), errors.ArgumentTypeError, "on the device"),
    ):
        with pytest.raises(error, match=words):
            call()
