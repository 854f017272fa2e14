"""Triangular systems of few rows by substitution on CPUs; in the dialect.

A work-group is one thread. It copies the triangle once, in the order in which it is read, for several strips of the
right sides; of a strip it has a vector or two of neighbouring columns, and finds ``together`` rows of the solution at a
time in registers, from those before.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add
from portagpu.blas.level3.triangular_kernels import coefficient

_LINE = 64  # bytes


@cuda.jit(device=True)
def _stage(panel, a, start, n, plan: cuda.constexpr):
    """The triangle, ``together`` rows at a time up to the diagonal, each of their columns side by side."""
    together = plan.together
    kind = type(n)
    base = kind(0)
    for row0 in range(kind(0), n, kind(together)):
        if row0 + kind(together) <= n:
            for k in range(row0):
                at = start + row0 * a.down + k * a.right
                for r in cuda.unroll(range(together)):
                    value = a.memory[at + kind(r) * a.down]
                    panel[base + k * kind(together) + kind(r)] = value.conjugate() if plan.conjugate else value
        else:
            for k in range(row0):
                for r in range(kind(together)):
                    panel[base + k * kind(together) + r] = coefficient(a, start, row0 + r, k, n, plan)
        for k in range(kind(together)):
            for r in range(kind(together)):
                place = base + (row0 + k) * kind(together) + r
                panel[place] = coefficient(a, start, row0 + r, row0 + k, n, plan)
        base += (row0 + kind(together)) * kind(together)


@cuda.jit(device=True)
def _cell(x, at, plan: cuda.constexpr):
    """A cell of a strip's row."""
    if plan.lanes == 1:
        return x[at]
    return plan.cell(cuda.vload(x, at, plan.lanes, aligned=True))


@cuda.jit(device=True)
def _set_cell(cell, x, at, plan: cuda.constexpr):
    """Store a cell of a strip's row."""
    if plan.lanes == 1:
        x[at] = cell
    else:
        cuda.vstore(cell, x, at, aligned=True)


@cuda.jit(device=True)
def _fetch(x, b, start, n, held, scale, plan: cuda.constexpr):
    """A strip of the right sides, ``held`` columns, times a factor; zeros beyond them."""
    kind = type(n)
    width = kind(plan.vectors * plan.lanes)
    whole = (n + kind(plan.together - 1)) // kind(plan.together) * kind(plan.together)
    if held < width:
        for place in range(whole * width):
            x[place] = plan.number(0)
    else:
        for place in range(n * width, whole * width):
            x[place] = plan.number(0)
    if not plan.b_along:
        for j in range(held):
            at = start + j * b.right
            for i in range(n):
                x[i * width + j] = plan.number(b.memory[at + i * b.down] * scale)
    elif held == width and plan.lanes > 1:
        for i in range(n):
            for v in cuda.unroll(range(plan.vectors)):
                place = kind(v * plan.lanes)
                cell = plan.cell(cuda.vload(b.memory, start + i * b.down + place, plan.lanes))
                _set_cell(plan.cell(cell * plan.cell(scale)), x, i * width + place, plan)
    else:
        for i in range(n):
            for j in range(held):
                x[i * width + j] = plan.number(b.memory[start + i * b.down + j * b.right] * scale)


@cuda.jit(device=True)
def _ask(b, start, n, held, plan: cuda.constexpr):
    """Ask for the lines of a strip of the right sides: columns, or rows, are a page of memory or more apart."""
    kind = type(n)
    line = kind(_LINE // plan.itemsize)
    outer, inner = (n, held) if plan.b_along else (held, n)
    across, along = (b.down, b.right) if plan.b_along else (b.right, b.down)
    for i in range(outer):
        for j in range(kind(0), inner, line):
            cuda.prefetch(b.memory, start + i * across + j * along)


@cuda.jit(device=True)
def _leave(x, b, start, n, held, plan: cuda.constexpr):
    """The strip's solutions to where the right sides were."""
    kind = type(n)
    width = kind(plan.vectors * plan.lanes)
    if not plan.b_along:
        for j in range(held):
            at = start + j * b.right
            for i in range(n):
                b.memory[at + i * b.down] = x[i * width + j]
    elif held == width and plan.lanes > 1:
        for i in range(n):
            for v in cuda.unroll(range(plan.vectors)):
                place = kind(v * plan.lanes)
                cuda.vstore(_cell(x, i * width + place, plan), b.memory, start + i * b.down + place)
    else:
        for i in range(n):
            for j in range(held):
                b.memory[start + i * b.down + j * b.right] = x[i * width + j]


@cuda.jit(device=True)
def _substitute(x, panel, base, row0, acc, plan: cuda.constexpr):
    """Rows from ``row0`` on of a strip's solution, of those before and the triangle's rows, which begin at ``base``."""
    together, vectors = plan.together, plan.vectors
    kind = type(row0)
    width = kind(vectors * plan.lanes)
    for r in cuda.unroll(range(together)):
        for v in cuda.unroll(range(vectors)):
            acc[r, v] = _cell(x, (row0 + kind(r)) * width + kind(v * plan.lanes), plan)
    for k in range(row0):
        at = base + k * kind(together)
        for v in cuda.unroll(range(vectors)):
            value = -_cell(x, k * width + kind(v * plan.lanes), plan)
            for r in cuda.unroll(range(together)):
                acc[r, v] = multiply_add(plan.cell(panel[at + kind(r)]), value, acc[r, v], plan.is_complex)
    for r in cuda.unroll(range(together)):
        for q in cuda.unroll(range(r)):
            factor = plan.cell(-panel[base + (row0 + kind(q)) * kind(together) + kind(r)])
            for v in cuda.unroll(range(vectors)):
                acc[r, v] = multiply_add(factor, acc[q, v], acc[r, v], plan.is_complex)
        if not plan.unit:
            divisor = plan.cell(panel[base + (row0 + kind(r)) * kind(together) + kind(r)])
            for v in cuda.unroll(range(vectors)):
                acc[r, v] = acc[r, v] / divisor
        for v in cuda.unroll(range(vectors)):
            _set_cell(acc[r, v], x, (row0 + kind(r)) * width + kind(v * plan.lanes), plan)


@cuda.jit
def substitute_strips(a, b, n, m, count, scale, strips, plan: cuda.constexpr):
    """As `triangular_kernels.substitute`, by blocks of one thread, each with ``strips`` strips of a matrix's columns.

    plan: a `SubstitutionPlan` with one thread for each of one matrix.
    """
    kind = type(n)
    together = plan.together
    acc = cuda.local.array((together, plan.vectors), plan.cell)
    x = cuda.local.array(plan.rows * plan.vectors * plan.lanes, plan.number)
    panel = cuda.local.array(plan.rows * (plan.rows + together) // 2, plan.number)
    width = kind(plan.vectors * plan.lanes)
    shares = (m + (strips * width - kind(1))) // (strips * width)
    block = kind(cuda.blockIdx.x)
    matrix = block // shares
    begin = block % shares * strips * width
    end = min(m, begin + strips * width)
    _stage(panel, a, a.first + matrix * a.batch, n, plan)
    for column in range(begin, end, width):
        held = min(width, end - column)
        start = b.first + matrix * b.batch + column * b.right
        _fetch(x, b, start, n, held, scale, plan)
        if column + width < end:
            _ask(b, start + width * b.right, n, min(width, end - column - width), plan)
        base = kind(0)
        for row0 in range(kind(0), n, kind(together)):
            _substitute(x, panel, base, row0, acc, plan)
            base += (row0 + kind(together)) * kind(together)
        _leave(x, b, start, n, held, plan)
