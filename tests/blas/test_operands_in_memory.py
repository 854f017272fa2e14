"""NumPy operands of every kind of memory: results as SciPy's, and operands left alone where SciPy leaves them."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu
from portagpu import blas, cuda, errors, lapack, linalg

scipy_blas = pytest.importorskip("scipy.linalg.blas")
scipy_lapack = pytest.importorskip("scipy.linalg.lapack")
pytestmark = [pytest.mark.one_device, pytest.mark.usefixtures("device")]
_N = 5


def _unaligned(x):
    memory = np.empty(x.nbytes + 1, np.uint8)
    view = memory[1:].view(x.dtype).reshape(x.shape, order="F")
    view[...] = x
    return view


def _read_only(x):
    held = x.copy(order="F")
    held.flags.writeable = False
    return held


def _reversed(x):
    held = np.asfortranarray(x[(slice(None, None, -1),) * x.ndim])
    return held[(slice(None, None, -1),) * x.ndim]


def _spread(x):
    held = np.zeros([2 * n for n in x.shape], x.dtype, order="F")
    view = held[(slice(None, None, 2),) * x.ndim]
    view[...] = x
    return view


_MEMORIES = {
    "fortran": lambda x: x.copy(order="F"),
    "c": lambda x: x.copy(order="C"),
    "unaligned": _unaligned,
    "swapped": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "read-only": _read_only,
    "reversed": _reversed,
    "spread": _spread,
}


def _vector(dtype, seed):
    return np.random.default_rng(seed).integers(1, 9, _N).astype(dtype)


def _matrix(dtype, seed):
    x = np.random.default_rng(seed).integers(1, 9, (_N, _N)).astype(dtype)
    return (x + x.T + 40 * np.eye(_N)).astype(dtype)


# of a module and a prefix: a call with operands from ``mem``, which the routine may overwrite
_ROUTINES = {
    "axpy": (1, 2, lambda m, p, x, y: getattr(m, p + "axpy")(x, y, a=2)),
    "scal": (1, 1, lambda m, p, x: getattr(m, p + "scal")(2, x)),
    "copy": (1, 2, lambda m, p, x, y: getattr(m, p + "copy")(x, y)),
    "swap": (1, 2, lambda m, p, x, y: getattr(m, p + "swap")(x, y)),
    "gemm": (2, 3, lambda m, p, a, b, c: getattr(m, p + "gemm")(1, a, b, beta=1, c=c, overwrite_c=1)),
    "trmm": (2, 2, lambda m, p, a, b: getattr(m, p + "trmm")(1, a, b, overwrite_b=1)),
    "trsm": (2, 2, lambda m, p, a, b: getattr(m, p + "trsm")(1, a, b, overwrite_b=1)),
    "syrk": (2, 2, lambda m, p, a, c: getattr(m, p + "syrk")(1, a, beta=1, c=c, overwrite_c=1)),
    "symm": (2, 3, lambda m, p, a, b, c: getattr(m, p + "symm")(1, a, b, beta=1, c=c, overwrite_c=1)),
    "potrf": (2, 1, lambda m, p, a: getattr(m, p + "potrf")(a, overwrite_a=1)),
    "getrf": (2, 1, lambda m, p, a: getattr(m, p + "getrf")(a, overwrite_a=1)),
    "gesv": (2, 2, lambda m, p, a, b: getattr(m, p + "gesv")(a, b, overwrite_a=1, overwrite_b=1)),
    "trtri": (2, 1, lambda m, p, a: getattr(m, p + "trtri")(a, overwrite_c=1)),
}


def _close(found, expected):
    found, expected = (x if isinstance(x, tuple) else (x,) for x in (found, expected))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("memory", _MEMORIES)
@pytest.mark.parametrize("prefix", ["s", "z"])
def test_routines(memory, prefix):
    dtype = {"s": np.float32, "z": np.complex128}[prefix]
    for name, (ndim, count, call) in _ROUTINES.items():
        theirs, ours = (scipy_lapack, lapack) if hasattr(lapack, prefix + name) else (scipy_blas, blas)
        plain = [(_vector if ndim == 1 else _matrix)(dtype, i) for i in range(count)]
        for _ in range(3):  # calls that come again take another way
            held = [[_MEMORIES[memory](x) for x in plain] for _ in range(2)]
            expected = call(theirs, prefix, *held[0])
            found = call(ours, prefix, *held[1])
            _close(found, expected)
            for i, (one, other, start) in enumerate(zip(held[1], held[0], plain, strict=True)):
                if memory == "read-only":  # SciPy's BLAS 1 writes into it
                    assert np.array_equal(one, start), name
                else:
                    assert np.array_equal(one, start) == np.array_equal(other, start), (name, i)


def test_an_unaligned_operand_after_calls_that_are_made_again():
    x = np.arange(5000, dtype=np.float64)
    for _ in range(4):
        y = np.ones(5000)
        assert blas.daxpy(x, y) is y
    y = _unaligned(np.ones(5000))
    np.testing.assert_array_equal(blas.daxpy(_unaligned(x), y), x + 1)
    assert (y == 1).all()


@pytest.mark.parametrize("memory", _MEMORIES)
def test_functions_and_copies(memory):
    a, b = _matrix(np.float64, 1), _matrix(np.float64, 2)
    for _ in range(3):
        one, other = (_MEMORIES[memory](x) for x in (a, b))
        np.testing.assert_allclose(portagpu.matmul(one, other), a @ b)
        np.testing.assert_allclose(linalg.solve(one, other), np.linalg.solve(a, b))
        np.testing.assert_allclose(linalg.cholesky(one), np.linalg.cholesky(a))
        there = [cuda.to_device(x) for x in (one, other)]
        np.testing.assert_array_equal(there[0].copy_to_host(), a)
        if memory == "swapped":
            with pytest.raises(errors.DTypeError, match="native byte order"):
                np.einsum("ij,jk", *there)
        else:
            np.testing.assert_allclose(np.einsum("ij,jk", *there).copy_to_host(), a @ b)
        if memory not in ("read-only", "swapped"):
            assert linalg.inv(a, out=one) is one
            np.testing.assert_allclose(one, np.linalg.inv(a))
        np.testing.assert_array_equal(other, b)


def test_operands_that_overlap():
    for dtype in (np.float32, np.complex128):
        memory = [np.asfortranarray(_matrix(dtype, 1)) for _ in range(2)]
        letter = "s" if dtype == np.float32 else "z"
        expected = memory[0] @ memory[0].T + memory[0]  # BLAS leaves undefined what this is
        found = getattr(blas, letter + "gemm")(1, memory[1], memory[1].T, beta=1, c=memory[1], overwrite_c=1)
        np.testing.assert_allclose(found, expected, rtol=1e-4)
        memory[1][...] = memory[0]
        np.testing.assert_allclose(
            getattr(blas, letter + "axpy")(memory[1][:, 0], memory[1][:, 1].copy()),
            memory[0][:, 0] + memory[0][:, 1],
            rtol=1e-5,
        )
