"""Stream compaction: the elements with a flag, or their places, in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch import ready
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.primitives.flat import flat, new
from portagpu.primitives.selections.compaction_kernels import (
    ITEMS,
    counting_kernel,
    drop,
    keep,
    moving_kernel,
    number_of,
    places_kernel,
    value_of,
)
from portagpu.primitives.selections.coordinates import coordinates_of
from portagpu.primitives.selections.predicates import flags_by, flags_of
from portagpu.primitives.shares import Shares, shares_of, threads_of
from portagpu.runtime.arrays.array import DeviceNDArray

_INDEX = np.dtype(np.int64)
_SMALL = 4096
"""Elements that one block selects from, to memory for all of them: one launch instead of three."""


def select(values: DeviceNDArray, flags: DeviceNDArray) -> DeviceNDArray:
    """The elements whose flag is set, in C order: what ``values[flags]`` is for arrays of one shape.

    ``flags``: bools, or numbers, of which those are set that are not 0. The call waits until it is known how many there
    are. Raises `ShapeError`, `ArgumentTypeError`.
    """
    if values.shape != flags.shape:
        raise ShapeError(f"values of shape {values.shape} cannot be selected by flags of shape {flags.shape}")
    return _compacted(_flags(flags), flat(values), values.dtype, value_of)


def select_if(values: DeviceNDArray, predicate: Any) -> DeviceNDArray:
    """The elements for which ``predicate``, a function of one element or a device function, is true, in C order."""
    source = flat(values)
    return select(source, flags_by(source, predicate))


def flatnonzero(flags: DeviceNDArray) -> DeviceNDArray:
    """The numbers, counted in C order, of the elements that are not 0: int64, ascending."""
    found = _flags(flags)
    return _compacted(found, found, _INDEX, number_of)


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
    found, source = _flags(flags), flat(values)
    with found.context.unsettled:
        out = new((source.size,), source.dtype, found.context)
        if not source.size:
            return out, 0
        shares, places, count = _counted(found)
        kernel = moving_kernel(shares.threads, value_of, keep, source.dtype)
        ready.launch(kernel, shares.blocks, shares.threads, (found, places, source, out, shares.share))
    return out, count


def _compacted(flags: DeviceNDArray, values: DeviceNDArray, dtype: np.dtype[Any], fetch: Dispatcher) -> DeviceNDArray:
    context = flags.context
    if values.context is not context:
        raise ArgumentTypeError("values and flags are on different devices", hint="copy one: cuda.to_device(...)")
    with context.unsettled:
        if not flags.size:
            return new((0,), dtype, context)
        if flags.size <= _SMALL:
            places = new((1,), _INDEX, context)
            out = new((flags.size,), dtype, context)
            threads = threads_of(context.capabilities)
            kernel = moving_kernel(threads, fetch, drop, dtype)
            ready.launch(kernel, 1, threads, (flags, places, values, out, flags.size))
            return out._view(slice(0, int(places.copy_to_host()[0])))
        shares, places, count = _counted(flags)
        out = new((count,), dtype, context)
        if count:
            kernel = moving_kernel(shares.threads, fetch, drop, dtype)
            ready.launch(kernel, shares.blocks, shares.threads, (flags, places, values, out, shares.share))
    return out


def _counted(flags: DeviceNDArray) -> tuple[Shares, DeviceNDArray, int]:
    """Shares of flags, the places of what they select, and how many that are, for which the host waits."""
    context = flags.context
    caps = context.capabilities
    shares = shares_of(flags.size, caps, ITEMS * threads_of(caps))
    counts = new((shares.blocks,), _INDEX, context)
    places = new((shares.blocks + 1,), _INDEX, context)
    counted, share = flags, shares.share
    if shares.threads > 1 and not flags.size % 4 and not flags.offset % 4:  # four flags at once
        counted, share = flags.view(np.uint32), share // 4
    ready.launch(counting_kernel(shares.threads), shares.blocks, shares.threads, (counted, counts, share))
    ready.launch(places_kernel(shares.threads), 1, shares.threads, (counts, places))
    return shares, places, int(places[shares.blocks :].copy_to_host()[0])


def _flags(x: DeviceNDArray) -> DeviceNDArray:
    found = flat(x)
    return found if found.dtype == np.bool_ else flags_of(found)


__all__ = ["flatnonzero", "nonzero", "partition", "select", "select_if"]
