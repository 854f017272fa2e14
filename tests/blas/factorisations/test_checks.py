"""Errors for matrices without factors: device arrays as NumPy's, batches, recorded calls, and the switch."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, linalg, xp

_SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])
_CALLS = {
    "inv": lambda m, a: m.inv(a),
    "solve": lambda m, a: m.solve(a, a),
    "cholesky": lambda m, a: m.cholesky(a),
    "matrix_power": lambda m, a: m.matrix_power(a, -1),
    "tensorinv": lambda m, a: m.tensorinv(a, 1) if a.ndim == 2 else m.inv(a),
}


@pytest.mark.parametrize("name", _CALLS)
def test_numpys_functions_raise_as_of_numpy_arrays(device, name):
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    for a in (_SINGULAR, np.stack([good, _SINGULAR]), np.zeros((2, 3, 1, 1))):
        with pytest.raises(np.linalg.LinAlgError):
            _CALLS[name](np.linalg, a)
        for _ in range(3):  # the second call is recorded, the third one made again
            with pytest.raises(np.linalg.LinAlgError) as caught:
                _CALLS[name](np.linalg, cuda.to_device(a))
        assert isinstance(caught.value, errors.FactorisationError)
        for _ in range(3):
            found = _CALLS[name](np.linalg, cuda.to_device(good)).copy_to_host()
        np.testing.assert_allclose(found, _CALLS[name](np.linalg, good), atol=1e-12)


def test_what_failed_is_named(device):
    a = np.stack([np.eye(3)] * 4).reshape(2, 2, 3, 3)
    a[1, 0, 2, 2] = 0
    there, sides = cuda.to_device(a), cuda.to_device(np.ones((3, 1)))
    calls = [
        (errors.SingularMatrixError, lambda: linalg.inv(there)),
        (errors.SingularMatrixError, lambda: linalg.solve(there, sides)),
        (errors.SingularMatrixError, lambda: linalg.solve_triangular(there, sides)),
        (errors.NotPositiveDefiniteError, lambda: linalg.cholesky(there)),
        (errors.NotPositiveDefiniteError, lambda: linalg.solve(there, sides, assume_a="pos")),
        (errors.SingularMatrixError, lambda: linalg.lstsq(there, sides)),
    ]
    for error, call in calls:
        with pytest.raises(error) as caught:
            call()
        assert (caught.value.order, caught.value.matrix) == (3, (1, 0))
    alone = there[1, 0]
    many = cuda.to_device(np.ones((5, 3, 1)))  # one matrix for many right sides
    with pytest.raises(errors.SingularMatrixError) as caught:
        linalg.solve(alone, many, stream=cuda.stream())
    assert caught.value.matrix == ()


def test_the_switch(device, monkeypatch):
    there = cuda.to_device(_SINGULAR)
    with linalg.checks(False):
        assert not np.isfinite(linalg.inv(there).copy_to_host()).all()
        with linalg.checks(True), pytest.raises(errors.SingularMatrixError):
            linalg.inv(there)
    monkeypatch.setenv("PORTAGPU_LINALG_CHECKS", "0")
    linalg.inv(there)
    with linalg.checks(True), pytest.raises(errors.SingularMatrixError):
        linalg.inv(there)
    monkeypatch.setenv("PORTAGPU_LINALG_CHECKS", "maybe")
    with pytest.raises(errors.SettingsError):
        linalg.inv(there)
    info = cuda.to_device(np.zeros((), np.int32))
    linalg.inv(there, info=info)
    assert int(info.copy_to_host()) == 2


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, "fro"])
def test_condition_numbers(device, p):
    nan = np.eye(3)
    nan[0, 1] = np.nan
    a = np.stack([np.zeros((3, 3)), np.diag([1.0, 2.0, 4.0]), nan])
    found = np.linalg.cond(cuda.to_device(a), p).copy_to_host()
    expected = np.linalg.cond(a[:2], p)
    np.testing.assert_allclose(found, [*expected, np.nan], rtol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 33, 130])
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_determinants_of_nan(device, n, dtype):
    rows = {(0, 0), (n - 1, 0), (1, 1), (0, n - 1), (n - 1, n - 1), (n // 2, n // 2)}
    for zeros in (False, True):
        a = np.stack([np.eye(n) if zeros else np.random.default_rng(n).standard_normal((n, n))] * len(rows))
        a = a.astype(dtype)
        for matrix, place in zip(a, rows, strict=True):
            matrix[place] = np.nan
        with np.errstate(invalid="ignore"):
            reached = np.isnan(np.linalg.det(a.astype("complex128" if dtype[0] == "c" else "float64")))
        for shape in (a, a[0]):  # batches and single matrices have kernels of their own
            found = np.isnan(np.linalg.det(cuda.to_device(shape)).copy_to_host())
            assert np.all(found | ~np.broadcast_to(reached, len(rows))[: found.size].reshape(found.shape))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("n", [2, 5, 40])
def test_singular_values_and_eigenvalues_of_what_is_not_finite(device, n, value):
    a = np.eye(n) + 0.1
    a[0, 1] = a[1, 0] = value
    assert np.isnan(np.linalg.svd(cuda.to_device(a), compute_uv=False).copy_to_host()).all()
    assert np.isnan(np.linalg.eigvalsh(cuda.to_device(a)).copy_to_host()).all()


@pytest.mark.one_device
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (4, 2), (2, 4), (2, 3, 3)])
def test_ranks_of_what_is_not_finite(device, dtype, value, shape):
    """A count of singular values, which cannot be NaN, is an error."""
    if not device.capabilities.fp64 and dtype in ("float64", "complex128"):
        pytest.skip("float64")
    a = np.ones(shape, dtype)
    a[..., -1, 0] = value
    x = cuda.to_device(a)
    for call in (np.linalg.matrix_rank, lambda x: np.linalg.matrix_rank(x, tol=0.5), xp.linalg.matrix_rank):
        with pytest.raises(np.linalg.LinAlgError) as caught:
            call(x)
        assert isinstance(caught.value, errors.PortaGPUError)
        with linalg.checks(False):
            assert not call(x).copy_to_host().any()
    if len(shape) == 2:
        with pytest.raises(np.linalg.LinAlgError):
            np.linalg.lstsq(x, x)


@pytest.mark.one_device
def test_ranks_of_vectors_and_limits(device):
    for a in (np.ones(3), np.zeros(3), np.array(0.0), np.array(2.0), np.array([0, np.nan]), np.zeros(0)):
        assert int(np.linalg.matrix_rank(cuda.to_device(a.astype(np.float32)))) == np.linalg.matrix_rank(a)
    a = np.stack([np.diag([1.0, 1e-3, 1e-9])] * 3).astype(np.float32)
    limits = np.array([2, 1e-5, 1e-12], np.float32)
    expected = np.linalg.matrix_rank(a, tol=limits)
    for tol in (limits, cuda.to_device(limits)):
        np.testing.assert_array_equal(np.linalg.matrix_rank(cuda.to_device(a), tol=tol).copy_to_host(), expected)
    rank = np.linalg.lstsq(cuda.to_device(a[0]), cuda.to_device(a[0]))[2]
    assert rank.dtype == np.linalg.lstsq(a[0], a[0])[2].dtype
