"""Diagonals of batches of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.blas.gemm.core.operands import with_strides
from portagpu.errors import ShapeError
from portagpu.expressions.reductions import functions
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import checked_dtype
from portagpu.xp.conversion import array_of


def diagonal(x: Any, /, *, offset: int = 0) -> DeviceNDArray:
    """The diagonals of matrices, or those ``offset`` above them, or below if that is negative: a read-only view.

    Raises `ShapeError`.
    """
    array = array_of(x)
    if array.ndim < 2:
        raise ShapeError(f"matrices have two axes, this array {array.ndim}", hint="reshape it first")
    rows, columns = array.shape[-2:]
    down, right = max(0, -offset), max(0, offset)
    count = max(0, min(rows - down, columns - right))
    part = array[..., min(down, rows) :, min(right, columns) :]
    view = with_strides(part, (*array.shape[:-2], count), (*array.strides[:-2], array.strides[-2] + array.strides[-1]))
    return view.as_readonly()


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> DeviceNDArray:
    """The sums of diagonals; of small integers as int64 or uint64. Raises `ShapeError`, `DTypeError`."""
    kind = None if dtype is None else checked_dtype(dtype)
    return functions.reduce(np.add, diagonal(x, offset=offset), -1, kind)
