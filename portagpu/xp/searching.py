"""Searching functions of the array API standard: what is not 0, choices between elements, places of extremes."""

from __future__ import annotations

from typing import Any

from portagpu.expressions.reductions import functions
from portagpu.expressions.writing import chosen
from portagpu.primitives.selections import selection
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp.conversion import array_of
from portagpu.xp.manipulation import stack

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "where"]


def where(condition: Any, x1: Any, x2: Any, /) -> DeviceNDArray:
    """Elements of ``x1`` where the condition is true, else of ``x2``: all broadcast, dtypes are promoted; put off."""
    if not any(isinstance(x, DeviceNDArray) for x in (condition, x1, x2)):
        condition = array_of(condition)
    return chosen(condition, x1, x2)


def nonzero(x: Any, /) -> tuple[DeviceNDArray, ...]:
    """For each axis the subscripts of the elements that are not 0, in C order. Raises `ShapeError` without axes."""
    return selection.nonzero(array_of(x))


def argwhere(x: DeviceNDArray) -> DeviceNDArray:
    """The subscripts of the elements that are not 0, a row for each. See `numpy.argwhere`."""
    if not x.ndim:
        return argwhere(x.reshape(1))._view((slice(None), slice(0)))
    return stack(nonzero(x)).T


def numpys_where(condition: Any, *choices: Any) -> Any:
    """`numpy.where`: with one argument `nonzero`."""
    return where(condition, *choices) if choices else nonzero(condition)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceNDArray:
    """The first place of the largest element along an axis, or of the first NaN; without an axis, of the flat array."""
    return functions.place("argmax", x, axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceNDArray:
    """The first place of the smallest element along an axis, or of the first NaN; else of the flat array."""
    return functions.place("argmin", x, axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """How many elements along axes are not zero."""
    return functions.count_nonzero(x, axis, keepdims=keepdims)
