"""GEMM on Hopper's matrix units with one operand from registers, for operands that the units do not transpose.

Of 32 and 8 bits, the units read operands from shared memory only as they lie along k. An operand that lies across k
comes through registers instead: each thread loads the elements that it holds of the first operand, from lines as the
bulk copies bring them. The rest is as in `portagpu.blas.gemm.variants.wgmma.kernels`: a persistent grid, a ring of
tiles filled by one warp group, barriers for its places. ``a @ b`` of matrices in C order is computed as ``b.T @ a.T``:
b.T lies across k, a.T along it, and the result leaves transposed.

Fragments have two sets of registers. While the products of one step are under way, which read the one set, those of
the step before are done, and the next step's fragments are loaded into the other.

Which row of the tile is which row of the units' fragment is free, as long as results leave by the same rule. The rule
here makes loads of fragments and both ways of storing results touch every bank of shared memory once: lines of 128
bytes are swizzled in parts of 16, and the four parts that half a warp touches in a line differ by 5 in their number.

"Asynchronous warpgroup level matrix instructions" in the PTX ISA: register fragments, and swizzling modes.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, SUM, Epilogue, Extents
from portagpu.blas.gemm.kernels.epilogue import finished
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts
from portagpu.blas.gemm.variants.wgmma.kernels import _GROUPS, _SWIZZLE, _shared_out, _tile_of

_SPAN = 32  # elements of a line
_SLICES = 4  # of a step along k, 8 elements each


class AcrossPlan(NamedTuple):
    """What is known when the kernel is compiled: as in `portagpu.blas.gemm.variants.wgmma.kernels.WarpgroupPlan`.

    A tile has 64 rows for each of the ``consumers`` and ``tile_n`` columns. ``c_transposed``: C lies as (n, m).
    """

    tile_n: int
    stages: int
    consumers: int
    group: int
    splits: int
    fan: int
    levels: int
    c_transposed: bool
    scaled: bool


@cuda.jit
def multiply_across(maps, a, b, c, parts, batches, extents, factors, plan: cuda.constexpr):
    """``c = alpha * a @ b + beta * c`` in TF32; a: (batch, m, depth), b: (batch, depth, n), c: (batch, m, n).

    A lies as (depth, m), B as (n, depth), C as (m, n), or, ``plan.c_transposed``, as (n, m): so is the array ``c``.
    Parameters as of `portagpu.blas.gemm.variants.wgmma.kernels.multiply_warpgroups`.
    """
    tile_n, stages, consumers, group, splits, fan, levels, c_transposed, scaled = plan
    epilogue = Epilogue(BETA_UNLESS_ZERO if scaled else SUM)
    tile_m = 64 * consumers
    bytes_of_step = (tile_m + tile_n) * (_SPAN * 4)
    columns_of_fragment = tile_n // 2
    ring_a = cuda.shared.array((stages, tile_m * _SPAN), np.float32, alignment=1024)
    ring_b = cuda.shared.array((stages, tile_n * _SPAN), np.float32, alignment=1024)
    drawer = cuda.shared.array((consumers, 2, 64 * _SPAN), np.float32, alignment=1024)
    bars = cuda.shared.array(2 * stages, np.uint64)
    thread = np.int32(cuda.threadIdx.x)
    team = thread // 128
    lane = thread % 32
    tiles_m = (extents.m + (tile_m - 1)) // tile_m
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    tiles = tiles_m * tiles_n
    steps_of_all = (extents.k + (_SPAN - 1)) // _SPAN
    work = tiles * batches * splits
    first = np.int32(cuda.blockIdx.x)
    blocks_of_grid = np.int32(cuda.gridDim.x)
    if thread == 0:
        cuda.tensor_map_acquire(maps, 0)
        cuda.tensor_map_acquire(maps, 16)
    if thread == 128:  # meanwhile
        for i in cuda.unroll(range(stages)):
            cuda.mbarrier_init(bars, i, 1)
            cuda.mbarrier_init(bars, stages + i, 4 * consumers)
        cuda.fence_proxy_async()
    cuda.syncthreads()
    place = np.int32(0)
    if team == 0:
        cuda.setmaxnreg(32 if consumers == 3 else 40, False)
        if thread == 0:
            phase = np.int32(1)
            for number in range(first, work, blocks_of_grid):
                part_of_all, tile = _shared_out(number, tiles)
                batch = part_of_all // splits
                share = part_of_all % splits
                tile_row, tile_column = _tile_of(tile, tiles_m, tiles_n, group)
                for step in range(share * steps_of_all // splits, (share + 1) * steps_of_all // splits):
                    at = step * _SPAN
                    cuda.mbarrier_wait_parity(bars, stages + place, phase)
                    cuda.mbarrier_arrive_expect_tx(bars, place, bytes_of_step)
                    for part in cuda.unroll(range(tile_m // _SPAN)):
                        at_a = (batch * a.apart, at, tile_row * tile_m + part * _SPAN)
                        cuda.tma_load(ring_a, (place, part * (_SPAN * _SPAN)), maps, 0, at_a, bars, place)
                    at_b = (batch * b.apart, tile_column * tile_n, at)
                    cuda.tma_load(ring_b, (place, 0), maps, 16, at_b, bars, place)
                    place += 1
                    if place == stages:
                        place = 0
                        phase ^= 1
    else:
        cuda.setmaxnreg(160 if consumers == 3 else 232, True)
        acc = cuda.local.array(columns_of_fragment, np.float32)
        fragments = cuda.local.array((2, _SLICES, 4), np.float32)
        mine = team - 1
        warp = thread // 32 % 4
        row, column = lane // 4, lane % 4
        phase = np.int32(0)
        before = np.int32(0)
        # the thread's two rows of the consumer's 64: a pair of neighbours in part `chunk` of a line
        chunk = (row // 4 * 2) ^ (row // 2 % 2 * 5) ^ (warp % 2 * 4)
        own = warp // 2 * _SPAN + chunk * 4 + row % 2 * 2
        line = (mine * 2 + warp // 2) * (_SPAN * _SPAN) + column * _SPAN + row % 2 * 2
        near = line + (chunk ^ column) * 4
        far = line + 4 * _SPAN + (chunk ^ column ^ 4) * 4
        fixed = np.uint64(_SWIZZLE | _GROUPS | (1 << 16))
        start = cuda.shared_address(ring_b, (0, 0))
        if thread % 128 == 0:
            cuda.tensor_map_acquire(maps, 32)
        for number in range(first, work, blocks_of_grid):
            part_of_all, tile = _shared_out(number, tiles)
            batch = part_of_all // splits
            share = part_of_all % splits
            steps = (share + 1) * steps_of_all // splits - share * steps_of_all // splits
            tile_row, tile_column = _tile_of(tile, tiles_m, tiles_n, group)
            cuda.mbarrier_wait_parity(bars, place, phase)
            for part in cuda.unroll(range(_SLICES)):
                low = cuda.vload(ring_a, (place, near + part * (8 * _SPAN)), 2, aligned=True)
                high = cuda.vload(ring_a, (place, far + part * (8 * _SPAN)), 2, aligned=True)
                for i in cuda.unroll(range(2)):
                    fragments[0, part, i] = low[i]
                    fragments[0, part, 2 + i] = high[i]
            for begin in range(np.int32(0), steps, 2):
                for turn in cuda.unroll(range(2)):
                    if turn == 0 or begin + 1 < steps:
                        address = fixed | np.uint64(((start + np.uint32(place * (tile_n * _SPAN * 4))) & 0x3FFFF) >> 4)
                        cuda.wgmma_fence()
                        for part in cuda.unroll(range(_SLICES)):
                            cuda.wgmma(
                                tile_n,
                                "tfloat32",
                                acc,
                                fragments[turn, part],
                                address + np.uint64(2 * part),
                                accumulate=True if part + turn > 0 else begin > 0,
                            )
                        cuda.wgmma_commit_group()
                        cuda.wgmma_wait_group(1)
                        if lane == 0 and begin + turn > 0:
                            cuda.mbarrier_arrive(bars, stages + before)
                        before = place
                        place += 1
                        if place == stages:
                            place = 0
                            phase ^= 1
                        if begin + (turn + 1) < steps:
                            cuda.mbarrier_wait_parity(bars, place, phase)
                            for part in cuda.unroll(range(_SLICES)):
                                low = cuda.vload(ring_a, (place, near + part * (8 * _SPAN)), 2, aligned=True)
                                high = cuda.vload(ring_a, (place, far + part * (8 * _SPAN)), 2, aligned=True)
                                for i in cuda.unroll(range(2)):
                                    fragments[1 - turn, part, i] = low[i]
                                    fragments[1 - turn, part, 2 + i] = high[i]
            cuda.wgmma_wait_group(0)
            if lane == 0:
                cuda.mbarrier_arrive(bars, stages + before)
            is_last = True
            if splits > 1:
                is_last = add_parts(
                    acc,
                    Share(
                        parts.memory,
                        parts.arrived,
                        batch * tiles + tile,
                        share,
                        np.int32(splits),
                        np.int32(splits),
                        np.int32(fan),
                    ),
                    thread - 128,
                    Team(columns_of_fragment, cuda.float32x4, levels, 8, 128 * consumers),
                )
            if is_last:
                row0 = tile_row * tile_m + mine * 64
                for strip in cuda.unroll(range(tile_n // _SPAN)):
                    column0 = tile_column * tile_n + strip * _SPAN
                    if thread % 128 == 0:
                        # of an odd number of strips, the last one of a tile and the first of the next share a side
                        if tile_n // _SPAN % 2 == 1 and strip == 0:
                            cuda.tma_store_wait(0)
                        else:
                            cuda.tma_store_wait(1)
                    cuda.barrier_sync(team, 128)
                    for part in cuda.unroll(range(_SPAN // 8)):
                        values = cuda.local.array((2, 2), np.float32)
                        for i in cuda.unroll(range(2)):
                            for j in cuda.unroll(range(2)):
                                value = acc[(strip * (_SPAN // 8) + part) * 4 + i * 2 + j]
                                if scaled or factors.fused is not None:
                                    at_row = np.uint32(row0 + own + i)
                                    at_column = np.uint32(column0 + part * 8 + column * 2 + j)
                                    product = np.uint32(batch)
                                    if c_transposed:
                                        turned = Extents(extents.n, extents.m, extents.k)
                                        value = finished(
                                            value, c, product, at_column, at_row, turned, factors, epilogue
                                        )
                                    else:
                                        value = finished(
                                            value, c, product, at_row, at_column, extents, factors, epilogue
                                        )
                                values[i, j] = value
                        for i in cuda.unroll(range(2)):
                            # 128-byte lines, their 16-byte parts permuted in the pattern that the copy undoes
                            if c_transposed:
                                to_line = part * 8 + column * 2 + i
                                to = (warp // 2 * _SPAN + to_line) * _SPAN + (chunk ^ to_line & 7) * 4 + row % 2 * 2
                                pair = cuda.float32x2(values[0, i], values[1, i])
                            else:
                                to_line = own + i
                                to = to_line * _SPAN + (part * 2 + column // 2 ^ to_line & 7) * 4 + column % 2 * 2
                                pair = cuda.float32x2(values[i, 0], values[i, 1])
                            cuda.vstore(pair, drawer, (mine, strip % 2, to), aligned=True)
                    cuda.fence_proxy_async()
                    cuda.barrier_sync(team, 128)
                    if thread % 128 == 0:
                        if c_transposed:
                            for half in cuda.unroll(range(2)):
                                at_c = (batch, column0, row0 + half * _SPAN)
                                cuda.tma_store(maps, 32, at_c, drawer, (mine, strip % 2, half * (_SPAN * _SPAN)))
                        else:
                            cuda.tma_store(maps, 32, (batch, row0, column0), drawer, (mine, strip % 2, 0))
                        cuda.tma_store_commit()
        if thread % 128 == 0:
            cuda.tma_store_wait(0)  # shared memory ends with the block
