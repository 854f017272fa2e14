"""GEMM of 8- and 16-bit operands and of TF32 by `cuda.mma_sync` and `cuda.ldmatrix`, for CUDA GPUs; in the dialect.

As `portagpu.blas.gemm.variants.mma.float64_kernels`: tiles by asynchronous copies, fragments one step ahead. Shared
memory holds operands that lie along k as they come, 64 or 128 bytes for each row (column), whose parts of 16 bytes are
permuted by the row's number, so that the eight rows of a matrix that `ldmatrix` reads lie in different banks. (Planes
of 16 bytes need no permutation, but copies that spread a row over several lines of shared memory take several times as
long.) Operands of 16 bits that lie across k stay rows along m (n), 16 bytes apart in the banks, and `ldmatrix`
transposes them; TF32 ones are read element by element. Two parts of 16 bytes serve one matrix instruction.

"Matrix fragments for mma.m16n8k16" and "ldmatrix" in the PTX ISA.
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
from portagpu.blas.gemm.kernels.tile_order import span_of, tile_at


class FragmentPlan(NamedTuple):
    """What is known when the kernel is compiled. A warp's tile is ``blocks_m`` x ``blocks_n`` fragments of 16 x 8.

    ``kind``, ``shape``: of `cuda.mma_sync`. ``bits``: the type as which operands are copied. ``sums``: vectors of
    four sums. ``packed``: "float16" or "bfloat16" if results leave in pairs of 16 bits, else "". Others as in
    `portagpu.blas.gemm.variants.simt_async.kernels.Plan`.
    """

    kind: str
    shape: str
    bits: np.dtype
    sums: Any
    packed: str
    warps_m: int
    warps_n: int
    blocks_m: int
    blocks_n: int
    tile_k: int
    stages: int
    group: int
    a_along_k: bool
    b_along_k: bool
    wide_a: int
    wide_b: int
    guard_a: bool
    guard_b: bool
    tail: bool
    levels: int


@cuda.jit(device=True)
def _permuted(part, line, parts: cuda.constexpr):
    """Where part number ``part`` of a line lies among its ``parts``, 4 or 8: eight lines have eight places."""
    return part ^ (line % 8 if parts == 8 else line // 2 % 4)


@cuda.jit(device=True)
def _first_element(part, staging, span: cuda.constexpr):
    """Where a thread's part of a tile begins in a place of the ring; span: elements of 16 bytes."""
    if staging.way == LINES:
        permuted = _permuted(part.k // span, part.x, staging.tile_k // span)
        return part.x * staging.pitch + permuted * span + part.k % span
    return part.k * staging.pitch + part.x


class Fragments(NamedTuple):
    """How fragments of an operand are read, ``pieces`` of 16 rows of A, or of two blocks of 8 columns of B.

    ``single``: one by one; then ``high`` and ``far`` are the registers whose row is 8 higher and those whose k is one
    part on. ``span``: elements of 16 bytes; ``pitch``: of a row in shared memory.
    """

    pieces: int
    along_k: bool
    single: bool
    span: int
    pitch: int
    high: tuple[int, int]
    far: tuple[int, int]


@cuda.jit(device=True)
def _find_lines(starts, line, part, form):
    """Of each group of two parts of 16 bytes, the first element of one part of a line of an operand along k."""
    parts = form.pitch // form.span
    for group in cuda.unroll(range(parts // 2)):
        starts[group] = np.uint32(line * form.pitch + _permuted(group * 2 + part, line, parts) * form.span)


@cuda.jit(device=True)
def _load(registers, ring, place, start, starts, group: cuda.constexpr, form):
    """Fragments for two parts of 16 bytes along k, see `Fragments`.

    start, starts: the thread's first element of the tile; for operands along k, of each group of two parts.
    """
    for i in cuda.unroll(range(form.pieces)):
        if form.along_k:
            cuda.ldmatrix(registers[i], ring, (place, starts[group] + np.uint32(i * 16 * form.pitch)))
        elif form.single:
            for part in cuda.unroll(range(4)):
                row = i * 16 + (8 if part in form.high else 0)
                depth = group * 2 * form.span + (form.span if part in form.far else 0)
                registers[i, part] = ring[place, start + (depth * form.pitch + row)]
        else:
            cuda.ldmatrix(
                registers[i],
                ring,
                (place, start + (group * 2 * form.span * form.pitch + i * 16)),
                transposed=True,
            )


@cuda.jit(device=True)
def _round(registers, pieces: cuda.constexpr):
    """Elements of TF32 to nearest: the matrix units cut off what they do not take, two to three times the error."""
    for i in cuda.unroll(range(pieces)):
        for part in cuda.unroll(range(4)):
            registers[i, part] = cuda.float_to_tf32(registers[i, part].view(np.float32)).view(np.uint32)


@cuda.jit
def multiply_fragments(
    a,
    b,
    c,
    extents,
    batches,
    pieces,
    factors,
    pairs,
    plan: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c``; parameters as of `variants.simt_async.kernels.multiply_pipelined`.

    pairs: the memory of c as uint32 if ``plan.packed``.
    """
    blocks_m, blocks_n, tile_k, stages = plan.blocks_m, plan.blocks_n, plan.tile_k, plan.stages
    tile_m = plan.warps_m * 16 * blocks_m
    tile_n = plan.warps_n * 8 * blocks_n
    threads = plan.warps_m * plan.warps_n * 32
    a_along, b_along = plan.a_along_k, plan.b_along_k
    span = 16 // plan.bits.itemsize
    single = span == 4
    groups = tile_k // (2 * span)
    pitch_x = tile_k if a_along else tile_m + 8
    pitch_y = tile_k if b_along else tile_n + 8
    ring_a = cuda.shared.array((stages, tile_m * tile_k if a_along else tile_k * pitch_x), plan.bits, alignment=128)
    ring_b = cuda.shared.array((stages, tile_n * tile_k if b_along else tile_k * pitch_y), plan.bits, alignment=128)
    way_a, way_b = LINES if a_along else ACROSS, LINES if b_along else ACROSS
    staging_a = Staging(way_a, tile_m, pitch_x, tile_k, plan.wide_a, threads, plan.guard_a, plan.tail)
    staging_b = Staging(way_b, tile_n, pitch_y, tile_k, plan.wide_b, threads, plan.guard_b, plan.tail)
    form_a = Fragments(blocks_m, a_along, single, span, pitch_x, (1, 3), (2, 3))
    form_b = Fragments(blocks_n // 2, b_along, single, span, pitch_y, (2, 3), (1, 3))
    epilogue = Epilogue(BETA_UNLESS_ZERO, plan.sums, plan.packed)
    rows = cuda.local.array((2, blocks_m, 4), np.uint32)
    columns = cuda.local.array((2, blocks_n // 2, 4), np.uint32)
    acc = cuda.local.array((blocks_m, blocks_n // 2, 2, 4), plan.sums.dtype)

    thread = np.int32(cuda.threadIdx.x)
    lane = thread % 32
    warp = thread // 32
    warp_m = warp // plan.warps_n * (16 * blocks_m)
    warp_n = warp % plan.warps_n * (8 * blocks_n)
    # the row of a matrix whose address this thread gives to ldmatrix
    starts_a = cuda.local.array(groups, np.uint32)
    starts_b = cuda.local.array(groups, np.uint32)
    read_a, read_b = np.int32(0), np.int32(0)
    if a_along:
        _find_lines(starts_a, warp_m + lane % 16, lane // 16, form_a)
    elif single:
        read_a = lane % 4 * pitch_x + (warp_m + lane // 4)
    else:
        read_a = (lane % 8 + lane // 16 * 8) * pitch_x + (warp_m + lane // 8 % 2 * 8)
    if b_along:
        _find_lines(starts_b, warp_n + lane // 16 * 8 + lane % 8, lane // 8 % 2, form_b)
    elif single:
        read_b = lane % 4 * pitch_y + (warp_n + lane // 4)
    else:
        read_b = lane % 16 * pitch_y + (warp_n + lane // 16 * 8)

    tiles_m = (extents.m + (tile_m - 1)) // tile_m
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    tiles = tiles_m * tiles_n
    block = np.int32(cuda.blockIdx.x)
    tile, batch = block % tiles, block // tiles
    piece, product = batch // batches, batch % batches
    own_row, own_column, row0, column0 = tile_at(
        tile, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group
    )
    first, end = span_of(piece, pieces.count, extents.k, tile_k, plan.levels)
    depth = end - first
    steps = (depth + (tile_k - 1)) // tile_k

    part_a, part_b = part_of_tile(thread, a.pitch, staging_a), part_of_tile(thread, b.pitch, staging_b)
    route_a = Route(a.memory, ring_a, _first_element(part_a, staging_a, span), part_a, staging_a)
    route_b = Route(b.memory, ring_b, _first_element(part_b, staging_b, span), part_b, staging_b)
    routes = Both(route_a, route_b)
    front_a = front_at(a, product, row0, first, depth, part_a, staging_a)
    front_b = front_at(b, product, column0, first, depth, part_b, staging_b)
    rests = Both(extents.m - row0 - part_a.x, extents.n - column0 - part_b.x)

    for i in cuda.unroll(range(blocks_m)):
        for j in cuda.unroll(range(blocks_n)):
            for part in cuda.unroll(range(4)):
                acc[i, j // 2, j % 2, part] = 0
    fronts = fill_ring(routes, Both(front_a, front_b), rests, steps, stages)
    use = np.int32(0)
    fill = np.int32(stages - 1)
    _load(rows[0], ring_a, use, read_a, starts_a, 0, form_a)
    _load(columns[0], ring_b, use, read_b, starts_b, 0, form_b)
    for step in range(np.int32(0), steps):
        following = use + 1 if use < stages - 1 else 0
        for group in cuda.unroll(range(groups)):
            here = group % 2
            ahead = (group + 1) % groups
            place = use
            if group == groups - 1:
                # all fragments of this step are read; the tiles of the next are there for all threads
                cuda.pipeline_wait_prior(stages - 2)
                cuda.syncthreads()
                place = following
            _load(rows[1 - here], ring_a, place, read_a, starts_a, ahead, form_a)
            _load(columns[1 - here], ring_b, place, read_b, starts_b, ahead, form_b)
            if single:
                _round(rows[here], blocks_m)
                _round(columns[here], blocks_n // 2)
            for i in cuda.unroll(range(blocks_m)):
                if group == 0:
                    # copies go out between the products: many at once would hold up the loads behind them
                    fetch_both(routes, fronts, rests, fill, i, blocks_m)
                    if i == blocks_m - 1:
                        cuda.pipeline_commit()
                for turn in cuda.unroll(range(blocks_n)):
                    j = blocks_n - 1 - turn if i % 2 else turn  # back and forth: one of the operands stays
                    right = columns[here, j // 2, j % 2 * 2 : j % 2 * 2 + 2]
                    cuda.mma_sync(plan.shape, plan.kind, acc[i, j // 2, j % 2], rows[here, i], right)
        use = following
        fill = fill + 1 if fill < stages - 1 else 0
        if step + stages < steps:
            fronts = advanced(fronts, routes)

    if plan.levels and not add_parts(
        acc.ravel(),
        Share(pieces.memory, pieces.arrived, product * tiles + tile, piece, pieces.count, pieces.count, pieces.fan),
        thread,
        Team(blocks_m * blocks_n * 4, plan.sums, plan.levels, 0, threads),
    ):
        return
    start_c = np.uint32(product) * c.batch
    for i in cuda.unroll(range(blocks_m)):
        for part in cuda.unroll(range(2)):
            row = row0 + warp_m + (i * 16 + part * 8) + lane // 4
            line = start_c + np.uint32(row) * c.pitch
            if row >= own_row and row < extents.m:
                for j in cuda.unroll(range(blocks_n)):
                    column = column0 + warp_n + j * 8 + lane % 4 * 2
                    store_neighbours(
                        (acc[i, j // 2, j % 2, part * 2], acc[i, j // 2, j % 2, part * 2 + 1]),
                        c.memory,
                        pairs,
                        line,
                        product,
                        (row, column),
                        (own_column, extents.n),
                        factors,
                        epilogue,
                        plan.packed != "",
                    )
