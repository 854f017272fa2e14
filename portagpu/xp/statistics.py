"""Statistical functions of the array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.errors import ShapeError
from portagpu.expressions.reductions import accumulations, functions
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.ufuncs.operands import array_of

__all__ = ["cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var"]


def sum(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """The sum along axes, all by default; of small integers as int64 or uint64."""
    return functions.reduce(np.add, x, axis, dtype, keepdims=keepdims)


def prod(x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """The product along axes, all by default; of small integers as int64 or uint64."""
    return functions.reduce(np.multiply, x, axis, dtype, keepdims=keepdims)


def max(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """The largest element along axes, all by default; NaN where there is one. Raises `ShapeError` for no elements."""
    return functions.reduce(np.maximum, x, axis, keepdims=keepdims)


def min(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """The smallest element along axes, all by default; NaN where there is one. Raises `ShapeError` for no elements."""
    return functions.reduce(np.minimum, x, axis, keepdims=keepdims)


def mean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """The arithmetic mean along axes, all by default."""
    return functions.mean(x, axis, keepdims=keepdims)


def var(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> DeviceNDArray:
    """The variance along axes, all by default: squares are divided by the number of elements less ``correction``."""
    return functions.variance(x, axis, correction=correction, keepdims=keepdims)


def std(x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> DeviceNDArray:
    """The standard deviation along axes, all by default."""
    return functions.variance(x, axis, correction=correction, keepdims=keepdims, root=True)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> DeviceNDArray:
    """Sums of the elements up to each one along an axis; with ``include_initial`` they begin with 0."""
    return _cumulative(np.add, x, axis, dtype, include_initial=include_initial)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> DeviceNDArray:
    """Products of the elements up to each one along an axis; with ``include_initial`` they begin with 1."""
    return _cumulative(np.multiply, x, axis, dtype, include_initial=include_initial)


def _cumulative(ufunc: np.ufunc, x: Any, axis: int | None, dtype: Any, *, include_initial: bool) -> DeviceNDArray:
    array = array_of(x)
    if axis is None:
        if array.ndim != 1:
            raise ShapeError(f"an array with {array.ndim} axes is accumulated along one", hint="pass axis=")
        axis = 0
    return accumulations.accumulate(ufunc, array, axis, dtype, initial=include_initial)
