"""Products with few rows, whose large matrix lies along n, row by row; in the dialect.

Lines of b are read as far as possible, several at a time, as processors ask for them ahead: the sums of so many columns
do not fit into registers, but into the nearest cache. Loops are the other way round than in `kernels.multiply_across`
for that; a kernel of both would share no loop.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element
from portagpu.blas.gemm.variants.vector.kernels import few_at, gathered, work_of_block


@cuda.jit(device=True)
def _last_columns(source, place, held, vector: cuda.constexpr):
    """The last vector of ``held`` columns, which overlaps the one before; zeros beyond the last where there is none."""
    if held >= vector.lanes:
        return vector(cuda.vload(source, place + (held - vector.lanes), vector.lanes))
    return gathered(source, place, 1, held, vector)


@cuda.jit(block_dim=(1, 1, 1))
def multiply_lines(x, b, c, n, k, split, factors, plan: cuda.constexpr, epilogue: cuda.constexpr):
    """As `kernels.multiply_across`, sums of ``lines`` vectors in memory, ``plan.terms`` rows of b at once."""
    rows, lines, vector, accumulator = plan.rows, plan.lines, plan.vector, plan.accumulator
    whole, aligned = plan.whole, plan.aligned
    lanes = vector.lanes
    flat_x, flat_b, flat_c = x.memory, b.memory, c.memory
    sums = cuda.local.array((rows, lines), vector)
    values = cuda.local.array((rows, plan.terms), vector)
    found = cuda.local.array(plan.terms, vector)
    acc = cuda.local.array(rows, vector)

    width = lines * lanes
    work = work_of_block(x, b, c, n, k, split, width)
    b_start = work.b + work.first
    held = min(n - work.first, type(n)(width))
    vectors = held // lanes
    rest = held % lanes
    for i in cuda.unroll(range(rows)):
        for j in range(type(n)(lines)):
            sums[i, j] = vector(0)
    rounds = work.begin + (work.end - work.begin) // plan.terms * plan.terms
    for p0 in range(work.begin, rounds, type(n)(plan.terms)):
        for i in cuda.unroll(range(rows)):
            for u in cuda.unroll(range(plan.terms)):
                values[i, u] = vector(few_at(x, flat_x, work.x, i, p0 + u, accumulator))
        for j in range(vectors):
            for i in cuda.unroll(range(rows)):
                acc[i] = sums[i, j]
            for u in cuda.unroll(range(plan.terms)):
                found[u] = vector(cuda.vload(flat_b, b_start + (p0 + u) * b.pitch + j * lanes, lanes, aligned=aligned))
                for i in cuda.unroll(range(rows)):
                    acc[i] = multiply_add(values[i, u], found[u], acc[i], whole)
            for i in cuda.unroll(range(rows)):
                sums[i, j] = acc[i]
        if rest > 0:
            for p in range(p0, p0 + type(n)(plan.terms)):  # not unrolled: the branch's other side is long
                last = _last_columns(flat_b, b_start + p * b.pitch, held, vector)
                for i in cuda.unroll(range(rows)):
                    value = vector(few_at(x, flat_x, work.x, i, p, accumulator))
                    sums[i, vectors] = multiply_add(value, last, sums[i, vectors], whole)
    for p in range(rounds, work.end):
        for i in cuda.unroll(range(rows)):
            values[i, 0] = vector(few_at(x, flat_x, work.x, i, p, accumulator))
        for j in range(vectors):
            found[0] = vector(cuda.vload(flat_b, b_start + p * b.pitch + j * lanes, lanes, aligned=aligned))
            for i in cuda.unroll(range(rows)):
                sums[i, j] = multiply_add(values[i, 0], found[0], sums[i, j], whole)
        if rest > 0:
            last = _last_columns(flat_b, b_start + p * b.pitch, held, vector)
            for i in cuda.unroll(range(rows)):
                sums[i, vectors] = multiply_add(values[i, 0], last, sums[i, vectors], whole)
    # in memory, lanes have numbers that change: one store in a loop is compiled many times faster than one for each
    line = cuda.local.array(lanes, accumulator)
    for i in range(type(n)(rows)):
        for j in range((held + (lanes - 1)) // lanes):
            cuda.vstore(sums[i, j], line, 0)
            first = j * lanes
            if j == vectors and held >= lanes:
                first = held - lanes
            for column in range(j * lanes, min(held, (j + 1) * lanes)):
                place = work.c + i * c.down + (work.first + column) * c.right
                total = line[column - first]
                store_element(total, flat_c, place, work.matrix, i, work.first + column, factors, epilogue)
