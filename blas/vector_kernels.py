"""Products with few rows, such as matrix-vector products, which are as fast as memory is; in the dialect.

x (rows, k) are the few rows, b (k, n) is the matrix that is read once. Where its elements lie side by side along k,
threads walk along k and add up their sums at the end (`multiply_along`); where they do so along n, each thread has
columns of its own, and threads share the rows of b (`multiply_across`). Both read vectors, keep a sum for each of the
few rows in registers, and split long sums along k among blocks where there are too few columns for the device.
"""

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.result_kernels import multiply_add, store_element


@cuda.jit(device=True)
def _sum_of_lanes(v, lanes: cuda.constexpr):
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
def _gathered(source, first, step, count, vector: cuda.constexpr):
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


@cuda.jit
def multiply_along(
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
    threads_x: cuda.constexpr,
    threads_y: cuda.constexpr,
    vector: cuda.constexpr,
    accumulator: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    x_vectors: cuda.constexpr,
    aligned: cuda.constexpr,
    x_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
):
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``: column j of b is a line of neighbours at ``j * b_pitch``.

    A block has ``threads_x`` threads along k for each of ``threads_y`` groups of ``lines`` lines. Element (i, p) of x
    is at ``i * x_row + p * x_step``, (i, j) of c at ``i * c_row + j * c_column``; ``x_vectors``: x_step is 1.
    The grid is one-dimensional: for each product of the batch, and each of ``split`` parts of ``chunk`` terms, a block
    for each threads_y * lines columns. Parts go to c as they are.
    """
    lanes = vector.lanes
    threads = threads_x * threads_y
    flat_x = x.T.ravel() if x_transposed and x.ndim == 2 else x.ravel()
    flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    flat_c = c.ravel()
    values = cuda.local.array(rows, vector)
    acc = cuda.local.array((rows, lines), vector)
    sums = cuda.local.array((rows, lines), accumulator)

    thread = type(n)(cuda.threadIdx.x)
    along = thread % threads_x
    blocks = (n + (threads_y * lines - 1)) // (threads_y * lines)
    block = type(n)(cuda.blockIdx.x)
    matrix = block // blocks
    first_line = block % blocks * (threads_y * lines)
    line0 = first_line + thread // threads_x * lines
    begin = matrix % split * chunk
    end = min(k, begin + chunk)
    x_start = matrix // split * x_batch
    b_start = matrix // split * b_batch
    c_start = matrix * c_batch
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(lines)):
            acc[i, j] = vector(0)
    vectors_end = begin + (end - begin) // lanes * lanes
    for p in range(begin + along * lanes, vectors_end, type(n)(threads_x * lanes)):
        for i in cuda.unroll(range(rows)):
            if x_vectors:
                values[i] = vector(cuda.vload(flat_x, x_start + i * x_row + p, lanes))
            else:
                first = x_start + i * x_row + p * x_step
                values[i] = _gathered(flat_x, first, x_step, lanes, vector)
        for j in cuda.unroll(range(lines)):
            line = b_start + min(line0 + j, n - 1) * b_pitch
            found = vector(cuda.vload(flat_b, line + p, lanes, aligned=aligned))
            for i in cuda.unroll(range(rows)):
                acc[i, j] = multiply_add(values[i], found, acc[i, j], whole)
    for j in cuda.unroll(range(lines)):
        line = b_start + min(line0 + j, n - 1) * b_pitch
        for i in cuda.unroll(range(rows)):
            sums[i, j] = _sum_of_lanes(acc[i, j], lanes)
        for p in range(vectors_end + along, end, type(n)(threads_x)):
            for i in cuda.unroll(range(rows)):
                value = accumulator(flat_x[x_start + i * x_row + p * x_step])
                sums[i, j] = multiply_add(value, accumulator(flat_b[line + p]), sums[i, j], whole)
    if threads_x == 1:
        for j in cuda.unroll(range(lines)):
            if line0 + j < n:
                for i in cuda.unroll(range(rows)):
                    place = c_start + i * c_row + (line0 + j) * c_column
                    store_element(sums[i, j], flat_c, place, alpha, beta, scaling)
    else:
        shared = cuda.shared.array((rows * threads_y, threads_x + 1), accumulator)
        for j in cuda.unroll(range(lines)):
            for i in cuda.unroll(range(rows)):
                shared[i * threads_y + thread // threads_x, along] = sums[i, j]
            cuda.syncthreads()
            for result in range(thread, type(n)(rows * threads_y), type(n)(threads)):
                total = shared[result, 0]
                for part in range(1, threads_x):
                    total += shared[result, part]
                line = first_line + result % threads_y * lines + j
                if line < n:
                    place = c_start + result // threads_y * c_row + line * c_column
                    store_element(total, flat_c, place, alpha, beta, scaling)
            cuda.syncthreads()


@cuda.jit(device=True)
def _columns(source, place, column, n, vector: cuda.constexpr, aligned: cuda.constexpr):
    """A vector of a row from a column on, zeros beyond the last column."""
    if column + vector.lanes <= n:
        return vector(cuda.vload(source, place, vector.lanes, aligned=aligned))
    return _gathered(source, place, 1, n - column, vector)


@cuda.jit
def multiply_across(
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
    threads_x: cuda.constexpr,
    threads_y: cuda.constexpr,
    vector: cuda.constexpr,
    accumulator: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    unroll_k: cuda.constexpr,
    aligned: cuda.constexpr,
    x_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
):
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``: row p of b is a line of neighbours at ``p * b_pitch``.

    A block has ``threads_x`` threads along n, each with ``lines`` vectors of columns, and ``threads_y`` along k, each
    of which has ``unroll_k`` rows of b on their way at a time. The rest is as in `multiply_along`.
    """
    lanes = vector.lanes
    threads = threads_x * threads_y
    flat_x = x.T.ravel() if x_transposed and x.ndim == 2 else x.ravel()
    flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    flat_c = c.ravel()
    found = cuda.local.array((unroll_k, lines), vector)
    acc = cuda.local.array((rows, lines), vector)

    thread = type(n)(cuda.threadIdx.x)
    depth = thread // threads_x
    width = threads_x * lines * lanes
    blocks = (n + (width - 1)) // width
    block = type(n)(cuda.blockIdx.x)
    matrix = block // blocks
    first = block % blocks * width
    column0 = first + thread % threads_x * lanes
    begin = matrix % split * chunk
    end = min(k, begin + chunk)
    x_start = matrix // split * x_batch
    b_start = matrix // split * b_batch
    c_start = matrix * c_batch
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(lines)):
            acc[i, j] = vector(0)
    rounds = begin + (end - begin) // (threads_y * unroll_k) * (threads_y * unroll_k)
    for p0 in range(begin + depth, rounds, type(n)(threads_y * unroll_k)):
        for u in cuda.unroll(range(unroll_k)):
            for j in cuda.unroll(range(lines)):
                column = column0 + j * (threads_x * lanes)
                place = b_start + (p0 + u * threads_y) * b_pitch + column
                found[u, j] = _columns(flat_b, place, column, n, vector, aligned)
        for u in cuda.unroll(range(unroll_k)):
            for i in cuda.unroll(range(rows)):
                value = accumulator(flat_x[x_start + i * x_row + (p0 + u * threads_y) * x_step])
                for j in cuda.unroll(range(lines)):
                    acc[i, j] = multiply_add(value, found[u, j], acc[i, j], whole)
    for p in range(rounds + depth, end, type(n)(threads_y)):
        for j in cuda.unroll(range(lines)):
            column = column0 + j * (threads_x * lanes)
            found[0, j] = _columns(flat_b, b_start + p * b_pitch + column, column, n, vector, aligned)
        for i in cuda.unroll(range(rows)):
            value = accumulator(flat_x[x_start + i * x_row + p * x_step])
            for j in cuda.unroll(range(lines)):
                acc[i, j] = multiply_add(value, found[0, j], acc[i, j], whole)
    if threads == 1:
        for j in cuda.unroll(range(lines)):
            for lane in cuda.unroll(range(lanes)):
                column = column0 + j * lanes + lane
                if column < n:
                    for i in cuda.unroll(range(rows)):
                        place = c_start + i * c_row + column * c_column
                        store_element(acc[i, j][lane], flat_c, place, alpha, beta, scaling)
    else:
        shared = cuda.shared.array((threads_y, threads_x * lanes), accumulator)
        for i in cuda.unroll(range(rows)):
            for j in cuda.unroll(range(lines)):
                cuda.vstore(acc[i, j], shared, (depth, thread % threads_x * lanes), aligned=True)
                cuda.syncthreads()
                for result in range(thread, type(n)(threads_x * lanes), type(n)(threads)):
                    total = shared[0, result]
                    for part in range(1, threads_y):
                        total += shared[part, result]
                    column = first + j * (threads_x * lanes) + result
                    if column < n:
                        place = c_start + i * c_row + column * c_column
                        store_element(total, flat_c, place, alpha, beta, scaling)
                cuda.syncthreads()
