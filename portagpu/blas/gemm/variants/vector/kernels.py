"""Products with few rows, such as matrix-vector products, which are as fast as memory is; in the dialect.

x (rows, k) are the few rows, b (k, n) is the matrix that is read once. Its elements lie side by side along k
(`multiply_along`) or along n (`multiply_across`). A block is one thread, which has columns of its own, reads vectors,
and keeps a sum for each of the few rows in registers; long sums along k are split among blocks where there are too few
columns for the device.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element


class VectorPlan(NamedTuple):
    """What is known when the kernels are compiled.

    ``rows``: the few; ``lines``: columns of a block, or vectors of columns; ``vector``, ``accumulator``: types of sums,
    which are integers if ``whole``. ``aligned``: vectors of b are. ``x_vectors``: elements of x lie side by side along
    k (`multiply_along`); ``terms``: rows of b at a time (the others).
    """

    rows: int
    lines: int
    vector: Any
    accumulator: Any
    whole: bool
    aligned: bool
    x_vectors: bool
    terms: int


class Work(NamedTuple):
    """A block's work: columns from ``first`` on and terms from ``begin`` up to ``end`` of a product.

    matrix: the product's number; x, b, c: where it begins in the memory of each.
    """

    first: Any
    begin: Any
    end: Any
    matrix: Any
    x: Any
    b: Any
    c: Any


@cuda.jit(device=True)
def work_of_block(x, b, c, n, k, split, width: cuda.constexpr):
    """The `Work` of this block, which has ``width`` columns; arguments as of `multiply_along`."""
    blocks = (n + (width - 1)) // width
    block = type(n)(cuda.blockIdx.x)
    matrix = block // blocks
    product = matrix // split.count
    begin = (matrix - product * split.count) * split.terms
    end = min(k, begin + split.terms)
    return Work(block % blocks * width, begin, end, product, product * x.batch, product * b.batch, matrix * c.batch)


@cuda.jit(device=True)
def few_at(x, flat_x, start, row, term, accumulator: cuda.constexpr):
    """An element of the few rows, as sums are formed."""
    return accumulator(flat_x[start + row * x.down + term * x.right])


@cuda.jit(device=True)
def sum_of_lanes(v, lanes: cuda.constexpr):
    """The sum of a vector's lanes, pairwise."""
    if lanes == 16:
        return (
            ((v[0] + v[8]) + (v[4] + v[12]))
            + ((v[2] + v[10]) + (v[6] + v[14]))
            + (((v[1] + v[9]) + (v[5] + v[13])) + ((v[3] + v[11]) + (v[7] + v[15])))
        )
    if lanes == 8:
        return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    if lanes == 4:
        return (v[0] + v[2]) + (v[1] + v[3])
    return v[0] + v[1]


@cuda.jit(device=True)
def _lane(source, first, step, lane: cuda.constexpr, count):
    return source[first + lane * step] if lane < count else 0


@cuda.jit(device=True)
def _four(source, first, step, lane: cuda.constexpr, count):
    return (
        _lane(source, first, step, lane, count),
        _lane(source, first, step, lane + 1, count),
        _lane(source, first, step, lane + 2, count),
        _lane(source, first, step, lane + 3, count),
    )


@cuda.jit(device=True)
def gathered(source, first, step, count, vector: cuda.constexpr):
    """The first ``count`` of a vector's lanes from elements that are ``step`` apart, zeros in the others."""
    if vector.lanes == 2:
        return vector(_lane(source, first, step, 0, count), _lane(source, first, step, 1, count))
    low = _four(source, first, step, 0, count)
    if vector.lanes == 4:
        return vector(*low)
    next_low = _four(source, first, step, 4, count)
    if vector.lanes == 8:
        return vector(*low, *next_low)
    return vector(*low, *next_low, *_four(source, first, step, 8, count), *_four(source, first, step, 12, count))


@cuda.jit(block_dim=(1, 1, 1))
def multiply_along(x, b, c, n, k, split, factors, plan: cuda.constexpr, epilogue: cuda.constexpr):
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``: column j of b is a line of neighbours at ``j * b.pitch``.

    x, c: each a `StridedMatrix`; b: a `Matrix`, all of flat memory; plan: a `VectorPlan`. The grid is one-dimensional:
    for each product of the batch, and each part of a ``split``, a block for each ``lines`` columns.
    """
    rows, lines, vector, accumulator = plan.rows, plan.lines, plan.vector, plan.accumulator
    whole, aligned = plan.whole, plan.aligned
    lanes = vector.lanes
    flat_x, flat_b, flat_c = x.memory, b.memory, c.memory
    values = cuda.local.array(rows, vector)
    acc = cuda.local.array((rows, lines), vector)
    sums = cuda.local.array((rows, lines), accumulator)

    work = work_of_block(x, b, c, n, k, split, lines)
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(lines)):
            acc[i, j] = vector(0)
    vectors_end = work.begin + (work.end - work.begin) // lanes * lanes
    for p in range(work.begin, vectors_end, type(n)(lanes)):
        for i in cuda.unroll(range(rows)):
            if plan.x_vectors:
                values[i] = vector(cuda.vload(flat_x, work.x + i * x.down + p, lanes))
            else:
                first = work.x + i * x.down + p * x.right
                values[i] = gathered(flat_x, first, x.right, lanes, vector)
        for j in cuda.unroll(range(lines)):
            line = work.b + min(work.first + j, n - 1) * b.pitch
            found = vector(cuda.vload(flat_b, line + p, lanes, aligned=aligned))
            for i in cuda.unroll(range(rows)):
                acc[i, j] = multiply_add(values[i], found, acc[i, j], whole)
    for j in cuda.unroll(range(lines)):
        line = work.b + min(work.first + j, n - 1) * b.pitch
        for i in cuda.unroll(range(rows)):
            sums[i, j] = sum_of_lanes(acc[i, j], lanes)
        for p in range(vectors_end, work.end):
            for i in cuda.unroll(range(rows)):
                value = few_at(x, flat_x, work.x, i, p, accumulator)
                sums[i, j] = multiply_add(value, accumulator(flat_b[line + p]), sums[i, j], whole)
    for j in cuda.unroll(range(lines)):
        if work.first + j < n:
            for i in cuda.unroll(range(rows)):
                place = work.c + i * c.down + (work.first + j) * c.right
                store_element(sums[i, j], flat_c, place, work.matrix, i, work.first + j, factors, epilogue)


@cuda.jit(device=True)
def _columns(source, place, column, n, vector: cuda.constexpr, aligned: cuda.constexpr):
    """A vector of a row from a column on, zeros beyond the last column."""
    if column + vector.lanes <= n:
        return vector(cuda.vload(source, place, vector.lanes, aligned=aligned))
    return gathered(source, place, 1, n - column, vector)


@cuda.jit(block_dim=(1, 1, 1))
def multiply_across(x, b, c, n, k, split, factors, plan: cuda.constexpr, epilogue: cuda.constexpr):
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``: row p of b is a line of neighbours at ``p * b.pitch``.

    A block has ``lines`` vectors of columns, and ``plan.terms`` rows of b on their way at a time; the last block of a
    row, which may have fewer columns, one. The rest is as in `multiply_along`.
    """
    rows, lines, vector, accumulator = plan.rows, plan.lines, plan.vector, plan.accumulator
    whole, aligned = plan.whole, plan.aligned
    lanes = vector.lanes
    flat_x, flat_b, flat_c = x.memory, b.memory, c.memory
    found = cuda.local.array((plan.terms, lines), vector)
    acc = cuda.local.array((rows, lines), vector)

    width = lines * lanes
    work = work_of_block(x, b, c, n, k, split, width)
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(lines)):
            acc[i, j] = vector(0)
    rounds = work.begin
    if work.first + width <= n:
        rounds += (work.end - work.begin) // plan.terms * plan.terms
    for p0 in range(work.begin, rounds, type(n)(plan.terms)):
        for u in cuda.unroll(range(plan.terms)):
            for j in cuda.unroll(range(lines)):
                place = work.b + (p0 + u) * b.pitch + (work.first + j * lanes)
                found[u, j] = vector(cuda.vload(flat_b, place, lanes, aligned=aligned))
        for u in cuda.unroll(range(plan.terms)):
            for i in cuda.unroll(range(rows)):
                value = few_at(x, flat_x, work.x, i, p0 + u, accumulator)
                for j in cuda.unroll(range(lines)):
                    acc[i, j] = multiply_add(value, found[u, j], acc[i, j], whole)
    for p in range(rounds, work.end):
        for j in cuda.unroll(range(lines)):
            column = work.first + j * lanes
            found[0, j] = _columns(flat_b, work.b + p * b.pitch + column, column, n, vector, aligned)
        for i in cuda.unroll(range(rows)):
            value = few_at(x, flat_x, work.x, i, p, accumulator)
            for j in cuda.unroll(range(lines)):
                acc[i, j] = multiply_add(value, found[0, j], acc[i, j], whole)
    # in memory, lanes have numbers that change: one store in a loop is compiled many times faster than one for each
    sums = cuda.local.array((rows, width), accumulator)
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(lines)):
            cuda.vstore(acc[i, j], sums, (i, j * lanes))
    for i in range(type(n)(rows)):
        for j in range(min(type(n)(width), n - work.first)):
            column = work.first + j
            place = work.c + i * c.down + column * c.right
            store_element(sums[i, j], flat_c, place, work.matrix, i, column, factors, epilogue)
