"""Arrays as rows: the axis that a function works along is last, and rows lie one behind the other."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from portagpu.errors import ArgumentTypeError, DTypeError, OutOfBoundsError
from portagpu.runtime.arrays.array import DeviceNDArray

BITS = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32), 8: np.dtype(np.uint64)}
"""Unsigned types as wide as elements, by their bytes."""


def checked_axis(axis: Any, ndim: int) -> int:
    """An axis, counted from 0. Raises `OutOfBoundsError`, and `ArgumentTypeError` for what is no integer."""
    try:
        at = operator.index(axis)
    except TypeError as error:
        raise ArgumentTypeError(f"axis= is an integer, not {axis!r}") from error
    if ndim == 0:
        raise OutOfBoundsError("an array without axes has no order along one", hint="reshape it: x.reshape(1)")
    if not -ndim <= at < ndim:
        raise OutOfBoundsError(f"axis {at} is not of an array with {ndim} axes")
    return at % ndim


class Rows:
    """An array's lines along an axis as rows of a contiguous array: a copy where they do not lie so."""

    __slots__ = ("_axis", "_moved", "array", "length")

    def __init__(self, x: DeviceNDArray, axis: int) -> None:
        last = x.ndim - 1
        moved = x if axis == last else _swapped(x, axis)
        self._axis, self._moved = axis, moved.shape
        self.length = moved.shape[-1]
        self.array = contiguous(moved)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return math.prod(self._moved[:-1])

    def bits(self) -> DeviceNDArray:
        """The elements as unsigned integers, on one axis."""
        return as_bits(self.array)

    def restored(self, flat: DeviceNDArray, dtype: np.dtype[Any], length: int | None = None) -> DeviceNDArray:
        """Rows as an array like the first one, of another dtype of the same size; ``length``: where it is another."""
        shape = self._moved if length is None else (*self._moved[:-1], length)
        back = (flat if flat.dtype == dtype else flat.view(dtype)).reshape(shape)
        return back if self._axis == len(shape) - 1 else contiguous(_swapped(back, self._axis))


def contiguous(x: DeviceNDArray) -> DeviceNDArray:
    """An array in C order: itself where it is."""
    return x if x.is_c_contiguous() else x.copy()


def as_bits(x: DeviceNDArray) -> DeviceNDArray:
    """A contiguous array's elements as unsigned integers, on one axis. Raises `DTypeError` for wide ones."""
    kind = BITS.get(x.itemsize)
    if kind is None:
        raise DTypeError(f"elements of {x.dtype} are wider than 64 bits")
    return x.reshape(-1).view(kind)


def _swapped(x: DeviceNDArray, axis: int) -> DeviceNDArray:
    axes = list(range(x.ndim))
    axes[axis], axes[-1] = axes[-1], axes[axis]
    return x.transpose(tuple(axes))
