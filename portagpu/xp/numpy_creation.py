"""NumPy's functions that make arrays, with NumPy's arguments, on the current device: `cuda.zeros` and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp import creation
from portagpu.xp.creation import asarray, empty_like, full_like, ones_like, zeros_like

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> DeviceNDArray:
    """The numbers from ``start`` (0) to ``stop`` in steps. See `numpy.arange`."""
    return creation.arange(start, stop, step, dtype=dtype)


def empty(shape: Any, dtype: Any = np.float64) -> DeviceNDArray:
    """An uninitialised array: `cuda.device_array` under NumPy's name."""
    return creation.empty(shape, dtype=dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = np.float64) -> DeviceNDArray:
    """A matrix with ones on a diagonal. See `numpy.eye`."""
    return creation.eye(N, M, k=k, dtype=dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> DeviceNDArray:
    """An array of one number. See `numpy.full`."""
    return creation.full(shape, fill_value, dtype=dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> DeviceNDArray:
    """Numbers at equal distances. See `numpy.linspace`."""
    return creation.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)


def ones(shape: Any, dtype: Any = np.float64) -> DeviceNDArray:
    """An array of ones. See `numpy.ones`."""
    return creation.ones(shape, dtype=dtype)


def zeros(shape: Any, dtype: Any = np.float64) -> DeviceNDArray:
    """An array of zeros. See `numpy.zeros`."""
    return creation.zeros(shape, dtype=dtype)
