"""Cholesky factors of small matrices, many in a launch, and of the diagonal blocks of large ones; in the dialect.

Columns are finished a panel at a time: threads, each with a row (on CPUs: vectors of rows), take what the columns
before make of it off the panel; then each factors the panel's own triangle for itself, which costs less than waiting
for one that does, and solves its row. The order of sums is fixed.
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


class CholeskyPlan(NamedTuple):
    """What is known when the kernel is compiled: the fields of `parameters.Blocks`, and types.

    ``pitch``: elements from column to column of a block in shared memory; ``cell``: what a thread has of a column,
    ``number``: an element, ``real``: a real number; ``along``: the elements of a row are side by side.
    """

    rows: int
    panel: int
    threads: int
    lanes: int
    matrices: int
    pitch: int
    cell: Any
    number: Any
    real: Any
    is_complex: bool
    along: bool


@cuda.jit(device=True)
def _fetch(s, base, a, start, n, whole, thread, plan: cuda.constexpr):
    """The lower triangle to ``s[base + column * pitch + row]``, of a unit matrix beyond it."""
    kind = type(n)
    for line in range(whole):
        for place in range(thread, whole, kind(plan.threads)):
            row = line if plan.along else place
            column = place if plan.along else line
            if column <= row:
                value = plan.number(1) if row == column else plan.number(0)
                if row < n:
                    value = a.memory[start + row * a.down + column * a.right]
                    if row == column:
                        value = plan.number(real_part(value, plan.is_complex))
                s[base + column * kind(plan.pitch) + row] = value


@cuda.jit(device=True)
def _leave(s, base, a, start, n, thread, plan: cuda.constexpr):
    """The factor to where the triangle was."""
    kind = type(n)
    for line in range(n):
        for place in range(thread, n, kind(plan.threads)):
            row = line if plan.along else place
            column = place if plan.along else line
            if column <= row:
                a.memory[start + row * a.down + column * a.right] = s[base + column * kind(plan.pitch) + row]


@cuda.jit(device=True)
def _subtract_products(s, base, done, whole, thread, acc, plan: cuda.constexpr):
    """Take the products of the ``done`` finished columns off the next panel."""
    kind = type(whole)
    pitch = kind(plan.pitch)
    for row in range(done + thread * kind(plan.lanes), whole, kind(plan.threads * plan.lanes)):
        for w in cuda.unroll(range(plan.panel)):
            acc[w] = plan.cell(take(s, base + (done + kind(w)) * pitch + row, plan.lanes))
        for k in range(done):
            own = take(s, base + k * pitch + row, plan.lanes)
            for w in cuda.unroll(range(plan.panel)):
                factor = plan.cell(-conjugate(s[base + k * pitch + done + kind(w)], plan.is_complex))
                acc[w] = multiply_add(factor, own, acc[w], plan.is_complex)
        for w in cuda.unroll(range(plan.panel)):
            put(acc[w], s, base + (done + kind(w)) * pitch + row, plan.lanes)


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
def _solve_rows(s, base, done, whole, thread, triangle, inverse, acc, plan: cuda.constexpr):
    """The panel's rows below its triangle."""
    kind = type(whole)
    pitch = kind(plan.pitch)
    first = done + kind(plan.panel)
    for row in range(first + thread * kind(plan.lanes), whole, kind(plan.threads * plan.lanes)):
        for w in cuda.unroll(range(plan.panel)):
            value = plan.cell(take(s, base + (done + kind(w)) * pitch + row, plan.lanes))
            for q in cuda.unroll(range(w)):
                factor = plan.cell(-conjugate(triangle[w, q], plan.is_complex))
                value = multiply_add(factor, acc[q], value, plan.is_complex)
            acc[w] = value * plan.cell(inverse[w])
            put(acc[w], s, base + (done + kind(w)) * pitch + row, plan.lanes)


@cuda.jit
def factor_cholesky(a, n, count, before, info, plan: cuda.constexpr):
    """Lower triangles of Hermitian matrices of n <= ``plan.rows`` rows become their Cholesky factors.

    a: a `Strided`, of which only lower triangles are read and written; count: matrices; info: of each matrix 0, or the
    order of the first leading minor that is not positive definite, counted in the whole matrix, which has ``before``
    rows before this block. A matrix whose info is not 0 is left as it is. plan: a `CholeskyPlan`. A block for each
    ``matrices`` matrices.
    """
    kind = type(n)
    panel = plan.panel
    extent = plan.rows * plan.pitch
    s = cuda.shared.array(extent * plan.matrices, plan.number, alignment=64)
    triangle = cuda.local.array((panel, panel), plan.number)
    inverse = cuda.local.array(panel, plan.real)
    acc = cuda.local.array(panel, plan.cell)
    thread = kind(cuda.threadIdx.x) % kind(plan.threads)
    group = kind(cuda.threadIdx.x) // kind(plan.threads)
    given = kind(cuda.blockIdx.x) * kind(plan.matrices) + group
    matrix = min(given, count - kind(1))
    own = given < count and info[matrix] == 0
    base = group * kind(extent)
    start = a.first + matrix * a.batch
    whole = (n + kind(panel - 1)) // kind(panel) * kind(panel)
    failed = np.int32(0)
    _fetch(s, base, a, start, n, whole, thread, plan)
    cuda.syncthreads()
    for done in range(kind(0), whole, kind(panel)):
        _subtract_products(s, base, done, whole, thread, acc, plan)
        cuda.syncthreads()
        found = _factor_triangle(s, base, done, triangle, inverse, plan)
        if found > 0 and failed == 0:
            failed = np.int32(done) + found
        cuda.syncthreads()
        if thread == 0:
            for w in cuda.unroll(range(panel)):
                for q in cuda.unroll(range(w + 1)):
                    s[base + (done + kind(q)) * kind(plan.pitch) + done + kind(w)] = triangle[w, q]
        _solve_rows(s, base, done, whole, thread, triangle, inverse, acc, plan)
        cuda.syncthreads()
    if own:
        _leave(s, base, a, start, n, thread, plan)
        if thread == 0 and failed > 0:
            info[matrix] = before + failed
