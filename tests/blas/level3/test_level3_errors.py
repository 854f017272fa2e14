"""What BLAS 3 refuses, as Netlib's routines and SciPy's wrappers do, and what it says."""

from __future__ import annotations

import numpy as np
import pytest

import portagpu.blas as blas
from portagpu import cuda, errors

pytestmark = pytest.mark.one_device
A, B, C = np.eye(4), np.ones((4, 3)), np.ones((4, 4))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: blas.dsymm(1, A, B.T), errors.ShapeError, "a has shape"),
        (lambda: blas.dsymm(1, A, B, side=1), errors.ShapeError, "a has shape"),
        (lambda: blas.dsymm(1, A, B, side=2), errors.UnknownOptionError, "side is 2"),
        (lambda: blas.dsymm(1, A[:3], B), errors.ShapeError, "square a"),
        (lambda: blas.dsymm(1, A, B, 1, A), errors.ShapeError, r"c has shape \(4, 4\)"),
        (lambda: blas.dsymm(1j, A, B), errors.ArgumentTypeError, "alpha"),
        (lambda: blas.dsyrk(1, A, c=A[:3]), errors.ShapeError, r"c has shape \(3, 4\)"),
        (lambda: blas.dsyrk(1, A, trans=3), errors.UnknownOptionError, "trans is 3"),
        (lambda: blas.zsyrk(1, A, trans=2), errors.UnknownOptionError, "trans of zsyrk is 2"),
        (lambda: blas.zherk(1, A, trans=1), errors.UnknownOptionError, "trans of zherk is 1"),
        (lambda: blas.dsyr2k(1, A, B), errors.ShapeError, "b has shape|b "),
        (lambda: blas.dsyrk(1, A * 1j), errors.DTypeError, "a is complex128"),
        (lambda: blas.dsyrk(1, A[None]), errors.ShapeError, "3 axes"),
        (lambda: blas.dtrmm(1, A[:3, :3], B), errors.ShapeError, "a has shape"),
        (lambda: blas.dtrmm(1, A, B, diag=2), errors.UnknownOptionError, "diag is 2"),
        (lambda: blas.dtrsm(1, A[:3], B), errors.ShapeError, "square a"),
        (lambda: blas.dtrsm(1, A, B, side=1), errors.ShapeError, "a has shape"),
        (lambda: blas.dtrsm(1, A, B, trans_a=-1), errors.UnknownOptionError, "trans_a is -1"),
        (lambda: blas.dtrsm(1, cuda.to_device(A), B), errors.ArgumentTypeError, "on the device"),
        (lambda: blas.dtrmm(1, A), errors.ArgumentTypeError, "dtrmm"),
    ],
)
def test_refusals(device, call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_overlapping_arrays(device):
    d = cuda.to_device(np.eye(4))
    for call in (
        lambda: blas.dsymm(1, d, d, 0, d, overwrite_c=1),
        lambda: blas.dsyrk(1, d, 0, d, overwrite_c=1),
        lambda: blas.dtrmm(1, d, d, overwrite_b=1),
        lambda: blas.dtrsm(1, d, d, overwrite_b=1),
    ):
        with pytest.raises(errors.ArgumentTypeError, match="shares memory"):
            call()


def test_read_only_results(device):
    fixed = cuda.to_device(np.eye(4)).as_readonly()
    with pytest.raises(errors.ArgumentTypeError, match="read-only"):
        blas.dtrmm(1, cuda.to_device(A), fixed, overwrite_b=1)
