"""GEMM of float64 by the matrix units of CUDA GPUs (`cuda.mma_sync`), tiles by asynchronous copies; in the dialect.

The order of the k's within a product of fragments is free as long as A and B agree: the four threads of a group take
the k's 2t and 2t + 1 of every eight. Of A, shared memory holds rows along m, of which a thread reads two neighbours at
once, its rows g and g + 8 of a fragment; of B, planes of eight k's, 64 bytes for each column, of which a thread reads
two k's at once. So every load of 16 bytes fills two registers of a fragment that lie side by side, as the instructions
want them (any other order costs a move for each register), a quarter of a warp reads 128 bytes from different banks,
and addresses are one register and a constant.

An A that lies in the other order is transposed by its copies, which then move single elements. A B that does lies as
rows along n, is read element by element, and the k's are t and t + 4. ``c = a @ b`` of matrices in C order is
computed as ``c.T = b.T @ a.T``, where both lie as wanted.

"Matrix fragments for mma.m16n8k8 with .f64 floating point type" in the PTX ISA.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, Epilogue
from portagpu.blas.gemm.kernels.async_copy import (
    ACROSS,
    LINES,
    SINGLES,
    Both,
    Route,
    Staging,
    advanced,
    fetch_both,
    fill_ring,
    front_at,
    part_of_tile,
)
from portagpu.blas.gemm.kernels.epilogue import store_neighbours
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts
from portagpu.blas.gemm.kernels.tile_order import span_of, span_of_blocks, tile_at


class DoublePlan(NamedTuple):
    """What is known when the kernel is compiled. A warp's tile is ``blocks_m`` x ``blocks_n`` fragments of 16 x 8.

    ``transposed``: the kernel's ``a @ b`` is the transpose of c. ``persistent``: a block takes one tile after the
    other, and the next one's first copies are under way while it stores the results of the last. ``triangle``: rows of
    the blocks of an operand that is block triangular, multiples of tiles; 0 if none is. It is the kernel's a if
    ``triangle_a``, else its b; ``before``: of `span_of_blocks`. Others as in
    `portagpu.blas.gemm.variants.simt_async.kernels.Plan`.
    """

    warps_m: int
    warps_n: int
    blocks_m: int
    blocks_n: int
    tile_k: int
    stages: int
    group: int
    a_along_k: bool
    b_along_k: bool
    transposed: bool
    wide_a: int
    wide_b: int
    wide_c: int
    guard_a: bool
    guard_b: bool
    tail: bool
    levels: int
    persistent: bool
    triangle: int = 0
    triangle_a: bool = False
    before: bool = False


class Axis(NamedTuple):
    """A thread's sums along an axis of C: two of each of so many blocks, which are ``apart``.

    first: of the warp; offset: of the thread in a block; own, end: the first number that is the tile's, and the end.
    """

    blocks: int
    apart: int
    first: Any
    offset: Any
    own: Any
    end: Any


@cuda.jit(device=True)
def _first_of_column(part, staging, plane: cuda.constexpr):
    """Where a thread's part of a tile of B begins in a place of the ring; plane: elements of one of eight k's."""
    if staging.way == LINES:
        return part.k // 8 * plane + part.x * 8 + part.k % 8
    return part.k * staging.pitch + part.x


@cuda.jit(device=True)
def _load_rows(
    rows,
    ring,
    place,
    start,
    group: cuda.constexpr,
    blocks: cuda.constexpr,
    pitch: cuda.constexpr,
    distance: cuda.constexpr,
):
    """Fragments of A for eight k's: of each block, rows g and g + 8 of the thread's two k's, ``distance`` apart."""
    for i in cuda.unroll(range(blocks)):
        for part in cuda.unroll(range(2)):
            at = start + ((group * 8 + part * distance) * pitch + i * 16)
            pair = cuda.vload(ring, (place, at), 2, aligned=True)
            rows[i, part * 2] = pair[0]
            rows[i, part * 2 + 1] = pair[1]


@cuda.jit(device=True)
def _load_columns(
    columns,
    ring,
    place,
    start,
    group: cuda.constexpr,
    blocks: cuda.constexpr,
    along_k: cuda.constexpr,
    pitch: cuda.constexpr,
):
    """Fragments of B for eight k's: of each block, columns g of the thread's two k's; pitch: of planes, or of rows."""
    for j in cuda.unroll(range(blocks)):
        if along_k:
            pair = cuda.vload(ring, (place, start + (group * pitch + j * 64)), 2, aligned=True)
            columns[j, 0] = pair[0]
            columns[j, 1] = pair[1]
        else:
            columns[j, 0] = ring[place, start + (group * 8 * pitch + j * 8)]
            columns[j, 1] = ring[place, start + ((group * 8 + 4) * pitch + j * 8)]


@cuda.jit
def multiply_doubles(
    a,
    b,
    c,
    extents,
    batches,
    pieces,
    factors,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c``; parameters as of `variants.simt_async.kernels.multiply_pipelined`.

    With ``plan.persistent`` the grid has any number of blocks, and k is at least ``plan.stages`` steps. With
    ``plan.triangle`` blocks have one tile each, and k is a multiple of it.
    """
    blocks_m, blocks_n, tile_k, stages = plan.blocks_m, plan.blocks_n, plan.tile_k, plan.stages
    tile_m = plan.warps_m * 16 * blocks_m
    tile_n = plan.warps_n * 8 * blocks_n
    threads = plan.warps_m * plan.warps_n * 32
    a_along, b_along = plan.a_along_k, plan.b_along_k
    groups = tile_k // 8
    # neighbouring threads' k's, and a thread's two
    neighbour, distance = (2, 1) if b_along else (1, 4)
    row_a = tile_m + (2 if b_along else 4)
    row_b = 8 * tile_n + 8 if b_along else tile_n + 4
    ring_a = cuda.shared.array((stages, tile_k * row_a), vector.dtype, alignment=128)
    ring_b = cuda.shared.array((stages, groups * row_b if b_along else tile_k * row_b), vector.dtype, alignment=128)
    way_a, way_b = SINGLES if a_along else ACROSS, LINES if b_along else ACROSS
    wide_a, pitch_b = 1 if a_along else plan.wide_a, 8 if b_along else row_b
    staging_a = Staging(way_a, tile_m, row_a, tile_k, wide_a, threads, plan.guard_a, plan.tail)
    staging_b = Staging(way_b, tile_n, pitch_b, tile_k, plan.wide_b, threads, plan.guard_b, plan.tail)
    epilogue = Epilogue(BETA_UNLESS_ZERO, vector, vector)
    rows = cuda.local.array((2, blocks_m, 4), vector.dtype)
    columns = cuda.local.array((2, blocks_n, 2), vector.dtype)
    acc = cuda.local.array((blocks_m, blocks_n, 4), vector.dtype)

    thread = np.int32(cuda.threadIdx.x)
    lane = thread % 32
    warp = thread // 32
    quad = lane // 4
    inner = lane % 4
    warp_m = warp // plan.warps_n * (16 * blocks_m)
    warp_n = warp % plan.warps_n * (8 * blocks_n)
    read_a = inner * (neighbour * row_a) + (warp_m + quad * 2)
    if b_along:
        read_b = (warp_n + quad) * 8 + inner * 2
    else:
        read_b = inner * row_b + (warp_n + quad)

    tiles_m = (extents.m + (tile_m - 1)) // tile_m
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    tiles = tiles_m * tiles_n
    total = tiles * batches
    block = np.int32(cuda.blockIdx.x)
    piece = block // total if plan.levels else np.int32(0)
    number = block % total if plan.levels else block
    if plan.triangle and plan.before:
        number = total - 1 - number  # the longest sums first
    product = number // tiles
    own_row, own_column, row0, column0 = tile_at(
        number % tiles, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group
    )
    if plan.triangle:
        first, end = span_of_blocks(own_row if plan.triangle_a else own_column, extents.k, plan.triangle, plan.before)
    else:
        first, end = span_of(piece, pieces.count, extents.k, tile_k, plan.levels)
    depth = end - first
    steps = (depth + (tile_k - 1)) // tile_k

    part_a, part_b = part_of_tile(thread, a.pitch, staging_a), part_of_tile(thread, b.pitch, staging_b)
    route_a = Route(a.memory, ring_a, part_a.k * row_a + part_a.x, part_a, staging_a)
    route_b = Route(b.memory, ring_b, _first_of_column(part_b, staging_b, row_b), part_b, staging_b)
    routes = Both(route_a, route_b)
    front_a = front_at(a, product, row0, first, depth, part_a, staging_a)
    front_b = front_at(b, product, column0, first, depth, part_b, staging_b)
    rests = Both(extents.m - row0 - part_a.x, extents.n - column0 - part_b.x)

    for i in cuda.unroll(range(blocks_m)):
        for j in cuda.unroll(range(blocks_n)):
            for part in cuda.unroll(range(4)):
                acc[i, j, part] = 0
    fronts = fill_ring(routes, Both(front_a, front_b), rests, steps, stages)
    use = np.int32(0)
    fill = np.int32(stages - 1)
    _load_rows(rows[0], ring_a, use, read_a, 0, blocks_m, row_a, distance)
    _load_columns(columns[0], ring_b, use, read_b, 0, blocks_n, b_along, row_b)
    ahead = np.int32(stages - 1)
    blocks = np.int32(cuda.gridDim.x)
    while number < total:
        for _ in range(np.int32(0), steps):
            following = use + 1 if use < stages - 1 else 0
            for group in cuda.unroll(range(groups)):
                here = group % 2
                place = use
                if group == groups - 1:
                    # all fragments of this step are read; the tiles of the next are there for all threads
                    cuda.pipeline_wait_prior(stages - 2)
                    cuda.syncthreads()
                    place = following
                _load_rows(rows[1 - here], ring_a, place, read_a, (group + 1) % groups, blocks_m, row_a, distance)
                _load_columns(columns[1 - here], ring_b, place, read_b, (group + 1) % groups, blocks_n, b_along, row_b)
                for i in cuda.unroll(range(blocks_m)):
                    if group == 0:
                        # copies go out between the products: many at once would hold up the loads behind them
                        fetch_both(routes, fronts, rests, fill, i, blocks_m)
                        if i == blocks_m - 1:
                            cuda.pipeline_commit()
                    for turn in cuda.unroll(range(blocks_n)):
                        j = blocks_n - 1 - turn if i % 2 else turn  # back and forth: one of the operands stays
                        cuda.mma_sync("m16n8k8", "float64", acc[i, j], rows[here, i], columns[here, j])
            use = following
            fill = fill + 1 if fill < stages - 1 else 0
            ahead += 1
            if ahead < steps:
                fronts = advanced(fronts, routes)
            elif plan.persistent and ahead == steps and number + blocks < total:
                upcoming = number + blocks
                product = upcoming // tiles
                _, _, row0, column0 = tile_at(
                    upcoming % tiles, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group
                )
                fronts = Both(
                    front_at(a, product, row0, np.int32(0), depth, part_a, staging_a),
                    front_at(b, product, column0, np.int32(0), depth, part_b, staging_b),
                )
                rests = Both(extents.m - row0 - part_a.x, extents.n - column0 - part_b.x)
                ahead = np.int32(0)

        if plan.levels and not add_parts(
            acc.ravel(),
            Share(pieces.memory, pieces.arrived, number, piece, pieces.count, pieces.count, pieces.fan),
            thread,
            Team(blocks_m * blocks_n * 4, vector, plan.levels, 0, threads),
        ):
            return
        own_row, own_column, row0, column0 = tile_at(
            number % tiles, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group
        )
        start_c = np.uint32(number // tiles) * c.batch
        down = Axis(blocks_m, 16, row0 + warp_m, quad * 2, own_row, extents.m)
        right = Axis(blocks_n, 8, column0 + warp_n, inner * 2, own_column, extents.n)
        lines, runs = (right, down) if plan.transposed else (down, right)
        for outer in cuda.unroll(range(lines.blocks)):
            for part in cuda.unroll(range(2)):
                number_of_line = lines.first + (outer * lines.apart + part) + lines.offset
                line = start_c + np.uint32(number_of_line) * c.pitch
                if number_of_line >= lines.own and number_of_line < lines.end:
                    for run in cuda.unroll(range(runs.blocks)):
                        i, j = (run, outer) if plan.transposed else (outer, run)
                        low, high = (part, part + 2) if plan.transposed else (part * 2, part * 2 + 1)
                        store_neighbours(
                            (acc[i, j, low], acc[i, j, high]),
                            c.memory,
                            c.memory,
                            line,
                            number // tiles,
                            (number_of_line, runs.first + run * runs.apart + runs.offset),
                            (runs.own, runs.end),
                            factors,
                            epilogue,
                            plan.wide_c == 2,
                        )
        if not plan.persistent:
            break
        for i in cuda.unroll(range(blocks_m)):
            for j in cuda.unroll(range(blocks_n)):
                for part in cuda.unroll(range(4)):
                    acc[i, j, part] = 0
        number += blocks
