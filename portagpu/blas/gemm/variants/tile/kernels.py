"""GEMM for devices with on-chip local memory: local-memory tiles, register tiles, double buffering; in the dialect.

A block of threads computes a ``tile_m`` x ``tile_n`` tile of C and walks along k in steps of ``tile_k``. While it
multiplies one pair of tiles from local memory, the next pair is on its way from global memory into registers; it is
stored to the other half of local memory before the one barrier of the step. A is kept transposed and padded, so that
each thread reads its rows as vectors without bank conflicts. A thread's rows and columns come in groups of one vector,
spread over the tile, so that neighbouring threads read neighbouring vectors.

Elements become what sums are formed in on their way into local memory, so one kernel serves all dtypes. Of small
matrices a block computes several products of the batch; long sums are split along k among blocks, whose parts
`kernels.epilogue.sum_parts` adds; and the matrices of a grouped product are found by search.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element, store_vector


@cuda.jit(device=True)
def _element(source, start, row, column, pitch, rows, columns):
    """``source[start + row * pitch + column]``, or zero outside."""
    return source[start + row * pitch + column] if row < rows and column < columns else 0


@cuda.jit(device=True)
def _load(
    source,
    start,
    row,
    column,
    pitch,
    rows,
    columns,
    vector: cuda.constexpr,
    aligned: cuda.constexpr,
    exact: cuda.constexpr,
):
    """A vector of sums' type from an element on, zeros outside.

    ``aligned`` says that vectors of the row are; ``exact``, that everything is inside, too.
    """
    if exact:
        return vector(cuda.vload(source, start + row * pitch + column, vector.lanes, aligned=True))
    if aligned and row < rows and column + vector.lanes <= columns:
        return vector(cuda.vload(source, start + row * pitch + column, vector.lanes, aligned=True))
    if vector.lanes == 4:
        return vector(
            _element(source, start, row, column, pitch, rows, columns),
            _element(source, start, row, column + 1, pitch, rows, columns),
            _element(source, start, row, column + 2, pitch, rows, columns),
            _element(source, start, row, column + 3, pitch, rows, columns),
        )
    return vector(
        _element(source, start, row, column, pitch, rows, columns),
        _element(source, start, row, column + 1, pitch, rows, columns),
    )


@cuda.jit
def multiply_tiles(
    a,
    b,
    c,
    offsets,
    m,
    n,
    k,
    a_pitch,
    a_batch,
    b_pitch,
    b_batch,
    c_pitch,
    c_batch,
    batch,
    split,
    chunk,
    alpha,
    beta,
    tile_m: cuda.constexpr,
    tile_n: cuda.constexpr,
    tile_k: cuda.constexpr,
    thread_m: cuda.constexpr,
    thread_n: cuda.constexpr,
    problems: cuda.constexpr,
    group: cuda.constexpr,
    vector: cuda.constexpr,
    scaled: cuda.constexpr,
    stored: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    a_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
    aligned: cuda.constexpr,
    exact: cuda.constexpr,
    grouped: cuda.constexpr,
    unroll: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c`` for ``batch`` products of (m, k) and (k, n); see `operands` for the layouts.

    The grid is one-dimensional: for each product (``problems`` of them, if that is more than one) and each of ``split``
    parts of ``chunk`` terms, a block for each tile of C, walked in columns of ``group`` tiles so that operands stay in
    the device's cache. Parts are stored as they are to c, then (batch, split, m, n).

    ``grouped``: rows ``offsets[g]`` to ``offsets[g + 1]`` of a and c belong to matrix g of b; m counts all rows, batch
    the groups. ``aligned``, ``exact``: see `_load`; exact holds for m, n and k as multiples of the tiles.
    ``unroll`` steps along k are unrolled: some compilers load for all of them at once, and run out of registers.
    """
    lanes = vector.lanes
    threads_n = tile_n // thread_n
    threads = (tile_m // thread_m) * threads_n
    groups_m = thread_m // lanes
    groups_n = thread_n // lanes
    loads_a = tile_m * tile_k // (lanes * threads)
    loads_b = tile_k * tile_n // (lanes * threads)
    tile_a = cuda.shared.array((2 * problems, tile_k, tile_m + 4), vector.dtype)
    tile_b = cuda.shared.array((2 * problems, tile_k, tile_n + 4), vector.dtype)
    next_a = cuda.local.array(loads_a, vector)
    next_b = cuda.local.array(loads_b, vector)
    rows = cuda.local.array(groups_m, vector)
    columns = cuda.local.array(groups_n, vector)
    acc = cuda.local.array((thread_m, thread_n), vector.dtype)
    flat_a = a.T.ravel() if a_transposed and a.ndim == 2 else a.ravel()
    flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    flat_c = c.ravel()

    thread = np.int32(cuda.threadIdx.x) % threads
    mine = np.int32(cuda.threadIdx.x) // threads
    thread_row = thread // threads_n * lanes
    thread_column = thread % threads_n * lanes
    tiles_n = (n + (tile_n - 1)) // tile_n
    block = type(m)(cuda.blockIdx.x)
    active = True
    if grouped:
        tile = block // tiles_n
        column0 = block % tiles_n * tile_n
        matrix = type(m)(0)
        first_row, last_row = type(m)(offsets[0]), type(m)(offsets[1])
        before = (last_row - first_row + (tile_m - 1)) // tile_m
        while matrix < batch - 1 and tile >= before:
            tile -= before
            matrix += 1
            first_row, last_row = last_row, type(m)(offsets[matrix + 1])
            before = (last_row - first_row + (tile_m - 1)) // tile_m
        active = tile < before  # the grid is made for the most tiles that there can be
        row0 = first_row + tile * tile_m
        end_m, begin_k, end_k = last_row, type(m)(0), k if active else type(m)(0)
        a_start, b_start, c_start = type(m)(0), matrix * b_batch, type(m)(0)
    else:
        tiles_m = (m + (tile_m - 1)) // tile_m
        tiles = tiles_m * tiles_n
        matrix = block // tiles
        within = block % tiles
        band = within // (group * tiles_n)
        band_height = max(min(type(m)(group), tiles_m - band * group), 1)
        within = within % (group * tiles_n)
        row0 = (band * group + within % band_height) * tile_m
        column0 = within // band_height * tile_n
        if problems > 1:
            matrix = matrix * problems + mine
            active = matrix < batch
            matrix = min(matrix, batch - 1)
        c_start = matrix * c_batch
        begin_k = matrix % split * chunk
        end_m, end_k = m, min(k, begin_k + chunk)
        matrix = matrix // split
        a_start, b_start = matrix * a_batch, matrix * b_batch

    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    steps = (end_k - begin_k + (tile_k - 1)) // tile_k
    buffer = mine * 2
    for step in range(type(m)(0), steps + 1):
        if step < steps:
            k0 = begin_k + step * tile_k
            for load in cuda.unroll(range(loads_a)):
                position = thread + load * threads
                if a_transposed:
                    y, x = k0 + position // (tile_m // lanes), row0 + position % (tile_m // lanes) * lanes
                    next_a[load] = _load(flat_a, a_start, y, x, a_pitch, end_k, end_m, vector, aligned, exact)
                else:
                    y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
                    next_a[load] = _load(flat_a, a_start, y, x, a_pitch, end_m, end_k, vector, aligned, exact)
            for load in cuda.unroll(range(loads_b)):
                position = thread + load * threads
                if b_transposed:
                    y, x = column0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
                    next_b[load] = _load(flat_b, b_start, y, x, b_pitch, n, end_k, vector, aligned, exact)
                else:
                    y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
                    next_b[load] = _load(flat_b, b_start, y, x, b_pitch, end_k, n, vector, aligned, exact)
        if step > 0:
            for first in range(np.int32(0), np.int32(tile_k), np.int32(unroll)):
                for depth in cuda.unroll(range(unroll)):
                    for part in cuda.unroll(range(groups_m)):
                        place = thread_row + part * (tile_m // groups_m)
                        rows[part] = cuda.vload(tile_a, (buffer, first + depth, place), lanes, aligned=True)
                    for part in cuda.unroll(range(groups_n)):
                        place = thread_column + part * (tile_n // groups_n)
                        columns[part] = cuda.vload(tile_b, (buffer, first + depth, place), lanes, aligned=True)
                    for i in cuda.unroll(range(thread_m)):
                        for j in cuda.unroll(range(thread_n)):
                            acc[i, j] = multiply_add(
                                rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j], whole
                            )
            buffer ^= 1
        if step < steps:
            for load in cuda.unroll(range(loads_a)):
                position = thread + load * threads
                if a_transposed:
                    x = position % (tile_m // lanes) * lanes
                    cuda.vstore(next_a[load], tile_a, (buffer, position // (tile_m // lanes), x), aligned=True)
                else:
                    x = position % (tile_k // lanes) * lanes
                    for lane in cuda.unroll(range(lanes)):
                        tile_a[buffer, x + lane, position // (tile_k // lanes)] = next_a[load][lane]
            for load in cuda.unroll(range(loads_b)):
                position = thread + load * threads
                if b_transposed:
                    x = position % (tile_k // lanes) * lanes
                    for lane in cuda.unroll(range(lanes)):
                        tile_b[buffer, x + lane, position // (tile_k // lanes)] = next_b[load][lane]
                else:
                    x = position % (tile_n // lanes) * lanes
                    cuda.vstore(next_b[load], tile_b, (buffer, position // (tile_n // lanes), x), aligned=True)
            cuda.syncthreads()

    if active:
        for i in cuda.unroll(range(thread_m)):
            row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
            for part in cuda.unroll(range(groups_n)):
                column = column0 + thread_column + part * (tile_n // groups_n)
                place = c_start + row * c_pitch + column
                if lanes == 4:
                    line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
                else:
                    line = vector(acc[i, part * 2], acc[i, part * 2 + 1])
                if exact:
                    store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
                else:
                    by_vector = False
                    if aligned:
                        by_vector = row < end_m and column + lanes <= n
                        if by_vector:
                            store_vector(line, flat_c, place, alpha, beta, scaled, stored, scaling, True)
                    if not by_vector:
                        for lane in cuda.unroll(range(lanes)):
                            if row < end_m and column + lane < n:
                                store_element(
                                    acc[i, part * lanes + lane],
                                    flat_c,
                                    place + lane,
                                    alpha,
                                    beta,
                                    scaling,
                                )
