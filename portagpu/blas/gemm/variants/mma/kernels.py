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
from portagpu.blas.gemm.kernels.async_copy import Rest, Source, Staging, Target
from portagpu.blas.gemm.kernels.epilogue import store_element, store_pair
from portagpu.blas.gemm.kernels.split_k import Share, Team, add_parts
from portagpu.blas.gemm.kernels.tile_order import span_of, tile_place


class FragmentPlan(NamedTuple):
    """What is known when the kernel is compiled. A warp's tile is ``blocks_m`` x ``blocks_n`` fragments of 16 x 8.

    ``kind``, ``shape``: of `cuda.mma_sync`. ``bits``: the type as which operands are copied. ``sums``: vectors of
    four sums. ``packed``: "half" or "brain" if results leave in pairs of 16 bits, else "". Others as in
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
def _fetch(source, to, place, rest, staging, begin: cuda.constexpr, end: cuda.constexpr):
    """As `kernels.async_copy.fetch`; ``staging.pitch``: elements of a row in shared memory."""
    wide, threads, pitch = staging.wide, staging.threads, staging.pitch
    across = staging.extent // wide
    for copy in cuda.unroll(range(begin, end)):
        if staging.along_k:
            x, depth = copy * (threads * wide // staging.tile_k), 0
            inner = to.first + x * pitch
            origin = source.start + np.uint32(copy) * source.hop
        else:
            x, depth = copy * threads % across * wide, copy * threads // across
            inner = to.first + (depth * pitch + x)
            if threads < across:
                origin = source.start + (np.uint32(depth) * source.hop + np.uint32(x))
            else:
                origin = source.start + np.uint32(copy) * source.hop
        if staging.guard and staging.tail:
            inside = x < rest.x and depth < rest.k
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, wide, valid=inside)
        elif staging.guard:
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, wide, valid=x < rest.x)
        elif staging.tail:
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, wide, valid=depth < rest.k)
        else:
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, wide)


@cuda.jit(device=True)
def _permuted(part, line, parts: cuda.constexpr):
    """Where part number ``part`` of a line lies among its ``parts``, 4 or 8: eight lines have eight places."""
    return part ^ (line % 8 if parts == 8 else line // 2 % 4)


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
    sixteens = tile_k // span
    pitch_x = tile_k if a_along else tile_m + 8
    pitch_y = tile_k if b_along else tile_n + 8
    ring_a = cuda.shared.array((stages, tile_m * tile_k if a_along else tile_k * pitch_x), plan.bits, alignment=128)
    ring_b = cuda.shared.array((stages, tile_n * tile_k if b_along else tile_k * pitch_y), plan.bits, alignment=128)
    staging_a = Staging(a_along, tile_m, pitch_x, tile_k, plan.wide_a, threads, plan.guard_a, plan.tail)
    staging_b = Staging(b_along, tile_n, pitch_y, tile_k, plan.wide_b, threads, plan.guard_b, plan.tail)
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
        line_a = warp_m + lane % 16
        for group in cuda.unroll(range(groups)):
            starts_a[group] = np.uint32(line_a * tile_k + _permuted(group * 2 + lane // 16, line_a, sixteens) * span)
    elif single:
        read_a = lane % 4 * pitch_x + (warp_m + lane // 4)
    else:
        read_a = (lane % 8 + lane // 16 * 8) * pitch_x + (warp_m + lane // 8 % 2 * 8)
    if b_along:
        line_b = warp_n + lane // 16 * 8 + lane % 8
        for group in cuda.unroll(range(groups)):
            starts_b[group] = np.uint32(line_b * tile_k + _permuted(group * 2 + lane // 8 % 2, line_b, sixteens) * span)
    elif single:
        read_b = lane % 4 * pitch_y + (warp_n + lane // 4)
    else:
        read_b = lane % 16 * pitch_y + (warp_n + lane // 16 * 8)

    tiles_m = (extents.m + (tile_m - 1)) // tile_m
    tiles_n = (extents.n + (tile_n - 1)) // tile_n
    block = np.int32(cuda.blockIdx.x)
    batch = block // (tiles_m * tiles_n)
    piece = batch // batches
    tile_row, tile_column = tile_place(block % (tiles_m * tiles_n), tiles_m, tiles_n, plan.group)
    own_row, own_column = tile_row * tile_m, tile_column * tile_n
    row0 = max(min(own_row, extents.m - tile_m), 0)
    column0 = max(min(own_column, extents.n - tile_n), 0)
    first, end = span_of(piece, pieces.count, extents.k, tile_k, plan.levels)
    depth = end - first
    steps = (depth + (tile_k - 1)) // tile_k

    product = batch % batches
    start_a, start_b = np.uint32(product) * a.batch, np.uint32(product) * b.batch
    if a_along:
        x_a, k_a = thread // (tile_k // plan.wide_a), thread % (tile_k // plan.wide_a) * plan.wide_a
        target_a = x_a * tile_k + _permuted(k_a // span, x_a, sixteens) * span + k_a % span
        start_a += np.uint32(row0 + x_a) * a.pitch + np.uint32(first + k_a)
        hop_a, next_a = a.pitch * np.uint32(threads * plan.wide_a // tile_k), np.uint32(tile_k)
    else:
        x_a, k_a = thread % (tile_m // plan.wide_a) * plan.wide_a, thread // (tile_m // plan.wide_a)
        target_a = k_a * pitch_x + x_a
        start_a += np.uint32(first + k_a) * a.pitch + np.uint32(row0 + x_a)
        hop_a, next_a = a.pitch * np.uint32(max(threads * plan.wide_a // tile_m, 1)), a.pitch * np.uint32(tile_k)
    if b_along:
        x_b, k_b = thread // (tile_k // plan.wide_b), thread % (tile_k // plan.wide_b) * plan.wide_b
        target_b = x_b * tile_k + _permuted(k_b // span, x_b, sixteens) * span + k_b % span
        start_b += np.uint32(column0 + x_b) * b.pitch + np.uint32(first + k_b)
        hop_b, next_b = b.pitch * np.uint32(threads * plan.wide_b // tile_k), np.uint32(tile_k)
    else:
        x_b, k_b = thread % (tile_n // plan.wide_b) * plan.wide_b, thread // (tile_n // plan.wide_b)
        target_b = k_b * pitch_y + x_b
        start_b += np.uint32(first + k_b) * b.pitch + np.uint32(column0 + x_b)
        hop_b, next_b = b.pitch * np.uint32(max(threads * plan.wide_b // tile_n, 1)), b.pitch * np.uint32(tile_k)
    copies_a = tile_m * tile_k // (threads * plan.wide_a)
    copies_b = tile_n * tile_k // (threads * plan.wide_b)
    rest_m, rest_n = extents.m - row0 - x_a, extents.n - column0 - x_b
    left_a, left_b = depth - k_a, depth - k_b

    for i in cuda.unroll(range(blocks_m)):
        for j in cuda.unroll(range(blocks_n)):
            for part in cuda.unroll(range(4)):
                acc[i, j // 2, j % 2, part] = 0
    for stage in cuda.unroll(range(stages - 1)):
        _fetch(
            Source(a.memory, start_a, hop_a),
            Target(ring_a, target_a),
            np.int32(stage),
            Rest(rest_m, left_a),
            staging_a,
            0,
            copies_a,
        )
        _fetch(
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
                    _fetch(
                        Source(a.memory, start_a, hop_a),
                        Target(ring_a, target_a),
                        fill,
                        Rest(rest_m, left_a),
                        staging_a,
                        i * copies_a // blocks_m,
                        (i + 1) * copies_a // blocks_m,
                    )
                    _fetch(
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
                    right = columns[here, j // 2, j % 2 * 2 : j % 2 * 2 + 2]
                    cuda.mma_sync(plan.shape, plan.kind, acc[i, j // 2, j % 2], rows[here, i], right)
        use = following
        fill = fill + 1 if fill < stages - 1 else 0
        if step + stages < steps:
            start_a += next_a
            start_b += next_b
            left_a -= tile_k
            left_b -= tile_k

    if plan.levels and not add_parts(
        acc.ravel(),
        Share(
            pieces.memory,
            pieces.arrived,
            product * (tiles_m * tiles_n) + block % (tiles_m * tiles_n),
            piece,
            pieces.count,
            pieces.count,
            pieces.fan,
        ),
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
                    at = line + np.uint32(column)
                    low, high = acc[i, j // 2, j % 2, part * 2], acc[i, j // 2, j % 2, part * 2 + 1]
                    if plan.packed:
                        if column >= own_column and column < extents.n:
                            store_pair(low, high, c.memory, pairs, at, row, column, factors, epilogue)
                    else:
                        if column >= own_column and column < extents.n:
                            store_element(low, c.memory, at, row, column, factors, epilogue)
                        if column + 1 >= own_column and column + 1 < extents.n:
                            store_element(high, c.memory, at + 1, row, column + 1, factors, epilogue)
