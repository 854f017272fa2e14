"""`portagpu.linalg.matvec` and `vecmat`: NumPy's rules for batches, dtypes, out, beta, arrays of PyOpenCL, errors."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, linalg
from portagpu.blas.matmul import matmul

pytestmark = pytest.mark.one_device
SHAPES = (  # of the matrices, of the vectors, both without their last axes
    ((), ()),
    ((), (3,)),
    ((3,), (3,)),
    ((3,), ()),
    ((2, 1), (3,)),
    ((0,), (0,)),
)
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex64": 2.0**-23}


def dtype_of(name):
    return np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)


def numbers(generator, shape, dtype):
    found = generator.standard_normal(shape)
    return (found + 1j * generator.standard_normal(shape) if dtype.kind == "c" else found).astype(dtype)


def wide(x):
    x = x.copy_to_host() if hasattr(x, "copy_to_host") else x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def near(found, wanted, size, name):
    """Right to 16 eps of the sum of magnitudes."""
    assert found.shape == wanted.shape and found.dtype == dtype_of(name)
    return (abs(wide(found) - wanted) <= 16 * EPS[name] * size).all()


@pytest.mark.each_value
@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("name", EPS)
def test_batches(device, name, on_it, share):
    generator, dtype = np.random.default_rng(3), dtype_of(name)
    move = cuda.to_device if on_it else np.asarray
    for matrices, vectors in share(SHAPES, on_it):
        for m, n in ((5, 300), (33, 7), (4, 0)):
            a, x = numbers(generator, (*matrices, m, n), dtype), numbers(generator, (*vectors, n), dtype)
            columns, sizes = wide(x)[..., None], abs(wide(x))[..., None]
            wanted, size = (wide(a) @ columns)[..., 0], (abs(wide(a)) @ sizes)[..., 0]
            assert near(linalg.matvec(move(a), move(x)), wanted, size, name)
            start = np.ones((*wanted.shape, 2), dtype)
            held = move(start.copy())
            out = held[..., 0]  # with gaps
            assert linalg.matvec(move(a), move(x), alpha=2, beta=-1, out=out) is out
            assert near(out, 2 * wanted - 1, 2 * size + 1, name) and (wide(held)[..., 1] == 1).all()
            out = move(np.full(wanted.shape, np.nan, dtype))  # which is not read
            assert near(linalg.matvec(move(a), move(x), out=out), wanted, size, name)
            turned = move(a).swapaxes(-1, -2)
            found = linalg.vecmat(move(x), turned)
            assert near(found, (wide(a) @ columns.conj())[..., 0], size, name)
            assert near(linalg.vecmat(move(x), turned, out=out), wide(found), size, name)


def test_numpys_results(device):
    """As NumPy 2's functions have them, of dtypes that are promoted and lists."""
    if not hasattr(np, "vecmat"):
        pytest.skip("NumPy has no vecmat before 2.2")
    a, x = np.arange(24).reshape(2, 3, 4), np.arange(4.0) * (1 + 2j)
    assert np.allclose(linalg.matvec(a, x), np.matvec(a, x))
    assert np.allclose(linalg.vecmat(x, a.swapaxes(1, 2)), np.vecmat(x, a.swapaxes(1, 2)))
    assert linalg.matvec([[1, 2], [3, 4]], [1, 1]).tolist() == [3, 7]
    assert linalg.matmul is matmul


def test_memory_of_others(device):
    """Arrays of the back end's library, at an offset and with strides; a result that is an operand."""
    if cuda.current_context().driver.shares_addresses:
        pytest.skip("libraries make their arrays themselves there")
    generator = np.random.default_rng(4)
    a, x = (numbers(generator, shape, np.dtype("f4")) for shape in ((6, 6), (12,)))
    theirs = cuda.to_device(x).to_pyopencl()
    d_a = cuda.to_device(a)
    assert np.allclose(wide(linalg.matvec(d_a, theirs[6:])), a @ x[6:], atol=1e-5)
    out = cuda.to_device(np.zeros(12, np.float32)).to_pyopencl()
    target = out[1::2]
    assert linalg.matvec(d_a, theirs[::2], out=target) is target
    found = cuda.as_cuda_array(out).copy_to_host()
    assert np.allclose(found[1::2], a @ x[::2], atol=1e-5) and not found[::2].any()
    square = cuda.to_device(a).to_pyopencl()
    assert linalg.matmul(square, d_a, square) is square
    assert np.allclose(cuda.as_cuda_array(square).copy_to_host(), a @ a, atol=1e-5)
    vector = cuda.to_device(x[:6])
    assert linalg.matvec(d_a, vector, out=vector) is vector and np.allclose(wide(vector), a @ x[:6], atol=1e-5)


def test_errors(device):
    a, x = np.ones((3, 4)), np.ones(4)
    for call, kind, text in (
        (lambda: linalg.matvec(x, x), errors.ShapeError, "matvec takes matrices; a has shape"),
        (lambda: linalg.matvec(a, x[:3]), errors.ShapeError, r"a has shape \(3, 4\), x \(3,\)"),
        (lambda: linalg.matvec(a, 1.0), errors.ShapeError, r"x \(\)"),
        (lambda: linalg.vecmat(x, a), errors.ShapeError, r"x has shape \(4,\), a \(3, 4\)"),
        (lambda: linalg.matvec(np.ones((2, 3, 4)), np.ones((3, 4))), errors.ShapeError, "those of x are .3,."),
        (lambda: linalg.matvec(a, cuda.to_device(x)), errors.ArgumentTypeError, "a is a NumPy array, x is on"),
        (lambda: linalg.matvec(a, x.astype(object)), errors.DTypeError, "operand x is object"),
        (lambda: linalg.matvec(a, x, out=x), errors.ShapeError, r"out has shape \(4,\), the result \(3,\)"),
        (lambda: linalg.matvec(a, x, out=3), errors.ArgumentTypeError, "out is a int"),
        (lambda: linalg.matvec(a, x, beta=1), errors.ArgumentTypeError, "there is no out"),
        (lambda: linalg.matvec(a, x, alpha="2"), errors.ArgumentTypeError, "alpha"),
        (lambda: linalg.matvec(a, np.ma.masked_equal(x, 1)), errors.ArgumentTypeError, "x has masked"),
    ):
        with pytest.raises(kind, match=text):
            call()
