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

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element, store_vector


class TilePlan(NamedTuple):
    """What is known when the kernel is compiled; see `portagpu.blas.gemm.variants.tile.variant` for the first seven.

    ``vector``: of sums, which are integers if ``whole``. ``aligned``: vectors of rows are; ``exact``: everything is
    inside, too, as m, n and k are multiples of the tiles. ``grouped``: rows of a and c are sorted into groups.
    ``unroll`` steps along k are unrolled: some compilers load for all of them at once, and run out of registers.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    thread_m: int
    thread_n: int
    problems: int
    group: int
    vector: Any
    whole: bool
    a_transposed: bool
    b_transposed: bool
    aligned: bool
    exact: bool
    grouped: bool
    unroll: int


class Lines(NamedTuple):
    """Lines of an operand, as they lie in memory from number ``start`` on."""

    memory: Any
    start: Any
    pitch: Any


@cuda.jit(device=True)
def _element(lines, row, column, rows, columns):
    """An element of lines, or zero outside of ``rows`` and ``columns``."""
    return lines.memory[lines.start + row * lines.pitch + column] if row < rows and column < columns else 0


@cuda.jit(device=True)
def _load(lines, row, column, rows, columns, plan: cuda.constexpr):
    """A vector of sums' type from an element on, zeros outside; see `TilePlan`."""
    vector = plan.vector
    if plan.exact:
        return vector(cuda.vload(lines.memory, lines.start + row * lines.pitch + column, vector.lanes, aligned=True))
    if plan.aligned and row < rows and column + vector.lanes <= columns:
        return vector(cuda.vload(lines.memory, lines.start + row * lines.pitch + column, vector.lanes, aligned=True))
    if vector.lanes == 4:
        return vector(
            _element(lines, row, column, rows, columns),
            _element(lines, row, column + 1, rows, columns),
            _element(lines, row, column + 2, rows, columns),
            _element(lines, row, column + 3, rows, columns),
        )
    return vector(_element(lines, row, column, rows, columns), _element(lines, row, column + 1, rows, columns))


@cuda.jit
def multiply_tiles(a, b, c, offsets, extents, batch, split, factors, plan: cuda.constexpr, epilogue: cuda.constexpr):
    """``c = alpha * a @ b + beta * c`` for ``batch`` products of (m, k) and (k, n); see `operands` for the layouts.

    a, b, c: each a `Matrix`. The grid is one-dimensional: for each product (``plan.problems`` of them, if that is more
    than one) and each of the parts of a ``split``, a block for each tile of C, walked in columns of ``plan.group``
    tiles so that operands stay in the device's cache. Parts are stored as they are to c, then (batch, parts, m, n).

    ``plan.grouped``: rows ``offsets[g]`` to ``offsets[g + 1]`` of a and c belong to matrix g of b; ``extents.m`` counts
    all rows, batch the groups.
    """
    tile_m, tile_n, tile_k, thread_m, thread_n, problems, group, vector, whole = plan[:9]
    a_transposed, b_transposed, aligned, exact, grouped, unroll = plan[9:]
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
    flat_a = a.memory.T.ravel() if a_transposed and a.memory.ndim == 2 else a.memory.ravel()
    flat_b = b.memory.T.ravel() if b_transposed and b.memory.ndim == 2 else b.memory.ravel()
    flat_c = c.memory.ravel()

    thread = np.int32(cuda.threadIdx.x) % threads
    mine = np.int32(cuda.threadIdx.x) // threads
    thread_row = thread // threads_n * lanes
    thread_column = thread % threads_n * lanes
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    block = type(extents.m)(cuda.blockIdx.x)
    active = True
    if grouped:
        tile = block // tiles_n
        column0 = block % tiles_n * tile_n
        matrix = type(extents.m)(0)
        first_row, last_row = type(extents.m)(offsets[0]), type(extents.m)(offsets[1])
        before = (last_row - first_row + (tile_m - 1)) // tile_m
        while matrix < batch - 1 and tile >= before:
            tile -= before
            matrix += 1
            first_row, last_row = last_row, type(extents.m)(offsets[matrix + 1])
            before = (last_row - first_row + (tile_m - 1)) // tile_m
        active = tile < before  # the grid is made for the most tiles that there can be
        row0 = first_row + tile * tile_m
        end_m, begin_k, end_k = last_row, type(extents.m)(0), extents.k if active else type(extents.m)(0)
        a_start, b_start, c_start = type(extents.m)(0), matrix * b.batch, type(extents.m)(0)
    else:
        tiles_m = (extents.m + (tile_m - 1)) // tile_m
        tiles = tiles_m * tiles_n
        matrix = block // tiles
        within = block % tiles
        band = within // (group * tiles_n)
        band_height = max(min(type(extents.m)(group), tiles_m - band * group), 1)
        within = within % (group * tiles_n)
        row0 = (band * group + within % band_height) * tile_m
        column0 = within // band_height * tile_n
        if problems > 1:
            matrix = matrix * problems + mine
            active = matrix < batch
            matrix = min(matrix, batch - 1)
        c_start = matrix * c.batch
        begin_k = matrix % split.count * split.terms
        end_m, end_k = extents.m, min(extents.k, begin_k + split.terms)
        matrix = matrix // split.count
        a_start, b_start = matrix * a.batch, matrix * b.batch

    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    steps = (end_k - begin_k + (tile_k - 1)) // tile_k
    buffer = mine * 2
    for step in range(type(extents.m)(0), steps + 1):
        if step < steps:
            k0 = begin_k + step * tile_k
            for load in cuda.unroll(range(loads_a)):
                position = thread + load * threads
                if a_transposed:
                    y, x = k0 + position // (tile_m // lanes), row0 + position % (tile_m // lanes) * lanes
                    next_a[load] = _load(Lines(flat_a, a_start, a.pitch), y, x, end_k, end_m, plan)
                else:
                    y, x = row0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
                    next_a[load] = _load(Lines(flat_a, a_start, a.pitch), y, x, end_m, end_k, plan)
            for load in cuda.unroll(range(loads_b)):
                position = thread + load * threads
                if b_transposed:
                    y, x = column0 + position // (tile_k // lanes), k0 + position % (tile_k // lanes) * lanes
                    next_b[load] = _load(Lines(flat_b, b_start, b.pitch), y, x, extents.n, end_k, plan)
                else:
                    y, x = k0 + position // (tile_n // lanes), column0 + position % (tile_n // lanes) * lanes
                    next_b[load] = _load(Lines(flat_b, b_start, b.pitch), y, x, end_k, extents.n, plan)
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
                place = c_start + row * c.pitch + column
                if lanes == 4:
                    line = vector(acc[i, part * 4], acc[i, part * 4 + 1], acc[i, part * 4 + 2], acc[i, part * 4 + 3])
                else:
                    line = vector(acc[i, part * 2], acc[i, part * 2 + 1])
                if exact:
                    store_vector(line, flat_c, place, matrix, row, column, factors, epilogue, True)
                else:
                    by_vector = False
                    if aligned:
                        by_vector = row < end_m and column + lanes <= extents.n
                        if by_vector:
                            store_vector(line, flat_c, place, matrix, row, column, factors, epilogue, True)
                    if not by_vector:
                        for lane in cuda.unroll(range(lanes)):
                            if row < end_m and column + lane < extents.n:
                                store_element(
                                    acc[i, part * lanes + lane],
                                    flat_c,
                                    place + lane,
                                    matrix,
                                    row,
                                    column + lane,
                                    factors,
                                    epilogue,
                                )
