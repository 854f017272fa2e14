"""LU factors with partial pivoting of a few tall columns of a matrix on GPUs, by one block; in the dialect.

A thread keeps its rows of a panel, a few columns at a time, in registers until the panel is finished: memory is read
and written once for a panel, and not once for each of its columns. In between are a search for the pivot, and the
exchange of two rows by shared memory. Ties are won by the first row, as in LAPACK.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.lu_kernels import FEW, Found, agreed_row, divisor_of, pivot_size, tell_failure


class TallPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``width``: columns, at most; ``panel``: of a panel; ``threads``: of the block; ``rows``: of a thread; ``number``: an
    element, ``real``: a real number.
    """

    width: int
    panel: int
    threads: int
    rows: int
    number: Any
    real: Any
    is_complex: bool


class Panel(NamedTuple):
    """Shared memory: the pivot's row and the one that it is exchanged with, rows of all pivots, the triangle on top,
    and the rows that follow from it in the columns to the right."""

    pivot: Any
    displaced: Any
    places: Any
    triangle: Any
    tops: Any


@cuda.jit(device=True)
def _load(x, a, start, first, m, n, thread, plan: cuda.constexpr):
    """A thread's rows of the panel that begins at column ``first``; zeros beyond the matrix."""
    kind = type(m)
    for i in cuda.unroll(range(plan.rows)):
        row = thread + kind(i * plan.threads)
        for w in cuda.unroll(range(plan.panel)):
            x[i, w] = plan.number(0)
            if row >= first and row < m and first + kind(w) < n:
                x[i, w] = a.memory[start + row * a.down + (first + kind(w)) * a.right]


@cuda.jit(device=True)
def _store(x, a, start, first, m, n, thread, triangle, plan: cuda.constexpr):
    """The finished panel back to the matrix, and its triangle to shared memory."""
    kind = type(m)
    for i in cuda.unroll(range(plan.rows)):
        row = thread + kind(i * plan.threads)
        if row >= first and row < m:
            for w in cuda.unroll(range(plan.panel)):
                if first + kind(w) < n:
                    a.memory[start + row * a.down + (first + kind(w)) * a.right] = x[i, w]
                if row < first + kind(plan.panel):
                    triangle[(row - first) * kind(plan.panel) + kind(w)] = x[i, w]


@cuda.jit(device=True)
def _find_pivot(x, at, m, thread, found, plan: cuda.constexpr):
    """The row of the largest magnitude from row ``at`` on of a panel's first column; for all threads."""
    kind = type(m)
    best = plan.real(-1)
    place = at
    for i in cuda.unroll(range(plan.rows)):
        row = thread + kind(i * plan.threads)
        if row >= at and row < m:
            size = pivot_size(x[i, 0], row == at, plan.real, plan.is_complex)
            if size > best:
                best = size
                place = row
    return agreed_row(best, place, thread, kind(0), found, plan.threads)


@cuda.jit(device=True)
def _eliminate(x, at, place, j, thread, shared, plan: cuda.constexpr):
    """Exchange rows ``at`` and ``place``, divide column j by its pivot, and take its products off those after it.

    The columns of ``x`` move on by one, so that the next one is the first; registers have no variable subscripts.
    """
    kind = type(at)
    for i in cuda.unroll(range(plan.rows)):
        row = thread + kind(i * plan.threads)
        if row == place:
            for w in cuda.unroll(range(plan.panel)):
                shared.pivot[w] = x[i, w]
        if row == at:
            for w in cuda.unroll(range(plan.panel)):
                shared.displaced[w] = x[i, w]
    if thread == kind(0):
        shared.places[j] = place
    cuda.syncthreads()
    pivot = shared.pivot[0]
    unfinished = kind(plan.panel) - j
    for i in cuda.unroll(range(plan.rows)):
        row = thread + kind(i * plan.threads)
        if row == place:
            for w in cuda.unroll(range(plan.panel)):
                x[i, w] = shared.displaced[w]
        if row == at:
            for w in cuda.unroll(range(plan.panel)):
                x[i, w] = shared.pivot[w]
        below = row > at
        factor = x[i, 0]
        if below:
            factor = factor / divisor_of(pivot)
        for w in cuda.unroll(range(1, plan.panel)):
            value = x[i, w]
            if below and kind(w) < unfinished:
                value -= factor * shared.pivot[w]
            x[i, w - 1] = value
        x[i, plan.panel - 1] = factor
    return pivot


@cuda.jit(device=True)
def _exchange_others(a, start, first, n, thread, places, plan: cuda.constexpr):
    """The panel's exchanges of rows in the other columns."""
    kind = type(n)
    held = min(kind(plan.panel), n - first)
    for other in range(thread, n - held, kind(plan.threads)):
        column = other if other < first else other + held
        for j in range(held):
            one = start + (first + j) * a.down + column * a.right
            two = start + places[j] * a.down + column * a.right
            if one != two:
                value = a.memory[one]
                a.memory[one] = a.memory[two]
                a.memory[two] = value


@cuda.jit(device=True)
def _solve_tops(part, a, start, first, n, thread, shared, plan: cuda.constexpr):
    """The rows of the panel's pivots in the columns to the right, in the matrix and in shared memory."""
    kind = type(n)
    end = first + kind(plan.panel)
    for other in range(thread, n - min(n, end), kind(plan.threads)):
        at = start + (end + other) * a.right
        for r in cuda.unroll(range(plan.panel)):
            part[r] = a.memory[at + (first + kind(r)) * a.down]
        for r in cuda.unroll(range(plan.panel)):
            for q in cuda.unroll(range(r)):
                part[r] -= shared.triangle[r * plan.panel + q] * part[q]
            shared.tops[kind(r * plan.width) + other] = part[r]
            a.memory[at + (first + kind(r)) * a.down] = part[r]


@cuda.jit(device=True)
def _update_right(x, part, a, start, first, m, n, thread, tops, plan: cuda.constexpr):
    """Take the panel's products off the columns to the right, as many at a time as it has."""
    kind = type(m)
    end = first + kind(plan.panel)
    for column in range(end, n, kind(plan.panel)):
        for i in cuda.unroll(range(plan.rows)):
            row = thread + kind(i * plan.threads)
            if row >= end and row < m:
                at = start + row * a.down + column * a.right
                for w in cuda.unroll(range(plan.panel)):
                    part[w] = plan.number(0)
                    if column + kind(w) < n:
                        part[w] = a.memory[at + kind(w) * a.right]
                for q in cuda.unroll(range(plan.panel)):
                    for w in cuda.unroll(range(plan.panel)):
                        part[w] -= x[i, q] * tops[kind(q * plan.width + w) + (column - end)]
                for w in cuda.unroll(range(plan.panel)):
                    if column + kind(w) < n:
                        a.memory[at + kind(w) * a.right] = part[w]


@cuda.jit
def factor_tall_columns(a, m, n, before, pivots, info, plan: cuda.constexpr):
    """``a = P L U`` for m x n matrices, in place, as `lu_kernels.factor_columns`; m is at least n up to a whole panel.

    a: a `Strided`; plan: a `TallPlan`, with ``threads * rows >= m`` and ``width >= n``. A block for each matrix.
    """
    kind = type(m)
    panel, threads = plan.panel, plan.threads
    x = cuda.local.array((plan.rows, panel), plan.number)
    part = cuda.local.array(panel, plan.number)
    values = cuda.shared.array(threads, plan.real)
    rows = cuda.shared.array(threads, kind)
    few_values = cuda.shared.array(FEW, plan.real)
    few_rows = cuda.shared.array(FEW, kind)
    pivot = cuda.shared.array(panel, plan.number)
    displaced = cuda.shared.array(panel, plan.number)
    places = cuda.shared.array(panel, kind)
    triangle = cuda.shared.array(panel * panel, plan.number)
    tops = cuda.shared.array(panel * (plan.width + panel), plan.number)
    found = Found(values, rows, few_values, few_rows)
    shared = Panel(pivot, displaced, places, triangle, tops)
    thread = kind(cuda.threadIdx.x)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    failed = np.int32(0)
    for first in range(kind(0), n, kind(panel)):
        _load(x, a, start, first, m, n, thread, plan)
        for j in range(kind(panel)):  # columns beyond the last one are zeros, whose pivots stay where they are
            at = first + j
            place = _find_pivot(x, at, m, thread, found, plan)
            value = _eliminate(x, at, place, j, thread, shared, plan)
            if value == 0 and failed == 0 and at < n:
                failed = np.int32(at) + 1
        _store(x, a, start, first, m, n, thread, triangle, plan)
        cuda.syncthreads()
        if thread < min(kind(panel), n - first):
            pivots[matrix, before + np.int32(first + thread)] = before + np.int32(places[thread])
        _exchange_others(a, start, first, n, thread, places, plan)
        cuda.syncthreads()
        _solve_tops(part, a, start, first, n, thread, shared, plan)
        cuda.syncthreads()
        _update_right(x, part, a, start, first, m, n, thread, tops, plan)
        cuda.syncthreads()
    if thread == 0:
        tell_failure(info, matrix, before, failed)
