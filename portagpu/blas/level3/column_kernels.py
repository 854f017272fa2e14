"""Triangular systems on CPUs whose right sides have their columns in memory; in the dialect.

Vectors lie along the columns, so that nothing is transposed: of some columns side by side a register tile has a block
of rows each. From it are taken the products of the rows that are known, as a product of matrices would; then it is
solved a vector after the other, by the inverses of triangles as small as a vector, which are all that is inverted. The
triangle is packed once for all columns, in the order in which it is read (K. Goto, R. van de Geijn, "High-performance
implementation of the level-3 BLAS", ACM TOMS 35(1), 2008, whose kernels do so).

Rows have numbers in the order in which they are found: a lower triangle's count down, an upper one's up.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add

_ONE = (1, 1, 1)


class ColumnPlan(NamedTuple):
    """What is known when the kernels are compiled: a register tile of ``vectors`` vectors by ``columns`` columns.

    ``cell``: a vector, ``number``: an element; ``lower``: which triangle is read; ``unit``: without its diagonal.
    """

    vectors: int
    lanes: int
    columns: int
    cell: Any
    number: Any
    lower: bool
    unit: bool


@cuda.jit(device=True)
def _place(number, count, plan: cuda.constexpr):
    """Where in memory a row is, of ``count`` that are found in the order of their numbers."""
    return number if plan.lower else count - type(count)(1) - number


@cuda.jit(device=True)
def _invert(a, corner, step, packed, base, x, plan: cuda.constexpr):
    """The inverse of a triangle of one vector's rows, which begin at ``corner`` and are ``step`` apart both ways."""
    kind = type(base)
    lanes = plan.lanes
    rows = kind(plan.vectors * lanes)
    down, right = step
    for q in range(kind(lanes)):
        for p in range(kind(lanes)):
            value = plan.number(0)
            if p >= q:
                value = plan.number(1) if p == q else plan.number(0)
                for t in range(q, p):
                    value -= a.memory[corner + p * down + t * right] * x[t]
                if not plan.unit:
                    value = value / a.memory[corner + p * (down + right)]
            x[p] = value
            packed[base + q * rows + _place(p, kind(lanes), plan)] = value


@cuda.jit(block_dim=_ONE)
def pack_triangles(a, packed, all_rows, blocks, plan: cuda.constexpr):
    """Pack the triangles on the diagonal of a matrix of ``all_rows`` rows, each of ``blocks`` blocks but the last one.

    a: a `Strided`. A triangle's blocks of rows follow each other, each with its columns up to the diagonal in their
    order: the negative elements of a column, one for each row; in a square on the diagonal as wide as a vector, its
    inverse. Grid: column's block, row's block, triangle.
    """
    kind = type(all_rows)
    lanes = plan.lanes
    rows = kind(plan.vectors * lanes)
    column_block, row_block = kind(cuda.blockIdx.x), kind(cuda.blockIdx.y)
    first_block = kind(cuda.blockIdx.z) * blocks
    first_row = (first_block + row_block) * rows
    if column_block > row_block or first_row >= all_rows:
        return
    x = cuda.local.array(lanes, plan.number)
    size = blocks * (blocks + kind(1)) // kind(2)
    block = kind(cuda.blockIdx.z) * size + row_block * (row_block + kind(1)) // kind(2) + column_block
    base = block * rows * rows
    top = first_row if plan.lower else all_rows - first_row - rows
    for number in range(rows):
        column = (first_block + column_block) * rows + number
        begin = a.first + top * a.down + _place(column, all_rows, plan) * a.right
        own = number // kind(lanes)  # vectors up to this one are found before, or with the column
        for r in range(rows):
            vector = r // kind(lanes) if plan.lower else kind(plan.vectors - 1) - r // kind(lanes)
            value = plan.number(0)
            if column_block < row_block or vector > own:
                value = -a.memory[begin + r * a.down]
            packed[base + number * rows + r] = value
    if column_block == row_block:
        down = a.down if plan.lower else kind(0) - a.down
        right = a.right if plan.lower else kind(0) - a.right
        for v in range(kind(plan.vectors)):
            first = _place(first_row + v * kind(lanes), all_rows, plan)
            vector = v if plan.lower else kind(plan.vectors - 1) - v
            corner = a.first + first * (a.down + a.right)
            at = base + v * kind(lanes) * rows + vector * kind(lanes)
            _invert(a, corner, (down, right), packed, at, x, plan)


@cuda.jit(device=True)
def _finish(b, starts, top, packed, base, acc, plan: cuda.constexpr):
    """Solve the systems of a block on the diagonal, of which ``acc`` has the right sides."""
    kind = type(top)
    lanes, vectors, columns = plan.lanes, plan.vectors, plan.columns
    rows = kind(vectors * lanes)
    found = cuda.local.array(columns, plan.cell)
    for g in cuda.unroll(range(vectors)):
        own = g if plan.lower else vectors - 1 - g
        line = top + kind(own * lanes)
        at = base + kind(g * lanes) * rows
        for i in cuda.unroll(range(columns)):
            cuda.vstore(acc[i, own], b.memory, starts[i] + line)
            found[i] = plan.cell(0)
        for p in range(kind(lanes)):
            factors = cuda.vload(packed, at + p * rows + kind(own * lanes), lanes, aligned=True)
            for i in cuda.unroll(range(columns)):
                scalar = b.memory[starts[i] + line + _place(p, kind(lanes), plan)]
                found[i] = multiply_add(scalar, factors, found[i], False)
        for i in cuda.unroll(range(columns)):
            cuda.vstore(found[i], b.memory, starts[i] + line)
        if g < vectors - 1:
            for p in range(kind(lanes)):
                for i in cuda.unroll(range(columns)):
                    scalar = b.memory[starts[i] + line + _place(p, kind(lanes), plan)]
                    for later in cuda.unroll(range(g + 1, vectors)):
                        v = later if plan.lower else vectors - 1 - later
                        factors = cuda.vload(packed, at + p * rows + kind(v * lanes), lanes, aligned=True)
                        acc[i, v] = multiply_add(scalar, factors, acc[i, v], False)


@cuda.jit(block_dim=_ONE)
def solve_columns(packed, first, b, m, blocks, tiles, scale, plan: cuda.constexpr):
    """``b = inv(triangle) @ (scale * b)`` for the triangle of ``blocks`` blocks that begins at ``packed[first]``.

    b: a `Strided` of as many rows, and m columns whose elements are side by side. A work-group has ``tiles`` register
    tiles, and brings each block of the triangle to all of them.
    """
    kind = type(m)
    lanes, vectors, columns = plan.lanes, plan.vectors, plan.columns
    rows = kind(vectors * lanes)
    acc = cuda.local.array((columns, vectors), plan.cell)
    factors = cuda.local.array(vectors, plan.cell)
    starts = cuda.local.array(columns, kind)
    begin = kind(cuda.blockIdx.x) * tiles * kind(columns)
    end = min(m, begin + tiles * kind(columns))
    height = blocks * rows
    base = first
    for block in range(blocks):
        known = block * rows
        top = known if plan.lower else height - known - rows
        for column in range(begin, end, kind(columns)):
            for i in cuda.unroll(range(columns)):  # of columns beyond the last one, that one again
                starts[i] = b.first + min(column + kind(i), m - kind(1)) * b.right
                for v in cuda.unroll(range(vectors)):
                    value = plan.cell(cuda.vload(b.memory, starts[i] + top + kind(v * lanes), lanes))
                    acc[i, v] = value * plan.cell(scale)
            for k in range(known):
                at = base + k * rows
                for v in cuda.unroll(range(vectors)):
                    factors[v] = cuda.vload(packed, at + kind(v * lanes), lanes, aligned=True)
                for i in cuda.unroll(range(columns)):
                    scalar = b.memory[starts[i] + _place(k, height, plan)]
                    for v in cuda.unroll(range(vectors)):
                        acc[i, v] = multiply_add(scalar, factors[v], acc[i, v], False)
            _finish(b, starts, top, packed, base + known * rows, acc, plan)
        base += (known + rows) * rows
