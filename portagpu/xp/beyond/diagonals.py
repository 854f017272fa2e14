"""NumPy's functions of diagonals and triangles of device arrays, and Vandermonde matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ShapeError
from portagpu.expressions.writing import as_source, is_number
from portagpu.primitives.gathers.sequences import band, whole_steps
from portagpu.primitives.selections.selection import nonzero
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.numpy_dispatch import call, register
from portagpu.xp import creation, statistics
from portagpu.xp.conversion import array_of
from portagpu.xp.manipulation import whole_number

_INDEX = np.dtype(np.int64)
_FAR = 2**62  # beyond all diagonals


def _diag(v: Any, k: int = 0) -> DeviceNDArray:
    """A read-only view of a matrix's diagonal, or the matrix with a diagonal."""
    x = array_of(v)
    if x.ndim == 2:
        found: DeviceNDArray = call("diagonal", x, k)
        return found
    if x.ndim != 1:
        raise ShapeError(f"diag takes arrays of one or two axes, not of {x.ndim}", hint="x.diagonal()")
    extent = x.size + abs(k)
    made = creation.zeros((extent, extent), dtype=x.dtype, device=x.context.device)
    if x.size:
        _diagonal_of(made, k)[...] = x
    return made


def _diagonal_of(x: DeviceNDArray, k: int = 0) -> DeviceNDArray:
    """A view of a diagonal, to be written."""
    shadow = x._shadow()
    return x._derive(shadow.diagonal(k), shadow)


def _diagflat(v: Any, k: int = 0) -> DeviceNDArray:
    return _diag(array_of(v).ravel(), k)


def _fill_diagonal(a: DeviceNDArray, val: Any, wrap: bool = False) -> None:
    """Write to the elements whose subscripts are all equal; ``wrap``: again below, in matrices that are taller."""
    if a.ndim < 2:
        raise ShapeError("a diagonal is that of an array with two axes at least")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ShapeError(f"an array of shape {a.shape} has no diagonal of all axes: their extents differ")
    if a.ndim == 2 and wrap and a.shape[0] > a.shape[1]:
        rows = creation.arange(a.size, device=a.context.device)._view(slice(None, None, a.shape[1] + 1))
        call("put", a, rows.copy(), val)
        return
    axis = min(a.shape)
    shadow = a._shadow()
    view = np.lib.stride_tricks.as_strided(shadow, (axis,), (sum(shadow.strides),))
    target = a._derive(view, shadow)
    if is_number(val):
        target[...] = val
        return
    source = as_source(val, a.dtype, a.context).ravel()
    target[...] = source[:axis] if source.size >= axis or source.size == 1 else _repeated(source, axis)


def _repeated(x: DeviceNDArray, count: int) -> DeviceNDArray:
    found: DeviceNDArray = call("resize", x, (count,))
    return found


def _diag_indices_from(arr: DeviceNDArray) -> tuple[DeviceNDArray, ...]:
    if arr.ndim < 2 or len(set(arr.shape)) > 1:
        raise ShapeError(f"an array of shape {arr.shape} has no diagonal of all axes")
    return (whole_steps(arr.shape[0], 0, 1, _INDEX, arr.context),) * arr.ndim


def _triangle(lower: bool) -> Any:
    def function(arr: DeviceNDArray, k: int = 0) -> tuple[DeviceNDArray, ...]:
        if arr.ndim != 2:
            raise ShapeError(f"a matrix has two axes, this array {arr.ndim}")
        low, high = (-_FAR, int(k)) if lower else (int(k), _FAR)
        return nonzero(band(arr.shape[0], arr.shape[1], low, high, np.dtype(bool), arr.context))

    return function


def _vander(x: Any, N: int | None = None, increasing: bool = False) -> DeviceNDArray:
    """Powers as `numpy.vander` makes them: products of all before, so that they are NumPy's."""
    column = array_of(x)
    if column.ndim != 1:
        raise ShapeError(f"vander takes an array of one axis, not of {column.ndim}")
    count = column.size if N is None else whole_number(N, "N")
    kind = np.result_type(column.dtype, np.int64)
    if not count:
        return creation.empty((column.size, 0), dtype=kind, device=column.context.device)
    first = creation.ones((column.size, 1), dtype=kind, device=column.context.device)
    rest = column.astype(kind, copy=False).reshape(-1, 1).broadcast_to((column.size, count - 1))
    powers = call("concatenate", [first, statistics.cumulative_prod(rest, axis=1, dtype=kind)], axis=1)
    found: DeviceNDArray = powers if increasing else powers._view((slice(None), slice(None, None, -1))).copy("C")
    return found


register("diag", _diag, frozenset({"k"}))
register("diagflat", _diagflat, frozenset({"k"}))
register("fill_diagonal", _fill_diagonal, frozenset({"wrap"}))
register("diag_indices_from", _diag_indices_from, frozenset())
register("tril_indices_from", _triangle(True), frozenset({"k"}))
register("triu_indices_from", _triangle(False), frozenset({"k"}))
register("vander", _vander, frozenset({"N", "increasing"}))
