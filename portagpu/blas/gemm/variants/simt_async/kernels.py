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

from typing import NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.split_k import add_parts
from portagpu.blas.gemm.kernels.stream_k import part_of, start_of
from portagpu.blas.gemm.kernels.tile_order import span_of, tile_place


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


@cuda.jit(device=True)
def fetch(
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
    pitch: cuda.constexpr,
    tile_k: cuda.constexpr,
    wide: cuda.constexpr,
    threads: cuda.constexpr,
    guard: cuda.constexpr,
    tail: cuda.constexpr,
    begin: cuda.constexpr,
    end: cuda.constexpr,
):
    """Begin to copy a tile of an operand to ``tile[place]``; the thread's first elements go to ``target`` there.

    start: number of the thread's first element in the source; hop: distance to its elements of the next copy. rest_x,
    rest_k: rows (columns) and k's that the operand has from the thread's first ones on; others become zero. Of the
    thread's copies, those from number ``begin`` up to ``end`` are begun.
    """
    eights = tile_k // 8
    across = extent // wide
    for copy in cuda.unroll(range(begin, end)):
        if along_k:
            x, depth, count = copy // eights * (threads // 8), copy % eights * 8, 1
            origin = start + (np.uint32(copy // eights) * hop + np.uint32(depth))
        else:
            x, depth, count = copy * threads % across * wide, copy * threads // across, wide
            if threads < across:
                origin = start + (np.uint32(depth) * hop + np.uint32(x))
            else:
                origin = start + np.uint32(copy) * hop
        to = target + (depth * pitch + x)
        if guard and tail:
            inside = x < rest_x and depth < rest_k
            cuda.pipeline_memcpy_async(tile, (place, to), source, origin, count, valid=inside)
        elif guard:
            cuda.pipeline_memcpy_async(tile, (place, to), source, origin, count, valid=x < rest_x)
        elif tail:
            cuda.pipeline_memcpy_async(tile, (place, to), source, origin, count, valid=depth < rest_k)
        else:
            cuda.pipeline_memcpy_async(tile, (place, to), source, origin, count)


@cuda.jit(device=True)
def store_scaled(c, at, value, beta):
    """Store a result; C is not read for a beta of zero."""
    if beta != 0:
        value += beta * c[at]
    c[at] = value


@cuda.jit(device=True)
def _multiply_span(
    a,
    b,
    c,
    parts,
    arrived,
    ring_a,
    ring_b,
    m,
    n,
    pitch_a,
    pitch_b,
    pitch_c,
    start_a,
    start_b,
    start_c,
    tile,
    first,
    end,
    number,
    piece,
    pieces,
    places,
    fan,
    alpha,
    beta,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
):
    """A block's work on a tile of a product, the k's from ``first`` up to ``end``, and its share in adding.

    tile: its number; start_a, start_b, start_c: the product's first elements; number, piece, pieces, places, fan: of
    the sum and this part of it, see `portagpu.blas.gemm.kernels.split_k.add_parts`. Others as of `multiply_pipelined`.
    """
    thread_m, thread_n, tile_k = plan.thread_m, plan.thread_n, plan.tile_k
    tile_m = plan.warps_m * 4 * thread_m
    tile_n = plan.warps_n * 8 * thread_n
    threads = plan.warps_m * plan.warps_n * 32
    a_along, b_along, stages = plan.a_along_k, plan.b_along_k, plan.stages
    spread = tile_k // plan.spread
    row_a = tile_m + 4 if a_along else tile_m
    row_b = tile_n + 4 if b_along else tile_n
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

    tiles_m = (m + (tile_m - 1)) // tile_m
    tiles_n = (n + (tile_n - 1)) // tile_n
    tile_row, tile_column = tile_place(tile, tiles_m, tiles_n, plan.group)
    own_row, own_column = tile_row * tile_m, tile_column * tile_n
    row0 = max(min(own_row, m - tile_m), 0)
    column0 = max(min(own_column, n - tile_n), 0)
    depth = end - first
    steps = (depth + (tile_k - 1)) // tile_k

    # what a thread copies of its tiles: its first elements' places there, and the way to the next copy's and step's
    if a_along:
        x_a, k_a = thread // 8, thread % 8
        start_a += np.uint32(row0 + x_a) * pitch_a + np.uint32(first + k_a)
        hop_a, next_a = pitch_a * np.uint32(threads // 8), np.uint32(tile_k)
    else:
        x_a, k_a = thread % (tile_m // plan.wide_a) * plan.wide_a, thread // (tile_m // plan.wide_a)
        start_a += np.uint32(first + k_a) * pitch_a + np.uint32(row0 + x_a)
        hop_a, next_a = pitch_a * np.uint32(max(threads * plan.wide_a // tile_m, 1)), pitch_a * np.uint32(tile_k)
    target_a = k_a * row_a + x_a
    if b_along:
        x_b, k_b = thread // 8, thread % 8
        start_b += np.uint32(column0 + x_b) * pitch_b + np.uint32(first + k_b)
        hop_b, next_b = pitch_b * np.uint32(threads // 8), np.uint32(tile_k)
    else:
        x_b, k_b = thread % (tile_n // plan.wide_b) * plan.wide_b, thread // (tile_n // plan.wide_b)
        start_b += np.uint32(first + k_b) * pitch_b + np.uint32(column0 + x_b)
        hop_b, next_b = pitch_b * np.uint32(max(threads * plan.wide_b // tile_n, 1)), pitch_b * np.uint32(tile_k)
    target_b = k_b * row_b + x_b
    rest_m, rest_n = m - row0 - x_a, n - column0 - x_b
    left_a, left_b = depth - k_a, depth - k_b

    for i in cuda.unroll(range(thread_m)):
        for j in cuda.unroll(range(thread_n)):
            acc[i, j] = 0
    copies_a = tile_m * tile_k // (threads * (1 if a_along else plan.wide_a))
    copies_b = tile_n * tile_k // (threads * (1 if b_along else plan.wide_b))
    for stage in cuda.unroll(range(stages - 1)):
        fetch(
            *(a, start_a, hop_a, ring_a, np.int32(stage), target_a, rest_m, left_a, a_along, tile_m, row_a, tile_k),
            *(plan.wide_a, threads, plan.guard_a, plan.tail, 0, copies_a),
        )
        fetch(
            *(b, start_b, hop_b, ring_b, np.int32(stage), target_b, rest_n, left_b, b_along, tile_n, row_b, tile_k),
            *(plan.wide_b, threads, plan.guard_b, plan.tail, 0, copies_b),
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
    for i in cuda.unroll(range(thread_m // 4)):
        rows[0, i] = cuda.vload(ring_a, (use, read_a + i * 16), 4, aligned=True)
    for j in cuda.unroll(range(thread_n // 4)):
        columns[0, j] = cuda.vload(ring_b, (use, read_b + j * 32), 4, aligned=True)

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
                rows[1 - here, i] = cuda.vload(ring_a, (place, read_a + (ahead * row_a + i * 16)), 4, aligned=True)
            for j in cuda.unroll(range(thread_n // 4)):
                columns[1 - here, j] = cuda.vload(ring_b, (place, read_b + (ahead * row_b + j * 32)), 4, aligned=True)
            if inner % spread == 0:
                turn = inner // spread
                fetch(
                    *(a, start_a, hop_a, ring_a, fill, target_a, rest_m, left_a, a_along, tile_m, row_a, tile_k),
                    *(plan.wide_a, threads, plan.guard_a, plan.tail),
                    *(turn * copies_a // plan.spread, (turn + 1) * copies_a // plan.spread),
                )
                fetch(
                    *(b, start_b, hop_b, ring_b, fill, target_b, rest_n, left_b, b_along, tile_n, row_b, tile_k),
                    *(plan.wide_b, threads, plan.guard_b, plan.tail),
                    *(turn * copies_b // plan.spread, (turn + 1) * copies_b // plan.spread),
                )
                if turn == plan.spread - 1:
                    cuda.pipeline_commit()
            for i in cuda.unroll(range(thread_m)):
                for step_n in cuda.unroll(range(thread_n)):
                    j = step_n if i % 2 == 0 else thread_n - 1 - step_n
                    acc[i, j] = cuda.fma(rows[here, i // 4][i % 4], columns[here, j // 4][j % 4], acc[i, j])
        use = following
        fill = fill + 1 if fill < stages - 1 else 0
        if step + stages < steps:
            start_a += next_a
            start_b += next_b
            left_a -= tile_k
            left_b -= tile_k

    if plan.shared:
        # copies that nobody reads are still under way to the places that the next tile begins with
        cuda.pipeline_wait_prior(0)
        cuda.syncthreads()
    if (
        plan.levels
        and pieces > 1
        and not add_parts(
            *(acc.ravel(), parts, arrived, number, piece, pieces, places, fan),
            *(thread, thread_m * thread_n, vector, plan.levels, 0, threads),
        )
    ):
        return
    for i in cuda.unroll(range(thread_m)):
        row = row0 + warp_m + lane_m * 4 + (i // 4 * 16 + i % 4)
        line = start_c + np.uint32(row) * pitch_c
        if row >= own_row and row < m:
            for j in cuda.unroll(range(thread_n // 4)):
                column = column0 + warp_n + lane_n * 4 + j * 32
                if plan.wide_c == 4:
                    if column >= own_column and column < n:
                        sums = vector(acc[i, j * 4], acc[i, j * 4 + 1], acc[i, j * 4 + 2], acc[i, j * 4 + 3])
                        sums *= alpha
                        if beta != 0:
                            sums += beta * cuda.vload(c, line + np.uint32(column), 4, aligned=True)
                        cuda.vstore(sums, c, line + np.uint32(column), aligned=True)
                else:
                    for lane in cuda.unroll(range(4)):
                        if column + lane >= own_column and column + lane < n:
                            store_scaled(c, line + np.uint32(column + lane), alpha * acc[i, j * 4 + lane], beta)


@cuda.jit
def multiply_pipelined(
    a,
    b,
    c,
    parts,
    arrived,
    m,
    n,
    k,
    batches,
    pieces,
    fan,
    whole,
    workers,
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
    """``c = alpha * a @ b + beta * c``, for ``batches`` products, each sum in ``pieces`` pieces.

    a, b, c: the memory of the operands from their first element on; m, n, k: extents; pitch_*: elements between rows
    (columns, if the operand does not lie along its last axis); batch_*: elements between products. parts, arrived, fan:
    see `portagpu.blas.gemm.kernels.split_k.add_parts`, not read where there is one piece. The grid has one block for
    each tile and piece, walked in columns of ``plan.group`` tiles so that operands stay in the device's cache. With
    ``plan.shared`` it has one for each of the first ``whole`` tiles, and ``workers`` that share the others, whose sums
    are in ``pieces`` pieces at most.
    """
    tile_k = plan.tile_k
    tile_m = plan.warps_m * 4 * plan.thread_m
    tile_n = plan.warps_n * 8 * plan.thread_n
    row_a = tile_m + 4 if plan.a_along_k else tile_m
    row_b = tile_n + 4 if plan.b_along_k else tile_n
    ring_a = cuda.shared.array((plan.stages, tile_k * row_a), vector.dtype, alignment=128)
    ring_b = cuda.shared.array((plan.stages, tile_k * row_b), vector.dtype, alignment=128)
    tiles = (m + (tile_m - 1)) // tile_m * ((n + (tile_n - 1)) // tile_n)
    block = np.int32(cuda.blockIdx.x)
    if plan.shared:
        rest = tiles * batches - whole
        steps = (k + (tile_k - 1)) // tile_k
        share, more = rest * steps // workers, rest * steps % workers
        at, last = np.int32(0), steps
        if block >= whole:
            at, last = start_of(block - whole, share, more), start_of(block - whole + 1, share, more)
        while at < last:
            shared, inside = at // steps, at % steps
            number, piece, count = block, np.int32(0), np.int32(1)
            if block >= whole:
                number = whole + shared
                piece, count = part_of(block - whole, shared, steps, share, more)
            through = min(steps, inside + (last - at))
            product = np.uint32(number // tiles)
            _multiply_span(
                *(a, b, c, parts, arrived, ring_a, ring_b, m, n, pitch_a, pitch_b, pitch_c),
                *(product * batch_a, product * batch_b, product * batch_c, number % tiles),
                *(inside * tile_k, min(k, through * tile_k), number - whole, piece, count, pieces, fan),
                *(alpha, beta, vector, plan),
            )
            at += through - inside
    else:
        piece = block // (tiles * batches)
        number = block % (tiles * batches)
        product = np.uint32(number // tiles)
        first, end = span_of(piece, pieces, k, tile_k, plan.levels)
        _multiply_span(
            *(a, b, c, parts, arrived, ring_a, ring_b, m, n, pitch_a, pitch_b, pitch_c),
            *(product * batch_a, product * batch_b, product * batch_c, number % tiles),
            *(first, end, number, piece, pieces, pieces, fan, alpha, beta, vector, plan),
        )
