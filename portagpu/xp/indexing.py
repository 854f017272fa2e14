"""Indexing functions of the array API standard, and NumPy's that write."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ShapeError
from portagpu.expressions.apply import apply
from portagpu.expressions.writing import as_source
from portagpu.primitives.gathers.gathering import (
    Subscripts,
    along_axis,
    gather,
    gather_along,
    normal_axis,
    scatter,
    scatter_along,
)
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.ufuncs.operands import array_of, broadcast_shapes, operand
from portagpu.xp.conversion import check_target, into

__all__ = ["take", "take_along_axis"]


def take(x: Any, indices: Any, /, *, axis: int | None = None, out: Any = None, mode: str = "raise") -> DeviceNDArray:
    """The parts along an axis at integers; axis None: the elements of the flat array, or of an array of one axis.

    ``mode`` for integers that the axis does not have: "raise", "wrap" around or "clip" to its ends.
    Raises `OutOfBoundsError`; see `portagpu.primitives.gathers.gathering` for when.
    """
    x, indices = _operands(x, indices)
    x, at = along_axis(x, axis)
    found: DeviceNDArray = into(gather(x, at, 1, _at(indices, x.shape[at], x, mode)), out, "unsafe")
    return found


def take_along_axis(x: Any, indices: Any, /, *, axis: int | None = -1) -> DeviceNDArray:
    """For each element of ``indices`` the one of ``x`` at this place along the axis, and its own along all others."""
    x, indices = _operands(x, indices)
    if axis is None:
        x, axis = x.ravel(), 0
    at = normal_axis(axis, x.ndim)
    x, where = _along(x, indices, at)
    return gather_along(x, at, where)


def _operands(x: Any, indices: Any) -> tuple[DeviceNDArray, Any]:
    """An array, and subscripts on the same device or on the host."""
    found = operand(indices)
    return array_of(x, found.context if isinstance(found, DeviceNDArray) else None), found


def put_along_axis(x: DeviceNDArray, indices: Any, values: Any, axis: int | None) -> None:
    """Write values to the elements at places along an axis. See `numpy.put_along_axis`."""
    check_target(x)
    indices = operand(indices)
    if axis is None:
        x, axis = x.reshape(-1, copy=False), 0
    at = normal_axis(axis, x.ndim)
    x, where = _along(x, indices, at)
    scatter_along(x, at, where, as_source(values, x.dtype, x.context))


def put(x: DeviceNDArray, indices: Any, values: Any, mode: str = "raise") -> None:
    """Write values, repeated as often as needed, to the elements at numbers in C order. See `numpy.put`."""
    check_target(x)
    where = _at(operand(indices), x.size, x, mode)
    source = as_source(values, x.dtype, x.context).ravel()
    count = where.array.size
    if not count or not source.size:
        return
    if source.size not in (1, count):
        source = gather(source, 0, 1, _at(np.arange(count) % source.size, source.size, x, "raise"))
    flat = x.ravel()
    where = Subscripts(where.array.ravel(), known=where.known)
    scatter(flat, 0, 1, where, source)
    if flat.allocation_key != x.allocation_key:  # a copy
        x[...] = flat.reshape(x.shape)


def _at(indices: Any, extent: int, x: DeviceNDArray, mode: str) -> Subscripts:
    found = indices if isinstance(indices, DeviceNDArray) else np.asarray(indices)
    if not found.size and found.dtype.kind == "f":
        found = np.asarray(found, np.int64)
    if mode not in ("raise", "wrap", "clip"):
        raise ShapeError(f"mode is 'raise', 'wrap' or 'clip', not {mode!r}")
    if mode != "raise" and found.dtype.kind in "iu" and found.dtype.itemsize < 8:  # which may not hold the extent
        found = found.astype(np.int64)
    if mode == "wrap" and extent:
        found = np.remainder(found, extent) if isinstance(found, np.ndarray) else apply(np.remainder, found, extent)
    elif mode == "clip" and extent:
        if isinstance(found, np.ndarray):
            found = np.clip(found, 0, extent - 1)
        else:
            found = apply(np.minimum, apply(np.maximum, found, 0), extent - 1)
    return Subscripts.of(found, extent, x.context)


def _along(x: DeviceNDArray, indices: Any, axis: int) -> tuple[DeviceNDArray, Subscripts]:
    """Array and subscripts with the same extents along all axes but one."""
    where = Subscripts.of(
        indices if isinstance(indices, DeviceNDArray) else np.asarray(indices), x.shape[axis], x.context
    )
    if where.array.ndim != x.ndim:
        raise ShapeError(f"indices of {where.array.ndim} axes are not for an array of {x.ndim}")
    own = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    theirs = (*where.array.shape[:axis], 1, *where.array.shape[axis + 1 :])
    shape = broadcast_shapes([own, theirs])
    if own != shape:
        x = x._broadcast((*shape[:axis], x.shape[axis], *shape[axis + 1 :]))
    wanted = (*shape[:axis], where.array.shape[axis], *shape[axis + 1 :])
    return x, Subscripts(where.array._broadcast(wanted), known=where.known)
