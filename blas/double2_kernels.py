"""GEMM of float64 by the matrix units of CUDA GPUs (`cuda.mma_sync`), tiles by asynchronous copies; in the dialect.

The order of the k's within a product of fragments is free as long as A and B agree: the four threads of a group take
the k's 2t and 2t + 1 of every eight, so that operands that lie along k are read as vectors of two. Of the other order,
vectors of two hold neighbouring rows (columns), which then are rows g and g + 8 of a fragment (columns g of two
fragments); results are stored where they belong.

Shared memory holds operands that lie along k as planes of eight k's, 64 bytes for every row, the others as rows along
m (n) with two elements of padding: either way a quarter of a warp reads 128 bytes from different banks, at addresses
that are one register and a constant.

"Matrix fragments for mma.m16n8k8 with .f64 floating point type" in the PTX ISA.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.pipelined_kernels import store_scaled, tile_place


class DoublePlan(NamedTuple):
    """What is known when the kernel is compiled. A warp's tile is ``blocks_m`` x ``blocks_n`` fragments of 16 x 8.

    ``depth``: k's of one matrix instruction. ``buffers``: 2 to load fragments one step ahead, 1 to leave that to the
    compiler. Others as in `portagpu.blas.pipelined_kernels.Plan`.
    """

    warps_m: int
    warps_n: int
    blocks_m: int
    blocks_n: int
    tile_k: int
    stages: int
    depth: int
    buffers: int
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


@cuda.jit(device=True)
def _fetch(
    source,
    start,
    hop,
    tile,
    place,
    target,
    rest_x,
    rest_k,
    along_k: cuda.constexpr,
    extent: cuda.constexpr,
    tile_k: cuda.constexpr,
    wide: cuda.constexpr,
    threads: cuda.constexpr,
    guard: cuda.constexpr,
    tail: cuda.constexpr,
):
    """As `portagpu.blas.pipelined_kernels`, for this kernel's shared memory."""
    across = extent // wide
    for copy in cuda.unroll(range(extent * tile_k // (wide * threads))):
        if along_k:
            x, depth = copy * (threads * wide // tile_k), 0
            to = x * 4
            origin = start + np.uint32(copy) * hop
        else:
            x, depth = copy * threads % across * wide, copy * threads // across
            to = depth * (extent + 4) + x
            if threads < across:
                origin = start + (np.uint32(depth) * hop + np.uint32(x))
            else:
                origin = start + np.uint32(copy) * hop
        if guard and tail:
            inside = x < rest_x and depth < rest_k
            cuda.pipeline_memcpy_async(tile, (place, target + to), source, origin, wide, valid=inside)
        elif guard:
            cuda.pipeline_memcpy_async(tile, (place, target + to), source, origin, wide, valid=x < rest_x)
        elif tail:
            cuda.pipeline_memcpy_async(tile, (place, target + to), source, origin, wide, valid=depth < rest_k)
        else:
            cuda.pipeline_memcpy_async(tile, (place, target + to), source, origin, wide)


@cuda.jit(device=True)
def _load_rows(
    rows,
    ring,
    place,
    start,
    group: cuda.constexpr,
    blocks: cuda.constexpr,
    eights: cuda.constexpr,
    along_k: cuda.constexpr,
    plane: cuda.constexpr,
):
    """Fragments of A for ``eights`` times eight k's: of each block, rows g and g + 8 of k's t, then t + 4 ..."""
    for i in cuda.unroll(range(blocks)):
        for four in cuda.unroll(range(2 * eights)):
            for half in cuda.unroll(range(2)):
                at = (group * (2 * eights) + four) * plane + (i * 16 + half * 8) * (4 if along_k else 1)
                rows[i, four * 2 + half] = ring[place, start + at]


@cuda.jit(device=True)
def _load_columns(
    columns,
    ring,
    place,
    start,
    group: cuda.constexpr,
    blocks: cuda.constexpr,
    eights: cuda.constexpr,
    along_k: cuda.constexpr,
    plane: cuda.constexpr,
):
    """Fragments of B for ``eights`` times eight k's: of each block, columns g of k's t, then t + 4, and so on."""
    for j in cuda.unroll(range(blocks)):
        for four in cuda.unroll(range(2 * eights)):
            at = (group * (2 * eights) + four) * plane + j * (32 if along_k else 8)
            columns[j, four] = ring[place, start + at]


@cuda.jit(device=True)
def _store_two(
    c,
    line,
    at,
    step: cuda.constexpr,
    first,
    end,
    low,
    high,
    alpha,
    beta,
    vector: cuda.constexpr,
    wide: cuda.constexpr,
):
    """Store what belongs to ``at`` and ``at + step`` of a line of C, as far as it is from ``first`` up to ``end``."""
    if wide == 2 and step == 1:
        if at >= first and at < end:
            sums = vector(low, high) * alpha
            if beta != 0:
                sums += beta * cuda.vload(c, line + np.uint32(at), 2, aligned=True)
            cuda.vstore(sums, c, line + np.uint32(at), aligned=True)
    else:
        if at >= first and at < end:
            store_scaled(c, line + np.uint32(at), alpha * low, beta)
        if at + step >= first and at + step < end:
            store_scaled(c, line + np.uint32(at + step), alpha * high, beta)


@cuda.jit
def multiply_doubles2(
    a,
    b,
    c,
    m,
    n,
    k,
    batches,
    chunk,
    pitch_a,
    pitch_b,
    pitch_c,
    batch_a,
    batch_b,
    batch_c,
    alpha,
    beta,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c``; parameters as of `portagpu.blas.pipelined_kernels.multiply_pipelined`."""
    blocks_m, blocks_n, tile_k, stages = plan.blocks_m, plan.blocks_n, plan.tile_k, plan.stages
    tile_m = plan.warps_m * 16 * blocks_m
    tile_n = plan.warps_n * 8 * blocks_n
    threads = plan.warps_m * plan.warps_n * 32
    a_along, b_along = plan.a_along_k, plan.b_along_k
    eights = max(plan.depth // 8, 1)
    groups = tile_k // (8 * eights)
    buffers = plan.buffers
    row_a, row_b = tile_m + 4, tile_n + 4
    plane_a = 4 * tile_m + 4 if a_along else 4 * row_a
    plane_b = 4 * tile_n + 4 if b_along else 4 * row_b
    ring_a = cuda.shared.array((stages, tile_k // 4 * plane_a), vector.dtype, alignment=128)
    ring_b = cuda.shared.array((stages, tile_k // 4 * plane_b), vector.dtype, alignment=128)
    rows = cuda.local.array((buffers, blocks_m, 4 * eights), vector.dtype)
    columns = cuda.local.array((buffers, blocks_n, 2 * eights), vector.dtype)
    left = cuda.local.array(2, vector.dtype)
    right = cuda.local.array(1, vector.dtype)
    acc = cuda.local.array((blocks_m, blocks_n, 4), vector.dtype)

    thread = np.int32(cuda.threadIdx.x)
    lane = thread % 32
    warp = thread // 32
    quad = lane // 4
    inner = lane % 4
    warp_m = warp // plan.warps_n * (16 * blocks_m)
    warp_n = warp % plan.warps_n * (8 * blocks_n)
    if a_along:
        read_a = (warp_m + quad) * 4 + inner
    else:
        read_a = inner * row_a + (warp_m + quad)
    if b_along:
        read_b = (warp_n + quad) * 4 + inner
    else:
        read_b = inner * row_b + (warp_n + quad)

    tiles_m = (m + (tile_m - 1)) // tile_m
    tiles_n = (n + (tile_n - 1)) // tile_n
    block = np.int32(cuda.blockIdx.x)
    batch = block // (tiles_m * tiles_n)
    piece = batch // batches
    tile_row, tile_column = tile_place(block % (tiles_m * tiles_n), tiles_m, tiles_n, plan.group)
    own_row, own_column = tile_row * tile_m, tile_column * tile_n
    row0 = max(min(own_row, m - tile_m), 0)
    column0 = max(min(own_column, n - tile_n), 0)
    first = piece * chunk
    depth = min(k - first, chunk)
    steps = (depth + (tile_k - 1)) // tile_k

    product = np.uint32(batch % batches)
    start_a, start_b = product * batch_a, product * batch_b
    if a_along:
        x_a, k_a = thread // (tile_k // plan.wide_a), thread % (tile_k // plan.wide_a) * plan.wide_a
        target_a = k_a // 4 * plane_a + x_a * 4 + k_a % 4
        start_a += np.uint32(row0 + x_a) * pitch_a + np.uint32(first + k_a)
        hop_a, next_a = pitch_a * np.uint32(threads * plan.wide_a // tile_k), np.uint32(tile_k)
    else:
        x_a, k_a = thread % (tile_m // plan.wide_a) * plan.wide_a, thread // (tile_m // plan.wide_a)
        target_a = k_a * row_a + x_a
        start_a += np.uint32(first + k_a) * pitch_a + np.uint32(row0 + x_a)
        hop_a, next_a = pitch_a * np.uint32(max(threads * plan.wide_a // tile_m, 1)), pitch_a * np.uint32(tile_k)
    if b_along:
        x_b, k_b = thread // (tile_k // plan.wide_b), thread % (tile_k // plan.wide_b) * plan.wide_b
        target_b = k_b // 4 * plane_b + x_b * 4 + k_b % 4
        start_b += np.uint32(column0 + x_b) * pitch_b + np.uint32(first + k_b)
        hop_b, next_b = pitch_b * np.uint32(threads * plan.wide_b // tile_k), np.uint32(tile_k)
    else:
        x_b, k_b = thread % (tile_n // plan.wide_b) * plan.wide_b, thread // (tile_n // plan.wide_b)
        target_b = k_b * row_b + x_b
        start_b += np.uint32(first + k_b) * pitch_b + np.uint32(column0 + x_b)
        hop_b, next_b = pitch_b * np.uint32(max(threads * plan.wide_b // tile_n, 1)), pitch_b * np.uint32(tile_k)
    rest_m, rest_n = m - row0 - x_a, n - column0 - x_b
    left_a, left_b = depth - k_a, depth - k_b

    for i in cuda.unroll(range(blocks_m)):
        for j in cuda.unroll(range(blocks_n)):
            for part in cuda.unroll(range(4)):
                acc[i, j, part] = 0
    for stage in cuda.unroll(range(stages - 1)):
        _fetch(
            *(a, start_a, hop_a, ring_a, np.int32(stage), target_a, rest_m, left_a, a_along, tile_m, tile_k),
            *(plan.wide_a, threads, plan.guard_a, plan.tail),
        )
        _fetch(
            *(b, start_b, hop_b, ring_b, np.int32(stage), target_b, rest_n, left_b, b_along, tile_n, tile_k),
            *(plan.wide_b, threads, plan.guard_b, plan.tail),
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
    if buffers == 2:
        _load_rows(rows[0], ring_a, use, read_a, 0, blocks_m, eights, a_along, plane_a)
        _load_columns(columns[0], ring_b, use, read_b, 0, blocks_n, eights, b_along, plane_b)
    for step in range(np.int32(0), steps):
        _fetch(
            *(a, start_a, hop_a, ring_a, fill, target_a, rest_m, left_a, a_along, tile_m, tile_k),
            *(plan.wide_a, threads, plan.guard_a, plan.tail),
        )
        _fetch(
            *(b, start_b, hop_b, ring_b, fill, target_b, rest_n, left_b, b_along, tile_n, tile_k),
            *(plan.wide_b, threads, plan.guard_b, plan.tail),
        )
        cuda.pipeline_commit()
        following = use + 1 if use < stages - 1 else 0
        for group in cuda.unroll(range(groups)):
            last = group == groups - 1
            here = group % buffers
            if buffers == 1:
                _load_rows(rows[0], ring_a, use, read_a, group, blocks_m, eights, a_along, plane_a)
                _load_columns(columns[0], ring_b, use, read_b, group, blocks_n, eights, b_along, plane_b)
            if last:
                # all fragments of this step are read; the tiles of the next are there for all threads
                cuda.pipeline_wait_prior(stages - 2)
                cuda.syncthreads()
            if buffers == 2:
                place = following if last else use
                ahead = (group + 1) % groups
                _load_rows(rows[1 - here], ring_a, place, read_a, ahead, blocks_m, eights, a_along, plane_a)
                _load_columns(*(columns[1 - here], ring_b, place, read_b, ahead, blocks_n, eights, b_along, plane_b))
            for i in cuda.unroll(range(blocks_m)):
                for turn in cuda.unroll(range(blocks_n)):
                    j = blocks_n - 1 - turn if i % 2 else turn  # back and forth: one of the operands stays
                    if plan.depth == 4:
                        for half in cuda.unroll(range(2)):
                            left[0], left[1] = rows[here, i, half * 2], rows[here, i, half * 2 + 1]
                            right[0] = columns[here, j, half]
                            cuda.mma_sync("m16n8k4", "float64", acc[i, j], left, right)
                    elif plan.depth == 8:
                        cuda.mma_sync("m16n8k8", "float64", acc[i, j], rows[here, i], columns[here, j])
                    else:
                        cuda.mma_sync("m16n8k16", "float64", acc[i, j], rows[here, i], columns[here, j])
        use = following
        fill = fill + 1 if fill < stages - 1 else 0
        if step + stages < steps:
            start_a += next_a
            start_b += next_b
            left_a -= tile_k
            left_b -= tile_k

    start_c = np.uint32(batch) * batch_c
    for i in cuda.unroll(range(blocks_m)):
        for half in cuda.unroll(range(2)):
            row = row0 + warp_m + (i * 16 + half * 8) + quad
            line = start_c + np.uint32(row) * pitch_c
            if row >= own_row and row < m:
                for j in cuda.unroll(range(blocks_n)):
                    column = column0 + warp_n + j * 8 + inner * 2
                    low, high = acc[i, j, half * 2], acc[i, j, half * 2 + 1]
                    _store_two(c, line, column, 1, own_column, n, low, high, alpha, beta, vector, plan.wide_c)
