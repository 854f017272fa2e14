"""Sorting functions of the array API standard, and searches in what is sorted."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu import primitives
from portagpu.errors import DTypeError, ShapeError
from portagpu.expressions.apply import convert
from portagpu.expressions.reductions import functions
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.ufuncs.operands import array_of, arrays_of

__all__ = ["argsort", "searchsorted", "sort"]


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceNDArray:
    """`numpy.sort`: a sorted copy along an axis, stable in any case. NaN is last."""
    return primitives.sort(x, axis=axis, descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceNDArray:
    """`numpy.argsort`: the places, int64, of the elements in their order along an axis."""
    return primitives.argsort(x, axis=axis, descending=descending)


def searchsorted(x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> DeviceNDArray:
    """`numpy.searchsorted`: where, int64, values would stand in a sorted array, in the dtype that both promote to.

    A number of Python is one of the array's dtype, as in expressions; an integer beyond it stands at the array's end.
    """
    if type(x2) in (bool, int, float, complex):
        x1 = array_of(x1)
        x2, side = _searched_for(x2, x1.dtype, side)
        x2 = array_of(x2, x1.context)
    else:
        x1, x2 = arrays_of([x1, x2])
    try:
        common = np.result_type(x1.dtype, x2.dtype)
    except TypeError as error:
        raise DTypeError(f"{x1.dtype} and {x2.dtype} have no common dtype") from error
    x1, x2 = (x if x.dtype == common else convert(x, common) for x in (x1, x2))
    return primitives.searchsorted(x1, x2, side=side, sorter=None if sorter is None else _places_in(x1, sorter))


def _places_in(x: DeviceNDArray, sorter: Any) -> DeviceNDArray:
    """A sorter that names elements of an array; the host waits for that. Raises `ShapeError` for another."""
    places = array_of(sorter, x.context)
    if places.size and places.dtype.kind in "iu":
        low, high = (int(functions.reduce(ufunc, places, None)) for ufunc in (np.minimum, np.maximum))
        if low < 0 or high >= x.size:
            wrong = low if low < 0 else high
            raise ShapeError(f"sorter= names the element {wrong} of {x.size}", hint="it is what argsort gives")
    return places


def _searched_for(value: Any, dtype: np.dtype[Any], side: str) -> tuple[np.generic, str]:
    """A number in the dtype that it and an array promote to, and the side where a search puts it."""
    if type(value) is int and dtype.kind not in "biu":
        try:
            value = float(value)
        except OverflowError:
            value = math.inf if value > 0 else -math.inf
    if type(value) is not int or dtype.kind == "b":
        with np.errstate(over="ignore"):
            return np.result_type(dtype, value).type(value), side
    least, most = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    if least <= value <= most or side not in ("left", "right"):
        return dtype.type(min(max(value, least), most)), side
    return (dtype.type(least), "left") if value < least else (dtype.type(most), "right")
