"""NumPy's functions that make arrays, with NumPy's arguments, on the current device: `cuda.zeros` and the like."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.xp import creation

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
    """The numbers from ``start`` to before ``stop`` in steps of ``step``; from 0 to before ``start`` without ``stop``.

    ``dtype`` is int64 for whole numbers, else float64 where the device has that. See `numpy.arange`.
    """
    return creation.arange(start, stop, step, dtype=dtype)


def asarray(obj: Any, dtype: Any = None, copy: bool | None = None) -> DeviceNDArray:
    """A device array of ``obj``, an array of any library, a number or nested sequences of numbers, as ``dtype``.

    Without ``copy`` a device array of that dtype stays as it is; ``copy=False`` raises `MemoryNotSharedError` else.
    """
    return creation.asarray(obj, dtype=dtype, copy=copy)


def empty(shape: Any, dtype: Any = np.float64) -> DeviceNDArray:
    """An uninitialised array of ``shape`` and ``dtype``: `cuda.device_array` under NumPy's name."""
    return creation.empty(shape, dtype=dtype)


def empty_like(x: DeviceNDArray, dtype: Any = None) -> DeviceNDArray:
    """An uninitialised array of the shape of ``x``, and of its dtype unless ``dtype`` is given."""
    return creation.empty_like(x, dtype=dtype)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = np.float64) -> DeviceNDArray:
    """A matrix of ``N`` rows and ``M`` columns, of ``dtype``, with ones on the diagonal ``k`` above the main one."""
    return creation.eye(N, M, k=k, dtype=dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> DeviceNDArray:
    """An array of ``shape`` whose elements are ``fill_value``, of its dtype unless ``dtype`` is given."""
    return creation.full(shape, fill_value, dtype=dtype)


def full_like(x: DeviceNDArray, fill_value: Any, dtype: Any = None) -> DeviceNDArray:
    """An array of the shape of ``x`` whose elements are ``fill_value``, of its dtype unless ``dtype`` is given."""
    return creation.full_like(x, fill_value, dtype=dtype)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None) -> DeviceNDArray:
    """``num`` numbers at equal distances from ``start`` to ``stop``, the last one with ``endpoint``, as ``dtype``."""
    return creation.linspace(start, stop, num, dtype=dtype, endpoint=endpoint)


def ones(shape: Any, dtype: Any = np.float64) -> DeviceNDArray:
    """An array of ``shape`` and ``dtype`` whose elements are 1."""
    return creation.ones(shape, dtype=dtype)


def ones_like(x: DeviceNDArray, dtype: Any = None) -> DeviceNDArray:
    """An array of ones of the shape of ``x``, and of its dtype unless ``dtype`` is given."""
    return creation.ones_like(x, dtype=dtype)


def zeros(shape: Any, dtype: Any = np.float64) -> DeviceNDArray:
    """An array of ``shape`` and ``dtype`` whose elements are 0."""
    return creation.zeros(shape, dtype=dtype)


def zeros_like(x: DeviceNDArray, dtype: Any = None) -> DeviceNDArray:
    """An array of zeros of the shape of ``x``, and of its dtype unless ``dtype`` is given."""
    return creation.zeros_like(x, dtype=dtype)
