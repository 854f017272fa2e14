"""LU factors with partial pivoting of columns of a matrix, and of small matrices, many in a launch; in the dialect.

A block factors the columns in a column-major copy of them, in shared memory if they fit: ``panel`` columns one by one,
each with a search for its pivot, then all columns to the right by the products of these. Ties are won by the first row,
as in LAPACK.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import put, take
from portagpu.blas.gemm.kernels.epilogue import multiply_add

_ALL_LANES = 0xFFFFFFFF
_STRETCH = 16  # vectors whose largest magnitude is compared with that of those before
FEW = 32
"""Threads that bring together what others found."""


class LuPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``elements``: of shared memory for a matrix, 0 if the copy is in global memory; ``panel``: columns between products;
    ``threads``: of a matrix, ``across`` of them along a row when it is copied; ``lanes``: rows of a thread, side by
    side in a vector; ``matrices``: of a block; ``cell``: what a thread has of a column, ``number``: an element,
    ``real``: a real number; ``least``: the smallest normal one; ``along``: the elements of a row are side by side,
    ``lines``: those of a column.
    """

    elements: int
    panel: int
    threads: int
    across: int
    lanes: int
    matrices: int
    cell: Any
    number: Any
    real: Any
    least: float
    is_complex: bool
    along: bool
    lines: bool


class Found(NamedTuple):
    """Shared memory for the largest magnitudes that threads found, and where."""

    values: Any
    rows: Any
    few_values: Any
    few_rows: Any


@cuda.jit(device=True)
def _copy_line(target, to, source, begin, count, plan: cuda.constexpr):
    """Copy neighbours in memory, by vectors."""
    kind = type(count)
    whole = count // kind(plan.lanes) * kind(plan.lanes)
    for i in range(kind(0), whole, kind(plan.lanes)):
        put(take(source, begin + i, plan.lanes), target, to + i, plan.lanes)
    for i in range(whole, count):
        target[to + i] = source[begin + i]


@cuda.jit(device=True)
def _copy_in(s, base, pitch, a, start, m, n, thread, plan: cuda.constexpr):
    """The matrix's columns to ``s[base + column * pitch + row]``."""
    kind = type(m)
    if plan.lines and plan.threads == 1:
        for column in range(n):
            _copy_line(s, base + column * pitch, a.memory, start + column * a.right, m, plan)
    elif plan.along:
        for row in range(thread // kind(plan.across), m, kind(plan.threads // plan.across)):
            for column in range(thread % kind(plan.across), n, kind(plan.across)):
                s[base + column * pitch + row] = a.memory[start + row * a.down + column * a.right]
    else:
        for column in range(n):
            for row in range(thread, m, kind(plan.threads)):
                s[base + column * pitch + row] = a.memory[start + row * a.down + column * a.right]


@cuda.jit(device=True)
def _copy_out(s, base, pitch, a, start, m, n, thread, plan: cuda.constexpr):
    """The columns back to the matrix."""
    kind = type(m)
    if plan.lines and plan.threads == 1:
        for column in range(n):
            _copy_line(a.memory, start + column * a.right, s, base + column * pitch, m, plan)
    elif plan.along:
        for row in range(thread // kind(plan.across), m, kind(plan.threads // plan.across)):
            for column in range(thread % kind(plan.across), n, kind(plan.across)):
                a.memory[start + row * a.down + column * a.right] = s[base + column * pitch + row]
    else:
        for column in range(n):
            for row in range(thread, m, kind(plan.threads)):
                a.memory[start + row * a.down + column * a.right] = s[base + column * pitch + row]


@cuda.jit(device=True)
def magnitude(value, is_complex: cuda.constexpr):
    """What pivots are compared by: LAPACK takes the sum of the parts of complex numbers."""
    return abs(value.real) + abs(value.imag) if is_complex else abs(value)


@cuda.jit(device=True)
def pivot_size(value, is_first, real: cuda.constexpr, is_complex: cuda.constexpr):
    """Size of a candidate for the pivot. A NaN in the first row stays the pivot, as in LAPACK; others never win."""
    size = magnitude(value, is_complex)
    if math.isnan(size):
        size = real(np.inf) if is_first else real(-1)
    return size


@cuda.jit(device=True)
def divisor_of(pivot):
    """The divisor of a column: its pivot. A pivot of 0 leaves the column, whose NaN then reach the rows below."""
    return pivot if pivot != 0 else type(pivot)(1)


@cuda.jit(device=True)
def largest_of_lanes(best, place, doublings: cuda.constexpr):
    """The largest of the magnitudes of 1 << doublings neighbours and its row, of equal ones the first row's."""
    for i in cuda.unroll(range(doublings)):
        other = cuda.shfl_xor_sync(_ALL_LANES, best, 1 << i)
        row = cuda.shfl_xor_sync(_ALL_LANES, place, 1 << i)
        if other > best or (other == best and row < place):
            best = other
            place = row
    return best, place


@cuda.jit(device=True)
def tell_failure(info, matrix, before, failed):
    """``info[matrix]`` becomes the number of the first pivot that is zero, counted from 1 in the whole matrix, or 0.

    before: columns before these, whose kernels have been here; failed: the number among these, or 0.
    """
    if before == 0:
        info[matrix] = failed
    elif failed > 0 and info[matrix] == 0:
        info[matrix] = before + failed


@cuda.jit(device=True)
def _largest_of_thread(s, at, j, m, thread, plan: cuda.constexpr):
    """The largest magnitude among a thread's rows from j on of the column that begins at ``at``, and its row."""
    kind = type(m)
    best = plan.real(-1)
    place = j
    if plan.lanes == 1:
        for row in range(j + thread, m, kind(plan.threads)):
            found = magnitude(s[at + row], plan.is_complex)
            if found > best:
                best = found
                place = row
        return best, place
    vectors = (m - j) // kind(plan.lanes) * kind(plan.lanes) + j
    stretch = kind(_STRETCH * plan.lanes)
    begin = vectors
    for first in range(j, vectors, stretch):
        largest = plan.cell(0)
        for row in range(first, min(first + stretch, vectors), kind(plan.lanes)):
            largest = max(largest, abs(plan.cell(cuda.vload(s, at + row, plan.lanes))))
        most = largest[0]
        for lane in cuda.unroll(range(1, plan.lanes)):
            most = max(most, largest[lane])
        if most > best:
            best = most
            begin = first
    for row in range(vectors, m):
        if abs(s[at + row]) > best:
            best = abs(s[at + row])
            begin = row
    place = begin
    while place < m - kind(1) and abs(s[at + place]) != best:
        place += kind(1)
    if abs(s[at + place]) != best:  # only NaN
        place = j
    return best, place


@cuda.jit(device=True)
def _first_largest(values, rows, base, begin, end):
    """The largest of some values that threads left, of equal ones that of the first row, and its row."""
    best = values[base + begin]
    place = rows[base + begin]
    for t in range(begin + type(begin)(1), end):
        found = values[base + t]
        row = rows[base + t]
        if found > best or (found == best and row < place):
            best = found
            place = row
    return best, place


@cuda.jit(device=True)
def agreed_row(best, place, thread, group, found, threads: cuda.constexpr):
    """The row of the largest of the magnitudes that a matrix's threads found; for all of them."""
    kind = type(place)
    own = group * kind(threads)
    found.values[own + thread] = best
    found.rows[own + thread] = place
    cuda.syncthreads()
    if threads > FEW:
        each = kind(threads // FEW)
        if thread < kind(FEW):
            begin = thread * each
            best, place = _first_largest(found.values, found.rows, own, begin, begin + each)
            found.few_values[group * kind(FEW) + thread] = best
            found.few_rows[group * kind(FEW) + thread] = place
        cuda.syncthreads()
        best, place = _first_largest(found.few_values, found.few_rows, group * kind(FEW), kind(0), kind(FEW))
    else:
        best, place = _first_largest(found.values, found.rows, own, kind(0), kind(threads))
    return place


@cuda.jit(device=True)
def _pivot_row(s, at, j, m, thread, group, found, plan: cuda.constexpr):
    """The row of the largest magnitude from row j on of the column that begins at ``at``; for all threads."""
    diagonal = s[at + j]  # before the barriers of `agreed_row`: after them, threads exchange rows
    best, place = _largest_of_thread(s, at, j, m, thread, plan)
    if plan.threads * plan.matrices > 1:
        place = agreed_row(best, place, thread, group, found, plan.threads)
    return place if diagonal == diagonal else j  # see `pivot_size`


@cuda.jit(device=True)
def _factor_of(pivot, plan: cuda.constexpr):
    """What divides by a pivot as a factor, where vectors are multiplied faster and it is a normal number; else 0."""
    if plan.lanes == 1:
        return plan.number(0)
    if plan.number(plan.least) <= abs(pivot) and abs(pivot) <= plan.number(1.0 / plan.least):
        return plan.number(1) / pivot
    return plan.number(0)


@cuda.jit(device=True)
def _eliminate(s, base, pitch, j, end, m, thread, plan: cuda.constexpr):
    """Divide column j by its pivot, and take its products off the columns up to ``end``."""
    kind = type(m)
    pivot = divisor_of(s[base + j * pitch + j])
    inverse = _factor_of(pivot, plan)
    for row in range(j + kind(1) + thread * kind(plan.lanes), m, kind(plan.threads * plan.lanes)):
        factor = plan.cell(take(s, base + j * pitch + row, plan.lanes))
        if inverse != 0:
            factor = factor * plan.cell(inverse)
        else:
            factor = factor / plan.cell(pivot)
        put(factor, s, base + j * pitch + row, plan.lanes)
        for k in range(j + kind(1), end):
            other = plan.cell(take(s, base + k * pitch + row, plan.lanes))
            other = multiply_add(plan.cell(-s[base + k * pitch + j]), factor, other, plan.is_complex)
            put(other, s, base + k * pitch + row, plan.lanes)


@cuda.jit(device=True)
def _solve_tops(s, base, pitch, first, end, n, thread, plan: cuda.constexpr):
    """The rows of the latest pivots, ``first`` to ``end``, in the columns to the right: a unit lower triangle's."""
    kind = type(n)
    for column in range(end + thread, n, kind(plan.threads)):
        for row in range(first + kind(1), end):
            value = s[base + column * pitch + row]
            for q in range(first, row):
                value -= s[base + q * pitch + row] * s[base + column * pitch + q]
            s[base + column * pitch + row] = value


@cuda.jit(device=True)
def _update_right(s, base, pitch, first, m, n, thread, factors, plan: cuda.constexpr):
    """Take the products of the latest ``panel`` columns off those to the right."""
    kind = type(m)
    end = first + kind(plan.panel)
    paired = end
    if plan.threads == 1:
        paired = end + (m - end) // kind(2 * plan.lanes) * kind(2 * plan.lanes)
        for row in range(end, paired, kind(2 * plan.lanes)):
            _update_rows(s, base, pitch, first, row, n, factors, 2, plan)
    for row in range(paired + thread * kind(plan.lanes), m, kind(plan.threads * plan.lanes)):
        _update_rows(s, base, pitch, first, row, n, factors, 1, plan)


@cuda.jit(device=True)
def _update_rows(s, base, pitch, first, row, n, factors, abreast: cuda.constexpr, plan: cuda.constexpr):
    """`_update_right` for ``abreast`` cells from ``row`` on."""
    kind = type(row)
    values = cuda.local.array(abreast, plan.cell)
    for q in cuda.unroll(range(plan.panel)):
        for u in cuda.unroll(range(abreast)):
            at = base + (first + kind(q)) * pitch + row + kind(u * plan.lanes)
            factors[q, u] = plan.cell(take(s, at, plan.lanes))
    for k in range(first + kind(plan.panel), n):
        for u in cuda.unroll(range(abreast)):
            values[u] = plan.cell(take(s, base + k * pitch + row + kind(u * plan.lanes), plan.lanes))
        for q in cuda.unroll(range(plan.panel)):
            top = plan.cell(-s[base + k * pitch + first + kind(q)])
            for u in cuda.unroll(range(abreast)):
                values[u] = multiply_add(factors[q, u], top, values[u], plan.is_complex)
        for u in cuda.unroll(range(abreast)):
            put(values[u], s, base + k * pitch + row + kind(u * plan.lanes), plan.lanes)


@cuda.jit
def factor_columns(a, copies, pitch, m, n, count, before, pivots, info, plan: cuda.constexpr):
    """``a = P L U`` for m x n matrices, in place: L below the diagonal of ones, U on and above it.

    a: a `Strided`; copies: memory for columns, unless ``plan.elements``; pitch: elements from column to column of the
    copy; count: matrices. pivots: (count, all) int32: the rows, counted from 0 in the whole matrix, with which row
    ``before`` and those after it were exchanged. info: as `tell_failure` leaves it. plan: a `LuPlan`.
    """
    kind = type(m)
    threads, matrices = plan.threads, plan.matrices
    factors = cuda.local.array((plan.panel, 2 if plan.threads == 1 else 1), plan.cell)
    values = cuda.shared.array(threads * matrices, plan.real)
    rows = cuda.shared.array(threads * matrices, kind)
    few_values = cuda.shared.array(FEW * matrices, plan.real)
    few_rows = cuda.shared.array(FEW * matrices, kind)
    found = Found(values, rows, few_values, few_rows)
    thread = kind(cuda.threadIdx.x) % kind(threads)
    group = kind(cuda.threadIdx.x) // kind(threads)
    given = kind(cuda.blockIdx.x) * kind(matrices) + group
    matrix = min(given, count - kind(1))
    own = given < count
    start = a.first + matrix * a.batch
    if plan.elements > 0:
        s = cuda.shared.array(plan.elements * matrices, plan.number, alignment=64)
        base = group * kind(plan.elements)
    else:
        s = copies
        base = matrix * n * pitch
    failed = np.int32(0)
    _copy_in(s, base, pitch, a, start, m, n, thread, plan)
    cuda.syncthreads()
    least = min(m, n)
    for first in range(kind(0), least, kind(plan.panel)):
        end = min(first + kind(plan.panel), least)
        for j in range(first, end):
            place = _pivot_row(s, base + j * pitch, j, m, thread, group, found, plan)
            if thread == 0 and own:
                pivots[matrix, before + np.int32(j)] = before + np.int32(place)
            if place != j:
                for column in range(thread, n, kind(threads)):
                    held = s[base + column * pitch + j]
                    s[base + column * pitch + j] = s[base + column * pitch + place]
                    s[base + column * pitch + place] = held
            cuda.syncthreads()
            if s[base + j * pitch + j] == 0 and failed == 0:
                failed = np.int32(j) + 1
            # a panel that is cut off by the last row has all columns to its right in this loop
            _eliminate(s, base, pitch, j, n if end < first + kind(plan.panel) else end, m, thread, plan)
            cuda.syncthreads()
        if end == first + kind(plan.panel) and end < n:
            _solve_tops(s, base, pitch, first, end, n, thread, plan)
            cuda.syncthreads()
            _update_right(s, base, pitch, first, m, n, thread, factors, plan)
            cuda.syncthreads()
    if own:
        _copy_out(s, base, pitch, a, start, m, n, thread, plan)
        if thread == 0:
            tell_failure(info, matrix, before, failed)
