"""Places of values in sorted arrays."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.repeated import repeated
from portagpu.errors import ArgumentTypeError, DTypeError, ShapeError, ShapeTypeError
from portagpu.primitives.gathers.gather import gathered
from portagpu.primitives.sorts.ordering import order_of, ordered
from portagpu.primitives.sorts.rows import as_bits, contiguous
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch
from portagpu.ufuncs.operands import arrays_of

_SMALL = 2**16  # elements of arrays whose launches take longer on the host than on the device


@cuda.jit(device=True)
def complex_before(a, b):
    """Whether a complex number comes before another in NumPy's order."""
    if a.real < b.real:
        return a.imag == a.imag or b.imag != b.imag
    if a.real > b.real:
        return b.imag != b.imag and a.imag == a.imag
    if a.real == b.real or (a.real != a.real and b.real != b.real):
        return a.imag < b.imag or (b.imag != b.imag and a.imag == a.imag)
    return b.real != b.real


@cuda.jit
def search_kernel(sorted_bits, values, target, order: cuda.constexpr, on_right: cuda.constexpr):
    """``target[i]``: how many elements come before a value; with ``on_right`` also those that equal it."""
    i = cuda.grid(1)
    if i < target.size:
        low, high = 0, sorted_bits.size
        if order is None:
            while low < high:
                middle = (low + high) >> 1
                if on_right:
                    goes_on = not complex_before(values[i], sorted_bits[middle])
                else:
                    goes_on = complex_before(sorted_bits[middle], values[i])
                low = middle + 1 if goes_on else low
                high = high if goes_on else middle
        else:
            key = ordered(values[i], order)
            while low < high:
                middle = (low + high) >> 1
                found = ordered(sorted_bits[middle], order)
                goes_on = found <= key if on_right else found < key
                low = middle + 1 if goes_on else low
                high = high if goes_on else middle
        target[i] = low


def searchsorted(
    x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None, stream: Stream | int = 0
) -> DeviceNDArray:
    """Where, int64, values would stand in a sorted array: before (``left``) or behind (``right``) what equals them.

    ``sorter``: places that sort ``x1``, which are not checked.

    Raises `ShapeError` for other than a sorted array of one axis, `DTypeError`
    for values of another dtype, `ArgumentTypeError` for another side.
    """
    if side not in ("left", "right"):
        raise ArgumentTypeError(f"side= is 'left' or 'right', not {side!r}")
    x1, x2, *places = arrays_of([x1, x2] if sorter is None else [x1, x2, sorter])
    if x1.ndim != 1:
        raise ShapeError(f"the sorted array has one axis, not {x1.ndim}", hint="search each row by itself")
    if x1.dtype != x2.dtype:
        raise DTypeError(f"values of {x2.dtype} are searched among {x1.dtype}", hint="convert one: x.astype(...)")
    if sorter is None and x1.context is x2.context and max(x1.size, x2.size) <= _SMALL and stream == 0:
        return repeated((searchsorted, side), (x1, x2), lambda: _searched(x1, x2, side))
    return _searched(x1, x2, side, places[0] if places else None, stream)


def _searched(
    x1: DeviceNDArray, x2: DeviceNDArray, side: str, sorter: DeviceNDArray | None = None, stream: Stream | int = 0
) -> DeviceNDArray:
    with x1.context.unsettled:
        if sorter is not None:
            x1 = gathered(x1, _checked_sorter(sorter, x1), x1.size, x1.size, stream)
        target = device_array(x2.shape, np.int64, context=x1.context)
        if x2.size:
            order = None if x1.dtype.kind == "c" else order_of(x1.dtype)
            operands = [contiguous(x).reshape(-1) for x in (x1, x2)]
            if order is not None:
                operands = [as_bits(x) for x in operands]
            args = (*operands, target.reshape(-1), order, side == "right")
            launch(search_kernel, x2.size, None, stream, args, x1.context)
        return target


def _checked_sorter(places: DeviceNDArray, x1: DeviceNDArray) -> DeviceNDArray:
    if places.shape != x1.shape:
        kind = ShapeError if places.ndim == 1 else ShapeTypeError
        raise kind(f"sorter= has shape {places.shape}, the array {x1.shape}")
    if places.dtype.kind not in "iu":
        raise DTypeError(f"sorter= is an array of places, not of {places.dtype}", hint="it is what argsort gives")
    return places
