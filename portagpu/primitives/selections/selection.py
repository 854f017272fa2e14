"""Stream compaction: the elements with a flag, or their places, in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dispatch.repeated import repeated
from portagpu.errors import ArgumentTypeError, ShapeError
from portagpu.primitives.flat import flat, stream_for
from portagpu.primitives.selections.compaction import MOST_AT_ONCE, Compaction
from portagpu.primitives.selections.coordinates import coordinates_of
from portagpu.primitives.selections.predicates import flags_by, flags_of
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.stream import Stream


def select(values: DeviceNDArray, flags: DeviceNDArray, *, stream: Stream | int = 0) -> DeviceNDArray:
    """The elements whose flag is set, in C order: what ``values[flags]`` is for arrays of one shape.

    ``flags``: bools, or numbers, of which those are set that are not 0. The call waits until it is known how many there
    are. Raises `ShapeError`, `ArgumentTypeError`.
    """
    with stream_for(values, stream):
        _check(values, flags, "selected")
        if 0 < flags.size <= MOST_AT_ONCE and flags.dtype == np.bool_:
            return _at_once((select,), flags, values)
        found, source = _flags(flags), flat(values)
        with found.context.unsettled:
            return Compaction(found).values(source)


def select_if(values: DeviceNDArray, predicate: Any, *, stream: Stream | int = 0) -> DeviceNDArray:
    """The elements for which ``predicate``, a function of one element or a device function, is true, in C order."""
    with stream_for(values, stream):
        source = flat(values)
        return select(source, flags_by(source, predicate))


def flatnonzero(flags: DeviceNDArray, *, stream: Stream | int = 0) -> DeviceNDArray:
    """The numbers, counted in C order, of the elements that are not 0: int64, ascending."""
    with stream_for(flags, stream):
        if 0 < flags.size <= MOST_AT_ONCE and flags.dtype == np.bool_:
            return _at_once((flatnonzero,), flags)
        found = _flags(flags)
        with found.context.unsettled:
            return Compaction(found).numbers()


def nonzero(flags: DeviceNDArray, *, stream: Stream | int = 0) -> tuple[DeviceNDArray, ...]:
    """For each axis the subscripts of the elements that are not 0, in C order. Raises `ShapeError` without axes."""
    with stream_for(flags, stream):
        if not flags.ndim:
            raise ShapeError("a 0-d array has no axes whose subscripts could be found", hint="reshape it to (1,)")
        found = flatnonzero(flags)
        return (found,) if flags.ndim == 1 else coordinates_of(found, flags.shape)


def partition(values: DeviceNDArray, flags: DeviceNDArray, *, stream: Stream | int = 0) -> tuple[DeviceNDArray, int]:
    """The elements with a flag, then those without, each in C order, and how many have one: a stable partition.

    Raises `ShapeError`, `ArgumentTypeError`.
    """
    with stream_for(values, stream):
        _check(values, flags, "parted")
        found, source = _flags(flags), flat(values)
        with found.context.unsettled:
            return Compaction(found).parted(source)


def _at_once(key: tuple[Any, ...], flags: DeviceNDArray, *values: DeviceNDArray) -> DeviceNDArray:
    """What few flags select, of values or of the elements' numbers: by one launch, which is repeated."""

    def function() -> tuple[DeviceNDArray, DeviceNDArray]:
        with flags.context.unsettled:
            return Compaction(flat(flags)).at_once(*map(flat, values))

    found, places = repeated(key, (flags, *values), function)
    return found._view(slice(0, int(places.copy_to_host()[-1])))


def _check(values: DeviceNDArray, flags: DeviceNDArray, done: str) -> None:
    """Flags and values have one shape and are on one device; ``done``: what happens to the values."""
    if values.shape != flags.shape:
        raise ShapeError(f"values of shape {values.shape} cannot be {done} by flags of shape {flags.shape}")
    if values.context is not flags.context:
        raise ArgumentTypeError("values and flags are on different devices", hint="copy one: cuda.to_device(...)")


def _flags(x: DeviceNDArray) -> DeviceNDArray:
    found = flat(x)
    return found if found.dtype == np.bool_ else flags_of(found)


__all__ = ["flatnonzero", "nonzero", "partition", "select", "select_if"]
