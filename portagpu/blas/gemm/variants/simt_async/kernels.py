"""GEMM without matrix units: asynchronous copies in several stages, warp tiles, fragments loaded one step ahead.

A block of ``warps_m`` x ``warps_n`` warps computes a tile of C. The tiles of A and B along k travel to a ring of
``stages`` places in shared memory by asynchronous copies, one barrier a step. There, both lie as rows along m (n), so
that threads read four rows (columns) of one k at once. An operand whose elements lie side by side along k is transposed
by its copies, which then move single elements: 8 k's of 4 rows for a warp, whole sectors of memory, to 32 different
banks. All shared addresses are one register and a constant, and 6 vector loads serve the 128 multiply-adds of a 16 x 8
thread tile.

The 32 threads of a warp stand as 4 x 8; the lanes' bits are dealt so that every half of a warp asks for at most 128
different bytes of either operand, in an order in which GPUs join the two quarters' requests.

At the edges of C a tile is moved inwards, so that its copies need no bounds; only what is its own is stored.

A. Kerr et al., "CUTLASS: Fast linear algebra in CUDA C++", 2017.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, SUM, Epilogue, Factors
from portagpu.blas.gemm.kernels.async_copy import (
    ACROSS,
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
from portagpu.blas.gemm.kernels.epilogue import finished_element, store_neighbours
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts
from portagpu.blas.gemm.kernels.stream_k import part_of, start_of
from portagpu.blas.gemm.kernels.tile_order import span_of, tile_at

# bits of rows and columns: compilers then know that no subscript of a caller's function counts from the end
_NUMBERS = (1 << 31) - 1


class Plan(NamedTuple):
    """What is known when the kernel is compiled; see `variants.simt_async.variant` for the parameters.

    ``a_along_k``, ``b_along_k``: the operand's elements lie side by side along k. ``wide_a``, ``wide_b``, ``wide_c``:
    elements that one copy (store) moves. ``guard_a``, ``guard_b``: the tile may be larger than the operand's rows
    (columns). ``tail``: k is no multiple of ``tile_k``. ``levels``: see `portagpu.blas.gemm.kernels.split_k.levels_of`.
    ``shared``: the last tiles are shared out along k, see `portagpu.blas.gemm.kernels.stream_k`.
    """

    warps_m: int
    warps_n: int
    thread_m: int
    thread_n: int
    tile_k: int
    stages: int
    group: int
    spread: int
    a_along_k: bool
    b_along_k: bool
    wide_a: int
    wide_b: int
    wide_c: int
    guard_a: bool
    guard_b: bool
    tail: bool
    levels: int
    shared: bool


class Span(NamedTuple):
    """A block's work on a tile: its number in the product of that number, and the k's from ``first`` up to ``end``."""

    product: Any
    tile: Any
    first: Any
    end: Any


@cuda.jit(device=True)
def _finish(acc, first: cuda.constexpr, c, product, corner, extents, factors, epilogue, plan: cuda.constexpr):
    """Take the caller's function of the sums in a thread's four rows from ``first`` on, in place.

    None is stored before, so that what the calls load overlaps; of sums that are no element's, it is the nearest one's.
    corner: row and column of the thread's first.
    """
    for i in cuda.unroll(range(first, first + 4)):
        row = np.uint32(min(corner[0] + (i // 4 * 16 + i % 4), extents.m - 1)) & np.uint32(_NUMBERS)
        line = product * c.batch + row * c.pitch
        for j in cuda.unroll(range(plan.thread_n)):
            column = np.uint32(min(corner[1] + (j // 4 * 32 + j % 4), extents.n - 1)) & np.uint32(_NUMBERS)
            place = line + column
            acc[i, j] = finished_element(acc[i, j], c.memory, place, product, row, column, factors, epilogue)


@cuda.jit(device=True)
def _store(acc, first: cuda.constexpr, c, product, corner, own, extents, factors, epilogue, plan: cuda.constexpr):
    """Store the sums in a thread's four rows from ``first`` on, as far as the row and column ``own`` are before them.

    corner: row and column of the thread's first.
    """
    for i in cuda.unroll(range(first, first + 4)):
        row = corner[0] + (i // 4 * 16 + i % 4)
        line = product * c.batch + np.uint32(row) * c.pitch
        if row >= own[0] and row < extents.m:
            for j in cuda.unroll(range(plan.thread_n // 4)):
                store_neighbours(
                    (acc[i, j * 4], acc[i, j * 4 + 1], acc[i, j * 4 + 2], acc[i, j * 4 + 3]),
                    c.memory,
                    c.memory,
                    line,
                    product,
                    (row, corner[1] + j * 32),
                    (own[1], extents.n),
                    factors,
                    epilogue,
                    plan.wide_c == 4,
                )


@cuda.jit(device=True)
def _multiply_span(a, b, c, share, rings, extents, span, factors, vector: cuda.constexpr, plan: cuda.constexpr):
    """A block's work on a tile of a product, and its share in adding.

    share: of the sum and this part of it, see `portagpu.blas.gemm.kernels.split_k.add_parts`. Others as of
    `multiply_pipelined`.
    """
    thread_m, thread_n, tile_k = plan.thread_m, plan.thread_n, plan.tile_k
    tile_m = plan.warps_m * 4 * thread_m
    tile_n = plan.warps_n * 8 * thread_n
    threads = plan.warps_m * plan.warps_n * 32
    a_along, b_along, stages = plan.a_along_k, plan.b_along_k, plan.stages
    spread = tile_k // plan.spread
    row_a = tile_m + 4 if a_along else tile_m
    row_b = tile_n + 4 if b_along else tile_n
    way_a, way_b = SINGLES if a_along else ACROSS, SINGLES if b_along else ACROSS
    wide_a, wide_b = 1 if a_along else plan.wide_a, 1 if b_along else plan.wide_b
    staging_a = Staging(way_a, tile_m, row_a, tile_k, wide_a, threads, plan.guard_a, plan.tail)
    staging_b = Staging(way_b, tile_n, row_b, tile_k, wide_b, threads, plan.guard_b, plan.tail)
    epilogue = Epilogue(BETA_UNLESS_ZERO, vector, vector)
    rows = cuda.local.array((2, thread_m // 4), vector)
    columns = cuda.local.array((2, thread_n // 4), vector)
    acc = cuda.local.array((thread_m, thread_n), vector.dtype)

    thread = np.int32(cuda.threadIdx.x)
    lane = thread % 32
    warp = thread // 32
    lane_n = lane % 2 + lane // 4 % 4 * 2
    lane_m = lane // 2 % 2 + lane // 16 * 2
    warp_m = warp // plan.warps_n * (4 * thread_m)
    warp_n = warp % plan.warps_n * (8 * thread_n)
    read_a = warp_m + lane_m * 4
    read_b = warp_n + lane_n * 4

    tiles_m = (extents.m + (tile_m - 1)) // tile_m
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    own_row, own_column, row0, column0 = tile_at(
        span.tile, tiles_m, tiles_n, extents.m, extents.n, tile_m, tile_n, plan.group
    )
    depth = span.end - span.first
    steps = (depth + (tile_k - 1)) // tile_k

    part_a, part_b = part_of_tile(thread, a.pitch, staging_a), part_of_tile(thread, b.pitch, staging_b)
    route_a = Route(a.memory, rings.a, part_a.k * row_a + part_a.x, part_a, staging_a)
    route_b = Route(b.memory, rings.b, part_b.k * row_b + part_b.x, part_b, staging_b)
    routes = Both(route_a, route_b)
    front_a = front_at(a, span.product, row0, span.first, depth, part_a, staging_a)
    front_b = front_at(b, span.product, column0, span.first, depth, part_b, staging_b)
    rests = Both(extents.m - row0 - part_a.x, extents.n - column0 - part_b.x)

    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    fronts = fill_ring(routes, Both(front_a, front_b), rests, steps, stages)
    use = np.int32(0)
    fill = np.int32(stages - 1)
    for i in cuda.unroll(range(thread_m // 4)):
        rows[0, i] = cuda.vload(rings.a, (use, read_a + i * 16), 4, aligned=True)
    for j in cuda.unroll(range(thread_n // 4)):
        columns[0, j] = cuda.vload(rings.b, (use, read_b + j * 32), 4, aligned=True)

    for step in range(np.int32(0), steps):
        following = use + 1 if use < stages - 1 else 0
        for inner in cuda.unroll(range(tile_k)):
            here = inner % 2
            place = use
            if inner == tile_k - 1:
                # all of this step is read, and the tiles of the next are there for all threads
                cuda.pipeline_wait_prior(stages - 2)
                cuda.syncthreads()
                place = following
            ahead = (inner + 1) % tile_k
            for i in cuda.unroll(range(thread_m // 4)):
                rows[1 - here, i] = cuda.vload(rings.a, (place, read_a + (ahead * row_a + i * 16)), 4, aligned=True)
            for j in cuda.unroll(range(thread_n // 4)):
                columns[1 - here, j] = cuda.vload(rings.b, (place, read_b + (ahead * row_b + j * 32)), 4, aligned=True)
            if inner % spread == 0:
                turn = inner // spread
                fetch_both(routes, fronts, rests, fill, turn, plan.spread)
                if turn == plan.spread - 1:
                    cuda.pipeline_commit()
            for i in cuda.unroll(range(thread_m)):
                for step_n in cuda.unroll(range(thread_n)):
                    j = step_n if i % 2 == 0 else thread_n - 1 - step_n
                    acc[i, j] = cuda.fma(rows[here, i // 4][i % 4], columns[here, j // 4][j % 4], acc[i, j])
        use = following
        fill = fill + 1 if fill < stages - 1 else 0
        if step + stages < steps:
            fronts = advanced(fronts, routes)

    if plan.shared:
        # copies that nobody reads are still under way to the places that the next tile begins with
        cuda.pipeline_wait_prior(0)
        cuda.syncthreads()
    if (
        plan.levels
        and share.count > 1
        and not add_parts(acc.ravel(), share, thread, Team(thread_m * thread_n, vector, plan.levels, 0, threads))
    ):
        return
    corner = (row0 + warp_m + lane_m * 4, column0 + warp_n + lane_n * 4)
    own = (own_row, own_column)
    for first in cuda.unroll(range(0, thread_m, 4)):
        if factors.fused is not None:
            _finish(acc, first, c, span.product, corner, extents, factors, epilogue, plan)
            stored = Factors(factors.alpha, factors.beta)
            _store(acc, first, c, span.product, corner, own, extents, stored, Epilogue(SUM, vector, vector), plan)
        else:
            _store(acc, first, c, span.product, corner, own, extents, factors, epilogue, plan)


@cuda.jit
def multiply_pipelined(
    a,
    b,
    c,
    extents,
    batches,
    pieces,
    workers,
    factors,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c``, for ``batches`` products, each sum in pieces.

    a, b, c: each a `Matrix` of flat memory, whose pitch is that of columns if the operand does not lie along its last
    axis; extents, pieces, factors: see `portagpu.blas.gemm.core.kernel_arguments`. The grid has one block for each tile
    and piece, walked in columns of ``plan.group`` tiles so that operands stay in the device's cache. With
    ``plan.shared`` it has one for each of the first ``workers.whole`` tiles, and ``workers.count`` that share the
    others, whose sums are in ``pieces.count`` pieces at most.
    """
    tile_k = plan.tile_k
    tile_m = plan.warps_m * 4 * plan.thread_m
    tile_n = plan.warps_n * 8 * plan.thread_n
    row_a = tile_m + 4 if plan.a_along_k else tile_m
    row_b = tile_n + 4 if plan.b_along_k else tile_n
    ring_a = cuda.shared.array((plan.stages, tile_k * row_a), vector.dtype, alignment=128)
    ring_b = cuda.shared.array((plan.stages, tile_k * row_b), vector.dtype, alignment=128)
    rings = Both(ring_a, ring_b)
    tiles = (extents.m + (tile_m - 1)) // tile_m * ((extents.n + (tile_n - 1)) // tile_n)
    block = np.int32(cuda.blockIdx.x)
    if plan.shared:
        rest = tiles * batches - workers.whole
        steps = (extents.k + (tile_k - 1)) // tile_k
        share, more = rest * steps // workers.count, rest * steps % workers.count
        at, last = np.int32(0), steps
        if block >= workers.whole:
            at, last = start_of(block - workers.whole, share, more), start_of(block - workers.whole + 1, share, more)
        while at < last:
            shared, inside = at // steps, at % steps
            number, piece, count = block, np.int32(0), np.int32(1)
            if block >= workers.whole:
                number = workers.whole + shared
                piece, count = part_of(block - workers.whole, shared, steps, share, more)
            through = min(steps, inside + (last - at))
            product = np.uint32(number // tiles)
            _multiply_span(
                a,
                b,
                c,
                Share(pieces.memory, pieces.arrived, number - workers.whole, piece, count, pieces.count, pieces.fan),
                rings,
                extents,
                Span(product, number % tiles, inside * tile_k, min(extents.k, through * tile_k)),
                factors,
                vector,
                plan,
            )
            at += through - inside
    else:
        piece = block // (tiles * batches)
        number = block % (tiles * batches)
        product = np.uint32(number // tiles)
        first, end = span_of(piece, pieces.count, extents.k, tile_k, plan.levels)
        _multiply_span(
            a,
            b,
            c,
            Share(pieces.memory, pieces.arrived, number, piece, pieces.count, pieces.count, pieces.fan),
            rings,
            extents,
            Span(product, number % tiles, first, end),
            factors,
            vector,
            plan,
        )
