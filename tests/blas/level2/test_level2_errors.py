"""What BLAS 2 refuses, as Netlib's routines and SciPy's wrappers do, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu.blas as blas
from portagpu import cuda, errors

pytestmark = pytest.mark.one_device
A, X = np.eye(4), np.ones(4)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: blas.dgemv(1, A, X, incx=0), errors.ShapeError, "incx is 0"),
        (lambda: blas.dgemv(1, A, X, y=X, incy=0), errors.ShapeError, "incy is 0"),
        (lambda: blas.dgemv(1, A, X[:3]), errors.ShapeError, "x has 3 elements"),
        (lambda: blas.dgemv(1, A, X, y=X[:3]), errors.ShapeError, "y has 3 elements"),
        (lambda: blas.dgemv(1, A, X, offx=4), errors.ShapeError, "offx is 4"),
        (lambda: blas.dgemv(1, A, X, trans=3), errors.UnknownOptionError, "trans is 3"),
        (lambda: blas.dgemv("1", A, X), errors.ArgumentTypeError, "alpha"),
        (lambda: blas.dgemv(1, A[None], X), errors.ShapeError, "3 axes"),
        (lambda: blas.dgemv(1, A * 1j, X), errors.DTypeError, "a is complex128"),
        (lambda: blas.dsymv(1, A[:3], X), errors.ShapeError, "square a"),
        (lambda: blas.dsymv(1, A, X, lower=2), errors.UnknownOptionError, "lower is 2"),
        (lambda: blas.dtrmv(A, X, diag=2), errors.UnknownOptionError, "diag is 2"),
        (lambda: blas.dtrsv(A, X, incx=3), errors.ShapeError, "room for 2"),
        (lambda: blas.dtrsv(A[:2], X), errors.ShapeError, "square a"),
        (lambda: blas.dger(1, X, X, incx=2), errors.ShapeError, "incx of dger is 2"),
        (lambda: blas.dger(1, X, X, a=A[:3]), errors.ShapeError, "a has shape"),
        (lambda: blas.dsyr(1, X, n=5), errors.ShapeError, "5 are asked for"),
        (lambda: blas.dsyr(1, X, n=-1), errors.ShapeError, "n of dsyr is -1"),
        (lambda: blas.dsyr2(1, X, X, n=3, a=A), errors.ShapeError, r"needs \(3, 3\)"),
        (lambda: blas.dgemv(1, A, X, bet=1), errors.ArgumentTypeError, "dgemv"),
        (lambda: blas.dgemv(1, cuda.to_device(A), X), errors.ArgumentTypeError, "on the device"),
    ],
)
def test_refusals(device, call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_overlapping_arrays(device):
    d = cuda.to_device(np.arange(16.0).reshape(4, 4))
    with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
        blas.dgemv(1, d, d[0], 0, d[1], overwrite_y=1)
    with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
        blas.dger(1, d[0], d[1], a=d, overwrite_a=1)
