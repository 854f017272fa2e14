"""Kernels that read or write elements at subscripts that lie in memory.

Arrays have three axes: those before the one that is indexed, it, and those behind it. Subscripts below 0 count from
the end. With ``fault``, subscripts beyond the ends set its only element, and nothing is read or written there.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN202

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher


@cuda.jit(device=True)
def _wrapped(at, extent, fault):
    """The subscript counted from the start, -1 where there is no such element."""
    place = np.int64(at)
    if at < 0:
        place += extent
    if place < 0 or place >= extent:
        fault[0] = 1
        return np.int64(-1)
    return place


@cuda.jit
def gather_elements(source, index, out, fault):
    """Of arrays of one axis: ``out[i] = source[index[i]]``."""
    i = cuda.grid(1)
    if i < out.size:
        at = _wrapped(index[i], source.size, fault)
        if at >= 0:
            out[i] = source[at]


@cuda.jit
def gather(source, index, out, fault):
    """``out[p, b, q] = source[p, index[b], q]``, for an index of one axis."""
    i = cuda.grid(1)
    if i < out.size:
        rest, q = i // out.shape[2], i % out.shape[2]
        p, b = rest // out.shape[1], rest % out.shape[1]
        at = _wrapped(index[b], source.shape[1], fault)
        if at >= 0:
            out[p, b, q] = source[p, at, q]


@cuda.jit
def gather_along(source, index, out, fault):
    """``out[p, b, q] = source[p, index[p, b, q], q]``."""
    i = cuda.grid(1)
    if i < out.size:
        rest, q = i // out.shape[2], i % out.shape[2]
        p, b = rest // out.shape[1], rest % out.shape[1]
        at = _wrapped(index[p, b, q], source.shape[1], fault)
        if at >= 0:
            out[p, b, q] = source[p, at, q]


@cuda.jit
def scatter(target, index, values, fault):
    """``target[p, index[b], q] = values[p, b, q]``; which of several values for one element stays is not known."""
    i = cuda.grid(1)
    if i < values.size:
        rest, q = i // values.shape[2], i % values.shape[2]
        p, b = rest // values.shape[1], rest % values.shape[1]
        at = _wrapped(index[b], target.shape[1], fault)
        if at >= 0:
            target[p, at, q] = values[p, b, q]


@cuda.jit
def scatter_along(target, index, values, fault):
    """``target[p, index[p, b, q], q] = values[p, b, q]``."""
    i = cuda.grid(1)
    if i < values.size:
        rest, q = i // values.shape[2], i % values.shape[2]
        p, b = rest // values.shape[1], rest % values.shape[1]
        at = _wrapped(index[p, b, q], target.shape[1], fault)
        if at >= 0:
            target[p, at, q] = values[p, b, q]


@cache
def joining_kernel() -> Dispatcher:
    """``out = out * extent + index``, element by element: subscripts of several axes become those of one."""

    def join(index, out, extent, fault):
        i = cuda.grid(1)
        if i < out.size:
            at = _wrapped(index[i], extent, fault)
            if at >= 0:
                out[i] = out[i] * extent + at

    kernel: Any = cuda.jit(join)
    found: Dispatcher = kernel
    return found
