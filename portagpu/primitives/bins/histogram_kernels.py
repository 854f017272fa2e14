"""Kernels of histograms: bins that threads share are private to a warp or a block on GPUs, to a core on CPUs.

C. Nugteren, G.-J. van den Braak, H. Corporaal, B. Mesman, "High performance predictable histogramming on GPUs",
GPGPU-4, 2011, has bins of warps in shared memory.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher

ITEMS = 8
"""Elements that a thread of a GPU loads at once."""
_WARP = 32


@cache
def place_uniform(dtype: np.dtype[Any]) -> Dispatcher:
    """The bin of a value among bins of one width, -1 outside: exactly the one whose edges are around it.

    The quotient tells it but near an edge, within ``margin`` of a bin's width, where edges are looked at.
    """
    kind = dtype.type

    def place(value, edges, bins, first, last, scale, margin):
        x = kind(value)
        if not (x >= first and x <= last):
            return np.int32(-1)
        quotient = (x - first) * scale
        k = min(np.int32(quotient), np.int32(bins - 1))
        rest = quotient - kind(k)
        if rest < margin or rest > kind(1) - margin:
            if k > 0 and x < edges[k]:
                k -= 1
            elif k < bins - 1 and x >= edges[k + 1]:
                k += 1
        return np.int32(k)

    return cuda.jit(place, device=True)


@cache
def place_between(dtype: np.dtype[Any]) -> Dispatcher:
    """The bin of a value among ascending edges, -1 outside.

    ``last``: the largest power of two that is no more than ``bins``. Where the edges are about as far apart as each
    other, the value's distance from the first times ``scale`` tells the bin; else they are searched.
    """
    kind = dtype.type

    def place(value, edges, bins, first, last, scale, margin):
        if not (value >= edges[0] and value <= edges[bins]):
            return np.int32(-1)
        low = min(max(np.int32((kind(value) - first) * scale), np.int32(0)), np.int32(bins - 1))
        if value < edges[low] or value >= edges[low + 1]:
            low, step = np.int32(0), np.int32(last)
            while step > 0:  # without a branch that a processor must guess, or that divides a warp
                at = low + step
                is_below = (at < bins) & (value >= edges[min(at, bins)])
                low = at if is_below else low
                step //= 2
        return low

    return cuda.jit(place, device=True)


@cuda.jit(device=True)
def place_itself(value, edges, bins, first, last, scale, margin):
    """A whole number is its bin."""
    return np.int32(value)


@cuda.jit(device=True)
def one(weights, i):
    """Each value counts once."""
    return np.int32(1)


@cuda.jit(device=True)
def weight(weights, i):
    """Each value has a weight."""
    return weights[i]


class SharedPlan(NamedTuple):
    """What is known when `shared_kernel` is compiled.

    ``place`` and ``amount``: device functions; ``copies`` of ``capacity`` bins; types of ``values``, of a ``total`` and
    of edges; ``table``: how many edges are kept in shared memory, where each value is compared with several.
    """

    place: Dispatcher
    amount: Dispatcher
    threads: int
    capacity: int
    copies: int
    values: np.dtype[Any]
    total: np.dtype[Any]
    edges: np.dtype[Any]
    table: int


@cache
def shared_kernel(plan: SharedPlan) -> Dispatcher:
    """Blocks count in copies of the bins in shared memory, and add these to ``out``."""
    threads, capacity, copies, amount = plan.threads, plan.capacity, plan.copies, plan.amount
    cells, edge_cells, edge_type = capacity * copies, plan.table, plan.edges
    dtype, total, number = plan.values, plan.total, plan.total.type
    find = _among_near(plan.place) if plan.table else _among_far(plan.place)

    def count(values, weights, edges, bins, first, last, scale, margin, share, out):
        counts = cuda.shared.array(cells, total)
        near = cuda.shared.array(max(edge_cells, 1), edge_type)
        held = cuda.local.array(ITEMS, dtype)
        thread = cuda.threadIdx.x
        for cell in range(thread, cells, threads):
            counts[cell] = 0
        for cell in range(thread, edge_cells, threads):
            near[cell] = edges[cell]
        cuda.syncthreads()
        own = thread // _WARP % copies * capacity
        begin = cuda.blockIdx.x * share
        end = min(begin + share, values.size)
        i = begin + thread
        while i + (ITEMS - 1) * threads < end:
            for k in cuda.unroll(range(ITEMS)):
                held[k] = values[i + k * threads]
            for k in cuda.unroll(range(ITEMS)):
                at = find(held[k], near, edges, bins, first, last, scale, margin)
                if at >= 0:
                    cuda.atomic.add(counts, own + at, number(amount(weights, i + k * threads)))
            i += ITEMS * threads
        while i < end:
            at = find(values[i], near, edges, bins, first, last, scale, margin)
            if at >= 0:
                cuda.atomic.add(counts, own + at, number(amount(weights, i)))
            i += threads
        cuda.syncthreads()
        for cell in range(thread, bins, threads):
            found = counts[cell]
            for k in cuda.unroll(range(1, copies)):
                found += counts[k * capacity + cell]
            if found != 0:
                cuda.atomic.add(out, cell, found)

    return cuda.jit(count)


@cache
def _among_near(place: Dispatcher) -> Dispatcher:
    def find(value, near, edges, bins, first, last, scale, margin):
        return place(value, near, bins, first, last, scale, margin)

    return cuda.jit(find, device=True)


@cache
def _among_far(place: Dispatcher) -> Dispatcher:
    def find(value, near, edges, bins, first, last, scale, margin):
        return place(value, edges, bins, first, last, scale, margin)

    return cuda.jit(find, device=True)


@cache
def atomic_kernel(place: Dispatcher, amount: Dispatcher, threads: int, total: np.dtype[Any]) -> Dispatcher:
    """All threads count in ``out``: for more bins than shared memory has room for."""
    number = total.type

    def count(values, weights, edges, bins, first, last, scale, margin, share, out):
        begin = cuda.blockIdx.x * share
        i = begin + cuda.threadIdx.x
        end = min(begin + share, values.size)
        while i < end:
            at = place(values[i], edges, bins, first, last, scale, margin)
            if at >= 0:
                cuda.atomic.add(out, at, number(amount(weights, i)))
            i += threads

    return cuda.jit(count)


@cache
def serial_kernel(place: Dispatcher, amount: Dispatcher, total: np.dtype[Any]) -> Dispatcher:
    """Each block, of one thread, counts in a row of ``out`` of its own."""
    number = total.type

    def count(values, weights, edges, bins, first, last, scale, margin, share, out):
        row = cuda.blockIdx.x
        for cell in range(bins):
            out[row, cell] = 0
        begin = row * share
        for i in range(begin, min(begin + share, values.size)):
            at = place(values[i], edges, bins, first, last, scale, margin)
            if at >= 0:
                out[row, at] += number(amount(weights, i))

    return cuda.jit(count)


@cuda.jit
def add_rows(rows, out):
    """``out[k]`` = sum of column k, in the order of the rows."""
    k = cuda.grid(1)
    if k < out.size:
        found = rows[0, k]
        for row in range(1, rows.shape[0]):
            found += rows[row, k]
        out[k] = found


@cuda.jit
def clear(out):
    """All elements become 0."""
    k = cuda.grid(1)
    if k < out.size:
        out[k] = 0
