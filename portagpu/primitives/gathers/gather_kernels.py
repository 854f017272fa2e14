"""Kernels that read or write elements at subscripts that lie in memory.

Arrays have three axes: those before the one that is indexed, it, and those behind it. Subscripts below 0 count from
the end. Subscripts beyond the ends set ``fault[0]``, and nothing is read or written there.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher
from portagpu.ufuncs.kernel_source import KEPT, kernel_from, position

SEVERAL = 4
"""Elements that a thread of a GPU gathers at once."""


@cuda.jit(device=True)
def wrapped(at, extent, fault):
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
        at = wrapped(index[i], source.size, fault)
        if at >= 0:
            out[i] = source[at]


@cuda.jit
def gather_several(source, index, out, fault):
    """The same with `SEVERAL` elements of a thread, whose loads are on their way at once."""
    places = cuda.local.array(SEVERAL, np.int64)
    thread, threads = cuda.threadIdx.x, cuda.blockDim.x
    begin = cuda.blockIdx.x * threads * SEVERAL + thread
    if begin + (SEVERAL - 1) * threads < out.size:
        for k in cuda.unroll(range(SEVERAL)):
            places[k] = np.int64(index[begin + k * threads])
        for k in cuda.unroll(range(SEVERAL)):
            places[k] = wrapped(places[k], source.size, fault)
        for k in cuda.unroll(range(SEVERAL)):
            out[begin + k * threads] = source[max(places[k], 0)]
    else:
        for i in range(begin, out.size, threads):
            out[i] = source[max(wrapped(index[i], source.size, fault), 0)]


@cuda.jit
def gather_rows(source, index, out, extent, fault):
    """Of arrays without gaps, all flat: ``out[b, q] = source[index[b], q]`` of rows of ``out.size // index.size``."""
    i = cuda.grid(1)
    if i < out.size:
        behind = out.size // index.size
        b, q = i // behind, i % behind
        at = wrapped(index[b], extent, fault)
        if at >= 0:
            out[i] = source[at * behind + q]


class Move(NamedTuple):
    """``each``: every element has a subscript of its own, and not every part. ``scatters``: into the array."""

    each: bool
    scatters: bool = False


@cuda.jit
def move_elements(array, index, others, fault, plan: cuda.constexpr):
    """``others[p, b, q] = array[p, at, q]``, or the reverse, where ``at`` is ``index[b]`` or ``index[p, b, q]``.

    Which of several values that go to one element stays is not known.
    """
    i = cuda.grid(1)
    if i < others.size:
        rest, q = i // others.shape[2], i % others.shape[2]
        p, b = rest // others.shape[1], rest % others.shape[1]
        at = wrapped(index[p, b, q] if plan.each else index[b], array.shape[1], fault)
        if at >= 0:
            if plan.scatters:
                array[p, at, q] = others[p, b, q]
            else:
                others[p, b, q] = array[p, at, q]


@cache
def joining_kernel(count: int, ndim: int) -> Dispatcher:
    """Subscripts of ``count`` axes, in arrays of ``ndim`` axes, become those of all these axes as one.

    It takes the subscripts, the extents, the result, flat, the shape's owner and ``fault``. Where one is beyond its
    axis the result is beyond all.
    """
    subscripts = [f"s{n}" for n in range(count)]
    extents = [f"e{n}" for n in range(count)]
    lines, at = position(ndim, "s0.shape")
    text = [
        f"def kernel({', '.join([*subscripts, *extents])}, out, fault):",
        "    i = grid(1)",
        "    if i < out.size:",
        *lines,
        "        total = int64(0)",
        "        whole = int64(1)",
        "        good = True",
    ]
    for subscript, extent in zip(subscripts, extents, strict=True):
        text += [
            f"        at = wrapped({subscript}[{at}], {extent}, fault)",
            "        good = good and at >= 0",
            f"        total = total * {extent} + at",
            f"        whole = whole * {extent}",
        ]
    text += ["        out[i] = total if good else whole"]
    return kernel_from(text, {"core": wrapped, "wrapped": wrapped, "int64": np.int64}, KEPT)
