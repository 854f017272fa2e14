"""GEMM in float32 without matrix units, tiles by bulk copies (Hopper's TMA); in the dialect.

A persistent grid: each block walks over tiles of C. The first warp group fills a ring of tiles of A and B in shared
memory; the warps of the others multiply from there, each 64 x 64 of the tile. A barrier for each place of the ring says
that it is full, another, where every warp arrives, that it may be filled again: so warps drift apart, one loads while
another multiplies, and copies cost them nothing.

In the ring both operands lie as rows along m (n), and 6 vector loads serve the 128 multiply-adds of a 16 x 8 thread
tile and one k, as in `portagpu.blas.pipelined_kernels`. Bulk copies bring operands that lie so in memory. Of others
they bring 128-byte lines along k, swizzled, which the first warp group turns: 4 x 4 elements of a thread at a time,
eight threads on a diagonal, so that neither their loads nor their stores meet in a bank.

Multiply-adds walk the thread tile to and fro: of two neighbours, one factor is the same, so that the third operand of
an instruction, the sum, and one factor are all that must come from the two banks of registers.

The tiles that do not fill the grid once more can be shared: all blocks get equal parts of their depths. The last block
of a tile to arrive adds what the others left in memory, in the order of k.

A. Kerr et al., "CUTLASS: Fast linear algebra in CUDA C++", 2017; M. Osama et al., "Stream-K: Work-centric parallel
decomposition for dense matrix-matrix multiplication on the GPU", PPoPP 2023; PTX ISA, "cp.async.bulk.tensor".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.arrival_kernels import arrive
from portagpu.blas.pipelined_kernels import tile_place
from portagpu.blas.share_kernels import parts_of, share_of, task, whole_of

TILE_K = 32
WARP = 64  # rows and columns of a warp's tile
_ROWS, _COLUMNS = 16, 8  # of a thread's tile
_VECTORS = _ROWS * _COLUMNS // 4  # of its sums
_FILLERS = 128  # threads that fill the ring


class BulkPlan(NamedTuple):
    """What is known when the kernel is compiled; see `portagpu.blas.bulk_variant` for the parameters.

    ``a_along_k``, ``b_along_k``: the operand's elements lie side by side along k.
    """

    tile_m: int
    tile_n: int
    stages: int
    group: int
    a_along_k: bool
    b_along_k: bool


@cuda.jit(device=True)
def turn_tile(lines, ring, place, filler, vector, extent: cuda.constexpr):
    """Write ``extent`` lines of 32 k's, swizzled, as 32 rows of ``extent``. ``filler``: number of the thread."""
    lane, warp = filler % 32, filler // 32
    for part in cuda.unroll(range(extent // 64)):
        four = lane + part // 2 * 32
        quad = (lane + warp + part % 2 * 4) % 8
        # the swizzle: a line's 16-byte parts are permuted by its number, modulo 8
        at = four * (4 * TILE_K)
        odd = four % 2 * 4
        first = cuda.vload(lines, at + (quad ^ odd) * 4, 4, aligned=True)
        second = cuda.vload(lines, at + (TILE_K + (quad ^ (odd + 1)) * 4), 4, aligned=True)
        third = cuda.vload(lines, at + (2 * TILE_K + (quad ^ (odd + 2)) * 4), 4, aligned=True)
        fourth = cuda.vload(lines, at + (3 * TILE_K + (quad ^ (odd + 3)) * 4), 4, aligned=True)
        to = quad * (4 * extent) + four * 4
        for k in cuda.unroll(range(4)):
            turned = vector(first[k], second[k], third[k], fourth[k])
            cuda.vstore(turned, ring, (place, to + k * extent), aligned=True)


@cuda.jit(device=True)
def load_factors(rows, columns, turn: cuda.constexpr, ring_a, ring_b, place, start_a, start_b, k: cuda.constexpr, plan):
    """Load what a thread multiplies for one k, into the ``turn``-th of two sets of registers."""
    for i in cuda.unroll(range(_ROWS // 4)):
        rows[turn, i] = cuda.vload(ring_a, (place, start_a + (k * plan.tile_m + i * 16)), 4, aligned=True)
    for j in cuda.unroll(range(_COLUMNS // 4)):
        columns[turn, j] = cuda.vload(ring_b, (place, start_b + (k * plan.tile_n + j * 32)), 4, aligned=True)


@cuda.jit(device=True)
def add_products(acc, rows, columns, turn: cuda.constexpr):
    """Add the products of one k to a thread's sums."""
    for i in cuda.unroll(range(_ROWS)):
        for step in cuda.unroll(range(_COLUMNS)):
            j = step if i % 2 == 0 else _COLUMNS - 1 - step
            acc[i, j] = cuda.fma(rows[turn, i // 4][i % 4], columns[turn, j // 4][j % 4], acc[i, j])


@cuda.jit(device=True)
def store_sums(acc, vector, c, start, pitch, row0, column0, m, n, alpha, beta):
    """Store a thread's sums, row0 and column0 being its first ones; n is a multiple of four.

    They are multiplied by alpha even if it is 1: sums that are stored as they are would lie in the same bank of
    registers as the columns that they are multiplied with.
    """
    for i in cuda.unroll(range(_ROWS)):
        row = row0 + (i // 4 * 16 + i % 4)
        line = start + np.uint32(row) * pitch
        for strip in cuda.unroll(range(_COLUMNS // 4)):
            column = column0 + strip * 32
            if row < m and column < n:
                at = line + np.uint32(column)
                sums = vector(acc[i, strip * 4], acc[i, strip * 4 + 1], acc[i, strip * 4 + 2], acc[i, strip * 4 + 3])
                sums *= alpha
                if beta != 0:
                    sums += beta * cuda.vload(c, at, 4, aligned=True)
                cuda.vstore(sums, c, at, aligned=True)


@cuda.jit(device=True)
def add_parts(
    acc,
    vector,
    parts,
    arrived,
    heard,
    turn,
    worker,
    block,
    tile,
    begin,
    steps,
    least,
    more,
    threads: cuda.constexpr,
):
    """Whether this block is the last of a shared tile: then ``acc`` holds all of its sums, else they are in ``parts``.

    A block has two places there: for a part that begins a tile, and for one that goes on with it. ``heard``: two
    numbers in shared memory that take turns, so that none is written before all have read it.
    """
    begins = share_of(tile * steps, least, more)
    ends = share_of(tile * steps + (steps - 1), least, more)
    others = ends - begins
    latest = cuda.shared.array(1, np.int32)
    if worker == 0:
        heard[turn % 2] = cuda.atomic.add(arrived, tile, 0)
    cuda.barrier_sync(1, threads)
    # who begins a tile ends with it, as a rule when the others' parts are there
    is_last = begin == 0 and heard[turn % 2] == others
    if not is_last:
        at = (np.uint32(block * 2 + (1 if begin == 0 else 0)) * np.uint32(_VECTORS * threads) + worker) * np.uint32(4)
        for i in cuda.unroll(range(_ROWS)):
            for strip in cuda.unroll(range(_COLUMNS // 4)):
                sums = vector(acc[i, strip * 4 + 1], acc[i, strip * 4], acc[i, strip * 4 + 3], acc[i, strip * 4 + 2])
                cuda.vstore(sums, parts, at + np.uint32((i * (_COLUMNS // 4) + strip) * threads * 4), aligned=True)
        is_last = arrive(arrived, tile, others + 1, latest, worker, 1, threads)
        if is_last:
            take_part(acc, parts, begins * 2 + 1, worker, threads, False)
    elif worker == 0:
        arrived[tile] = 0
    if is_last:
        cuda.threadfence()
        for other in range(begins + 1, ends + 1):
            take_part(acc, parts, other * 2, worker, threads, True)
    return is_last


@cuda.jit(device=True)
def take_part(acc, parts, place, worker, threads: cuda.constexpr, added: cuda.constexpr):
    """Read a thread's sums from a place of ``parts``, or add them to what is there."""
    at = (np.uint32(place) * np.uint32(_VECTORS * threads) + worker) * np.uint32(4)
    for i in cuda.unroll(range(_ROWS)):
        for strip in cuda.unroll(range(_COLUMNS // 4)):
            found = cuda.vload(parts, at + np.uint32((i * (_COLUMNS // 4) + strip) * threads * 4), 4, aligned=True)
            for j in cuda.unroll(range(4)):
                acc[i, strip * 4 + j] = found[j ^ 1] + (acc[i, strip * 4 + j] if added else 0)


@cuda.jit
def multiply_bulk(
    maps,
    c,
    parts,
    arrived,
    m,
    n,
    depth,
    apart_a,
    apart_b,
    pitch_c,
    batch_c,
    whole,
    least,
    more,
    alpha,
    beta,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c``, of matrices or batches; a: (m, depth), b: (depth, n), c: (m, n) in C order.

    maps: tensor maps of A and B: swizzled lines of 32 k's where they lie along k, else rows of tile_m (tile_n)
    elements, not swizzled. c: memory from its first element on, in rows ``pitch_c`` and matrices ``batch_c`` apart; n
    is a multiple of four. ``apart_a`` and ``apart_b`` are 0 where all products have the operand in common.

    Blocks take turns with the first ``whole`` tiles, of all products. The steps of the others, fewer than blocks, are
    shared out: ``least`` for each block, one more for the first ``more``; ``whole`` is then a multiple of the blocks.
    Sums of tiles with several blocks go through ``parts``, two tiles for each block; ``arrived`` counts the blocks of
    each tile, zeros before and after.
    """
    tile_m, tile_n, stages = plan.tile_m, plan.tile_n, plan.stages
    a_along, b_along = plan.a_along_k, plan.b_along_k
    turned = a_along or b_along
    bytes_a, bytes_b = tile_m * TILE_K * 4, tile_n * TILE_K * 4
    bytes_turned = (bytes_a if a_along else 0) + (bytes_b if b_along else 0)
    bytes_direct = bytes_a + bytes_b - bytes_turned
    threads = tile_m * tile_n // (_ROWS * _COLUMNS)
    ring_a = cuda.shared.array((stages, tile_m * TILE_K), vector.dtype, alignment=1024)
    ring_b = cuda.shared.array((stages, tile_n * TILE_K), vector.dtype, alignment=1024)
    lines_a = cuda.shared.array(tile_m * TILE_K if a_along else 4, vector.dtype, alignment=1024)
    lines_b = cuda.shared.array(tile_n * TILE_K if b_along else 4, vector.dtype, alignment=1024)
    bars = cuda.shared.array(2 * stages + 1, np.uint64)
    heard = cuda.shared.array(2, np.int32)
    thread = np.int32(cuda.threadIdx.x)
    block, blocks = np.int32(cuda.blockIdx.x), np.int32(cuda.gridDim.x)
    tiles_m = (m + (tile_m - 1)) // tile_m
    tiles_n = (n + (tile_n - 1)) // tile_n
    tiles = tiles_m * tiles_n
    steps = (depth + (TILE_K - 1)) // TILE_K
    turns = whole_of(block, blocks, whole) + parts_of(block, steps, least, more)
    if thread == 0:
        for i in range(stages):
            cuda.mbarrier_init(bars, i, (1 if turned else 0) + (1 if bytes_direct else 0))
            cuda.mbarrier_init(bars, stages + i, threads // 32)
        cuda.mbarrier_init(bars, 2 * stages, 1)
        cuda.fence_proxy_async()
    cuda.syncthreads()
    place = np.int32(0)
    if thread < _FILLERS:
        cuda.setmaxnreg(72, False)
        if turned or thread == 0:
            if thread == 0:
                cuda.tensor_map_acquire(maps, 0)
                cuda.tensor_map_acquire(maps, 16)
            phase = np.int32(1)
            phase_lines = np.int32(0)
            for turn in range(np.int32(0), turns):
                number, begin, end = task(turn, block, blocks, whole, steps, least, more)
                tile_row, tile_column = tile_place(number % tiles, tiles_m, tiles_n, plan.group)
                row, column = tile_row * tile_m, tile_column * tile_n
                batch = number // tiles
                in_a, in_b = batch * apart_a, batch * apart_b
                for step in range(begin, end):
                    at = step * TILE_K
                    if turned and thread == 0:
                        cuda.mbarrier_arrive_expect_tx(bars, 2 * stages, bytes_turned)
                        if a_along:
                            cuda.tma_load(lines_a, 0, maps, 0, (in_a, row, at), bars, 2 * stages)
                        if b_along:
                            cuda.tma_load(lines_b, 0, maps, 16, (in_b, column, at), bars, 2 * stages)
                    cuda.mbarrier_wait_parity(bars, stages + place, phase)
                    if bytes_direct and thread == 0:
                        cuda.mbarrier_arrive_expect_tx(bars, place, bytes_direct)
                        if not a_along:
                            cuda.tma_load(ring_a, (place, 0), maps, 0, (in_a, at, row), bars, place)
                        if not b_along:
                            cuda.tma_load(ring_b, (place, 0), maps, 16, (in_b, at, column), bars, place)
                    if turned:
                        cuda.mbarrier_wait_parity(bars, 2 * stages, phase_lines)
                        phase_lines ^= 1
                        if a_along:
                            turn_tile(lines_a, ring_a, place, thread, vector, tile_m)
                        if b_along:
                            turn_tile(lines_b, ring_b, place, thread, vector, tile_n)
                        cuda.fence_proxy_async()
                        cuda.barrier_sync(2, _FILLERS)
                        if thread == 0:
                            cuda.mbarrier_arrive(bars, place)
                    place += 1
                    if place == stages:
                        place = 0
                        phase ^= 1
            # the others read ahead: what they find there they do not use
            if thread == 0:
                cuda.mbarrier_wait_parity(bars, stages + place, phase)
                if turned:
                    cuda.mbarrier_arrive(bars, place)
                if bytes_direct:
                    cuda.mbarrier_arrive(bars, place)
    else:
        cuda.setmaxnreg(216, True)
        acc = cuda.local.array((_ROWS, _COLUMNS), vector.dtype)
        rows = cuda.local.array((2, _ROWS // 4), vector)
        columns = cuda.local.array((2, _COLUMNS // 4), vector)
        worker = thread - _FILLERS
        lane = thread % 32
        warp = worker // 32
        # lanes as 4 x 8: any half of a warp reads at most 128 different bytes of either operand
        lane_n = lane % 2 + lane // 4 % 4 * 2
        lane_m = lane // 2 % 2 + lane // 16 * 2
        first_m = warp // (tile_n // WARP) * WARP + lane_m * 4
        first_n = warp % (tile_n // WARP) * WARP + lane_n * 4
        phase = np.int32(0)
        cuda.mbarrier_wait_parity(bars, place, phase)
        load_factors(rows, columns, 0, ring_a, ring_b, place, first_m, first_n, 0, plan)
        for turn in range(np.int32(0), turns):
            number, begin, end = task(turn, block, blocks, whole, steps, least, more)
            for i in cuda.unroll(range(_ROWS)):
                for j in cuda.unroll(range(_COLUMNS)):
                    acc[i, j] = 0
            for _ in range(begin, end):
                following = place + 1 if place < stages - 1 else 0
                if following == 0:
                    phase ^= 1
                for k in cuda.unroll(range(TILE_K)):
                    source = place
                    if k == TILE_K - 1:
                        cuda.mbarrier_wait_parity(bars, following, phase)
                        source = following
                    ahead = (k + 1) % TILE_K
                    load_factors(rows, columns, ahead % 2, ring_a, ring_b, source, first_m, first_n, ahead, plan)
                    add_products(acc, rows, columns, k % 2)
                cuda.syncwarp()
                if lane == 0:
                    cuda.mbarrier_arrive(bars, stages + place)
                place = following
            done = True
            if end - begin < steps:
                done = add_parts(
                    *(acc, vector, parts, arrived, heard, turn, np.uint32(worker), block, number - whole),
                    *(begin, steps, least, more, threads),
                )
            if done:
                tile_row, tile_column = tile_place(number % tiles, tiles_m, tiles_n, plan.group)
                start = np.uint32(number // tiles) * batch_c
                row0, column0 = tile_row * tile_m + first_m, tile_column * tile_n + first_n
                store_sums(acc, vector, c, start, pitch_c, row0, column0, m, n, alpha, beta)
