"""NumPy's functions that make arrays, with ``like=`` a device array: on its device."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.primitives.gathers.sequences import band
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.arrays.layout import check_order, checked_dtype, checked_shape
from portagpu.runtime.arrays.numpy_dispatch import register
from portagpu.runtime.execution.context import current_context
from portagpu.xp import creation

_FAR = 2**62  # beyond all diagonals


def _ordered(x: DeviceNDArray, order: Any) -> DeviceNDArray:
    """An array in one of NumPy's orders: itself, or a copy."""
    if order == "F":
        return x if x.is_f_contiguous() else x.copy("F")
    return x if order != "C" or x.is_c_contiguous() else x.copy()


def _array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", subok: bool = False, ndmin: int = 0
) -> DeviceNDArray:
    host = object if isinstance(object, DeviceNDArray) else np.asarray(object)
    if not isinstance(object, DeviceNDArray):
        copy = None
    elif copy and (dtype is None or object.dtype == dtype):
        host, copy = object.copy(order or "K"), None
    found = creation.asarray(host, dtype=dtype, copy=copy)
    if found.ndim < ndmin:
        found = found.reshape((*(1,) * (ndmin - found.ndim), *found.shape))
    return _ordered(found, order)


def _asarray(a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None) -> DeviceNDArray:
    host = a if isinstance(a, DeviceNDArray) else np.asarray(a)
    return _ordered(creation.asarray(host, dtype=dtype, copy=copy), order)


def _contiguous(a: Any, dtype: Any = None, *, order: str = "C") -> DeviceNDArray:
    x = _asarray(a, dtype)
    x = x.reshape(1) if not x.ndim else x
    is_so = x.is_c_contiguous() if order == "C" else x.is_f_contiguous()
    return x if is_so else x.copy(order)


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> DeviceNDArray:
    kind = np.asarray(fill_value).dtype if dtype is None and not isinstance(fill_value, DeviceNDArray) else dtype
    return _ordered(creation.full(shape, fill_value, dtype=kind), order)


def _empty(shape: Any, dtype: Any = float, order: str = "C", *, device: Any = None) -> DeviceNDArray:
    check_order(order)
    return device_array(checked_shape(shape), checked_dtype(dtype), order=order, context=current_context())


def _of(value: int) -> Any:
    def function(shape: Any, dtype: Any = None, order: str = "C", *, device: Any = None) -> DeviceNDArray:
        return _full(shape, value, float if dtype is None else dtype, order)

    return function


def _arange(start: Any = None, stop: Any = None, step: Any = None, dtype: Any = None, *, device: Any = None) -> Any:
    if stop is None:
        start, stop = 0, start
    return creation.arange(0 if start is None else start, stop, 1 if step is None else step, dtype=dtype)


def _eye(
    N: int, M: int | None = None, k: int = 0, dtype: Any = float, order: str = "C", *, device: Any = None
) -> DeviceNDArray:
    return _ordered(creation.eye(N, M, k=k, dtype=dtype), order)


def _tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float) -> DeviceNDArray:
    return band(N, N if M is None else M, -_FAR, int(k), checked_dtype(dtype), current_context())


_MADE = frozenset({"dtype", "order", "device"})
register("array", _array, _MADE | {"copy", "subok", "ndmin"})
register("asarray", _asarray, _MADE | {"copy"})
register("asanyarray", _asarray, _MADE | {"copy"})
register("ascontiguousarray", _contiguous, frozenset({"dtype"}))
register("asfortranarray", lambda a, dtype=None: _contiguous(a, dtype, order="F"), frozenset({"dtype"}))
register("zeros", _of(0), _MADE)
register("ones", _of(1), _MADE)
register("empty", _empty, _MADE)
register("full", _full, _MADE)
register("arange", _arange, frozenset({"start", "stop", "step", "dtype", "device"}))
register("eye", _eye, _MADE | {"M", "k"})
register("identity", lambda n, dtype=float: _eye(n, dtype=dtype), frozenset({"dtype"}))
register("tri", _tri, frozenset({"M", "k", "dtype"}))
