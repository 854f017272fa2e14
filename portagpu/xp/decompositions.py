"""Decompositions of batches of matrices, as the extension ``linalg`` of the array API standard has them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import linalg
from portagpu.errors import DTypeError, MatrixShapeError, UnknownOptionError
from portagpu.expressions.apply import apply, convert
from portagpu.expressions.reductions import functions
from portagpu.linalg.jacobi.eigenvalues import eigen_factors
from portagpu.linalg.jacobi.singular_values import singular_factors, singular_values
from portagpu.primitives.gathers.sequences import whole_steps
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp.conversion import array_of
from portagpu.xp.diagonals import diagonal

_COMPUTED = ("float32", "float64", "complex64", "complex128")


class EigResult(NamedTuple):
    """Eigenvalues in no order, and eigenvectors, which are columns of length 1; complex."""

    eigenvalues: DeviceNDArray
    eigenvectors: DeviceNDArray


class EighResult(NamedTuple):
    """Eigenvalues in ascending order, and eigenvectors, which are columns."""

    eigenvalues: DeviceNDArray
    eigenvectors: DeviceNDArray


class QRResult(NamedTuple):
    """``x = Q @ R``."""

    Q: DeviceNDArray
    R: DeviceNDArray


class SlogdetResult(NamedTuple):
    """``det(x) = sign * exp(logabsdet)``."""

    sign: DeviceNDArray
    logabsdet: DeviceNDArray


class SVDResult(NamedTuple):
    """``x = U @ diag(S) @ Vh``, singular values in descending order."""

    U: DeviceNDArray
    S: DeviceNDArray
    Vh: DeviceNDArray


def floating_of(x: Any, *, halves: bool = False) -> DeviceNDArray:
    """An array in a dtype that is computed in: integers as float64 (float32 on devices without it), halves as float32.

    ``halves``: they stay what they are. Raises `DTypeError`.
    """
    array = array_of(x)
    if array.dtype.name in _COMPUTED or (halves and array.dtype == np.float16):
        return array
    if array.dtype.kind in "biu" and array.context.capabilities.fp64:
        return convert(array, np.dtype(np.float64))
    if array.dtype.kind in "biuf":
        return convert(array, np.dtype(np.float32))
    raise DTypeError(f"linear algebra takes numbers, not {array.dtype}")


def matrices_of(x: Any, *, square: bool = False, halves: bool = False) -> DeviceNDArray:
    """As `floating_of`. Raises `MatrixShapeError` for fewer axes than two, or other matrices than square ones."""
    array = floating_of(x, halves=halves)
    if array.ndim < 2:
        raise MatrixShapeError(f"matrices have two axes, this array {array.ndim}", hint="reshape it first")
    if square and array.shape[-1] != array.shape[-2]:
        raise MatrixShapeError(f"the matrices are {array.shape[-2]} x {array.shape[-1]}, not square")
    return array


def cholesky(x: Any, /, *, upper: bool = False) -> DeviceNDArray:
    """The lower triangles L with ``x = L @ L^H`` of positive definite matrices, or the upper ones with ``U^H @ U``.

    Raises `NotPositiveDefiniteError` for others as `portagpu.linalg.checks` says, `ShapeError`, `DTypeError`.
    """
    found: DeviceNDArray = linalg.cholesky(matrices_of(x, square=True), lower=not upper)
    return found


def qr(x: Any, /, *, mode: str = "reduced") -> QRResult:
    """Orthonormal columns, k = min(m, n) of them or m ("complete"), and upper triangles."""
    if mode not in ("reduced", "complete"):
        raise UnknownOptionError(f"qr: mode is {mode!r}", hint="reduced or complete")
    q, r = linalg.qr(matrices_of(x), mode=mode)
    return QRResult(q, r if r.is_c_contiguous() else r.copy())


def eig(x: Any, /) -> EigResult:
    """Eigenvalues and eigenvectors of general square matrices, complex also where they are real.

    By sweeps of the QR iteration on the device; see `portagpu.linalg.eig` for order and cost. Raises
    `FactorisationError` for elements that are not finite, as `portagpu.linalg.checks` says, `ShapeError`, `DTypeError`.
    """
    return EigResult(*linalg.eig(matrices_of(x, square=True)))


def eigvals(x: Any, /) -> DeviceNDArray:
    """The eigenvalues of general square matrices, complex, as of `eig`."""
    found: DeviceNDArray = linalg.eigvals(matrices_of(x, square=True))
    return found


def eigh(x: Any, /) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which lower triangles are read.

    By Jacobi rotations on the device, which wait for it after each sweep; see
    `portagpu.linalg.jacobi.eigenvalues.eigen_factors` for errors. NaN where elements are not finite.
    """
    array = matrices_of(x, square=True)
    batch, n = array.shape[:-2], array.shape[-1]
    values, vectors = eigen_factors(_stacked(array), array._stream(0))
    return EighResult(values.reshape((*batch, n)), vectors.reshape((*batch, n, n)))


def eigvalsh(x: Any, /) -> DeviceNDArray:
    """The eigenvalues of Hermitian matrices in ascending order, as of `eigh`."""
    return eigh(x).eigenvalues


def svd(x: Any, /, *, full_matrices: bool = True) -> SVDResult:
    """Singular values and vectors: U is square if ``full_matrices``, and so is Vh, else they have min(m, n) of them.

    By Jacobi rotations on the device, which wait for it after each sweep; see
    `portagpu.linalg.jacobi.singular_values.singular_factors`.
    """
    array = matrices_of(x)
    batch = array.shape[:-2]
    found = singular_factors(_stacked(array), array._stream(0), full=full_matrices)
    u, s, vh = (part if part.is_c_contiguous() else part.copy() for part in found)
    return SVDResult(*(part.reshape((*batch, *part.shape[1:])) for part in (u, s, vh)))


def svdvals(x: Any, /) -> DeviceNDArray:
    """The singular values in descending order, as of `svd`."""
    array = matrices_of(x)
    s = singular_values(_stacked(array), array._stream(0))
    return s.reshape((*array.shape[:-2], s.shape[-1]))


def slogdet(x: Any, /) -> SlogdetResult:
    """Signs, and logarithms of the magnitudes, of determinants; of a singular matrix 0 and minus infinity."""
    array = matrices_of(x, square=True)
    lu, pivots = linalg.lu_factor(array)
    pivot_rows = whole_steps(array.shape[-1], 0, 1, np.dtype(np.int32), array.context)
    on_diagonal = diagonal(lu)
    logarithm = functions.reduce(np.add, apply(np.log, apply(np.absolute, on_diagonal)), -1)
    exchanges = functions.reduce(np.add, apply(np.not_equal, pivots, pivot_rows), -1, np.int64)
    parity = apply(np.subtract, 1, apply(np.multiply, 2, apply(np.bitwise_and, exchanges, 1)))
    sign = functions.reduce(np.multiply, apply(np.sign, on_diagonal), -1)
    return SlogdetResult(apply(np.multiply, sign, convert(parity, logarithm.dtype)), logarithm)


def _stacked(x: DeviceNDArray) -> DeviceNDArray:
    """A batch with one leading axis."""
    count, matrix = math.prod(x.shape[:-2]), x.shape[-2:]
    if x.ndim == 3:
        return x
    return (x if x.is_c_contiguous() else x.copy()).reshape((count, *matrix))
