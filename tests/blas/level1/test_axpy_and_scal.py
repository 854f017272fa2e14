"""`portagpu.linalg.axpy` and `scal`: dtypes, arrays of several axes, out, overlaps, errors."""

from __future__ import annotations

import numpy as np
import pytest

from portagpu import cuda, errors, linalg

pytestmark = pytest.mark.one_device
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "complex128": 2.0**-52}


def numbers(generator, shape, name):
    dtype = np.dtype(pytest.importorskip("ml_dtypes").bfloat16 if name == "bfloat16" else name)
    found = generator.standard_normal(shape)
    return (found + 1j * generator.standard_normal(shape) if dtype.kind == "c" else found).astype(dtype)


def wide(x):
    x = x.copy_to_host() if hasattr(x, "copy_to_host") else x
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


@pytest.mark.each_value
@pytest.mark.parametrize("on_it", [False, True])
@pytest.mark.parametrize("name", EPS)
def test_results(device, name, on_it):
    generator = np.random.default_rng(5)
    move = cuda.to_device if on_it else np.array
    alpha = 0.5 - 2j if name.startswith("complex") else -1.5

    def near(found, wanted, size):
        assert found.shape == wanted.shape
        return (abs(wide(found) - wanted) <= 4 * EPS[name] * size).all()

    for shape in ((), (0,), (1,), (70,), (4, 5), (2, 3, 4)):
        x, y = (numbers(generator, shape, name) for _ in range(2))
        wanted, size = alpha * wide(x) + wide(y), abs(alpha) * abs(wide(x)) + abs(wide(y))
        assert near(linalg.axpy(alpha, move(x), move(y)), wanted, size)
        assert near(linalg.scal(alpha, move(x)), alpha * wide(x), size)
        held = move(y)
        assert linalg.axpy(alpha, move(x), held, out=held) is held and near(held, wanted, size)
        held = move(x)
        assert linalg.axpy(alpha, held, move(y), out=held) is held and near(held, wanted, size)
        held = move(x)
        assert linalg.scal(alpha, held, out=held) is held and near(held, alpha * wide(x), size)
    x, y = (numbers(generator, (4, 6), name) for _ in range(2))
    wanted, size = alpha * wide(x) + wide(y), abs(wide(x)) * 3 + abs(wide(y))
    held = move(np.ones((4, 12), x.dtype))
    out = held[:, ::2]  # with gaps, and operands in another order
    linalg.axpy(alpha, move(x.T.copy()).T, move(y), out=out)
    assert near(out, wanted, size) and (wide(held)[:, 1::2] == 1).all()
    long = move(numbers(generator, 20, name))
    before = wide(long)
    linalg.axpy(1, long[:10], long[5:15], out=long[10:])  # memory that is shared in part
    assert near(long[10:], before[:10] + before[5:15], abs(before[:10]) + abs(before[5:15]))
    nothing = move(np.full(10, np.nan, x.dtype))
    assert (wide(linalg.axpy(0, nothing, long[:10])) == before[:10]).all()  # x is not read


def test_dtypes_and_memory_of_others(device):
    found = linalg.axpy(2, np.arange(3), np.ones(3, np.float32))
    assert found.dtype == np.float64 and found.tolist() == [1, 3, 5]
    theirs = cuda.to_device(np.arange(6, dtype=np.float32))
    if not theirs.context.driver.shares_addresses:
        theirs = theirs.to_pyopencl()
    assert linalg.scal(2, theirs[::2], out=theirs[::2]) is not None
    assert cuda.as_cuda_array(theirs).copy_to_host().tolist() == [0, 1, 4, 3, 8, 5]


def test_errors(device):
    x = np.ones(3)
    for call, kind, text in (
        (lambda: linalg.axpy(1, x, x[:2]), errors.ShapeError, r"x has shape \(3,\), y \(2,\)"),
        (lambda: linalg.axpy(1j, x, x), errors.ArgumentTypeError, "alpha"),
        (lambda: linalg.axpy(1, x, cuda.to_device(x)), errors.ArgumentTypeError, "x is a NumPy array, y is on"),
        (lambda: linalg.axpy(1, cuda.to_device(x), cuda.to_device(x.astype("f2"))), errors.DTypeError, "y is float16"),
        (lambda: linalg.scal(1, np.array(["x"])), errors.DTypeError, "x is <U1"),
        (lambda: linalg.scal(1, x, out=np.ones(2)), errors.ShapeError, "out has shape"),
        (lambda: linalg.scal(1, x.astype("f2"), out=x), errors.DTypeError, "out is float64"),
    ):
        with pytest.raises(kind, match=text):
            call()
