"""Triangular systems of few rows by substitution on GPUs; in the dialect. For CPUs see `strip_kernels`.

A thread has a column of the right sides, and finds ``together`` rows of the solution at a time in registers, from those
before. A block's columns are in shared memory.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add

_AT_ONCE = 8  # loads of a thread


class SubstitutionPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``rows``: the most rows, a multiple of ``together``; ``columns``: threads of a matrix, each with ``vectors`` cells
    of ``lanes`` columns; ``pitch``: cells from row to row; ``matrices``: of a block. ``cell``: the type of a cell (a
    vector, or a number where ``lanes`` is 1), ``number``: of an element. ``is_complex``; ``unit``: ones on the
    diagonal, which is not read then; ``conjugate``: of the triangle; ``a_along``, ``b_along``: neighbours of a row are
    side by side.
    """

    rows: int
    together: int
    columns: int
    pitch: int
    vectors: int
    lanes: int
    matrices: int
    cell: Any
    number: Any
    itemsize: int
    is_complex: bool
    unit: bool
    conjugate: bool
    a_along: bool
    b_along: bool


@cuda.jit(device=True)
def coefficient(a, start, row, column, n, plan: cuda.constexpr):
    """An element of the lower triangle; those of a unit matrix beyond it."""
    if plan.unit and row == column:
        return plan.number(1)
    if row < n and column <= row:
        value = a.memory[start + row * a.down + column * a.right]
        return value.conjugate() if plan.conjugate else value
    return plan.number(1) if row == column else plan.number(0)


@cuda.jit(device=True)
def _row_of(number, plan: cuda.constexpr):
    """Row of a staged element among those together, by its number: neighbours in memory follow one another."""
    kind = type(number)
    if plan.a_along:
        return number % kind(plan.columns * plan.together) // kind(plan.columns)
    return number % kind(plan.together)


@cuda.jit(device=True)
def _column_of(number, plan: cuda.constexpr):
    """Column of a staged element, by its number."""
    kind = type(number)
    if plan.a_along:
        return number // kind(plan.columns * plan.together) * kind(plan.columns) + number % kind(plan.columns)
    return number // kind(plan.together)


@cuda.jit(device=True)
def _stage(panel, base, a, start, row0, n, thread, plan: cuda.constexpr):
    """Rows from ``row0`` on, up to the diagonal, to ``panel[base + column * together + row]``.

    Loads come in groups, since a thread would wait for each one.
    """
    together = plan.together
    kind = type(n)
    width = row0 + kind(together)
    part = cuda.local.array(_AT_ONCE, plan.number)
    for first in range(kind(0), width * kind(together), kind(plan.columns * _AT_ONCE)):
        for u in cuda.unroll(range(_AT_ONCE)):
            number = first + kind(u * plan.columns) + thread
            part[u] = plan.number(0)
            if _column_of(number, plan) < width:
                row = row0 + _row_of(number, plan)
                part[u] = coefficient(a, start, row, _column_of(number, plan), n, plan)
        for u in cuda.unroll(range(_AT_ONCE)):
            number = first + kind(u * plan.columns) + thread
            if _column_of(number, plan) < width:
                panel[base + _column_of(number, plan) * kind(together) + _row_of(number, plan)] = part[u]


@cuda.jit(device=True)
def _cell_of(step, thread, plan: cuda.constexpr):
    """Row and column of what a thread fetches in a step: neighbours in memory are those of neighbouring threads."""
    kind = type(step)
    if plan.b_along:
        return step, thread
    number = step * kind(plan.columns) + thread
    return number % kind(plan.rows), number // kind(plan.rows)


@cuda.jit(device=True)
def _fetch(x, base, b, start, n, m, first, thread, scale, plan: cuda.constexpr):
    """Right sides to ``x``, times a factor, zeros where there are none; loads in groups, as of `_stage`.

    first: the block's first column; base: of the matrix in x.
    """
    kind = type(n)
    part = cuda.local.array(_AT_ONCE, plan.number)
    whole = (n + kind(plan.together - 1)) // kind(plan.together) * kind(plan.together)
    for turn in range(plan.rows // _AT_ONCE):
        first_step = kind(turn) * kind(_AT_ONCE)
        for u in cuda.unroll(range(_AT_ONCE)):
            i, j = _cell_of(first_step + kind(u), thread, plan)
            part[u] = plan.number(0)
            if i < n and first + j < m:
                part[u] = b.memory[start + i * b.down + (first + j) * b.right]
        for u in cuda.unroll(range(_AT_ONCE)):
            i, j = _cell_of(first_step + kind(u), thread, plan)
            if i < whole:
                x[base + i * kind(plan.pitch) + j] = part[u] * scale


@cuda.jit(device=True)
def _leave(x, base, b, start, n, m, first, thread, plan: cuda.constexpr):
    """Solutions to where the right sides were."""
    kind = type(n)
    for step in range(plan.rows):
        i, j = _cell_of(kind(step), thread, plan)
        if i < n and first + j < m:
            b.memory[start + i * b.down + (first + j) * b.right] = x[base + i * kind(plan.pitch) + j]


@cuda.jit(device=True)
def _substitute(x, base, panel, panel_base, row0, thread, acc, plan: cuda.constexpr):
    """Rows from ``row0`` on of the solution, of those before and the staged rows of the triangle."""
    together, vectors = plan.together, plan.vectors
    kind = type(row0)
    pitch = kind(plan.pitch)
    own = base + thread
    for r in cuda.unroll(range(together)):
        for v in cuda.unroll(range(vectors)):
            acc[r, v] = x[own + (row0 + kind(r)) * pitch + kind(v * plan.columns)]
    for k in range(row0):
        for v in cuda.unroll(range(vectors)):
            value = x[own + k * pitch + kind(v * plan.columns)]
            at = panel_base + k * kind(together)
            if plan.is_complex:
                for r in cuda.unroll(range(together)):
                    acc[r, v] = multiply_add(plan.cell(-panel[at + kind(r)]), value, acc[r, v], plan.is_complex)
            else:
                for part in cuda.unroll(range(together // 4)):
                    factors = cuda.vload(panel, at + kind(part * 4), 4, aligned=True)
                    for r in cuda.unroll(range(4)):
                        acc[part * 4 + r, v] = multiply_add(-factors[r], value, acc[part * 4 + r, v], False)
    for r in cuda.unroll(range(together)):
        for q in cuda.unroll(range(r)):
            factor = plan.cell(-panel[panel_base + (row0 + kind(q)) * kind(together) + kind(r)])
            for v in cuda.unroll(range(vectors)):
                acc[r, v] = multiply_add(factor, acc[q, v], acc[r, v], plan.is_complex)
        if not plan.unit:
            divisor = plan.cell(panel[panel_base + (row0 + kind(r)) * kind(together) + kind(r)])
            for v in cuda.unroll(range(vectors)):
                acc[r, v] = acc[r, v] / divisor
        for v in cuda.unroll(range(vectors)):
            x[own + (row0 + kind(r)) * pitch + kind(v * plan.columns)] = acc[r, v]


@cuda.jit
def substitute(a, b, n, m, count, scale, plan: cuda.constexpr):
    """``b = inv(a) @ (scale * b)`` for lower triangles ``a`` of n <= ``plan.rows`` rows; b has m columns.

    a, b: each a `Strided`; count: matrices; plan: a `SubstitutionPlan`. The grid is one-dimensional: for each
    ``matrices`` matrices, a block for each strip of columns.
    """
    kind = type(n)
    together = plan.together
    cells = plan.rows * plan.pitch
    acc = cuda.local.array((together, plan.vectors), plan.cell)
    x = cuda.shared.array(cells * plan.matrices, plan.cell)
    panel = cuda.shared.array(plan.rows * together * plan.matrices, plan.number, alignment=64)
    thread = kind(cuda.threadIdx.x) % kind(plan.columns)
    group = kind(cuda.threadIdx.x) // kind(plan.columns)
    width = kind(plan.columns * plan.vectors * plan.lanes)
    strips = (m + (width - kind(1))) // width
    block = kind(cuda.blockIdx.x)
    first = block % strips * width
    matrix = min(block // strips * kind(plan.matrices) + group, count - kind(1))
    own = block // strips * kind(plan.matrices) + group < count
    base, panel_base = group * kind(cells), group * kind(plan.rows * together)
    a_start, b_start = a.first + matrix * a.batch, b.first + matrix * b.batch
    _fetch(x, base, b, b_start, n, m, first, thread, scale, plan)
    for row0 in range(kind(0), n, kind(together)):
        cuda.syncthreads()
        _stage(panel, panel_base, a, a_start, row0, n, thread, plan)
        cuda.syncthreads()
        _substitute(x, base, panel, panel_base, row0, thread, acc, plan)
    cuda.syncthreads()
    if own:
        _leave(x, base, b, b_start, n, m, first, thread, plan)
