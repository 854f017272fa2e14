"""Sorting functions of the array API standard, and searches in what is sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import primitives
from portagpu.errors import DTypeError
from portagpu.expressions.apply import convert
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.ufuncs.operands import array_of

__all__ = ["argsort", "searchsorted", "sort"]


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceNDArray:
    """`numpy.sort`: a sorted copy along an axis, stable in any case. NaN is last."""
    return primitives.sort(x, axis=axis, descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceNDArray:
    """`numpy.argsort`: the places, int64, of the elements in their order along an axis."""
    return primitives.argsort(x, axis=axis, descending=descending)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> DeviceNDArray:
    """`numpy.searchsorted`: where, int64, values would stand in a sorted array, in the dtype that both promote to."""
    x1 = array_of(x1)
    x2 = x2 if isinstance(x2, bool | int | float | complex) else array_of(x2)
    try:
        common = np.result_type(x1.dtype, x2 if not isinstance(x2, DeviceNDArray) else x2.dtype)
    except TypeError as error:
        raise DTypeError(f"{x1.dtype} and {x2.dtype} have no common dtype") from error
    x2 = x2 if isinstance(x2, DeviceNDArray) else array_of(common.type(x2))
    x1, x2 = (x if x.dtype == common else convert(x, common) for x in (x1, x2))
    return primitives.searchsorted(x1, x2, side=side, sorter=sorter)
