"""Norms of vectors and matrices, as the extension ``linalg`` of the array API standard has them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.errors import ShapeError, UnknownOptionError
from portagpu.expressions.apply import apply, convert
from portagpu.expressions.reductions import functions
from portagpu.linalg import norm as euclidean
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp.decompositions import floating_of, matrices_of, svdvals


def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> DeviceNDArray:
    """The norm of vectors along one axis, or along several, all by default: ``sum(abs(x)**ord)**(1/ord)``.

    ``ord``: a number; infinity, the largest magnitude; minus infinity, the least; 0, how many are not zero. Squares of
    the Euclidean norm neither overflow nor vanish. Raises `ShapeError`, `UnknownOptionError`.
    """
    array = floating_of(x, halves=True)
    axes = functions.axes_in(axis, array.ndim)
    if isinstance(ord, str | bool) or not isinstance(ord, int | float | np.number):
        raise UnknownOptionError(f"vector_norm: ord is {ord!r}", hint="a number, or infinity")
    if ord == 2:
        found = _euclidean(array, axes)
        return functions.finished(found, array, axes, keepdims=keepdims)
    sizes = apply(np.absolute, array)
    if ord == 0:
        count = functions.count_nonzero(array, axes, keepdims=keepdims)
        return convert(count, sizes.dtype)
    if ord in (math.inf, -math.inf):
        largest = ord > 0
        ufunc = np.maximum if largest else np.minimum
        return functions.reduce(ufunc, sizes, axes, keepdims=keepdims, initial=0.0 if largest else None)
    if ord == 1:
        return functions.reduce(np.add, sizes, axes, keepdims=keepdims)
    total = functions.reduce(np.add, apply(np.power, sizes, float(ord)), axes, keepdims=keepdims)
    return apply(np.power, total, 1 / float(ord))


def _euclidean(x: DeviceNDArray, axes: tuple[int, ...]) -> DeviceNDArray:
    rest = [axis for axis in range(x.ndim) if axis not in axes]
    moved = x.transpose((*rest, *axes)) if x.ndim else x
    shape = tuple(x.shape[axis] for axis in rest)
    count = math.prod(x.shape[axis] for axis in axes)
    if not axes:
        return apply(np.absolute, x)
    if len(axes) > 1:
        moved = (moved if moved.is_c_contiguous() else moved.copy()).reshape((*shape, count))
    if moved.size == 0:
        kind = np.dtype(f"float{4 * x.itemsize}") if x.dtype.kind == "c" else x.dtype
        return functions.filled(shape, 0, kind, x)
    found: DeviceNDArray = euclidean(moved, axis=-1)
    return found


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> DeviceNDArray:
    """The norm of matrices: "fro", "nuc", 1, -1, 2, -2, infinity or minus infinity, as of `numpy.linalg.norm`.

    Raises `ShapeError`, `UnknownOptionError`.
    """
    array = matrices_of(x, halves=True)
    axes = (array.ndim - 2, array.ndim - 1)
    if ord == "fro" or ord is None:
        found = _euclidean(array, axes)
    elif ord in (1, -1, math.inf, -math.inf) and not isinstance(ord, bool):
        sums = functions.reduce(np.add, apply(np.absolute, array), -2 if abs(ord) == 1 else -1)
        found = _extreme(sums, largest=ord > 0)
    elif ord in (2, -2):
        found = _extreme(svdvals(array), largest=ord > 0)
    elif ord == "nuc":
        found = functions.reduce(np.add, svdvals(array), -1)
    else:
        raise UnknownOptionError(f"matrix_norm: ord is {ord!r}", hint='"fro", "nuc", 1, -1, 2, -2, inf or -inf')
    return functions.finished(found, array, axes, keepdims=keepdims)


def _extreme(x: DeviceNDArray, *, largest: bool) -> DeviceNDArray:
    if not largest and x.shape[-1] == 0:
        raise ShapeError("the least of no sums: the matrices have no elements")
    return functions.reduce(np.maximum if largest else np.minimum, x, -1, initial=0.0 if largest else None)
