"""Exchanges of rows, as pivots say; in the dialect.

On GPUs in chunks whose rows are all read before they are written. A block of one thread makes exchanges one after the
other in the order of memory: column after column, which stay in the first cache, or in short pieces of rows.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import put, take

_ABREAST = 4  # columns that exchange rows together: so few stay in the first cache


class SwapPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``chunk``: exchanges at a time; ``columns``: of a block; ``threads``; ``lanes``: columns that one thread has in a
    vector; ``backward``: the last exchange comes first; ``along``: the elements of a row are side by side.
    """

    chunk: int
    columns: int
    threads: int
    lanes: int
    number: Any
    backward: bool
    along: bool


@cuda.jit(device=True)
def _source(target, exchanged, first, held, plan: cuda.constexpr):
    """The row whose elements come to a row by ``held`` exchanges of rows from ``first`` on."""
    row = target
    for step in range(held):
        i = step if plan.backward else held - np.int32(1) - step
        one, other = first + i, exchanged[i]
        if row == one:
            row = other
        elif row == other:
            row = one
    return row


@cuda.jit
def swap_rows(a, n, m, count, pivots, begin, end, offset, plan: cuda.constexpr):
    """Exchange row i with row ``pivots[matrix, i]``, for i from ``begin`` up to ``end``, in n x m matrices.

    a: a `Strided`; pivots: (count, all) int32, which count rows from 0, and the first row of ``a`` as ``offset``; those
    that name no row of a name the nearest one. plan: a `SwapPlan`. The grid is one-dimensional: for each matrix, a
    block for each strip of columns.
    """
    kind = type(m)
    chunk, width, threads = plan.chunk, plan.columns, plan.threads
    exchanged = cuda.shared.array(chunk, np.int32)
    targets = cuda.shared.array(2 * chunk, np.int32)
    sources = cuda.shared.array(2 * chunk, np.int32)
    held = cuda.shared.array(2 * chunk * width, plan.number)
    thread = np.int32(cuda.threadIdx.x)
    strips = (m + kind(width - 1)) // kind(width)
    block = kind(cuda.blockIdx.x)
    matrix = block // strips
    column0 = block % strips * kind(width)
    start = a.first + matrix * a.batch
    chunks = (end - begin + np.int32(chunk - 1)) // np.int32(chunk)
    for turn in range(chunks):
        first = begin + (chunks - np.int32(1) - turn if plan.backward else turn) * np.int32(chunk)
        steps = min(np.int32(chunk), end - first)
        for i in range(thread, steps, np.int32(threads)):
            exchanged[i] = max(offset, min(pivots[matrix, first + i], offset + np.int32(n) - 1))
        cuda.syncthreads()
        for i in range(thread, 2 * steps, np.int32(threads)):
            target = first + i
            if i >= steps:
                target = exchanged[i - steps]
                for earlier in range(i - steps):
                    if exchanged[earlier] == target:
                        target = np.int32(-1)  # it is another one's, as those among the first ones are
                if target < first + steps:
                    target = np.int32(-1)
            targets[i] = target
            sources[i] = (_source(target, exchanged, first, steps, plan) if target >= 0 else first) - offset
        cuda.syncthreads()
        for e in range(thread, 2 * steps * np.int32(width), np.int32(threads)):
            line = e // np.int32(width) if plan.along else e % (2 * steps)
            place = e % np.int32(width) if plan.along else e // (2 * steps)
            column = column0 + kind(place)
            at = start + column * a.right
            if column < m:
                held[line * np.int32(width) + place] = a.memory[at + kind(sources[line]) * a.down]
        cuda.syncthreads()
        for e in range(thread, 2 * steps * np.int32(width), np.int32(threads)):
            line = e // np.int32(width) if plan.along else e % (2 * steps)
            place = e % np.int32(width) if plan.along else e // (2 * steps)
            column = column0 + kind(place)
            at = start + column * a.right
            if column < m and targets[line] >= 0:
                a.memory[at + kind(targets[line] - offset) * a.down] = held[line * np.int32(width) + place]
        cuda.syncthreads()


@cuda.jit(device=True)
def _pivot(pivots, matrix, i, offset, n):
    """The row that row i is exchanged with, the nearest one if there is no such row."""
    return max(offset, min(pivots[matrix, i], offset + np.int32(n) - 1))


@cuda.jit(device=True)
def _exchange_columns(a, corner, column, held, n, pivots, which, abreast: cuda.constexpr, plan: cuda.constexpr):
    """The exchanges in ``abreast`` columns from ``column`` on, of ``held`` that begin at ``corner``.

    which: matrix, first exchange, how many, and number of the first row. Rows of the columns behind are asked for.
    """
    kind = type(held)
    matrix, begin, steps, offset = which
    upper = cuda.local.array(abreast, plan.number)
    lower = cuda.local.array(abreast, plan.number)
    top = corner + column * a.right
    behind = kind(abreast) * a.right if column + kind(2 * abreast) <= held else kind(0)
    for step in range(steps):
        i = begin + steps - 1 - step if plan.backward else begin + step
        other = _pivot(pivots, matrix, i, offset, n)
        one, two = top + kind(i - offset) * a.down, top + kind(other - offset) * a.down
        for w in cuda.unroll(range(abreast)):
            cuda.prefetch(a.memory, two + behind + kind(w) * a.right)
            upper[w] = a.memory[one + kind(w) * a.right]
            lower[w] = a.memory[two + kind(w) * a.right]
        for w in cuda.unroll(range(abreast)):
            a.memory[one + kind(w) * a.right] = lower[w]
            a.memory[two + kind(w) * a.right] = upper[w]


@cuda.jit
def exchange_rows(a, n, m, count, pivots, begin, end, offset, plan: cuda.constexpr):
    """As `swap_rows`, by blocks of one thread."""
    kind = type(m)
    width = plan.columns
    strips = (m + kind(width - 1)) // kind(width)
    block = kind(cuda.blockIdx.x)
    matrix = block // strips
    column0 = block % strips * kind(width)
    held = min(kind(width), m - column0)
    corner = a.first + matrix * a.batch + column0 * a.right
    steps = end - begin
    if plan.along:
        for step in range(steps):
            i = end - 1 - step if plan.backward else begin + step
            other = _pivot(pivots, matrix, i, offset, n)
            one, two = corner + kind(i - offset) * a.down, corner + kind(other - offset) * a.down
            if i != other and held == kind(width):
                for part in cuda.unroll(range(width // plan.lanes)):
                    place = kind(part * plan.lanes)
                    upper, lower = take(a.memory, one + place, plan.lanes), take(a.memory, two + place, plan.lanes)
                    put(lower, a.memory, one + place, plan.lanes)
                    put(upper, a.memory, two + place, plan.lanes)
            elif i != other:
                for column in range(held):
                    value = a.memory[one + column]
                    a.memory[one + column] = a.memory[two + column]
                    a.memory[two + column] = value
    else:
        whole = held // kind(_ABREAST) * kind(_ABREAST)
        for column in range(kind(0), whole, kind(_ABREAST)):
            _exchange_columns(a, corner, column, held, n, pivots, (matrix, begin, steps, offset), _ABREAST, plan)
        for column in range(whole, held):
            _exchange_columns(a, corner, column, held, n, pivots, (matrix, begin, steps, offset), 1, plan)
