"""Reductions by key: one result for each run of equal keys."""

# mypy: allow-untyped-defs, allow-incomplete-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.errors import ShapeError
from portagpu.primitives.scans.operators import operator_of
from portagpu.primitives.scans.scanning import inclusive_scan, scan
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.stream import Stream
from portagpu.ufuncs.operands import arrays_of

_THREADS = 128


@cuda.jit
def _mark_ends(keys, marks):
    i = cuda.grid(1)
    if i < keys.size:
        is_end = True
        if i + 1 < keys.size:
            is_end = keys[i + 1] != keys[i]
        marks[i] = 1 if is_end else 0


@cuda.jit
def _gather_ends(keys, values, places, found_keys, found_values):
    i = cuda.grid(1)
    if i < keys.size:
        before = places[i - 1] if i > 0 else 0
        if places[i] != before:
            found_keys[before] = keys[i]
            found_values[before] = values[i]


def reduce_by_key(
    keys: Any,
    values: Any,
    function: Any = np.add,
    identity: Any = None,
    *,
    dtype: Any = None,
    stream: Stream | int = 0,
) -> tuple[DeviceNDArray, DeviceNDArray]:
    """The keys of runs of neighbours with equal keys, and what their values become: two arrays of one axis.

    ``keys``, ``values``: arrays of one axis and length; each NaN is a run. ``function``, ``identity``, ``dtype``: as of
    `portagpu.primitives.inclusive_scan`. The call waits for the number of runs.

    Raises `ShapeError`, `DTypeError`, `ArgumentTypeError`.
    """
    told, given = arrays_of((keys, values))
    if told.ndim != 1 or told.shape != given.shape:
        raise ShapeError(f"keys have shape {told.shape}, values {given.shape}: both are of one axis and length")
    kind = given.dtype if dtype is None else np.dtype(dtype)
    context = given.context
    if given.size == 0:
        return device_array(0, told.dtype, context=context), device_array(0, kind, context=context)
    if told.layout != "C":
        told = told.copy()
    reduced = inclusive_scan(given, function, identity, dtype=kind, keys=told, stream=stream)
    size = given.size
    threads = min(_THREADS, context.capabilities.max_work_group_size)
    blocks = -(-size // threads)
    count = np.dtype(np.int32 if size < 2**31 else np.int64)
    marks = device_array(size, count, context=context)
    with context.unsettled:
        ready.launch(_mark_ends, blocks, threads, (told, marks), stream)
        places = scan(marks, operator_of(np.add, count), 0, count, stream=stream)
    runs = int(places[size - 1])
    found = device_array(runs, told.dtype, context=context), device_array(runs, kind, context=context)
    with context.unsettled:
        ready.launch(_gather_ends, blocks, threads, (told, reduced, places, *found), stream)
    return found
