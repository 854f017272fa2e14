"""BLAS's own names, against SciPy's functions."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest

from portagpu import cuda, errors
from portagpu.blas import cgemm, dgemm, sgemm, zgemm

scipy_blas = pytest.importorskip("scipy.linalg.blas")

FUNCTIONS = {
    "s": (sgemm, np.float32),
    "d": (dgemm, np.float64),
    "c": (cgemm, np.complex64),
    "z": (zgemm, np.complex128),
}


def matrix(generator, rows, columns, dtype, order="C"):
    values = generator.standard_normal((rows, columns))
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.standard_normal((rows, columns))
    return np.asarray(values, dtype, order=order)


def close(found, wanted):
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    eps = np.finfo(wanted.dtype).eps
    return np.allclose(found, wanted, rtol=50 * eps, atol=400 * eps)


@pytest.mark.parametrize("letter", FUNCTIONS)
@pytest.mark.parametrize("on_device", [False, True])
def test_transposes_and_orders(device, letter, on_device):
    function, dtype = FUNCTIONS[letter]
    theirs = getattr(scipy_blas, f"{letter}gemm")
    generator = np.random.default_rng(1)
    m, n, k = 21, 13, 17
    move = cuda.to_device if on_device else np.asarray
    alpha, beta = (1.5 - 0.5j, 0.5 + 2j) if letter in "cz" else (1.5, -0.5)
    for ta, tb in itertools.product((0, 1, 2), repeat=2):
        order = "CF"[(ta + tb) // 2 % 2]
        a = matrix(generator, *((k, m) if ta else (m, k)), dtype, order)
        b = matrix(generator, *((n, k) if tb else (k, n)), dtype, "CF"[order == "C"])
        c = matrix(generator, m, n, dtype, order)
        for options in ({}, {"beta": beta, "c": c}):
            wanted = theirs(alpha, a, b, trans_a=ta, trans_b=tb, **options)
            given = {name: move(value) if name == "c" else value for name, value in options.items()}
            found = function(alpha, move(a), move(b), trans_a=ta, trans_b=tb, **given)
            if on_device:
                assert found.is_f_contiguous() and (not given or (given["c"].copy_to_host() == c).all())
                found = found.copy_to_host()
            assert found.flags.f_contiguous and wanted.flags.f_contiguous
            assert close(found, wanted)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("overwrite", [0, 1])
def test_what_is_overwritten(device, order, overwrite):
    """Where SciPy writes into c; on the device, c itself."""
    generator = np.random.default_rng(2)
    a, b, c = (matrix(generator, 20, 20, np.float64, order) for _ in range(3))
    ours, theirs = c.copy(order), c.copy(order)
    wanted = scipy_blas.dgemm(2, a, b, 3, theirs, 0, 1, overwrite)
    found = dgemm(2, a, b, 3, ours, 0, 1, overwrite)
    assert close(found, wanted) and (found is ours) == np.shares_memory(wanted, theirs)
    assert close(ours, theirs)
    moved = cuda.to_device(c)
    result = dgemm(2, cuda.to_device(a), cuda.to_device(b), 3, moved, 0, 1, overwrite)
    assert (result is moved) == bool(overwrite) and close(result.copy_to_host(), wanted)


def test_what_is_converted(device):
    generator = np.random.default_rng(3)
    a, b = matrix(generator, 8, 8, np.float64), matrix(generator, 8, 8, np.float32)
    whole, vector = np.arange(64).reshape(8, 8), np.arange(8.0)
    for x, y in ((a, b), (whole, b), (a, vector), (a.tolist(), b), (a[::2, ::-1], b)):
        assert close(sgemm(1, x, y), scipy_blas.sgemm(1, x, y))
        assert close(zgemm(2j, x, y), scipy_blas.zgemm(2j, x, y))
    assert np.array_equal(dgemm(1, vector, vector, trans_a=1), [[vector @ vector]])
    old = np.full((8, 8), np.nan)
    found = dgemm(1, a, a, 0, old)  # beta 0: what is there is not read
    assert close(found, a @ a) and np.isnan(old).all() and found.flags.f_contiguous


def test_a_device_matrix_with_gaps_is_conjugated(device):
    generator = np.random.default_rng(4)
    a, b = matrix(generator, 30, 40, np.complex64), matrix(generator, 30, 9, np.complex64)
    moved = cuda.to_device(a)
    found = cgemm(1, moved[:, 3:20], cuda.to_device(b), trans_a=2)
    assert close(found.copy_to_host(), scipy_blas.cgemm(1, a[:, 3:20], b, trans_a=2))
    found = cgemm(1, moved.T[3:20], cuda.to_device(b).T, trans_b=2)
    assert close(found.copy_to_host(), scipy_blas.cgemm(1, a.T[3:20], b.T, trans_b=2))


def test_wrong_arguments(device):
    a = np.ones((4, 5))
    for options, error in (
        ({"trans_a": 3}, errors.UnknownOptionError),
        ({"trans_b": "T"}, errors.UnknownOptionError),
        ({}, errors.ShapeError),
        ({"trans_b": 1, "c": np.ones((4, 5))}, errors.ShapeError),
        ({"trans_b": 1, "c": "c"}, errors.ArgumentTypeError),
        ({"trans_b": 1, "c": np.ones((5, 5))}, errors.ShapeError),
    ):
        with pytest.raises(error):
            dgemm(1, a, a, **options)
    with pytest.raises(errors.ArgumentTypeError):
        dgemm(1j, a, a, trans_b=1)
    with pytest.raises(errors.DTypeError, match="dgemm takes float64; b is complex128"):
        dgemm(1, a, a.astype(complex), trans_b=1)
    with pytest.raises(errors.DTypeError, match="sgemm takes float32; a is float64"):
        sgemm(1, cuda.to_device(a), cuda.to_device(a), trans_b=1)
    with pytest.raises(errors.ShapeError, match=r"c has shape \(4, 5\)"):
        dgemm(1, a, a, 0, a, 0, 1)
    column = np.ones((2**21, 1))
    with pytest.raises(errors.OutOfMemoryError):
        dgemm(1, column, column, trans_b=1)
    with pytest.raises(errors.ShapeError, match="matrices"):
        dgemm(1, np.ones((2, 3, 4)), a)
    with pytest.raises(errors.ArgumentTypeError, match="on the device"):
        dgemm(1, a, cuda.to_device(a), trans_b=1)


def test_the_names_are_found_without_their_kernels():
    code = "import sys, portagpu.blas as b; print('portagpu.blas.matmul' in sys.modules, b.dgemm.__name__)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False dgemm\n"
    with pytest.raises(ImportError):
        from portagpu.blas import hgemm  # noqa: F401
