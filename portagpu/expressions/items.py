"""Elements read and written at subscripts with arrays, and assignments of numbers and of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.expressions.apply import convert
from portagpu.expressions.subscripts import mask_of, selected
from portagpu.expressions.writing import as_source, assign, filled, is_number, number_of
from portagpu.primitives.gathers.gathering import Subscripts, gather, scatter
from portagpu.primitives.selections.selection import flatnonzero, select
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.arrays.checks import check_writable
from portagpu.runtime.arrays.numpy_dispatch import register


def getitem(x: DeviceNDArray, key: Any) -> DeviceNDArray:
    """``x[key]`` for a key with arrays: a new array.

    The call waits for bools on the device, whose number decides the shape, and for integers on the device, which are
    checked there. Raises `OutOfBoundsError`, `ShapeError`, `ArgumentTypeError`.
    """
    mask = mask_of(x, key)
    if mask is not None:
        if mask.ndim == x.ndim:
            return select(x, mask)
        return gather(x, 0, mask.ndim, Subscripts(flatnonzero(mask), known=True))
    return gather(*selected(x, key))


def setitem(x: DeviceNDArray, key: Any, value: Any) -> None:
    """``x[key] = value`` for a key with arrays; see `getitem` and `portagpu.primitives.gathers.gathering.scatter`."""
    check_writable(x)
    mask = mask_of(x, key)
    if mask is not None:
        rest = x.ndim - mask.ndim
        source = number_of(value, x.dtype) if is_number(value) else as_source(value, x.dtype, x.context)
        if source.ndim <= rest and (not source.ndim or rest):
            assign(x, source, where=mask.reshape(*mask.shape, *(1,) * rest) if rest else mask)
            return
        scatter(x, 0, mask.ndim, Subscripts(flatnonzero(mask), known=True), source)
        return
    if is_number(value):  # made on the device: a copy from the host would be waited for
        source = filled((), value, x.dtype, x.context)
    else:
        source = as_source(value, x.dtype, x.context)
    view, first, count, at = selected(x, key)
    shape = (*view.shape[:first], *at.array.shape, *view.shape[first + count :])
    while source.ndim > len(shape) and source.shape[0] == 1:
        source = source.reshape(source.shape[1:])
    scatter(view, first, count, at, source)


def _fill(x: DeviceNDArray, value: Any) -> None:
    assign(x, np.asarray(value)[()] if isinstance(value, np.ndarray) else value)


register("getitem", getitem)
register("setitem", setitem)
register("assign", assign)
register("fill", _fill)
register("convert", convert)
