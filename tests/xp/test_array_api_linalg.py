"""Linear algebra of the array API and under NumPy's names: as NumPy's, and decompositions by what defines them."""

import numpy as np
import pytest

from portagpu import cuda, xp
from portagpu.errors import ArgumentTypeError, ShapeError, UnknownOptionError

_DTYPES = ("float32", "float64", "complex64", "complex128")


def _random(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    found = rng.standard_normal(shape)
    return (found + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else found).astype(dtype)


def _host(x):
    return x.copy_to_host()


def _adjoint(x):
    return x.conj().swapaxes(-1, -2)


def _wide(x):
    return x.astype(np.clongdouble)


def _norms(x):
    return np.sqrt((np.abs(x) ** 2).sum(axis=(-2, -1)))


def _check_orthonormal(q, eps):
    assert (_norms(_adjoint(_wide(q)) @ _wide(q) - np.eye(q.shape[-1])) <= 8 * max(q.shape[-2:]) * eps).all()


@pytest.mark.each_value
@pytest.mark.in_turn(1)
@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 5), (3, 18, 18), (53, 53)])
@pytest.mark.one_device
def test_eigh(device, dtype, shape):
    a = _random(shape, dtype)
    a = a + _adjoint(a)
    found = xp.linalg.eigh(cuda.to_device(a))
    w, v = (_host(x) for x in found)
    eps = np.finfo(dtype).eps
    bound = 8 * shape[-1] * eps * _norms(a)
    assert (_norms(_wide(a) @ _wide(v) - _wide(v) * w[..., None, :]) <= bound).all()
    _check_orthonormal(v, eps)
    assert (np.diff(w, axis=-1) >= 0).all() and w.dtype == a.real.dtype
    assert (np.abs(w - np.linalg.eigvalsh(a.astype(np.complex128))).max(axis=-1) <= bound).all()


@pytest.mark.one_device
def test_eigh_of_a_triangle(device):
    a = _random((6, 6), "float32")
    lower, upper = (np.linalg.eigvalsh(a, UPLO=which) for which in "LU")
    np.testing.assert_allclose(_host(np.linalg.eigvalsh(cuda.to_device(a))), lower, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(_host(np.linalg.eigvalsh(cuda.to_device(a), UPLO="U")), upper, rtol=1e-4, atol=1e-5)


@pytest.mark.one_device
@pytest.mark.parametrize("values", [(0, 0, 0, 0), (1, 1, 1, 1), (-3, -3, 3, 3), (1e-30, 1, -1, 0), (1e30, 1e20, 1, 0)])
def test_eigenvalues_of_hard_matrices(device, values):
    q = np.linalg.qr(_random((4, 4), "float64"))[0]
    a = ((q * values) @ q.T).astype(np.float32)
    w, v = (_host(x) for x in xp.linalg.eigh(cuda.to_device(a)))
    _check_orthonormal(v, np.finfo(np.float32).eps)
    np.testing.assert_allclose(w, np.sort(values), atol=1e-5 * max(1e-30, np.abs(values).max()))


@pytest.mark.each_value(thorough=True)
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 5, 5), (2, 9, 4), (4, 9), (51, 51), (3, 1), (1, 3)])
@pytest.mark.parametrize("full", [True, False])
@pytest.mark.one_device
def test_svd(device, dtype, shape, full):
    a = _random(shape, dtype)
    u, s, vh = (_host(x) for x in xp.linalg.svd(cuda.to_device(a), full_matrices=full))
    eps, k = np.finfo(dtype).eps, min(shape[-2:])
    assert [x.shape[-2:] for x in (u, vh)] == [
        (shape[-2], shape[-2] if full else k),
        (shape[-1] if full else k, shape[-1]),
    ]
    bound = 8 * max(shape) * eps * _norms(a)
    assert (_norms(_wide(a) - _wide(u[..., :k] * s[..., None, :]) @ _wide(vh[..., :k, :])) <= bound).all()
    _check_orthonormal(u, eps)
    _check_orthonormal(_adjoint(vh), eps)
    assert (np.diff(s, axis=-1) <= 0).all() and (s >= 0).all()
    assert (np.abs(s - np.linalg.svdvals(a.astype(np.complex128))).max(axis=-1) <= bound).all()
    np.testing.assert_allclose(_host(xp.linalg.svdvals(cuda.to_device(a))), s, rtol=0, atol=bound.max())


@pytest.mark.each_value(thorough=True)
@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("shape", [(8, 6), (20, 18)])  # few rows have a kernel of their own
@pytest.mark.one_device
def test_svd_of_a_lower_rank(device, dtype, rank, shape):
    m, n = shape
    a = _random((m, rank), dtype) @ _random((rank, n), dtype, 1)
    u, s, vh = (_host(x) for x in xp.linalg.svd(cuda.to_device(a)))
    eps = np.finfo(dtype).eps
    _check_orthonormal(u, eps)
    _check_orthonormal(_adjoint(vh), eps)
    assert _norms(_wide(a) - _wide(u[:, :n] * s) @ _wide(vh)) <= 64 * eps * _norms(a)
    assert _host(xp.linalg.matrix_rank(cuda.to_device(a))) == rank
    found = _host(xp.linalg.pinv(cuda.to_device(a)))
    np.testing.assert_allclose(found, np.linalg.pinv(a, rtol=1e-5), rtol=1e-3, atol=1e-5)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["float64", "complex64"])
@pytest.mark.one_device
def test_few_rows_of_large_and_small_numbers(device, dtype):
    """Reflections and singular values neither overflow nor vanish where squares would."""
    largest = float(np.finfo(dtype).max)
    for scale in (largest / 64, 64 / largest):
        a = (_random((4, 3), dtype) * np.finfo(dtype).dtype.type(scale)).astype(dtype)
        q, r = (_host(x) for x in xp.linalg.qr(cuda.to_device(a)))
        u, s, vh = (_host(x) for x in xp.linalg.svd(cuda.to_device(a), full_matrices=False))
        eps = np.finfo(dtype).eps
        for left, right in ((q, _wide(r)), (u, s[:, None] * _wide(vh))):
            _check_orthonormal(left, eps)
            assert np.abs(_wide(left) @ right - a).max() <= 64 * eps * np.abs(a).max()


@pytest.mark.one_device
def test_matrices_that_are_not_finite_give_nan(device):
    a = np.full((3, 3), np.nan, np.float32)
    assert np.isnan(_host(xp.linalg.eigvalsh(cuda.to_device(a)))).all()
    assert np.isnan(_host(xp.linalg.svdvals(cuda.to_device(a)))).all()


_FUNCTIONS = {
    "det": lambda m, a: m.linalg.det(a),
    "inv": lambda m, a: m.linalg.inv(a),
    "slogdet": lambda m, a: m.linalg.slogdet(a),
    "solve": lambda m, a: m.linalg.solve(a, a[..., :2]),
    "power": lambda m, a: m.linalg.matrix_power(a, 5),
    "inverse power": lambda m, a: m.linalg.matrix_power(a, -2),
    "no power": lambda m, a: m.linalg.matrix_power(a, 0),
    "diagonal": lambda m, a: m.linalg.diagonal(a, offset=-1),
    "trace": lambda m, a: m.linalg.trace(a, offset=1),
    "beyond": lambda m, a: m.linalg.diagonal(a, offset=9),
    "cross": lambda m, a: m.linalg.cross(a[..., :3], a[..., ::-1][..., :3]),
    "tensordot": lambda m, a: m.tensordot(a, a, axes=([0, 2], [0, 1])),
    "vecdot": lambda m, a: m.vecdot(a, a[:, :1]),
    "axis": lambda m, a: m.vecdot(a, a[..., ::-1], axis=-2),
    "matmul": lambda m, a: m.matmul(a, a[0]),
    "turned": lambda m, a: m.matmul(m.matrix_transpose(a), a[0, 0]),
}


@pytest.mark.each_value(thorough=True)
@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.parametrize("name", _FUNCTIONS)
@pytest.mark.one_device
def test_as_numpy(device, name, dtype):
    a = _random((3, 4, 4), dtype)
    expected, found = _FUNCTIONS[name](np, a), _FUNCTIONS[name](xp, cuda.to_device(a))
    if not isinstance(expected, tuple):
        expected, found = [expected], [found]
    for one, other in zip(expected, found, strict=True):
        assert other.dtype == one.dtype and other.shape == one.shape
        np.testing.assert_allclose(_host(other), one, rtol=2e-3, atol=2e-3)


_ORDERS = (0, 1, 2, 3.5, -1, np.inf, -np.inf)


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.one_device
def test_norms(device, dtype, share):
    a = _random((2, 4, 3), dtype)
    there = cuda.to_device(a)
    for axis, ord in share([(axis, ord) for axis in (None, -2) for ord in _ORDERS], dtype == "float32"):
        expected = np.linalg.vector_norm(a, axis=axis, ord=ord, keepdims=True)
        found = xp.linalg.vector_norm(there, axis=axis, ord=ord, keepdims=True)
        np.testing.assert_allclose(_host(found), expected, rtol=1e-5)
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        found = xp.linalg.matrix_norm(there, ord=ord)
        np.testing.assert_allclose(_host(found), np.linalg.matrix_norm(a, ord=ord), rtol=1e-5)
    big = cuda.to_device(np.full(3, 3e38, np.float32))
    assert np.isinf(_host(xp.linalg.vector_norm(big))) and _host(xp.linalg.vector_norm(big[:1])) == np.float32(3e38)


@pytest.mark.one_device
@pytest.mark.parametrize("shape", [(0, 3, 3), (2, 0, 0), (2, 0, 3), (2, 3, 0)])
def test_without_elements(device, shape):
    a = np.ones(shape, np.float32)
    there = cuda.to_device(a)
    names = ["svdvals", "matrix_rank", "pinv", "matrix_norm"]
    names += ["det", "inv", "slogdet", "cholesky", "eigvalsh", "eigh"] if shape[-1] == shape[-2] else []
    for name in names:
        expected, found = getattr(np.linalg, name)(a), getattr(xp.linalg, name)(there)
        if not isinstance(expected, tuple):
            expected, found = [expected], [found]
        for one, other in zip(expected, found, strict=True):
            assert other.shape == one.shape, name
            np.testing.assert_array_equal(_host(other), one)
    for one, other in zip(np.linalg.svd(a), xp.linalg.svd(there), strict=True):
        assert other.shape == one.shape
        np.testing.assert_array_equal(_host(other), one)


@pytest.mark.one_device
def test_numpys_names(device):
    a, b, v = _random((4, 4), "float32"), _random((2, 3), "float32"), _random((4,), "float32")
    calls = [
        lambda a, b, v: np.trace(a, 1),
        lambda a, b, v: np.outer(b, v),
        lambda a, b, v: np.inner(a, v),
        lambda a, b, v: np.vdot(a, a.T),
        lambda a, b, v: np.kron(a, b),
        lambda a, b, v: np.kron(v, b),
        lambda a, b, v: np.cross(b, b[::-1]),
        lambda a, b, v: np.cross(b.T, b[::-1].T, axis=0),
        lambda a, b, v: np.tensordot(a, v, 1),
        lambda a, b, v: np.dot(v, v),
        lambda a, b, v: np.linalg.norm(a),
        lambda a, b, v: np.linalg.norm(a, axis=0),
        lambda a, b, v: np.linalg.norm(a, 2),
        lambda a, b, v: np.linalg.cond(a),
        lambda a, b, v: np.linalg.cond(a, 1),
        lambda a, b, v: np.linalg.multi_dot([a, a, v]),
        lambda a, b, v: np.linalg.qr(a, mode="r").T @ np.linalg.qr(a, mode="r"),
        lambda a, b, v: np.linalg.svd(b, compute_uv=False),
        lambda a, b, v: np.linalg.pinv(b, 0.5),
        lambda a, b, v: np.linalg.lstsq(b.T, b[0], None)[0],
        lambda a, b, v: np.linalg.matrix_rank(b, 1e-3),
    ]
    for i, call in enumerate(calls):
        found = call(*(cuda.to_device(x) for x in (a, b, v)))
        np.testing.assert_allclose(_host(found), call(a, b, v), rtol=1e-3, atol=1e-4, err_msg=str(i))


@pytest.mark.one_device
@pytest.mark.parametrize("shape", [(6, 3), (3, 3), (2, 3)])
def test_least_squares_of_columns_that_depend_on_others(device, shape):
    """The shortest solution, as NumPy's, and no residuals."""
    a = np.asarray(_random(shape, "float64"))
    a[:, 2] = a[:, 0] - a[:, 1]
    a[1] = a[0]
    for matrix in (a, np.zeros_like(a)):
        for rcond in (None, -1, 0.1):
            found = [_host(x) for x in np.linalg.lstsq(*(cuda.to_device(x) for x in (matrix, a[:, 0])), rcond)]
            for mine, wanted in zip(found, np.linalg.lstsq(matrix, a[:, 0], rcond), strict=True):
                np.testing.assert_allclose(mine, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.one_device
def test_cholesky_and_qr(device):
    a = _random((2, 5, 5), "complex64")
    positive = a @ _adjoint(a) + 5 * np.eye(5, dtype=np.complex64)
    for upper in (False, True):
        found = _host(xp.linalg.cholesky(cuda.to_device(positive), upper=upper))
        np.testing.assert_allclose(found, np.linalg.cholesky(positive, upper=upper), rtol=1e-4, atol=1e-4)
    for mode in ("reduced", "complete"):
        q, r = (_host(x) for x in xp.linalg.qr(cuda.to_device(a[..., :3]), mode=mode))
        np.testing.assert_allclose(q @ r, a[..., :3], rtol=1e-4, atol=1e-4)
        _check_orthonormal(q, np.finfo(np.float32).eps)


@pytest.mark.one_device
def test_errors(device):
    a = cuda.to_device(np.ones((2, 3), np.float32))
    with pytest.raises(ShapeError, match="not square"):
        xp.linalg.inv(a)
    with pytest.raises(ShapeError, match="two axes"):
        xp.linalg.svd(a[0])
    with pytest.raises(ShapeError, match="axis -1 has three"):
        xp.linalg.cross(a[:, :2], a[:, :2])
    with pytest.raises(ShapeError, match="outer takes vectors"):
        xp.linalg.outer(a, a)
    with pytest.raises(UnknownOptionError, match="matrix_norm: ord is 7"):
        xp.linalg.matrix_norm(a, ord=7)
    with pytest.raises(UnknownOptionError, match="qr: mode"):
        xp.linalg.qr(a, mode="raw")
    with pytest.raises(ArgumentTypeError, match=r"n is 0\.5"):
        xp.linalg.matrix_power(a @ a.T, 0.5)
    with pytest.raises(ShapeError, match="tensordot"):
        xp.tensordot(a, a, axes=3)


def test_products_of_expressions_that_are_made_again(device):
    for seed in range(4):  # the second one is recorded
        a, b = _random((6, 6), "float32", seed), _random((8, 6), "float32", seed + 9)
        there, other = cuda.to_device(a), cuda.to_device(b)
        found = xp.matmul(xp.multiply(there, xp.add(there, 1)), xp.negative(other.mT))
        np.testing.assert_allclose(_host(found), (a * (a + 1)) @ -b.T, rtol=1e-4, atol=1e-4)


_HALVES = {
    "normal": np.random.default_rng(5).normal(size=(4, 6)),
    "special": np.array([[1, np.inf, -0.0], [np.nan, 1, 2], [0, -np.inf, 3]]),
    "none": np.zeros((3, 0)),
}


@pytest.mark.one_device
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", _HALVES)
def test_norms_of_halves(device, name):
    """They are halves, as NumPy's: only squares of the Euclidean norm have more digits on the way."""
    host = _HALVES[name].astype(np.float16)
    orders = (None, 2, 1, 3, 0, -1, np.inf)
    calls = [
        *(lambda x, o=order: np.linalg.norm(x, o, axis=-1, keepdims=True) for order in orders),
        *(lambda x, o=order: np.linalg.norm(x.T, o) for order in ("fro", 1, np.inf)),
        np.linalg.norm,
        np.linalg.vector_norm,
        np.linalg.matrix_norm,
        lambda x: np.linalg.norm(x, axis=(0, 1), keepdims=True),
        lambda x: np.linalg.vector_norm(x, axis=()),
    ]
    for function in calls:
        wanted, found = function(host), function(cuda.to_device(host))
        assert found.dtype == wanted.dtype == np.float16
        np.testing.assert_allclose(found.copy_to_host(), wanted, rtol=2e-3)
    large = cuda.to_device(np.full(9, 3e4, np.float16))
    assert float(np.linalg.norm(large[:2])) == float(np.float16(3e4 * 2**0.5))
    assert np.isinf(float(np.linalg.norm(large)))
