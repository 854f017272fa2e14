"""Subscripts of every axis from numbers of elements in C order."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.ufuncs.kernel_source import launch


@cuda.jit
def _coordinate(numbers, out, below, extent):
    i = cuda.grid(1)
    if i < numbers.size:
        out[i] = numbers[i] // below % extent


def coordinates_of(numbers: DeviceNDArray, shape: tuple[int, ...]) -> tuple[DeviceNDArray, ...]:
    """For each axis of ``shape`` the subscripts, int64, of elements whose numbers in C order are given (1-D, int64)."""
    context = numbers.context
    found = []
    for axis, extent in enumerate(shape):
        out = device_array(numbers.size, np.int64, context=context)
        if numbers.size:
            launch(_coordinate, numbers.size, None, 0, (numbers, out, math.prod(shape[axis + 1 :]), extent), context)
        found.append(out)
    return tuple(found)
