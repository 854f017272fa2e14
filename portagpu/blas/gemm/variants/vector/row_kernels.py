"""Products with few rows, whose large matrix lies along n, row by row; in the dialect.

Lines of b are read as far as possible, several at a time, as processors ask for them ahead: the sums of so many columns
do not fit into registers, but into the nearest cache.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element
from portagpu.blas.gemm.variants.vector.kernels import gathered


@cuda.jit(device=True)
def _last_columns(source, place, held, vector: cuda.constexpr):
    """The last vector of ``held`` columns, which overlaps the one before; zeros beyond the last where there is none."""
    if held >= vector.lanes:
        return vector(cuda.vload(source, place + (held - vector.lanes), vector.lanes))
    return gathered(source, place, 1, held, vector)


@cuda.jit(block_dim=(1, 1, 1))
def multiply_lines(
    x,
    b,
    c,
    n,
    k,
    x_row,
    x_step,
    x_batch,
    b_pitch,
    b_batch,
    c_row,
    c_column,
    c_batch,
    split,
    chunk,
    alpha,
    beta,
    rows: cuda.constexpr,
    lines: cuda.constexpr,
    vector: cuda.constexpr,
    accumulator: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    terms: cuda.constexpr,
    aligned: cuda.constexpr,
    x_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
):
    """As `kernels.multiply_across`, with sums of ``lines`` vectors in memory and ``terms`` rows of b at once."""
    lanes = vector.lanes
    flat_x = x.T.ravel() if x_transposed and x.ndim == 2 else x.ravel()
    flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    flat_c = c.ravel()
    sums = cuda.local.array((rows, lines), vector)
    values = cuda.local.array((rows, terms), vector)
    found = cuda.local.array(terms, vector)
    acc = cuda.local.array(rows, vector)

    width = lines * lanes
    blocks = (n + (width - 1)) // width
    block = type(n)(cuda.blockIdx.x)
    matrix = block // blocks
    column0 = block % blocks * width
    begin = matrix % split * chunk
    end = min(k, begin + chunk)
    x_start = matrix // split * x_batch
    b_start = matrix // split * b_batch + column0
    c_start = matrix * c_batch
    held = min(n - column0, type(n)(width))
    vectors = held // lanes
    rest = held % lanes
    for i in cuda.unroll(range(rows)):
        for j in range(type(n)(lines)):
            sums[i, j] = vector(0)
    rounds = begin + (end - begin) // terms * terms
    for p0 in range(begin, rounds, type(n)(terms)):
        for i in cuda.unroll(range(rows)):
            for u in cuda.unroll(range(terms)):
                values[i, u] = vector(accumulator(flat_x[x_start + i * x_row + (p0 + u) * x_step]))
        for j in range(vectors):
            for i in cuda.unroll(range(rows)):
                acc[i] = sums[i, j]
            for u in cuda.unroll(range(terms)):
                found[u] = vector(cuda.vload(flat_b, b_start + (p0 + u) * b_pitch + j * lanes, lanes, aligned=aligned))
                for i in cuda.unroll(range(rows)):
                    acc[i] = multiply_add(values[i, u], found[u], acc[i], whole)
            for i in cuda.unroll(range(rows)):
                sums[i, j] = acc[i]
        if rest > 0:
            for u in cuda.unroll(range(terms)):
                last = _last_columns(flat_b, b_start + (p0 + u) * b_pitch, held, vector)
                for i in cuda.unroll(range(rows)):
                    sums[i, vectors] = multiply_add(values[i, u], last, sums[i, vectors], whole)
    for p in range(rounds, end):
        for i in cuda.unroll(range(rows)):
            values[i, 0] = vector(accumulator(flat_x[x_start + i * x_row + p * x_step]))
        for j in range(vectors):
            found[0] = vector(cuda.vload(flat_b, b_start + p * b_pitch + j * lanes, lanes, aligned=aligned))
            for i in cuda.unroll(range(rows)):
                sums[i, j] = multiply_add(values[i, 0], found[0], sums[i, j], whole)
        if rest > 0:
            last = _last_columns(flat_b, b_start + p * b_pitch, held, vector)
            for i in cuda.unroll(range(rows)):
                sums[i, vectors] = multiply_add(values[i, 0], last, sums[i, vectors], whole)
    for i in cuda.unroll(range(rows)):
        for j in range((held + (lanes - 1)) // lanes):
            acc[i] = sums[i, j]
            first = j * lanes
            if j == vectors and held >= lanes:
                first = held - lanes
            for lane in cuda.unroll(range(lanes)):
                column = first + lane
                if column >= j * lanes and column < held:
                    place = c_start + i * c_row + (column0 + column) * c_column
                    store_element(acc[i][lane], flat_c, place, alpha, beta, scaling)
