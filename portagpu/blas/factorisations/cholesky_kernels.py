"""Cholesky factors of small matrices, many in a launch, and of the diagonal blocks of large ones; in the dialect.

Columns are finished a panel at a time: threads, each with a row (on CPUs: vectors of rows), take what the columns
before make of it off the panel; then each factors the panel's own triangle for itself, which costs less than waiting
for one that does, and solves its row. The order of sums is fixed. Where the inverse is wanted, the rows of a unit
matrix follow those of the triangle: what is done to all rows makes its conjugate transpose of them.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate, put, real_part, take
from portagpu.blas.gemm.kernels.epilogue import multiply_add

AHEAD = 4
"""Elements that a thread of a block that is alone reads at once."""


class CholeskyPlan(NamedTuple):
    """What is known when the kernel is compiled: the fields of `parameters.Blocks`, and types.

    ``pitch``: elements from column to column of a block in shared memory; ``inverts``: the inverse is wanted;
    ``separate``: triangles are read from another place than factors are written to; ``cell``: what a thread has of a
    column, ``number``: an element, ``real``: a real number; ``along``: the elements of a row are side by side.
    """

    rows: int
    panel: int
    threads: int
    groups: int
    lanes: int
    matrices: int
    pitch: int
    inverts: bool
    separate: bool
    cell: Any
    number: Any
    real: Any
    is_complex: bool
    along: bool


@cuda.jit(device=True)
def _fetch(s, base, a, start, n, whole, thread, held, plan: cuda.constexpr):
    """The lower triangle to ``s[base + column * pitch + row]``, of a unit matrix beyond it.

    A thread reads as many elements as ``held`` has places before it needs one: a block that is alone waits less so.
    """
    kind = type(n)
    across = min(plan.rows, plan.threads)
    lines = plan.threads // across
    for first in range(thread // kind(across), whole, kind(lines * AHEAD if plan.separate else lines)):
        for place in range(thread % kind(across), whole, kind(across)):
            for u in cuda.unroll(range(AHEAD if plan.separate else 1)):
                line = first + kind(u * lines)
                row = line if plan.along else place
                column = place if plan.along else line
                held[u] = plan.number(1) if row == column else plan.number(0)
                if row < n and column <= row:
                    held[u] = a.memory[start + row * a.down + column * a.right]
            for u in cuda.unroll(range(AHEAD if plan.separate else 1)):
                line = first + kind(u * lines)
                row = line if plan.along else place
                column = place if plan.along else line
                if line < whole:
                    if plan.inverts:
                        s[base + line * kind(plan.pitch) + whole + place] = plan.number(1 if line == place else 0)
                    if column <= row:
                        value = held[u]
                        if row == column:
                            value = plan.number(real_part(value, plan.is_complex))
                        s[base + column * kind(plan.pitch) + row] = value


@cuda.jit(device=True)
def _leave(s, base, a, start, n, thread, plan: cuda.constexpr):
    """The factor to where the triangle was."""
    kind = type(n)
    across = min(plan.rows, plan.threads)
    for line in range(thread // kind(across), n, kind(plan.threads // across)):
        for place in range(thread % kind(across), n, kind(across)):
            row = line if plan.along else place
            column = place if plan.along else line
            if column <= row:
                a.memory[start + row * a.down + column * a.right] = s[base + column * kind(plan.pitch) + row]


@cuda.jit(device=True)
def _leave_inverse(s, base, inverse, first, whole, thread, plan: cuda.constexpr):
    """The conjugate transpose of the factor's inverse, column by column."""
    kind = type(whole)
    across = min(plan.rows, plan.threads)
    for column in range(thread // kind(across), whole, kind(plan.threads // across)):
        for row in range(thread % kind(across), whole, kind(across)):
            inverse[first + column * kind(plan.rows) + row] = s[base + column * kind(plan.pitch) + whole + row]


@cuda.jit(device=True)
def _subtract_products(s, base, done, all_rows, thread, acc, plan: cuda.constexpr):
    """Take the products of the ``done`` finished columns off the next panel, of which a thread has some columns."""
    kind = type(all_rows)
    pitch = kind(plan.pitch)
    own_columns = plan.panel // plan.groups
    abreast = plan.threads // plan.groups
    first = done
    if plan.groups > 1:
        first = done + thread // kind(abreast) * kind(own_columns)
    at = thread % kind(abreast)
    for row in range(done + at * kind(plan.lanes), all_rows, kind(abreast * plan.lanes)):
        for w in cuda.unroll(range(own_columns)):
            acc[w] = plan.cell(take(s, base + (first + kind(w)) * pitch + row, plan.lanes))
        for k in range(done):
            own = take(s, base + k * pitch + row, plan.lanes)
            for w in cuda.unroll(range(own_columns)):
                factor = plan.cell(-conjugate(s[base + k * pitch + first + kind(w)], plan.is_complex))
                acc[w] = multiply_add(factor, own, acc[w], plan.is_complex)
        for w in cuda.unroll(range(own_columns)):
            put(acc[w], s, base + (first + kind(w)) * pitch + row, plan.lanes)


@cuda.jit(device=True)
def _factor_triangle(s, base, done, triangle, inverse, plan: cuda.constexpr):
    """The panel's own triangle, factored in a thread's registers, with inverses of its diagonal.

    Returns the number of the column whose pivot is not positive, counted from 1, or 0.
    """
    kind = type(done)
    failed = np.int32(0)
    for w in cuda.unroll(range(plan.panel)):
        for q in cuda.unroll(range(w + 1)):
            triangle[w, q] = s[base + (done + kind(q)) * kind(plan.pitch) + done + kind(w)]
    for j in cuda.unroll(range(plan.panel)):
        pivot = real_part(triangle[j, j], plan.is_complex)
        for q in cuda.unroll(range(j)):
            part = triangle[j, q]
            pivot -= real_part(part * conjugate(part, plan.is_complex), plan.is_complex)
        if not pivot > 0 and failed == 0:
            failed = np.int32(j + 1)
        root = math.sqrt(pivot)
        inverse[j] = plan.real(1) / root
        triangle[j, j] = plan.number(root)
        for i in cuda.unroll(range(j + 1, plan.panel)):
            value = triangle[i, j]
            for q in cuda.unroll(range(j)):
                value -= triangle[i, q] * conjugate(triangle[j, q], plan.is_complex)
            triangle[i, j] = value * plan.number(inverse[j])
    return failed


@cuda.jit(device=True)
def _solve_rows(s, base, done, all_rows, thread, triangle, inverse, acc, plan: cuda.constexpr):
    """The panel's rows below its triangle."""
    kind = type(all_rows)
    pitch = kind(plan.pitch)
    first = done + kind(plan.panel)
    for row in range(first + thread * kind(plan.lanes), all_rows, kind(plan.threads * plan.lanes)):
        for w in cuda.unroll(range(plan.panel)):
            value = plan.cell(take(s, base + (done + kind(w)) * pitch + row, plan.lanes))
            for q in cuda.unroll(range(w)):
                factor = plan.cell(-conjugate(triangle[w, q], plan.is_complex))
                value = multiply_add(factor, acc[q], value, plan.is_complex)
            acc[w] = value * plan.cell(inverse[w])
            put(acc[w], s, base + (done + kind(w)) * pitch + row, plan.lanes)


@cuda.jit
def factor_cholesky(a, source, inverses, n, count, before, info, plan: cuda.constexpr):
    """Lower triangles of Hermitian matrices of n <= ``plan.rows`` rows become their Cholesky factors.

    a: a `Strided`, of which only lower triangles are read and written; source: another one, from which they are read if
    ``plan.separate``, with strides in the same order; inverses: if ``plan.inverts``, memory for the conjugate
    transposes of the factors' inverses, ``plan.rows`` columns of as many elements each; count: matrices; info: it
    becomes of each matrix 0, or the order of the first leading minor that is not positive definite, counted in the
    whole matrix, which has ``before`` rows before this block. A matrix that failed in a block before this one is left
    as it is. plan: a `CholeskyPlan`. A block for each ``matrices`` matrices.
    """
    kind = type(n)
    panel = plan.panel
    extent = plan.rows * plan.pitch
    s = cuda.shared.array(extent * plan.matrices, plan.number, alignment=64)
    triangle = cuda.local.array((panel, panel), plan.number)
    inverse = cuda.local.array(panel, plan.real)
    acc = cuda.local.array(panel, plan.cell)
    held = cuda.local.array(AHEAD, plan.number)
    thread = kind(cuda.threadIdx.x) % kind(plan.threads)
    group = kind(cuda.threadIdx.x) // kind(plan.threads)
    given = kind(cuda.blockIdx.x) * kind(plan.matrices) + group
    matrix = min(given, count - kind(1))
    own = given < count and (before == 0 or info[matrix] == 0)
    base = group * kind(extent)
    start = a.first + matrix * a.batch
    whole = (n + kind(panel - 1)) // kind(panel) * kind(panel)
    failed = np.int32(0)
    all_rows = whole * kind(2 if plan.inverts else 1)
    if plan.separate:
        _fetch(s, base, source, source.first + matrix * source.batch, n, whole, thread, held, plan)
    else:
        _fetch(s, base, a, start, n, whole, thread, held, plan)
    cuda.syncthreads()
    for done in range(kind(0), whole, kind(panel)):
        _subtract_products(s, base, done, all_rows, thread, acc, plan)
        cuda.syncthreads()
        found = _factor_triangle(s, base, done, triangle, inverse, plan)
        if found > 0 and failed == 0:
            failed = np.int32(done) + found
        cuda.syncthreads()
        if thread == 0:
            for w in cuda.unroll(range(panel)):
                for q in cuda.unroll(range(w + 1)):
                    s[base + (done + kind(q)) * kind(plan.pitch) + done + kind(w)] = triangle[w, q]
        _solve_rows(s, base, done, all_rows, thread, triangle, inverse, acc, plan)
        cuda.syncthreads()
    if own:
        _leave(s, base, a, start, n, thread, plan)
        if plan.inverts:
            _leave_inverse(s, base, inverses, matrix * kind(plan.rows * plan.rows), whole, thread, plan)
        if thread == 0 and (before == 0 or failed > 0):
            info[matrix] = before + failed if failed > 0 else np.int32(0)
