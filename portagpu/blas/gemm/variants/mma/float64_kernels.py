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

from typing import NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, Epilogue
from portagpu.blas.gemm.kernels.async_copy import Rest, Source, Staging, Target, fetch
from portagpu.blas.gemm.kernels.epilogue import store_element, store_vector
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts
from portagpu.blas.gemm.kernels.tile_order import element_of, span_of, tile_at


class DoublePlan(NamedTuple):
    """What is known when the kernel is compiled. A warp's tile is ``blocks_m`` x ``blocks_n`` fragments of 16 x 8.

    ``transposed``: the kernel's ``a @ b`` is the transpose of c. ``persistent``: a block takes one tile after the
    other, and the next one's first copies are under way while it stores the results of the last. Others as in
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


@cuda.jit(device=True)
def _fetch_planes(source, to, place, rest, staging, begin: cuda.constexpr, end: cuda.constexpr):
    """As `kernels.async_copy.fetch`, for planes of eight k's of an operand that lies along k."""
    wide = staging.wide
    for copy in cuda.unroll(range(begin, end)):
        x = copy * (staging.threads * wide // staging.tile_k)
        origin = source.start + np.uint32(copy) * source.hop
        if staging.guard and staging.tail:
            inside = x < rest.x and rest.k > 0
            cuda.pipeline_memcpy_async(to.ring, (place, to.first + x * 8), source.memory, origin, wide, valid=inside)
        elif staging.guard:
            cuda.pipeline_memcpy_async(
                to.ring, (place, to.first + x * 8), source.memory, origin, wide, valid=x < rest.x
            )
        elif staging.tail:
            cuda.pipeline_memcpy_async(
                to.ring, (place, to.first + x * 8), source.memory, origin, wide, valid=rest.k > 0
            )
        else:
            cuda.pipeline_memcpy_async(to.ring, (place, to.first + x * 8), source.memory, origin, wide)


@cuda.jit(device=True)
def _fetch_columns(source, to, place, rest, staging, begin: cuda.constexpr, end: cuda.constexpr):
    """Copies of B."""
    if staging.along_k:
        _fetch_planes(source, to, place, rest, staging, begin, end)
    else:
        fetch(source, to, place, rest, staging, begin, end)


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


@cuda.jit(device=True)
def _store_two(sums, c, line, at, own, factors, epilogue, plan: cuda.constexpr):
    """Store two neighbours in a line of C, as far as they are the tile's own.

    at: number of the line, and of the first of them in it; own: the first number of the line that is the tile's, and
    the end.
    """
    x = at[1]
    if plan.wide_c == 2:
        if x >= own[0] and x < own[1]:
            both = epilogue.scaled(sums[0], sums[1])
            store_vector(both, c, line + np.uint32(x), at[0], x, factors, epilogue, True)
    else:
        if x >= own[0] and x < own[1]:
            store_element(sums[0], c, line + np.uint32(x), at[0], x, factors, epilogue)
        if x + 1 >= own[0] and x + 1 < own[1]:
            store_element(sums[1], c, line + np.uint32(x + 1), at[0], x + 1, factors, epilogue)


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

    With ``plan.persistent`` the grid has any number of blocks, and k is at least ``plan.stages`` steps.
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
    staging_a = Staging(a_along, tile_m, row_a, tile_k, plan.wide_a, threads, plan.guard_a, plan.tail)
    staging_b = Staging(b_along, tile_n, row_b, tile_k, plan.wide_b, threads, plan.guard_b, plan.tail)
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
    product = number // tiles
    _, _, row0, column0 = tile_at(number % tiles, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group)
    first, end = span_of(piece, pieces.count, extents.k, tile_k, plan.levels)
    depth = end - first
    steps = (depth + (tile_k - 1)) // tile_k

    if a_along:
        x_a, k_a = thread // 8, thread % 8
        hop_a, next_a = a.pitch * np.uint32(threads // 8), np.uint32(tile_k)
    else:
        x_a, k_a = thread % (tile_m // plan.wide_a) * plan.wide_a, thread // (tile_m // plan.wide_a)
        hop_a, next_a = a.pitch * np.uint32(max(threads * plan.wide_a // tile_m, 1)), a.pitch * np.uint32(tile_k)
    target_a = k_a * row_a + x_a
    if b_along:
        x_b, k_b = thread // (tile_k // plan.wide_b), thread % (tile_k // plan.wide_b) * plan.wide_b
        target_b = k_b // 8 * row_b + x_b * 8 + k_b % 8
        hop_b, next_b = b.pitch * np.uint32(threads * plan.wide_b // tile_k), np.uint32(tile_k)
    else:
        x_b, k_b = thread % (tile_n // plan.wide_b) * plan.wide_b, thread // (tile_n // plan.wide_b)
        target_b = k_b * row_b + x_b
        hop_b, next_b = b.pitch * np.uint32(max(threads * plan.wide_b // tile_n, 1)), b.pitch * np.uint32(tile_k)
    copies_a = tile_m * tile_k // (threads * (1 if a_along else plan.wide_a))
    copies_b = tile_n * tile_k // (threads * plan.wide_b)
    start_a = np.uint32(product) * a.batch + element_of(row0 + x_a, first + k_a, a.pitch, a_along)
    start_b = np.uint32(product) * b.batch + element_of(column0 + x_b, first + k_b, b.pitch, b_along)
    rest_m, rest_n = extents.m - row0 - x_a, extents.n - column0 - x_b
    left_a, left_b = depth - k_a, depth - k_b

    for i in cuda.unroll(range(blocks_m)):
        for j in cuda.unroll(range(blocks_n)):
            for part in cuda.unroll(range(4)):
                acc[i, j, part] = 0
    for stage in cuda.unroll(range(stages - 1)):
        fetch(
            Source(a.memory, start_a, hop_a),
            Target(ring_a, target_a),
            np.int32(stage),
            Rest(rest_m, left_a),
            staging_a,
            0,
            copies_a,
        )
        _fetch_columns(
            Source(b.memory, start_b, hop_b),
            Target(ring_b, target_b),
            np.int32(stage),
            Rest(rest_n, left_b),
            staging_b,
            0,
            copies_b,
        )
        cuda.pipeline_commit()
        # at the end the last tiles are copied again, to places that nobody reads: cheaper than asking each time
        if stage + 1 < steps:
            start_a += next_a
            start_b += next_b
            left_a -= tile_k
            left_b -= tile_k
    cuda.pipeline_wait_prior(stages - 2)
    cuda.syncthreads()
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
                        fetch(
                            Source(a.memory, start_a, hop_a),
                            Target(ring_a, target_a),
                            fill,
                            Rest(rest_m, left_a),
                            staging_a,
                            i * copies_a // blocks_m,
                            (i + 1) * copies_a // blocks_m,
                        )
                        _fetch_columns(
                            Source(b.memory, start_b, hop_b),
                            Target(ring_b, target_b),
                            fill,
                            Rest(rest_n, left_b),
                            staging_b,
                            i * copies_b // blocks_m,
                            (i + 1) * copies_b // blocks_m,
                        )
                        if i == blocks_m - 1:
                            cuda.pipeline_commit()
                    for turn in cuda.unroll(range(blocks_n)):
                        j = blocks_n - 1 - turn if i % 2 else turn  # back and forth: one of the operands stays
                        cuda.mma_sync("m16n8k8", "float64", acc[i, j], rows[here, i], columns[here, j])
            use = following
            fill = fill + 1 if fill < stages - 1 else 0
            ahead += 1
            if ahead < steps:
                start_a += next_a
                start_b += next_b
                left_a -= tile_k
                left_b -= tile_k
            elif plan.persistent and ahead == steps and number + blocks < total:
                upcoming = number + blocks
                product = upcoming // tiles
                _, _, row0, column0 = tile_at(
                    upcoming % tiles, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group
                )
                start_a = np.uint32(product) * a.batch + element_of(row0 + x_a, k_a, a.pitch, a_along)
                start_b = np.uint32(product) * b.batch + element_of(column0 + x_b, k_b, b.pitch, b_along)
                rest_m, rest_n = extents.m - row0 - x_a, extents.n - column0 - x_b
                left_a, left_b = depth - k_a, depth - k_b
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
        if plan.transposed:
            for j in cuda.unroll(range(blocks_n)):
                for part in cuda.unroll(range(2)):
                    column = column0 + warp_n + (j * 8 + part) + inner * 2
                    line = start_c + np.uint32(column) * c.pitch
                    if column >= own_column and column < extents.n:
                        for i in cuda.unroll(range(blocks_m)):
                            row = row0 + warp_m + i * 16 + quad * 2
                            _store_two(
                                (acc[i, j, part], acc[i, j, part + 2]),
                                c.memory,
                                line,
                                (column, row),
                                (own_row, extents.m),
                                factors,
                                epilogue,
                                plan,
                            )
        else:
            for i in cuda.unroll(range(blocks_m)):
                for part in cuda.unroll(range(2)):
                    row = row0 + warp_m + (i * 16 + part) + quad * 2
                    line = start_c + np.uint32(row) * c.pitch
                    if row >= own_row and row < extents.m:
                        for j in cuda.unroll(range(blocks_n)):
                            column = column0 + warp_n + j * 8 + inner * 2
                            _store_two(
                                (acc[i, j, part * 2], acc[i, j, part * 2 + 1]),
                                c.memory,
                                line,
                                (row, column),
                                (own_column, extents.n),
                                factors,
                                epilogue,
                                plan,
                            )
        if not plan.persistent:
            break
        for i in cuda.unroll(range(blocks_m)):
            for j in cuda.unroll(range(blocks_n)):
                for part in cuda.unroll(range(4)):
                    acc[i, j, part] = 0
        number += blocks
