"""Sorting of device arrays: by radix, along an axis, with places or values."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch.repeated import repeated
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.primitives.gathers.gather import gathered
from portagpu.primitives.sorts.complex_keys import complex_order
from portagpu.primitives.sorts.ordering import Order, order_of
from portagpu.primitives.sorts.radix_request import Request
from portagpu.primitives.sorts.radix_sort import sort_rows
from portagpu.primitives.sorts.rows import BITS, Rows, checked_axis
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.layout import inverse, memory_order
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.operands import array_of, arrays_of

_SMALL = 2**16  # elements of arrays whose launches take longer on the host than on the device


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stream: Stream | int = 0) -> DeviceNDArray:
    """A sorted copy of an array, along an axis; equal elements keep their order.

    NaN and NaT come last in both orders; complex numbers are ordered as NumPy orders them. Raises `ShapeError` for an
    axis that the array does not have, `DTypeError` for elements without order.
    """
    x = array_of(x)
    at = checked_axis(axis, x.ndim)
    order = memory_order(x.shape, x.strides, x.itemsize) if x.layout != "C" else None
    if order is not None:
        found = sort(x.transpose(order), axis=order.index(at), descending=descending, stream=stream)
        return found.transpose(inverse(order))
    if x.size <= _SMALL and stream == 0:
        return repeated((sort, at, bool(descending)), (x,), lambda: _sorted(x, at, descending, 0))
    return _sorted(x, at, descending, stream)


def _order(dtype: np.dtype[Any], descending: bool) -> Order:
    return order_of(dtype, descending=bool(descending), nan_is_least=bool(descending))


def _sorted(x: DeviceNDArray, axis: int, descending: bool, stream: Stream | int) -> DeviceNDArray:
    rows = Rows(x, axis)
    with x.context.unsettled:
        if x.dtype.kind == "c":
            places = complex_order(rows.array, rows.length, descending, stream)
            taken = gathered(rows.array.reshape(-1), places, rows.length, rows.length, stream)
            return rows.restored(taken, x.dtype)
        order = _order(x.dtype, descending)
        found = sort_rows(Request(keys=rows.bits(), length=rows.length, order=order, stream=stream))
        assert found.keys is not None
        return rows.restored(found.keys, x.dtype)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stream: Stream | int = 0) -> DeviceNDArray:
    """The places, int64, of an array's elements in their order along an axis; see `sort`."""
    x = array_of(x)
    at = checked_axis(axis, x.ndim)
    if x.size <= _SMALL and stream == 0:
        return repeated((argsort, at, bool(descending)), (x,), lambda: _ordered(x, at, descending, 0))
    return _ordered(x, at, descending, stream)


def _ordered(x: DeviceNDArray, axis: int, descending: bool, stream: Stream | int) -> DeviceNDArray:
    rows = Rows(x, axis)
    with x.context.unsettled:
        if x.dtype.kind == "c":
            places = complex_order(rows.array, rows.length, descending, stream)
        else:
            places = _places(rows, x.dtype, descending, stream)
        return rows.restored(places, places.dtype)


def _places(rows: Rows, dtype: np.dtype[Any], descending: bool, stream: Stream | int) -> DeviceNDArray:
    order = _order(dtype, descending)
    request = Request(keys=rows.bits(), length=rows.length, order=order, indexed=True, keeps_keys=False, stream=stream)
    moved = sort_rows(request).moved
    assert moved is not None
    return moved


def sort_by_key(
    keys: Any, *values: Any, axis: int = -1, descending: bool = False, stream: Stream | int = 0
) -> tuple[DeviceNDArray, ...]:
    """Keys in their order, and arrays of the same shape whose elements go with them; see `sort`.

    Raises `ShapeError` for arrays of another shape, `ArgumentTypeError` for arrays of other contexts.
    """
    keys, *arrays = arrays_of((keys, *values))
    for array in arrays:
        if array.shape != keys.shape:
            raise ShapeError(f"keys have shape {keys.shape}, values {array.shape}")
        if array.context is not keys.context:
            raise ArgumentTypeError("keys and values are in different contexts", hint="copy one to the other's device")
    at = checked_axis(axis, keys.ndim)
    rows = Rows(keys, at)
    laid = [Rows(array, at) for array in arrays]
    with keys.context.unsettled:
        if len(laid) == 1 and keys.dtype.kind != "c" and laid[0].array.itemsize in BITS:
            order = _order(keys.dtype, descending)
            request = Request(keys=rows.bits(), length=rows.length, order=order, values=laid[0].bits(), stream=stream)
            found = sort_rows(request)
            assert found.keys is not None and found.moved is not None
            return rows.restored(found.keys, keys.dtype), laid[0].restored(found.moved, arrays[0].dtype)
        if keys.dtype.kind == "c":
            places = complex_order(rows.array, rows.length, descending, stream)
        else:
            places = _places(rows, keys.dtype, descending, stream)
        return tuple(
            one.restored(gathered(one.array.reshape(-1), places, one.length, one.length, stream), array.dtype)
            for one, array in zip([rows, *laid], [keys, *arrays], strict=True)
        )
