"""Sequences and bands: arrays whose elements follow from their places."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.runtime.arrays.array import DeviceNDArray, device_array
from portagpu.runtime.execution.context import Context
from portagpu.ufuncs.kernel_source import launch

_THREADS = 256
_MOST_ROWS = 1024  # of a grid: blocks go through rows at that distance


@cuda.jit
def _whole_steps(out, start, step):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = start + i * step


@cuda.jit(fma=False)
def _steps(out, start, step, last, stop):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = stop if i == last else start + i * step


@cuda.jit
def _band(out, low, high):
    column = cuda.grid(1)
    if column < out.shape[1]:
        for row in range(cuda.blockIdx.y, out.shape[0], cuda.gridDim.y):
            shift = column - row
            out[row, column] = low <= shift and shift <= high


def whole_steps(count: int, start: int, step: int, dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
    """``start + i * step`` for whole numbers: 1-D, computed with 64 bits."""
    kind = np.uint64 if dtype == np.uint64 else np.int64
    return _run(_whole_steps, count, dtype, context, kind(start), kind(step % 2**64 if kind is np.uint64 else step))


def steps(
    count: int, start: Any, step: Any, dtype: np.dtype[Any], context: Context, *, stop: Any = None
) -> DeviceNDArray:
    """``start + i * step``, and ``stop`` for the last element where that is given: 1-D.

    The numbers are NumPy scalars of the dtype that it is computed in. Products and sums are rounded each, as by NumPy.
    """
    last = -1 if stop is None else count - 1
    return _run(_steps, count, dtype, context, start, step, last, start if stop is None else stop)


def band(rows: int, columns: int, low: int, high: int, dtype: np.dtype[Any], context: Context) -> DeviceNDArray:
    """A matrix that is 1 between two diagonals: where ``low <= column - row <= high``, and else 0."""
    with context.unsettled:
        out = device_array((rows, columns), dtype, context=context)
        if out.size:
            threads = min(_THREADS, context.capabilities.max_work_group_size)
            low, high = (max(-rows, min(n, columns)) for n in (low, high))  # any integer may be given
            ready.launch(_band, (-(-columns // threads), min(rows, _MOST_ROWS), 1), threads, (out, low, high))
    return out


def _run(kernel: Dispatcher, count: int, dtype: np.dtype[Any], context: Context, *numbers: Any) -> DeviceNDArray:
    with context.unsettled:
        out = device_array(count, dtype, context=context)
        if count:
            launch(kernel, count, None, 0, (out, *numbers), context)
    return out
