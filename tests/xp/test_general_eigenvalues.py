"""Eigenvalues and eigenvectors of general matrices: by what defines them, and beside NumPy's in double precision."""

import numpy as np
import pytest
from eigen_checks import check_pairs, distances, random_matrices, value_bounds
from gpu_forms import gpu_forms
from hypothesis import given
from hypothesis import strategies as st

from portagpu import cuda, xp
from portagpu.errors import FactorisationError, ShapeError
from portagpu.linalg import checks
from portagpu.linalg.schur import eigenvalues as schur

_DTYPES = ("float32", "float64", "complex64", "complex128")
_LAYOUTS = {
    "plain": lambda a: (a, lambda x: x),
    "turned": lambda a: (np.ascontiguousarray(np.swapaxes(a, -1, -2)), lambda x: x.mT),
    "reversed": lambda a: (np.ascontiguousarray(a[..., ::-1, :]), lambda x: x[..., ::-1, :]),
    "apart": lambda a: (np.repeat(a, 2, axis=-1), lambda x: x[..., ::2]),
}


def _host(x):
    return x.copy_to_host()


def _found(a, layout="plain"):
    held, view = _LAYOUTS[layout](a)
    return tuple(_host(x) for x in xp.linalg.eig(view(cuda.to_device(held))))


def _check(a, layout="plain"):
    w, v = _found(a, layout)
    check_pairs(a, w, v)
    alone = _host(xp.linalg.eigvals(cuda.to_device(a)))
    for values in (w, alone):
        assert (distances(values, np.linalg.eigvals(a.astype(np.complex128))) <= value_bounds(a)).all()
    return w


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.in_turn(2)
def test_random_matrices(device, dtype):
    @given(
        st.sampled_from([(1, 1), (2, 2), (3, 3), (4, 4), (7, 7), (16, 16)]),
        st.sampled_from([(), (1,), (3,), (2, 3)]),
        st.sampled_from(sorted(_LAYOUTS)),
        st.integers(0, 99),
    )
    def check(matrix, batch, layout, seed):
        _check(random_matrices((*batch, *matrix), dtype, seed), layout)

    check()


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.in_turn(4)
@pytest.mark.each_value
def test_larger_matrices(device, dtype):
    for shape, layout in (((17, 17), "turned"), ((2, 31, 31), "apart"), ((70, 70), "reversed")):
        _check(random_matrices(shape, dtype), layout)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.in_turn(4)
@pytest.mark.each_value
@pytest.mark.one_device
def test_forms_for_gpus(device, dtype):
    if not device.capabilities.conditional_barriers:
        pytest.skip("a compiler that takes minutes for loops with barriers")
    with gpu_forms():
        for shape in ((17, 17), (2, 40, 40), *[(40, 3, 3)] * (dtype == "float64")):
            a = random_matrices(shape, dtype)
            w, v = _found(a, "turned")
            check_pairs(a, w, v)
            assert (distances(w, np.linalg.eigvals(a.astype(np.complex128))) <= value_bounds(a)).all()
        for name in ("cyclic", "nilpotent", "skew", "zero", "badly scaled"):
            a = _HARD[name](18).astype(dtype)
            check_pairs(a, *_found(a))


def _upper(n):
    return np.triu(random_matrices((n, n), "float64", 5))


_HARD = {
    "zero": lambda n: np.zeros((n, n)),
    "one": lambda n: np.eye(n),
    "jordan": lambda n: 3 * np.eye(n) + np.eye(n, k=1),
    "nilpotent": lambda n: np.eye(n, k=1),
    "nilpotent, turned": lambda n: np.eye(n, k=-1),
    "cyclic": lambda n: np.roll(np.eye(n), 1, axis=0),  # plain shifts leave it as it is
    "reversed": lambda n: np.eye(n)[::-1],
    "upper": _upper,
    "lower": lambda n: _upper(n).T,
    "orthogonal": lambda n: np.linalg.qr(random_matrices((n, n), "float64", 6))[0],
    "companion": lambda n: np.vstack([-np.poly(np.arange(1, n + 1) / n)[1:], np.eye(n)[:-1]]),
    "ones": lambda n: np.ones((n, n)),
    "skew": lambda n: _upper(n) - _upper(n).T,
    "symmetric": lambda n: _upper(n) + _upper(n).T,
    "repeated": lambda n: np.diag(np.arange(n) // 3) + np.diag((np.arange(n - 1) % 3 == 0) * 1.0, 1),
    "whole numbers": lambda n: np.random.default_rng(7).integers(-2, 3, (n, n)),
    "graded": lambda n: random_matrices((n, n), "float64", 8) * np.logspace(0, -12, n)[:, None],
    "badly scaled": lambda n: (
        random_matrices((n, n), "float64", 9) * np.logspace(6, -6, n) / np.logspace(6, -6, n)[:, None]
    ),
}


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.in_turn(2)
def test_hard_matrices(device, dtype):
    largest, smallest = float(np.finfo(dtype).max), float(np.finfo(dtype).tiny)
    for name, make in _HARD.items():
        for n in (3, 6, 15):
            a = make(n).astype(dtype)
            if dtype.startswith("c"):
                a = a * np.exp(0.25j).astype(dtype)
            check_pairs(a, *_found(a))
            unit = np.abs(a).max()
            if unit > 0 and name not in ("graded", "badly scaled"):
                for scale in (largest / (4 * n), 1e3 * smallest):
                    scaled = (a / unit * np.finfo(dtype).dtype.type(scale)).astype(dtype)
                    check_pairs(scaled, *_found(scaled))


@pytest.mark.one_device
def test_skew_matrices_of_single_precision(device):
    """Their diagonals are rounding errors, beside which other elements are to be small."""
    for n in (3, 5):
        a = random_matrices((1000, n, n), "float32", 3)
        a = a - np.swapaxes(a, -1, -2)
        w, v = _found(a)
        check_pairs(a, w, v)
        assert (np.abs(w.real) <= 16 * np.finfo(np.float32).eps * np.abs(w).max(axis=-1, keepdims=True)).all()


@pytest.mark.one_device
def test_sparse_matrices(device):
    """Rows and columns that others do not lead to, or from, are not scaled: nothing would end it."""
    random = np.random.default_rng(2)
    for n in (4, 6):
        a = random.standard_normal((1000, n, n)) * (random.random((1000, n, n)) < 0.3)
        check_pairs(a, *_found(a), unbalanced=4)


@pytest.mark.one_device
def test_triangles_have_exact_eigenvalues(device):
    for n in (5, 18):
        a = _upper(n)
        np.testing.assert_array_equal(_found(a)[0], np.diag(a))


@pytest.mark.one_device
def test_balancing(device):
    """Eigenvalues of a matrix that is badly scaled are as good as those of the one that it is similar to."""
    a = random_matrices((6, 6), "float64", 4)
    scales = 2.0 ** np.array([0, 40, -30, 25, -45, 10])
    scaled = a * scales[:, None] / scales
    assert distances(_found(scaled)[0], np.linalg.eigvals(a)) <= 1e-12


@pytest.mark.one_device
def test_results_are_real_where_numpys_are(device):
    real, turning = np.diag([1.0, 2.0]) + np.eye(2, k=1), np.array([[0.0, -1.0], [1.0, 0.0]])
    for a in (
        real,
        np.stack([real, turning]),
        np.stack([real, real]),
        real.astype(np.complex64),
        real.astype(np.int32),
    ):
        there = cuda.to_device(a)
        expected, found = np.linalg.eig(a), np.linalg.eig(there)
        assert [x.dtype for x in found] == [x.dtype for x in expected]
        assert np.linalg.eigvals(there).dtype == np.linalg.eigvals(a).dtype
        w, v = xp.linalg.eig(there)
        assert w.dtype == v.dtype == xp.linalg.eigvals(there).dtype == np.result_type(expected[0].dtype, np.complex64)
        for one, other in zip(found, expected, strict=True):
            assert one.is_c_contiguous()
            np.testing.assert_allclose(_host(one), other, atol=1e-6)
        np.testing.assert_array_equal(_host(w), _host(found.eigenvalues))


@pytest.mark.one_device
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 0, 0), (2, 0, 3, 3)])
def test_no_elements(device, shape):
    a = np.zeros(shape, np.float32)
    there = cuda.to_device(a)
    for expected, found, ours in zip(np.linalg.eig(a), np.linalg.eig(there), xp.linalg.eig(there), strict=True):
        assert found.shape == expected.shape == ours.shape and found.dtype == expected.dtype
        assert ours.dtype == np.complex64
    assert np.linalg.eigvals(there).shape == xp.linalg.eigvals(there).shape == shape[:-1]


@pytest.mark.one_device
@pytest.mark.parametrize("n", [3, 17])
def test_matrices_that_are_not_finite(device, n):
    a = random_matrices((2, 2, n, n), "float32")
    a[1, 0, 1, 2], a[0, 1, 2, 0] = np.nan, np.inf
    there = cuda.to_device(a)
    with checks(False):
        w, v = (_host(x) for x in xp.linalg.eig(there))
    for i, j in ((1, 0), (0, 1)):
        assert np.isnan(w[i, j]).all() and np.isnan(v[i, j]).all()
    for i in (0, 1):
        check_pairs(a[i, i], w[i, i], v[i, i])
    for function in (np.linalg.eig, np.linalg.eigvals, xp.linalg.eig, xp.linalg.eigvals):
        with pytest.raises(np.linalg.LinAlgError, match=r"matrix \(0, 1\) of the batch has elements that are infinite"):
            function(there)


@pytest.mark.one_device
def test_iterations_that_end_nowhere(device, monkeypatch):
    monkeypatch.setattr(schur, "_SWEEPS", 0)
    schur._plan.cache_clear()
    try:
        there = cuda.to_device(np.eye(3, dtype=np.complex64))
        with pytest.raises(FactorisationError, match="has 3 eigenvalues that the QR iteration did not find") as caught:
            np.linalg.eigvals(there)
        assert caught.value.order == 3 and caught.value.matrix == ()
        with checks(False):
            assert np.isnan(_host(xp.linalg.eigvals(there))).all()
    finally:
        schur._plan.cache_clear()


@pytest.mark.one_device
def test_matrices_that_are_not_square(device):
    for function in (np.linalg.eig, np.linalg.eigvals, xp.linalg.eig, xp.linalg.eigvals):
        with pytest.raises(ShapeError, match="not square"):
            function(cuda.to_device(np.ones((2, 3))))
        with pytest.raises(ShapeError, match="two axes"):
            function(cuda.to_device(np.ones(3)))
