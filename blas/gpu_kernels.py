"""GEMM for devices with on-chip local memory: local-memory tiles, register tiles, double buffering; in the dialect.

A block of threads computes a ``tile_m`` x ``tile_n`` tile of C and walks along k in steps of ``tile_k``. While it
multiplies one pair of tiles from local memory, the next pair is on its way from global memory into registers; it is
stored to the other half of local memory before the one barrier of the step. A is kept transposed and padded, so that
each thread reads its rows as vectors without bank conflicts. A thread's rows and columns come in groups of one vector,
spread over the tile, so that neighbouring threads read neighbouring vectors.
"""

from __future__ import annotations

import numpy as np

from portagpu import cuda


@cuda.jit(device=True)
def _element(source, row, column, rows, columns):
    """``source[row, column]``, or zero outside."""
    return source[row, column] if row < rows and column < columns else 0


@cuda.jit(device=True)
def _load(source, row, column, rows, columns, vector: cuda.constexpr, exact: cuda.constexpr):
    """A vector from ``source[row, column]`` on, zeros outside; ``exact`` says that it is inside and aligned."""
    if exact:
        return cuda.vload(source, (row, column), vector.lanes, aligned=True)
    if vector.lanes == 4:
        return vector(
            _element(source, row, column, rows, columns),
            _element(source, row, column + 1, rows, columns),
            _element(source, row, column + 2, rows, columns),
            _element(source, row, column + 3, rows, columns),
        )
    return vector(_element(source, row, column, rows, columns), _element(source, row, column + 1, rows, columns))


@cuda.jit
def multiply_tiles(
    a,
    b,
    c,
    tile_m: cuda.constexpr,
    tile_n: cuda.constexpr,
    tile_k: cuda.constexpr,
    thread_m: cuda.constexpr,
    thread_n: cuda.constexpr,
    vector: cuda.constexpr,
    a_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
    exact: cuda.constexpr,
    group: cuda.constexpr,
    unroll: cuda.constexpr,
):
    """``c = a @ b``.

    a: (m, k), or (k, m) if ``a_transposed``; b: (k, n), or (n, k) if ``b_transposed``; c: (m, n). ``exact`` says that
    m, n, k are multiples of the tiles and that all rows are contiguous and aligned to ``vector``. The grid has one
    block for each tile of C, walked in columns of ``group`` tiles so that operands stay in the device's cache.
    ``unroll`` steps along k are unrolled: some compilers load for all of them at once, and run out of registers.
    """
    m, n = np.int32(c.shape[0]), np.int32(c.shape[1])
    k = np.int32(a.shape[0]) if a_transposed else np.int32(a.shape[1])
    lanes = vector.lanes
    threads_n = tile_n // thread_n
    threads = (tile_m // thread_m) * threads_n
    groups_m = thread_m // lanes
    groups_n = thread_n // lanes
    loads_a = tile_m * tile_k // (lanes * threads)
    loads_b = tile_k * tile_n // (lanes * threads)
    tile_a = cuda.shared.array((2, tile_k, tile_m + 4), vector.dtype)
    tile_b = cuda.shared.array((2, tile_k, tile_n + 4), vector.dtype)
    next_a = cuda.local.array(loads_a, vector)
    next_b = cuda.local.array(loads_b, vector)
    rows = cuda.local.array(groups_m, vector)
    columns = cuda.local.array(groups_n, vector)
    acc = cuda.local.array((thread_m, thread_n), vector.dtype)

    thread = np.int32(cuda.threadIdx.x)
    thread_row = thread // threads_n * lanes
    thread_column = thread % threads_n * lanes
    tiles_m = (m + (tile_m - 1)) // tile_m
    tiles_n = (n + (tile_n - 1)) // tile_n
    block = np.int32(cuda.blockIdx.x)
    band = block // (group * tiles_n)
    band_height = max(min(np.int32(group), tiles_m - band * group), 1)
    within = block % (group * tiles_n)
    row0 = (band * group + within % band_height) * tile_m
    column0 = within // band_height * tile_n

    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    steps = (k + (tile_k - 1)) // tile_k
    buffer = np.int32(0)
    for step in range(np.int32(0), steps + 1):
        if step < steps:
            k0 = step * tile_k
            for load in cuda.unroll(range(loads_a)):
                position = thread + load * threads
                if a_transposed:
                    y, x = k0 + position // (tile_m // lanes), row0 + position % (tile_m // lanes) * lanes
                    next_a[load] = _load(a, y, x, k, m, vector, exact)
                else:
                    y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
                    next_a[load] = _load(a, y, x, m, k, vector, exact)
            for load in cuda.unroll(range(loads_b)):
                position = thread + load * threads
                if b_transposed:
                    y, x = column0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
                    next_b[load] = _load(b, y, x, n, k, vector, exact)
                else:
                    y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
                    next_b[load] = _load(b, y, x, k, n, vector, exact)
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
                            acc[i, j] = cuda.fma(rows[i // lanes][i % lanes], columns[j // lanes][j % lanes], acc[i, j])
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

    for i in cuda.unroll(range(thread_m)):
        row = row0 + thread_row + (i // lanes * (tile_m // groups_m) + i % lanes)
        for part in cuda.unroll(range(groups_n)):
            column = column0 + thread_column + part * (tile_n // groups_n)
            if exact:
                if lanes == 4:
                    line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
                else:
                    line = vector(acc[i, part * 2], acc[i, part * 2 + 1])
                cuda.vstore(line, c, (row, column), aligned=True)
            else:
                for lane in cuda.unroll(range(lanes)):
                    if row < m and column + lane < n:
                        c[row, column + lane] = acc[i, part * lanes + lane]
