"""Utility functions of the array API standard: whether elements are true, differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.reductions import accumulations, functions
from portagpu.runtime.arrays.array import DeviceNDArray

__all__ = ["all", "any", "diff"]


def all(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """Whether all elements along axes are true: neither zero nor False; NaN is true."""
    return functions.reduce(np.logical_and, x, axis, keepdims=keepdims)


def any(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceNDArray:
    """Whether an element along axes is true."""
    return functions.reduce(np.logical_or, x, axis, keepdims=keepdims)


def diff(x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None) -> DeviceNDArray:
    """Each element along an axis less the one before it, ``n`` times; of bools, whether they differ."""
    return accumulations.differences(x, axis, n, prepend, append)
