"""The extension ``linalg`` of the array API standard: decompositions, solvers, norms of batches of matrices."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from portagpu import linalg
from portagpu.errors import ArgumentTypeError, FactorisationError, MatrixShapeError, OutOfBoundsError, ShapeError
from portagpu.expressions.apply import apply, apply_into
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import filled
from portagpu.linalg.checking import are_wanted
from portagpu.primitives.gathers.sequences import band
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.operands import arrays_of
from portagpu.xp.conversion import array_of, context_of_any
from portagpu.xp.decompositions import (
    cholesky,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    floating_of,
    matrices_of,
    qr,
    slogdet,
    svd,
    svdvals,
)
from portagpu.xp.diagonals import diagonal, trace
from portagpu.xp.norms import matrix_norm, vector_norm
from portagpu.xp.products import alike, matmul, matrix_transpose, tensordot, vecdot

__all__ = [
    "cholesky",
    "cross",
    "det",
    "diagonal",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "matrix_transpose",
    "outer",
    "pinv",
    "qr",
    "slogdet",
    "solve",
    "svd",
    "svdvals",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> DeviceNDArray:
    """The cross products of vectors of three elements along an axis; other axes broadcast. Raises `ShapeError`."""
    left, right = alike(x1, x2)
    axis = operator.index(axis)
    for array in (left, right):
        if not -array.ndim <= axis < array.ndim:
            raise OutOfBoundsError(f"cross: there is no axis {axis} in an array of shape {array.shape}")
        if array.shape[axis] != 3:
            raise ShapeError(f"cross: an array of shape {array.shape}", hint=f"axis {axis} has three elements")
    a, b = (_parts(x, axis) for x in (left, right))
    terms = [(a[i], b[j], a[j], b[i]) for i, j in ((1, 2), (2, 0), (0, 1))]
    found = [apply(np.subtract, apply(np.multiply, p, q), apply(np.multiply, r, s)) for p, q, r, s in terms]
    shape = list(found[0].shape)
    where = axis % len(shape)
    shape[where] = 3
    made = device_array(tuple(shape), left.dtype, context=left.context)
    for target, part in zip(_parts(made, axis), found, strict=True):
        apply_into(target, np.positive, part)
    return made


def _parts(x: DeviceNDArray, axis: int) -> list[DeviceNDArray]:
    before = (slice(None),) * (axis % x.ndim)
    places = [(*before, slice(i, i + 1)) for i in range(3)]
    return [x[place] for place in places]


def det(x: Any, /) -> DeviceNDArray:
    """The determinants of matrices. Raises `ShapeError`, `DTypeError`."""
    found: DeviceNDArray = linalg.det(matrices_of(x, square=True))
    return found


def inv(x: Any, /) -> DeviceNDArray:
    """The inverses of matrices. Raises `SingularMatrixError` as `portagpu.linalg.checks` says, `ShapeError`,
    `DTypeError`.
    """
    found: DeviceNDArray = linalg.inv(matrices_of(x, square=True))
    return found


def solve(x1: Any, x2: Any, /) -> DeviceNDArray:
    """``inv(x1) @ x2`` for matrices x1 and a vector x2, or matrices x2, whose leading axes broadcast.

    Raises `SingularMatrixError` as `portagpu.linalg.checks` says, `ShapeError`, `DTypeError`.
    """
    x1, x2 = arrays_of((x1, x2))
    matrices, sides = alike(matrices_of(x1, square=True), floating_of(x2))
    found: DeviceNDArray = linalg.solve(matrices, sides)
    return found


def outer(x1: Any, x2: Any, /) -> DeviceNDArray:
    """All products of an element of one vector with one of another. Raises `ShapeError`."""
    left, right = alike(x1, x2)
    if left.ndim != 1 or right.ndim != 1:
        raise ShapeError(f"outer takes vectors; these have shapes {left.shape} and {right.shape}")
    return apply(np.multiply, _column(left), right)


def _column(x: DeviceNDArray) -> DeviceNDArray:
    found: DeviceNDArray = x[:, None]
    return found


def matrix_power(x: Any, n: int, /) -> DeviceNDArray:
    """Whole powers of square matrices; negative ones are those of the inverses. Raises `ShapeError`."""
    array = array_of(x)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise MatrixShapeError(f"matrix_power takes square matrices, not an array of shape {array.shape}")
    try:
        count = operator.index(n)
    except TypeError:
        raise ArgumentTypeError(f"matrix_power: n is {n!r}", hint="n is a whole number") from None
    if count < 0:
        array, count = inv(array), -count
    if count == 0:
        eye = band(array.shape[-1], array.shape[-1], 0, 0, array.dtype, array.context)
        return eye._broadcast(array.shape).copy()
    found: DeviceNDArray | None = None
    while count:
        if count & 1:
            found = array if found is None else matmul(found, array)
        count >>= 1
        if count:
            array = matmul(array, array)
    assert found is not None
    return found


def matrix_rank(x: Any, /, *, rtol: Any = None) -> DeviceNDArray:
    """The number of singular values larger than ``rtol`` times the largest; by default max(m, n) times the epsilon.

    Raises `FactorisationError` for a matrix that is not finite as `portagpu.linalg.checks` says, `ShapeError`,
    `DTypeError`.
    """
    array = matrices_of(array_of(x, context_of_any(rtol)))
    values = svdvals(array)
    if values.shape[-1] == 0:
        return filled(array.shape[:-2], 0, np.dtype(np.int64), array.context)
    return rank_of(values, _cutoff(array, values, rtol))


def rank_of(values: DeviceNDArray, cutoff: Any) -> DeviceNDArray:
    """The number of singular values above a cutoff. Raises `FactorisationError` for NaN, of which a count says nothing.

    That waits for the device, unless `portagpu.linalg.checks` are off.
    """
    if are_wanted() and bool(functions.reduce(np.logical_or, apply(np.isnan, values), None)):
        raise FactorisationError(
            "a matrix has no rank: its singular values are NaN", hint="are all elements finite? see numpy.isfinite"
        )
    return functions.count_nonzero(apply(np.greater, values, cutoff), -1)


def pinv(x: Any, /, *, rtol: Any = None) -> DeviceNDArray:
    """The pseudoinverses (Moore, Penrose): singular values up to ``rtol`` times the largest count as zero.

    ``rtol``: a number or one for each matrix; by default max(m, n) times the epsilon.
    """
    array = matrices_of(array_of(x, context_of_any(rtol)))
    *batch, m, n = array.shape
    if array.size == 0:
        return device_array((*batch, n, m), array.dtype, context=array.context)
    u, s, vh = svd(array, full_matrices=False)
    counts = apply(np.greater, s, _cutoff(array, s, rtol))
    # one over those that count, and zero
    inverse = apply(np.divide, counts, apply(np.add, apply(np.multiply, s, counts), apply(np.logical_not, counts)))
    scaled = apply(np.multiply, apply(np.conjugate, vh.mT), inverse[..., None, :])
    return matmul(scaled, apply(np.conjugate, u.mT))


def _cutoff(x: DeviceNDArray, values: DeviceNDArray, rtol: Any) -> DeviceNDArray:
    """Of each matrix the number up to which singular values count as zero."""
    if rtol is None:
        relative: Any = float(max(x.shape[-2:]) * np.finfo(x.dtype).eps)
    else:
        relative = rtol if isinstance(rtol, int | float) else array_of(rtol, x.context)
        relative = relative[..., None] if isinstance(relative, DeviceNDArray) and relative.ndim else relative
    return apply(np.multiply, functions.reduce(np.maximum, values, -1, keepdims=True), relative)
