"""Searching functions of the array API standard: places of extremes, numbers of elements."""

from __future__ import annotations

from typing import Any

from portagpu.expressions.reductions import functions
from portagpu.runtime.arrays.array import DeviceNDArray

__all__ = ["argmax", "argmin", "count_nonzero"]


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceNDArray:
    """The first place of the largest element along an axis, or of the first NaN; without an axis, of the flat array."""
    return functions.place("argmax", x, axis, keepdims=keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> DeviceNDArray:
    """The first place of the smallest element along an axis, or of the first NaN; else of the flat array."""
    return functions.place("argmin", x, axis, keepdims=keepdims)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """How many elements along axes are not zero."""
    return functions.count_nonzero(x, axis, keepdims=keepdims)
