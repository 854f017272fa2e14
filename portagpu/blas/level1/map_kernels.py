"""Elementwise routines (axpy, scal, copy, swap, rot): one kernel that takes the operation; in the dialect.

A vector is a row of chunks, each of some numbers side by side: 16 bytes and more where elements have no gaps, else an
element. A thread loads several chunks before it uses the first one, so that enough bytes are under way.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level1.lanes import load, store, times_complex


class Work(NamedTuple):
    """``chunks`` of a vector, ``span`` of a block; ``rest``: elements behind the last whole chunk.

    Of one unsigned type, which holds every index of the memory.
    """

    chunks: Any
    span: Any
    rest: Any


class Factors(NamedTuple):
    """Numbers that an operation takes: see the operations."""

    a: Any
    b: Any
    c: Any
    d: Any


class MapPlan(NamedTuple):
    """What is known when `map_elements` is compiled.

    ``operation``: one of the device functions below. ``kind``: type in which ``lanes`` numbers of a chunk are computed,
    ``stored``: in which they are stored; ``single``, ``stored_single``: the same of an element, which has ``parts``
    numbers. ``aligned``: chunks begin at multiples of their size.
    """

    operation: Any
    kind: Any
    stored: Any
    single: Any
    stored_single: Any
    lanes: int
    parts: int
    threads: int
    items: int
    aligned: bool
    reads_x: bool
    reads_y: bool
    writes_x: bool
    writes_y: bool


@cuda.jit(device=True)
def copied(x, y, factors, kind: cuda.constexpr):
    """``y = x``."""
    return x, x


@cuda.jit(device=True)
def scaled(x, y, factors, kind: cuda.constexpr):
    """``y = a * y``."""
    return x, y * factors.a


@cuda.jit(device=True)
def scaled_complex(x, y, factors, kind: cuda.constexpr):
    """``y = (a + ib) * y``."""
    return x, times_complex(y, factors.a, factors.b, kind)


@cuda.jit(device=True)
def multiplied_and_added(x, y, factors, kind: cuda.constexpr):
    """``y = a * x + y``."""
    return x, cuda.fma(x, kind(factors.a), y)


@cuda.jit(device=True)
def multiplied_and_added_complex(x, y, factors, kind: cuda.constexpr):
    """``y = (a + ib) * x + y``."""
    return x, times_complex(x, factors.a, factors.b, kind) + y


@cuda.jit(device=True)
def exchanged(x, y, factors, kind: cuda.constexpr):
    """``x, y = y, x``."""
    return y, x


@cuda.jit(device=True)
def rotated(x, y, factors, kind: cuda.constexpr):
    """``x, y = a * x + b * y, c * x + d * y``."""
    return cuda.fma(x, kind(factors.a), y * factors.b), cuda.fma(x, kind(factors.c), y * factors.d)


@cuda.jit(device=True)
def _apply(x, y, x_place, y_place, x_value, y_value, factors, plan, whole: cuda.constexpr):
    """One chunk (``whole``), or one element, whose numbers have been loaded."""
    kind = plan.kind if whole else plan.single
    lanes = plan.lanes if whole else plan.parts
    stored = plan.stored if whole else plan.stored_single
    new_x, new_y = plan.operation(x_value, y_value, factors, kind)
    if plan.writes_x:
        store(new_x, x.memory, x_place, stored, lanes, plan.aligned and whole)
    if plan.writes_y:
        store(new_y, y.memory, y_place, stored, lanes, plan.aligned and whole)


@cuda.jit
def map_elements(x, y, work, factors, plan: cuda.constexpr):
    """An operation on the elements of x and y, each a `Vector` of chunks (``step`` from one to the next).

    work: a `Work`; factors: `Factors`; plan: a `MapPlan`. Blocks of ``plan.threads``, in a grid of one axis; the last
    one has the rest.
    """
    index = type(work.chunks)
    thread = index(cuda.threadIdx.x)
    begin = index(cuda.blockIdx.x) * work.span
    end = min(work.chunks, begin + work.span)
    turn = plan.threads * plan.items
    full = begin + (end - begin) // index(turn) * index(turn)
    x_values = cuda.local.array(plan.items, plan.kind)
    y_values = cuda.local.array(plan.items, plan.kind)
    for start in range(begin, full, index(turn)):
        for u in cuda.unroll(range(plan.items)):
            i = start + thread + index(u * plan.threads)
            if plan.reads_x:
                x_values[u] = load(x.memory, x.first + i * x.step, plan.kind, plan.lanes, plan.aligned)
            if plan.reads_y:
                y_values[u] = load(y.memory, y.first + i * y.step, plan.kind, plan.lanes, plan.aligned)
        for u in cuda.unroll(range(plan.items)):
            i = start + thread + index(u * plan.threads)
            x_value = x_values[u] if plan.reads_x else y_values[u]
            y_value = y_values[u] if plan.reads_y else x_values[u]
            _apply(x, y, x.first + i * x.step, y.first + i * y.step, x_value, y_value, factors, plan, True)
    for i in range(full + thread, end, index(plan.threads)):
        _one(x, y, x.first + i * x.step, y.first + i * y.step, factors, plan, True)
    if plan.lanes > plan.parts and cuda.blockIdx.x == cuda.gridDim.x - 1:
        for i in range(thread, work.rest, index(plan.threads)):
            behind = work.chunks * index(plan.lanes) + i * index(plan.parts)
            _one(x, y, x.first + behind, y.first + behind, factors, plan, False)


@cuda.jit(device=True)
def _one(x, y, x_place, y_place, factors, plan, whole: cuda.constexpr):
    """Load and compute one chunk (``whole``), or one element."""
    kind = plan.kind if whole else plan.single
    lanes = plan.lanes if whole else plan.parts
    x_value = load(x.memory, x_place, kind, lanes, plan.aligned and whole) if plan.reads_x else kind(0)
    y_value = load(y.memory, y_place, kind, lanes, plan.aligned and whole) if plan.reads_y else kind(0)
    _apply(x, y, x_place, y_place, x_value, y_value, factors, plan, whole)
