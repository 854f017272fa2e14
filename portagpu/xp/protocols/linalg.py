"""NumPy's functions of linear algebra and Fourier transforms on device arrays, under NumPy's names and arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portagpu.errors import MatrixShapeError, ShapeError, UnknownOptionError
from portagpu.expressions.apply import apply
from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import chosen
from portagpu.linalg import qr as qr_factors
from portagpu.linalg.checking import checks
from portagpu.linalg.eigenvalues import eigen_as_numpy
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.xp import linalg
from portagpu.xp.conversion import array_of
from portagpu.xp.decompositions import EigResult, matrices_of
from portagpu.xp.products import alike, matmul, reshaped, tensordot, vecdot

_NOT_GIVEN = object()
_ALWAYS_COMPLEX = np.lib.NumpyVersion(np.__version__) >= "2.5.0"  # results of `eig` and `eigvals`
_NUMPYS_CUTOFF = 1e-15  # where nothing is given; the array API's own is larger


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _of_lower(function: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of Hermitian matrices of which NumPy lets one triangle be given."""

    def call(a: Any, UPLO: str = "L") -> Any:
        if UPLO.upper() not in ("L", "U"):
            raise UnknownOptionError(f"UPLO is {UPLO!r}", hint="L or U")
        array = matrices_of(a, square=True)
        return function(array if UPLO.upper() == "L" else apply(np.conjugate, array.mT))

    return call


def _eigen(a: Any, *, vectors: bool) -> Any:
    """Results are real where NumPy's are: before NumPy 2.5 where no eigenvalue of a stack of real matrices has an
    imaginary part, and nowhere since.

    It waits for the device, to know that, and to raise NumPy's errors.
    """
    *found, are_real = eigen_as_numpy(matrices_of(a, square=True), vectors=vectors)
    values, *others = (x.real.copy() if are_real and not _ALWAYS_COMPLEX else x for x in found if x is not None)
    return EigResult(values, *others) if others else values


def _svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    del hermitian  # which would only be faster
    return linalg.svd(a, full_matrices=full_matrices) if compute_uv else linalg.svdvals(a)


def _qr(a: Any, mode: str = "reduced") -> Any:
    return qr_factors(matrices_of(a), mode="r") if mode == "r" else linalg.qr(a, mode=mode)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    array = array_of(x)
    if axis is None and ord is None:
        return linalg.vector_norm(array, keepdims=keepdims)
    axes = functions.axes_in(axis, array.ndim)
    if len(axes) == 1:
        return linalg.vector_norm(array, axis=axes, keepdims=keepdims, ord=2 if ord is None else ord)
    if len(axes) != 2:
        raise ShapeError(f"norm of {len(axes)} axes", hint="one is that of vectors, two are those of matrices")
    rest = tuple(a for a in range(array.ndim) if a not in axes)
    found = linalg.matrix_norm(array.transpose((*rest, *axes)), ord="fro" if ord is None else ord)
    return functions.finished(found, array, axes, keepdims=keepdims)


def _flat(x: Any) -> DeviceNDArray:
    array = array_of(x)
    return reshaped(array, (array.size,))


def _outer(a: Any, b: Any, out: Any = None) -> Any:
    return _into(linalg.outer(_flat(a), _flat(b)), out)


def _into(found: DeviceNDArray, out: Any) -> Any:
    return found if out is None else functions.finished(found, found, (), keepdims=False, out=out)


def _inner(a: Any, b: Any) -> DeviceNDArray:
    left, right = alike(a, b)
    if left.ndim == 0 or right.ndim == 0:
        return apply(np.multiply, left, right)
    return tensordot(left, right, axes=([-1], [-1]))


def _vdot(a: Any, b: Any) -> DeviceNDArray:
    return vecdot(_flat(a), _flat(b))


def _dot(a: Any, b: Any, out: Any = None) -> Any:
    left, right = alike(a, b)
    if left.ndim == 0 or right.ndim == 0:
        return _into(apply(np.multiply, left, right), out)
    if right.ndim <= 2:
        return _into(matmul(left, right), out)
    return _into(tensordot(left, right, axes=([-1], [-2])), out)


def _kron(a: Any, b: Any) -> DeviceNDArray:
    left, right = alike(a, b)
    ndim = max(left.ndim, right.ndim)
    ours, theirs = ((1,) * (ndim - x.ndim) + x.shape for x in (left, right))
    spread = reshaped(left, tuple(n for extent in ours for n in (extent, 1)))
    beside = reshaped(right, tuple(n for extent in theirs for n in (1, extent)))
    found = apply(np.multiply, spread, beside)
    return found.reshape(tuple(m * n for m, n in zip(ours, theirs, strict=True)))


def _cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None) -> DeviceNDArray:
    if axis is not None:
        axisa = axisb = axisc = axis
    moved = [_moved(array_of(x), each, -1) for x, each in ((a, axisa), (b, axisb))]
    return _moved(linalg.cross(*moved), -1, axisc)


def _moved(x: DeviceNDArray, source: int, target: int) -> DeviceNDArray:
    first, last = functions.axis_in(source, x.ndim), functions.axis_in(target, x.ndim)
    rest = [a for a in range(x.ndim) if a != first]
    rest.insert(last, first)
    return x.transpose(rest)


def _multi_dot(arrays: Any, *, out: Any = None) -> Any:
    first, *rest = (array_of(x) for x in arrays)
    for x in rest:
        first = matmul(first, x)
    return _into(first, out)


def _pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = _NOT_GIVEN) -> DeviceNDArray:
    del hermitian  # which would only be faster
    if rtol is _NOT_GIVEN:
        rtol = _NUMPYS_CUTOFF if rcond is None else rcond
    return linalg.pinv(a, rtol=rtol)


def _matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> DeviceNDArray:
    del hermitian
    array = array_of(A)
    if array.ndim < 2:  # a row: 0 if all elements are 0
        return functions.reduce(np.logical_or, array, None, np.bool_).astype(np.int64)
    if tol is None:
        return linalg.matrix_rank(array, rtol=rtol)
    limits = tol if isinstance(tol, int | float) else array_of(tol)[..., None]
    return linalg.rank_of(linalg.svdvals(array), limits)


def _lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """Solutions by singular values, the shortest ones, and what NumPy returns beside: residuals, rank, singular values.

    Values below ``rcond`` times the largest count as 0: without one, below the precision times the larger extent.
    """
    matrix, sides = alike(matrices_of(a), b)
    if matrix.ndim != 2 or sides.ndim not in (1, 2) or matrix.shape[0] != sides.shape[0]:
        raise MatrixShapeError(
            f"numpy.linalg.lstsq of arrays of shapes {matrix.shape} and {sides.shape}",
            hint="one matrix, and as many elements or rows as it has; portagpu.linalg.lstsq takes batches",
        )
    if rcond is None or rcond < 0:
        rcond = float(np.finfo(matrix.dtype).eps) * (max(matrix.shape) if rcond is None else 1)
    u, values, vh = linalg.svd(matrix, full_matrices=False)
    cutoff = apply(np.multiply, rcond, values[:1])
    rank = linalg.rank_of(values, cutoff).astype(np.int32)
    counts = apply(np.greater, values, cutoff)
    inverse = chosen(counts, apply(np.reciprocal, chosen(counts, values, 1)), 0)
    parts = matmul(apply(np.conjugate, u.T), sides)
    x = matmul(apply(np.conjugate, vh.T), apply(np.multiply, inverse if sides.ndim == 1 else inverse[:, None], parts))
    apart = apply(np.absolute, apply(np.subtract, sides, matmul(matrix, x)))
    residuals = functions.reduce(np.add, apply(np.square, apart), 0).reshape(-1)
    if matrix.shape[0] <= matrix.shape[1] or int(rank) < matrix.shape[1]:
        residuals = residuals[:0]
    return x, residuals, rank, values


def _cond(x: Any, p: Any = None) -> DeviceNDArray:
    """Condition numbers: NaN of matrices with NaN alone; others without a number have infinity, as NumPy has it."""
    matrix = matrices_of(x)
    if matrix.shape[-1] == 0 or matrix.shape[-2] == 0:
        raise MatrixShapeError(f"cond of matrices without elements, of shape {matrix.shape}")
    if p in (None, 2, -2):
        values = linalg.svdvals(matrix)
        first, last = values[..., 0], values[..., -1]
        found = apply(np.divide, last, first) if p == -2 else apply(np.divide, first, last)
    else:
        with checks(False):
            inverse = linalg.inv(matrix)
        found = apply(np.multiply, linalg.matrix_norm(matrix, ord=p), linalg.matrix_norm(inverse, ord=p))
    has_nan = functions.reduce(np.logical_or, apply(np.isnan, matrix), (-2, -1))
    is_lost = apply(np.logical_and, apply(np.isnan, found), apply(np.logical_not, has_nan))
    return chosen(is_lost, math.inf, found)


def _tensorinv(a: Any, ind: int = 2) -> DeviceNDArray:
    x = array_of(a)
    if not 0 < ind <= x.ndim:
        raise ShapeError(f"ind={ind} of an array with {x.ndim} axes", hint="from 1 on")
    first, rest = x.shape[:ind], x.shape[ind:]
    if math.prod(first) != math.prod(rest):
        raise MatrixShapeError(f"axes of extents {first} and {rest} are not those of a square matrix")
    found: DeviceNDArray = linalg.inv(reshaped(x, (math.prod(first), math.prod(rest)))).reshape((*rest, *first))
    return found


def _tensorsolve(a: Any, b: Any, axes: Any = None) -> DeviceNDArray:
    matrix, right = alike(a, b)
    if axes is not None:
        gone = functions.axes_in(axes, matrix.ndim)
        matrix = matrix.transpose((*(n for n in range(matrix.ndim) if n not in gone), *gone))
    rest = matrix.shape[right.ndim :]
    if math.prod(rest) ** 2 != matrix.size or right.size != math.prod(rest):
        raise MatrixShapeError(f"no square system: {matrix.shape} and {right.shape}")
    square = reshaped(matrix, (right.size, right.size))
    found: DeviceNDArray = linalg.solve(square, reshaped(right, (right.size,))).reshape(rest)
    return found


def _matvec(x1: Any, x2: Any, *, out: Any = None) -> Any:
    matrix, vector = alike(x1, x2)
    if matrix.ndim < 2 or not vector.ndim:
        raise ShapeError(f"matvec takes matrices and vectors, not shapes {matrix.shape} and {vector.shape}")
    return _into(matmul(matrix, vector._view((Ellipsis, None))).squeeze(-1), out)


def _vecmat(x1: Any, x2: Any, *, out: Any = None) -> Any:
    vector, matrix = alike(x1, x2)
    if matrix.ndim < 2 or not vector.ndim:
        raise ShapeError(f"vecmat takes vectors and matrices, not shapes {vector.shape} and {matrix.shape}")
    left = apply(np.conjugate, vector) if vector.dtype.kind == "c" else vector
    return _into(matmul(left._view((Ellipsis, None, slice(None))), matrix).squeeze(-2), out)


register("linalg.tensorinv", _tensorinv, _words("ind"))
register("linalg.tensorsolve", _tensorsolve, _words("axes"))
register("matvec", _matvec, _words("out"))
register("vecmat", _vecmat, _words("out"))
for _name in ("det", "inv", "slogdet", "svdvals"):
    register(f"linalg.{_name}", getattr(linalg, _name), frozenset())
register("linalg.solve", lambda a, b: linalg.solve(a, b), frozenset())
register("linalg.cholesky", lambda a, *, upper=False: linalg.cholesky(a, upper=upper), _words("upper"))
register("linalg.eig", lambda a: _eigen(a, vectors=True), frozenset())
register("linalg.eigvals", lambda a: _eigen(a, vectors=False), frozenset())
register("linalg.eigh", _of_lower(linalg.eigh), _words("UPLO"))
register("linalg.eigvalsh", _of_lower(linalg.eigvalsh), _words("UPLO"))
register("linalg.svd", _svd, _words("full_matrices compute_uv hermitian"))
register("linalg.qr", _qr, _words("mode"))
register("linalg.norm", _norm, _words("ord axis keepdims"))
register("linalg.vector_norm", linalg.vector_norm, _words("axis keepdims ord"))
register("linalg.matrix_norm", linalg.matrix_norm, _words("keepdims ord"))
register("linalg.matrix_power", lambda a, n: linalg.matrix_power(a, n), frozenset())
register("linalg.matrix_rank", _matrix_rank, _words("tol hermitian rtol"))
register("linalg.pinv", _pinv, _words("rcond hermitian rtol"))
register("linalg.lstsq", _lstsq, _words("rcond"))
register("linalg.cond", _cond, _words("p"))
register("linalg.multi_dot", _multi_dot, _words("out"))
register("linalg.diagonal", linalg.diagonal, _words("offset"))
register("linalg.trace", linalg.trace, _words("offset dtype"))
register("linalg.outer", linalg.outer, frozenset())
register("linalg.cross", linalg.cross, _words("axis"))
register("linalg.tensordot", linalg.tensordot, _words("axes"))
register("linalg.vecdot", linalg.vecdot, _words("axis"))
register("outer", _outer, _words("out"))
register("inner", _inner, frozenset())
register("vdot", _vdot, frozenset())
register("dot", _dot, _words("out"))
register("kron", _kron, frozenset())
register("cross", _cross, _words("axisa axisb axisc axis"))
register("tensordot", lambda a, b, axes=2: tensordot(a, b, axes=axes), _words("axes"))
register("vecdot", lambda x1, x2, *, axis=-1: vecdot(x1, x2, axis=axis), _words("axis"))
