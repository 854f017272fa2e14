"""Stream compaction: the elements with a flag, or their places, in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.primitives.compaction_kernels import (
    ITEMS,
    counting_kernel,
    keep_behind,
    keep_index,
    keep_value,
    leave,
    moving_kernel,
    places_kernel,
)
from portagpu.primitives.coordinates import coordinates_of
from portagpu.primitives.predicates import flags_by, flags_of
from portagpu.primitives.shares import Shares, shares_of, threads_of
from portagpu.runtime.arrays.array import DeviceNDArray, device_array

_INDEX = np.dtype(np.int64)


def select(values: DeviceNDArray, flags: DeviceNDArray) -> DeviceNDArray:
    """The elements whose flag is set, in C order: what ``values[flags]`` is for arrays of one shape.

    ``flags``: bools, of the shape of ``values``. The call waits until it is known how many there are.
    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    if values.shape != flags.shape:
        raise ShapeError(f"values of shape {values.shape} cannot be selected by flags of shape {flags.shape}")
    return _compacted(_flags(flags), _flat(values), values.dtype, keep_value)


def select_if(values: DeviceNDArray, predicate: Any) -> DeviceNDArray:
    """The elements for which ``predicate``, a function of one element or a device function, is true, in C order."""
    flat = _flat(values)
    return select(flat, flags_by(flat, predicate))


def flatnonzero(flags: DeviceNDArray) -> DeviceNDArray:
    """The numbers, counted in C order, of the elements that are not 0: int64, ascending."""
    flat = _flags(flags)
    return _compacted(flat, flat, _INDEX, keep_index)


def nonzero(flags: DeviceNDArray) -> tuple[DeviceNDArray, ...]:
    """For each axis the subscripts of the elements that are not 0, in C order. Raises `ShapeError` without axes."""
    if not flags.ndim:
        raise ShapeError("a 0-d array has no axes whose subscripts could be found", hint="reshape it to (1,)")
    found = flatnonzero(flags)
    return (found,) if flags.ndim == 1 else coordinates_of(found, flags.shape)


def partition(values: DeviceNDArray, flags: DeviceNDArray) -> tuple[DeviceNDArray, int]:
    """The elements with a flag, then those without, each in C order, and how many have one: a stable partition."""
    if values.shape != flags.shape:
        raise ShapeError(f"values of shape {values.shape} cannot be parted by flags of shape {flags.shape}")
    flat, source = _flags(flags), _flat(values)
    with flat.context.unsettled:
        out = device_array(source.size, source.dtype, context=flat.context)
        if not source.size:
            return out, 0
        shares, places, count = _counted(flat)
        _move(shares, places, flat, source, out, keep_value, keep_behind)
    return out, count


def _compacted(flags: DeviceNDArray, values: DeviceNDArray, dtype: np.dtype[Any], keep: Dispatcher) -> DeviceNDArray:
    context = flags.context
    if values.context is not context:
        raise ArgumentTypeError("values and flags are on different devices", hint="copy one: cuda.to_device(...)")
    with context.unsettled:
        if not flags.size:
            return device_array(0, dtype, context=context)
        shares, places, count = _counted(flags)
        out = device_array(count, dtype, context=context)
        if count:
            _move(shares, places, flags, values, out, keep, leave)
    return out


def _counted(flags: DeviceNDArray) -> tuple[Shares, DeviceNDArray, int]:
    """Shares of flags, the places of what they select, and how many that are, for which the host waits."""
    context = flags.context
    caps = context.capabilities
    shares = shares_of(flags.size, caps, ITEMS * threads_of(caps))
    counts = device_array(shares.blocks, _INDEX, context=context)
    places = device_array(shares.blocks + 1, _INDEX, context=context)
    counting_kernel(shares.threads)[shares.blocks, shares.threads](flags, counts, shares.share)
    places_kernel(shares.threads)[1, shares.threads](counts, places)
    return shares, places, int(places[shares.blocks :].copy_to_host()[0])


def _move(
    shares: Shares,
    places: DeviceNDArray,
    flags: DeviceNDArray,
    values: DeviceNDArray,
    out: DeviceNDArray,
    keep: Dispatcher,
    drop: Dispatcher,
) -> None:
    kernel = moving_kernel(shares.threads, keep, drop)
    kernel[shares.blocks, shares.threads](flags, places, values, out, shares.share)


def _flat(x: DeviceNDArray) -> DeviceNDArray:
    """The elements side by side, in C order: a view where they lie so."""
    if not isinstance(x, DeviceNDArray):
        raise ArgumentTypeError(f"a device array is needed, not {type(x).__name__}", hint="cuda.to_device(x)")
    return (x if x.is_c_contiguous() else x.copy()).ravel()


def _flags(x: DeviceNDArray) -> DeviceNDArray:
    flat = _flat(x)
    return flat if flat.dtype == np.bool_ else flags_of(flat)


__all__ = ["flatnonzero", "nonzero", "partition", "select", "select_if"]
