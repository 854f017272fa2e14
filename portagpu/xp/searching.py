"""Searching functions of the array API standard: what is not 0, and choices between elements."""

from __future__ import annotations

from typing import Any

from portagpu.expressions.writing import chosen
from portagpu.primitives.selection import nonzero
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp.conversion import array_of
from portagpu.xp.manipulation import stack

__all__ = ["nonzero", "where"]


def where(condition: Any, x1: Any, x2: Any, /) -> DeviceNDArray:
    """Elements of ``x1`` where the condition is true, else of ``x2``: all broadcast, dtypes are promoted; put off."""
    if not any(isinstance(x, DeviceNDArray) for x in (condition, x1, x2)):
        condition = array_of(condition)
    return chosen(condition, x1, x2)


def argwhere(x: DeviceNDArray) -> DeviceNDArray:
    """The subscripts of the elements that are not 0, a row for each. See `numpy.argwhere`."""
    if not x.ndim:
        x = x.reshape(1)
        return stack(nonzero(x), axis=1)._view((slice(None), slice(0)))
    found: DeviceNDArray = stack(nonzero(x), axis=1)
    return found


def numpys_where(condition: Any, *choices: Any) -> Any:
    """`numpy.where`: with one argument `nonzero`."""
    return where(condition, *choices) if choices else nonzero(array_of(condition))
