"""Run-length encoding: stretches of equal neighbours."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.errors import ShapeError
from portagpu.primitives.flat import stream_for
from portagpu.primitives.gathers.gathering import Subscripts, gather
from portagpu.primitives.selections.selection import flatnonzero
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.kernel_source import launch


@cuda.jit
def _begins(values, flags):
    i = cuda.grid(1)
    if i < values.size:
        flags[i] = i == 0 or values[i] != values[max(i - 1, 0)]


@cuda.jit
def _lengths(starts, size, out):
    i = cuda.grid(1)
    if i < out.size:
        end = size
        if i + 1 < starts.size:
            end = starts[i + 1]
        out[i] = end - starts[i]


def lengths_between(starts: DeviceNDArray, size: int, stream: Stream | int = 0) -> DeviceNDArray:
    """How many elements there are from each start to the next one, or to ``size``: 1-D, int64."""
    lengths = device_array(starts.size, np.int64, context=starts.context)
    if starts.size:
        launch(_lengths, starts.size, None, stream, (starts, size, lengths), starts.context)
    return lengths


def run_begins(values: DeviceNDArray) -> DeviceNDArray:
    """Where stretches of equal neighbours of a 1-D array begin, int64. The host waits for their number."""
    context = values.context
    with context.unsettled:
        flags = device_array(values.size, np.bool_, context=context)
        if values.size:
            launch(_begins, values.size, None, 0, (values, flags), context)
        return flatnonzero(flags)


def run_length_encode(values: DeviceNDArray, *, stream: Stream | int = 0) -> tuple[DeviceNDArray, DeviceNDArray]:
    """The value of each stretch of equal neighbours of a 1-D array, and how many these are, int64.

    A NaN is equal to none. The host waits for the number of stretches. Raises `ShapeError`.
    """
    with stream_for(values, stream):
        if values.ndim != 1:
            raise ShapeError(f"runs are those of an array of one axis, not of {values.ndim}", hint="x.ravel()")
        with values.context.unsettled:
            starts = run_begins(values)
            return gather(values, 0, 1, Subscripts(starts, known=True)), lengths_between(starts, values.size)
