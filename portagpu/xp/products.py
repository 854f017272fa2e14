"""Products and transposition: the linear algebra functions of the namespace of the array API standard itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.blas.array_product import array_product
from portagpu.errors import DTypeError, OutOfBoundsError, ShapeError
from portagpu.expressions.apply import apply, convert
from portagpu.expressions.reductions import functions
from portagpu.linalg import vecdot as dot_of_vectors
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp.conversion import array_of, arrays_of
from portagpu.xp.manipulation import whole_number, whole_numbers

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]

_FLOATING = ("float32", "float64", "complex64", "complex128")


def alike(*values: Any) -> list[DeviceNDArray]:
    """Arrays of one dtype, to which they are promoted as NumPy does."""
    arrays = arrays_of(values)
    kind = np.result_type(*(x.dtype for x in arrays))
    return [x if x.dtype == kind else convert(x, kind) for x in arrays]


def matmul(x1: Any, x2: Any, /) -> DeviceNDArray:
    """The product of matrices, of vectors, or of both, with batches on leading axes that broadcast; as `numpy.matmul`.

    Raises `ShapeError`, `DTypeError`.
    """
    left, right = alike(x1, x2)
    if left.ndim == 0 or right.ndim == 0:
        raise ShapeError("matmul takes vectors and matrices, not numbers", hint="scale with *")
    return whole(array_product(left, right), left)


def whole(found: Any, like: DeviceNDArray) -> DeviceNDArray:
    """A result as an array, also where it is one number."""
    return found if isinstance(found, DeviceNDArray) else array_of(np.asarray(found, like.dtype), like.context)


def matrix_transpose(x: Any, /) -> DeviceNDArray:
    """A view with the last two axes exchanged. Raises `ShapeError` for fewer axes."""
    array = array_of(x)
    return array.mT


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> DeviceNDArray:
    """The sum of products over axes: the last ``axes`` of x1 and the first of x2, or those that two sequences name.

    One product of matrices. Raises `ShapeError`, `DTypeError`.
    """
    left, right = alike(x1, x2)
    ours, theirs = _axes_of(left, right, axes)
    if [left.shape[a] for a in ours] != [right.shape[a] for a in theirs]:
        raise ShapeError(f"tensordot of shapes {left.shape} and {right.shape} over axes {ours} and {theirs}")
    rest = [a for a in range(left.ndim) if a not in ours]
    others = [a for a in range(right.ndim) if a not in theirs]
    rows, columns = [left.shape[a] for a in rest], [right.shape[a] for a in others]
    inner = math.prod(left.shape[a] for a in ours)
    a = reshaped(left.transpose((*rest, *ours)), (math.prod(rows), inner))
    b = reshaped(right.transpose((*theirs, *others)), (inner, math.prod(columns)))
    return whole(array_product(a, b), left).reshape((*rows, *columns))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> DeviceNDArray:
    """``sum(conj(x1) * x2)`` along an axis, whose other axes broadcast. Raises `ShapeError`, `DTypeError`."""
    left, right = alike(x1, x2)
    for array in (left, right):
        if not -array.ndim <= axis < array.ndim:
            raise OutOfBoundsError(f"there is no axis {axis} in an array with {array.ndim} axes")
    if left.shape[axis] != right.shape[axis]:
        raise ShapeError(f"vecdot: {left.shape[axis]} and {right.shape[axis]} elements along axis {axis}")
    if left.dtype.name in _FLOATING:
        return whole(dot_of_vectors(left, right, axis=axis), left)
    if left.dtype.kind not in "iufb":
        raise DTypeError(f"vecdot takes numbers, not {left.dtype}")
    if axis >= 0:
        left, right = (x.transpose((*(a for a in range(x.ndim) if a != axis), axis)) for x in (left, right))
    else:
        left, right = (
            x.transpose((*(a for a in range(x.ndim) if a != x.ndim + axis), x.ndim + axis)) for x in (left, right)
        )
    return functions.reduce(np.add, apply(np.multiply, left, right), -1, left.dtype)


def reshaped(x: DeviceNDArray, shape: tuple[int, ...]) -> DeviceNDArray:
    """Another shape of the same elements in C order: a view, or of a copy where strides do not allow one."""
    return (x if x.is_c_contiguous() else x.copy()).reshape(shape)


def _axes_of(left: DeviceNDArray, right: DeviceNDArray, axes: Any) -> tuple[list[int], list[int]]:
    if hasattr(axes, "__len__"):
        if len(axes) != 2:
            raise ShapeError(f"tensordot over axes {axes!r}", hint="a number of axes, or two sequences of them")
        ours, theirs = (whole_numbers(each, "axes") for each in axes)
    else:
        count = whole_number(axes, "axes=")
        if not 0 <= count <= min(left.ndim, right.ndim):
            raise OutOfBoundsError(f"tensordot over {count} axes of arrays with {left.ndim} and {right.ndim}")
        ours, theirs = list(range(left.ndim - count, left.ndim)), list(range(count))
    if len(ours) != len(theirs):
        raise ShapeError(f"tensordot over axes {ours} and {theirs}", hint="as many of both")
    found = []
    for array, given in ((left, ours), (right, theirs)):
        if any(not -array.ndim <= a < array.ndim for a in given):
            raise OutOfBoundsError(f"tensordot: axes {given} of an array with {array.ndim} axes")
        if len({a % array.ndim for a in given}) < len(given):
            raise ShapeError(f"tensordot: axes {given} name an axis twice")
        found.append([a % array.ndim for a in given])
    return found[0], found[1]
