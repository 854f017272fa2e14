"""GEMM for GPUs whose matrix units a group of four warps drives together (Hopper's wgmma); in the dialect.

A persistent grid: each block walks over tiles of C. The first warp group fills a ring of tiles of A and B in shared
memory by bulk copies; the others, each with its rows of the tile, multiply from there. A barrier for each place of the
ring says that it is full, another that it may be filled again. One product is always under way while the next is
issued, and the producer goes on with the next tile of C while this one is stored.

Two blocks may run as a cluster, with tiles of C one below the other. They need the same tile of B: each brings a half
of it, and the copy goes to both. A place of the ring may then be filled again once both blocks have read it.

Tiles lie in shared memory as 128-byte rows, swizzled by the copies in the pattern that the matrix units read. Operands
of 16 bits may be contiguous along either axis: the matrix units transpose them.

V. Thakkar et al., CUTLASS; "Matrix-multiply-accumulate using wgmma" and "cp.async.bulk.tensor" in the PTX ISA.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, SUM, Epilogue
from portagpu.blas.gemm.kernels.epilogue import divided, finished, packed_pair
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts
from portagpu.blas.gemm.variants.wgmma.fused_kernels import Corner, finish_tile

# bits of a descriptor: 128-byte swizzle; the distance of groups of eight rows, 1024 bytes, in units of 16
_SWIZZLE = 1 << 62
_GROUPS = (1024 >> 4) << 32


@cuda.jit(device=True)
def _tile_of(number, tiles_m, tiles_n, group: cuda.constexpr):
    """Row and column of a tile: bands of ``group`` rows are walked column by column, so that operands stay cached."""
    band, within = _shared_out(number, group * tiles_n)
    first = band * group
    height = min(tiles_m - first, group)
    if height == group:
        column = np.int32(np.uint32(within) // np.uint32(group))
    else:
        column = np.int32(np.uint32(within) // np.uint32(height))
    return first + (within - column * height), column


@cuda.jit(device=True)
def _shared_out(number, size):
    """Quotient and remainder of two numbers, neither negative.

    Divisions are long chains of instructions, and a block's first loads wait for them: none for the first of the sizes.
    """
    quotient = np.int32(0)
    if number >= size:
        quotient = np.int32(np.uint32(number) // np.uint32(size))
    return quotient, number - quotient * size


class WarpgroupPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``kind`` is the matrix unit's name for ``element``, ``sums`` the type of sums. A block has a tile of ``tile_m`` rows
    and ``tile_n`` columns, a ring of ``stages`` and so many ``consumers``; ``group``: tiles of a band. With ``splits``,
    so many blocks share the depth of a tile, none of them without a part; ``fan`` and ``levels`` are those of
    `portagpu.blas.gemm.kernels.split_k`. ``a_transposed`` says that A lies as (depth, m), ``b_transposed`` that B lies
    as (n, depth). Results leave in strips of ``columns``, 128 bytes each: 64 of 16 bits (``packed``: "float16" or
    "bfloat16"), 32 of 32 bits; a caller's function is called for ``wide`` columns of a warp at a time.
    ``scaled``: alpha is not 1, or beta not 0.

    Operands may be sums of pieces, which lie one after the other along the depth. The result is then a sum of
    ``products``: of the pieces of A whose numbers are in ``pieces_a``, four bits each, with those of B in
    ``pieces_b``. With ``exponents``, row i and column j of the result are divided by 2 to the ``exponents.rows[i] +
    exponents.columns[j]``.

    The matrix units round sums towards zero. With ``promote``, sums of so many steps are added to others in float32.

    ``cluster``: blocks whose tiles are one below the other, and which share tiles of B; 1 or 2. ``group`` then counts
    rows of such tiles.
    """

    kind: str
    element: Any
    sums: Any
    tile_m: int
    tile_n: int
    stages: int
    consumers: int
    group: int
    splits: int
    fan: int
    levels: int
    a_transposed: bool
    b_transposed: bool
    columns: int
    packed: str
    wide: int
    scaled: bool
    exponents: bool
    products: int
    pieces_a: int
    pieces_b: int
    promote: int
    cluster: int = 1


class Mapped(NamedTuple):
    """A matrix that is read by its tensor map: as an argument, its memory is the kernel's until it ends.

    apart: 0 where all products share the matrix, else 1.
    """

    memory: Any
    apart: Any


class Exponents(NamedTuple):
    """Of two, for each row and column of the result."""

    rows: Any
    columns: Any


@cuda.jit
def multiply_warpgroups(maps, a, b, c, parts, batches, extents, factors, exponents, plan: cuda.constexpr):
    """``c = alpha * a @ b + beta * c``; a: (batch, m, depth), b: (batch, depth, n), c: (batch, m, n).

    maps: tensor maps of A, B and the result, in this order; a, b: each a `Mapped`; ``extents.k`` is the depth, of each
    piece where there are several, and then a multiple of the tile; parts: `Parts`, see `WarpgroupPlan` for the rest.
    """
    kind, element, sums, tile_m, tile_n, stages, consumers, group, splits, fan, levels = plan[:11]
    a_transposed, b_transposed, columns, promote = plan.a_transposed, plan.b_transposed, plan.columns, plan.promote
    cluster = plan.cluster
    epilogue = Epilogue(BETA_UNLESS_ZERO if plan.scaled else SUM)
    size = element.itemsize
    vector = cuda.int32x4 if sums == np.int32 else cuda.float32x4
    tile_k = 128 // size
    step_k = 32 // size
    rows = tile_m // consumers
    blocks = rows // 64
    row_a = tile_k * size
    bytes_a = tile_m * tile_k * size
    bytes_b = tile_n * tile_k * size
    span = 128 // size
    ring_a = cuda.shared.array((stages, tile_m * tile_k), element, alignment=1024)
    ring_b = cuda.shared.array((stages, tile_n * tile_k), element, alignment=1024)
    is_fused = factors.fused is not None
    packs = columns == 64 and not is_fused
    drawer = cuda.shared.array((consumers, 2, 64 * 32), np.uint32 if packs else sums, alignment=1024)
    bars = cuda.shared.array(2 * stages, np.uint64)
    thread = np.int32(cuda.threadIdx.x)
    team = thread // 128
    tiles_m = (extents.m + (tile_m * cluster - 1)) // (tile_m * cluster)
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    tiles = tiles_m * tiles_n
    steps_of_piece = (extents.k + (tile_k - 1)) // tile_k
    steps_of_all = steps_of_piece * plan.products
    work = tiles * batches * splits
    # of a cluster's blocks, all have the same number
    first = np.int32(cuda.blockIdx.x) // cluster
    clusters_of_grid = np.int32(cuda.gridDim.x) // cluster
    together = cuda.cg.this_cluster()
    rank = np.int32(together.block_rank())
    if thread == 128:
        for i in cuda.unroll(range(stages)):
            cuda.mbarrier_init(bars, i, 1)
            cuda.mbarrier_init(bars, stages + i, consumers * cluster)
        if cluster > 1:
            cuda.fence_mbarrier_init()
        cuda.fence_proxy_async()
    # what comes before the first memory access may overlap the end of the launch before
    cuda.griddepcontrol_launch_dependents()
    cuda.griddepcontrol_wait()
    if thread == 0:
        cuda.tensor_map_acquire(maps, 0)
        cuda.tensor_map_acquire(maps, 16)
    together.sync()
    if team == 0:
        cuda.setmaxnreg(32 if consumers == 3 else 40, False)
        if thread == 0:
            place = np.int32(0)
            phase = np.int32(1)
            for number in range(first, work, clusters_of_grid):
                part_of_all, tile = _shared_out(number, tiles)
                batch = part_of_all // splits
                tile_row, tile_column = _tile_of(tile, tiles_m, tiles_n, group)
                row = (tile_row * cluster + rank) * tile_m
                column = tile_column * tile_n
                batch_a = batch * a.apart
                batch_b = batch * b.apart
                share = part_of_all % splits
                for step in range(share * steps_of_all // splits, (share + 1) * steps_of_all // splits):
                    at_a = at_b = step * tile_k
                    if plan.products > 1:
                        which = step // steps_of_piece
                        at_a = (step % steps_of_piece + (plan.pieces_a >> which * 4 & 15) * steps_of_piece) * tile_k
                        at_b = (step % steps_of_piece + (plan.pieces_b >> which * 4 & 15) * steps_of_piece) * tile_k
                    cuda.mbarrier_wait_parity(bars, stages + place, phase, relaxed=True)
                    cuda.mbarrier_arrive_expect_tx(bars, place, bytes_a + bytes_b)
                    if a_transposed:
                        for part in cuda.unroll(range(tile_m // span)):
                            cuda.tma_load(
                                ring_a,
                                (place, part * span * tile_k),
                                maps,
                                0,
                                (batch_a, at_a, row + part * span),
                                bars,
                                place,
                            )
                    else:
                        cuda.tma_load(ring_a, (place, 0), maps, 0, (batch_a, row, at_a), bars, place)
                    # of several blocks, each brings a part of B to all
                    width = tile_n // cluster
                    ahead = rank * width
                    to = (1 << cluster) - 1 if cluster > 1 else None
                    if b_transposed:
                        at = (batch_b, column + ahead, at_b)
                        cuda.tma_load(ring_b, (place, ahead * tile_k), maps, 16, at, bars, place, multicast=to)
                    else:
                        for part in cuda.unroll(range(width // span)):
                            at = (batch_b, at_b, column + ahead + part * span)
                            here = (place, (ahead + part * span) * tile_k)
                            cuda.tma_load(ring_b, here, maps, 16, at, bars, place, multicast=to)
                    place += 1
                    if place == stages:
                        place = 0
                        phase ^= 1
    else:
        cuda.setmaxnreg(160 if consumers == 3 else 232, True)
        acc = cuda.local.array((blocks, tile_n // 2), sums)
        total = cuda.local.array((blocks, tile_n // 2), sums)
        mine = team - 1
        lane = thread % 32
        warp = thread // 32 % 4
        place = np.int32(0)
        phase = np.int32(0)
        before = np.int32(0)
        fixed_a = np.uint64(_SWIZZLE | _GROUPS | ((tile_k * 128 >> 4 if a_transposed else 1) << 16))
        fixed_b = np.uint64(_SWIZZLE | _GROUPS | ((1 if b_transposed else tile_k * 128 >> 4) << 16))
        # how far the next slice along k is, and the next 64 rows of A, in units of 16 bytes
        next_a = step_k * 128 >> 4 if a_transposed else 2
        next_b = 2 if b_transposed else step_k * 128 >> 4
        start_a = cuda.shared_address(ring_a, (0, 0)) + np.uint32(mine * (rows * row_a))
        start_b = cuda.shared_address(ring_b, (0, 0))
        # one thread for each block says there that a place was read
        releases = thread % 128 < cluster
        released = together.map_shared_rank(bars, thread % 128 if releases else 0)
        if thread % 128 == 0:
            cuda.tensor_map_acquire(maps, 32)
        for number in range(first, work, clusters_of_grid):
            part_of_all, tile = _shared_out(number, tiles)
            share = part_of_all % splits
            steps = (share + 1) * steps_of_all // splits - share * steps_of_all // splits
            tile_row, tile_column = _tile_of(tile, tiles_m, tiles_n, group)
            tile_row = tile_row * cluster + rank
            for begin in range(np.int32(0), steps if promote else 1, promote or 1):
                # one long sum, or sums of `promote` steps
                count = min(np.int32(promote), steps - begin) if promote else steps
                for step in range(count):
                    cuda.mbarrier_wait_parity(bars, place, phase, relaxed=True)
                    address_a = fixed_a | np.uint64(((start_a + np.uint32(place * bytes_a)) & 0x3FFFF) >> 4)
                    address_b = fixed_b | np.uint64(((start_b + np.uint32(place * bytes_b)) & 0x3FFFF) >> 4)
                    cuda.wgmma_fence()
                    for slice_k in cuda.unroll(range(tile_k // step_k)):
                        for block in cuda.unroll(range(blocks)):
                            cuda.wgmma(
                                tile_n,
                                kind,
                                acc[block],
                                address_a + np.uint64(slice_k * next_a + block * (64 * row_a >> 4)),
                                address_b + np.uint64(slice_k * next_b),
                                accumulate=True if slice_k else step > 0,
                                transpose_a=a_transposed,
                                transpose_b=not b_transposed,
                            )
                    cuda.wgmma_commit_group()
                    if step > 0:
                        cuda.wgmma_wait_group(1)
                        if releases:
                            cuda.mbarrier_arrive(released, stages + before, relaxed=True)
                    before = place
                    place += 1
                    if place == stages:
                        place = 0
                        phase ^= 1
                cuda.wgmma_wait_group(0)
                if releases:
                    cuda.mbarrier_arrive(released, stages + before, relaxed=True)
                if promote:
                    for block in cuda.unroll(range(blocks)):
                        for i in cuda.unroll(range(tile_n // 2)):
                            total[block, i] = acc[block, i] + (total[block, i] if begin > 0 else 0)
            is_last = True
            if splits > 1:
                is_last = add_parts(
                    (total if promote else acc).ravel(),
                    Share(
                        parts.memory,
                        parts.arrived,
                        part_of_all // splits * tiles + tile,
                        share,
                        np.int32(splits),
                        np.int32(splits),
                        np.int32(fan),
                    ),
                    thread - 128,
                    Team(blocks * (tile_n // 2), vector, levels, 8, 128 * consumers),
                )
            if is_last and is_fused:
                product, row = np.uint32(part_of_all // splits), np.uint32(tile_row * tile_m + mine * rows + warp * 16)
                start = Corner(product, row, np.uint32(tile_column * tile_n))
                own = np.uint32((mine * 4 + warp) * (16 * 64))
                sums_of_tile = total if promote else acc
                finish_tile(
                    sums_of_tile, drawer.ravel(), own, c, start, extents, exponents, lane, factors, epilogue, plan
                )
            elif is_last:
                for block in cuda.unroll(range(blocks)):
                    row0 = tile_row * tile_m + mine * rows + block * 64
                    row = np.uint32(warp * 16 + lane // 4)
                    for strip in cuda.unroll(range(tile_n // columns)):
                        column0 = tile_column * tile_n + strip * columns
                        side = (block * (tile_n // columns) + strip) % 2
                        if thread % 128 == 0:
                            # of an odd number of strips, the last one of a tile and the first of the next share a side
                            if blocks * (tile_n // columns) % 2 == 1 and block == 0 and strip == 0:
                                cuda.tma_store_wait(0)
                            else:
                                cuda.tma_store_wait(1)
                        cuda.barrier_sync(team, 128)
                        for part in cuda.unroll(range(columns // 8)):
                            for half in cuda.unroll(range(2)):
                                result = total if promote else acc
                                low = result[block, (strip * (columns // 8) + part) * 4 + half * 2]
                                high = result[block, (strip * (columns // 8) + part) * 4 + half * 2 + 1]
                                line = row + np.uint32(half * 8)
                                at_row = np.uint32(row0) + line
                                at_column = np.uint32(column0 + part * 8 + lane % 4 * 2)
                                if plan.exponents and at_row < extents.m:
                                    down = exponents.rows[at_row]
                                    if at_column < extents.n:
                                        low = divided(low, down + exponents.columns[at_column])
                                    if at_column + np.uint32(1) < extents.n:
                                        high = divided(high, down + exponents.columns[at_column + np.uint32(1)])
                                if plan.scaled:
                                    product = np.uint32(part_of_all // splits)
                                    low = finished(low, c, product, at_row, at_column, extents, factors, epilogue)
                                    high = finished(
                                        high, c, product, at_row, at_column + np.uint32(1), extents, factors, epilogue
                                    )
                                # 128-byte lines, their 16-byte parts permuted in the pattern that the copy undoes
                                if columns == 64:
                                    word = (np.uint32(part) ^ (line & 7)) * 4 + np.uint32(lane % 4)
                                    packed = packed_pair(low, high, plan.packed)
                                    drawer[mine, side, line * 32 + word] = packed
                                else:
                                    word = ((np.uint32(part * 2) + np.uint32(lane % 4 // 2)) ^ (line & 7)) * 4
                                    word += np.uint32(lane % 2 * 2)
                                    drawer[mine, side, line * 32 + word] = low
                                    drawer[mine, side, line * 32 + word + 1] = high
                        cuda.fence_proxy_async()
                        cuda.barrier_sync(team, 128)
                        if thread % 128 == 0:
                            cuda.tma_store(maps, 32, (part_of_all // splits, row0, column0), drawer, (mine, side, 0))
                            cuda.tma_store_commit()
        if thread % 128 == 0:
            cuda.tma_store_wait(0)  # shared memory ends with the block
    if cluster > 1:
        together.sync()  # the other block may still say here what it has read
