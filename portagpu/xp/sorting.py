"""Sorting functions of the array API standard."""

from __future__ import annotations

from typing import Any

from portagpu import primitives
from portagpu.runtime.arrays.array import DeviceNDArray

__all__ = ["argsort", "sort"]


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceNDArray:
    """`numpy.sort`: a sorted copy along an axis. It is stable in any case; NaN comes last, in descending order first."""
    return primitives.sort(x, axis=axis, descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> DeviceNDArray:
    """`numpy.argsort`: the places, int64, of the elements in their order along an axis."""
    return primitives.argsort(x, axis=axis, descending=descending)
