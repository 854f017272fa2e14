"""Products of few rows of 16-bit floats by `cuda.mma_sync`, as fast as the large matrix is read; in the dialect.

The few rows are the 16 rows of the instruction's first operand. Its second one, the large matrix, goes from global
memory to registers in 16-byte loads and meets no shared memory: any order of k's will do if both operands have it, and
any order of columns if results know it. So of 32 k's a thread takes 8 neighbours, for two instructions. Where b's
columns lie side by side, each of eight loads is 8 columns of one k, and pairs of k's are put together in registers; a
warp reads 128 bytes of each row. Where k's do, each load is 8 k's of one column.

Warps share the k's of a block, and blocks the sums, see `portagpu.blas.gemm.kernels.skinny_split_k`. "Matrix fragments
for mma.m16n8k16" in the PTX ISA.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.skinny_split_k import Corner, Result, Shared, StripPlan, add_parts_in_order, leave_sums
from portagpu.blas.gemm.kernels.split_k import arrive

SLAB = 32
"""k's that a warp takes at once."""
COLUMNS = 64
"""Columns that a warp takes."""


class SkinnyFragmentPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``multiply(acc, a, b)``: adds a product of fragments. ``rows``: of x, at most 32. ``warps_n``, ``warps_k``: warps of
    a block along either axis; ``flight``: slabs of k's of which a warp has all loads under way. ``along``: b has its
    k's side by side. ``vectors``: 16-byte loads of b; ``x_vectors``: of x. ``split``: blocks share sums; ``arrive``:
    the last of them adds up. ``epilogue``: see `portagpu.blas.gemm.kernels.epilogue`.
    """

    multiply: Any
    rows: int
    warps_n: int
    warps_k: int
    flight: int
    along: bool
    vectors: bool
    x_vectors: bool
    split: bool
    arrive: bool
    epilogue: Any


@cuda.jit(device=True)
def mma_float16(acc, a, b):
    """``acc += a @ b`` of float16."""
    cuda.mma_sync("m16n8k16", "float16", acc, a, b)


@cuda.jit(device=True)
def mma_bfloat16(acc, a, b):
    """``acc += a @ b`` of bfloat16."""
    cuda.mma_sync("m16n8k16", "bfloat16", acc, a, b)


@cuda.jit(device=True)
def _gather(words, source, at, step, count):
    """Eight elements, ``step`` apart, as four words; zeros from number ``count`` on."""
    for i in cuda.unroll(range(4)):
        low = np.uint32(source[at + 2 * i * step]) if 2 * i < count else np.uint32(0)
        high = np.uint32(source[at + (2 * i + 1) * step]) if 2 * i + 1 < count else np.uint32(0)
        words[i] = low | high << 16


@cuda.jit(device=True)
def _read(words, source, source_words, at, step, count, vectors: cuda.constexpr):
    """Eight elements as four words: neighbours by one load, or up to ``count`` one by one."""
    if vectors:
        found = cuda.vload(source_words, at // 2, 4, aligned=True)
        for i in cuda.unroll(range(4)):
            words[i] = found[i]
    else:
        _gather(words, source, at, step, count)


class Operand(NamedTuple):
    """An operand's memory, also as words of 32 bits; where a thread's columns (rows) begin; from one k to the next."""

    memory: Any
    words: Any
    places: Any
    step: Any


@cuda.jit(device=True)
def _load_slab(taken, few, b, x, p, end, plan: cuda.constexpr, whole: cuda.constexpr):
    """A thread's eight k's from p on, of its columns and of its rows of x; guarded unless all k's are there."""
    zero = type(p)(0)
    count = type(p)(8) if whole else (min(end - p, type(p)(8)) if p < end else zero)
    vectors = plan.vectors and (whole or not plan.along)
    for i in cuda.unroll(range(8)):
        if plan.along:
            _read(taken[i], b.memory, b.words, b.places[i] + p, 1, count, vectors)
        elif whole or i < count:
            _read(taken[i], b.memory, b.words, b.places[0] + (p + i) * b.step, 1, type(p)(8), vectors)
        else:
            for word in cuda.unroll(range(4)):
                taken[i, word] = 0
    words = cuda.local.array(4, np.uint32)
    for upper in cuda.unroll(range((plan.rows + 15) // 16)):
        for half in cuda.unroll(range(2)):
            if upper * 16 + half * 8 < plan.rows:
                at = x.places[upper * 2 + half] + p * x.step
                _read(words, x.memory, x.words, at, x.step, count, plan.x_vectors and whole)
                for i in cuda.unroll(range(4)):
                    few[i // 2, upper, half + i % 2 * 2] = words[i]
            else:
                for i in cuda.unroll(range(4)):
                    few[i // 2, upper, half + i % 2 * 2] = 0


@cuda.jit(device=True)
def _multiply_slab(acc, taken, few, plan: cuda.constexpr):
    """Add the products of a slab: two steps of 16 k's, eight blocks of columns."""
    pair = cuda.local.array(2, np.uint32)
    for step in cuda.unroll(range(2)):
        for block in cuda.unroll(range(8)):
            for part in cuda.unroll(range(2)):
                if plan.along:
                    pair[part] = taken[block, step * 2 + part]
                else:
                    low = taken[step * 4 + part * 2, block // 2]
                    high = taken[step * 4 + part * 2 + 1, block // 2]
                    if block % 2 == 0:
                        pair[part] = low & np.uint32(0xFFFF) | high << 16
                    else:
                        pair[part] = low >> 16 | high & np.uint32(0xFFFF0000)
            for upper in cuda.unroll(range((plan.rows + 15) // 16)):
                plan.multiply(acc[upper, block], few[step, upper], pair)


@cuda.jit
def multiply_skinny_fragments(x, x_words, b, b_words, c, parts, extents, split, factors, plan: cuda.constexpr):
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``; element (p, j) of b is at ``p * b.pitch + j``, or the other way.

    x, c: each a `StridedMatrix` of flat memory; b: a `Matrix`; x and b are uint16, and (``_words``) uint32. The grid is
    one-dimensional: for each product of the batch and each part of a ``split``, whose k's are a multiple of 32, a block
    for each strip of ``64 * plan.warps_n`` columns. n is at least 8.
    """
    rows, flight = plan.rows, plan.flight
    stacks = (rows + 15) // 16
    width = plan.warps_n * COLUMNS
    threads = plan.warps_n * plan.warps_k * 32
    pitch = width + 8
    most = min(rows, 16)
    lanes = 1 if plan.along else 8
    strip = StripPlan(rows, width, threads, lanes, plan.split, plan.epilogue)
    taken = cuda.local.array((flight, 8, 4), np.uint32)
    few = cuda.local.array((flight, 2, stacks, 4), np.uint32)
    acc = cuda.local.array((stacks, 8, 4), np.float32)
    b_places = cuda.local.array(8, type(extents.n))
    x_places = cuda.local.array(stacks * 2, type(extents.n))
    shared = cuda.shared.array(plan.warps_k * most * pitch, np.float32, alignment=16)
    latest = cuda.shared.array(1, np.int32)

    kind = type(extents.n)
    thread = kind(cuda.threadIdx.x)
    lane = thread % 32
    warp_n, warp_k = thread // 32 % plan.warps_n, thread // (32 * plan.warps_n)
    strips = (extents.n + (width - 1)) // width
    block = kind(cuda.blockIdx.x)
    line0 = block % strips * width
    share = block // strips % split.count
    batch = block // strips // split.count
    begin = share * split.terms
    end = min(extents.k, begin + split.terms)
    own = lane % 4 * 8  # of the k's of a slab
    if plan.along:
        for i in cuda.unroll(range(8)):
            column = min(line0 + warp_n * COLUMNS + i * 8 + lane // 4, extents.n - 1)
            b_places[i] = batch * b.batch + column * b.pitch
    else:
        b_places[0] = batch * b.batch + min(line0 + warp_n * COLUMNS + lane // 4 * 8, extents.n - 8)
    for i in cuda.unroll(range(stacks * 2)):
        x_places[i] = batch * x.batch + min(lane // 4 + i * 8, extents.m - 1) * x.down
    for upper in cuda.unroll(range(stacks)):
        for i in cuda.unroll(range(8)):
            for part in cuda.unroll(range(4)):
                acc[upper, i, part] = 0

    # a warp's slabs of a turn: neighbours where they share lines of memory, else those of all warps in order
    step = SLAB if plan.along else plan.warps_k * SLAB
    turn = plan.warps_k * SLAB * flight
    slabs_end = begin + (end - begin) // SLAB * SLAB
    first = begin + warp_k * (SLAB * flight if plan.along else SLAB)
    for u in cuda.unroll(range(flight)):
        if first + u * step < slabs_end:
            _load_slab(
                taken[u],
                few[u],
                Operand(b.memory, b_words, b_places, b.pitch),
                Operand(x.memory, x_words, x_places, x.right),
                first + own + u * step,
                end,
                plan,
                True,
            )
    # a slab's registers are loaded again as soon as it is multiplied: the others are under way meanwhile
    for p0 in range(first, slabs_end, kind(turn)):
        for u in cuda.unroll(range(flight)):
            if u == 0 or p0 + u * step < slabs_end:
                _multiply_slab(acc, taken[u], few[u], plan)
                if p0 + (u * step + turn) < slabs_end:
                    _load_slab(
                        taken[u],
                        few[u],
                        Operand(b.memory, b_words, b_places, b.pitch),
                        Operand(x.memory, x_words, x_places, x.right),
                        p0 + own + (u * step + turn),
                        end,
                        plan,
                        True,
                    )
    if slabs_end < end and warp_k == 0:
        _load_slab(
            taken[0],
            few[0],
            Operand(b.memory, b_words, b_places, b.pitch),
            Operand(x.memory, x_words, x_places, x.right),
            slabs_end + own,
            end,
            plan,
            False,
        )
        _multiply_slab(acc, taken[0], few[0], plan)

    place = batch * strips + line0 // width
    base = (place * split.count + share) * (rows * width)
    start_c = batch * c.batch
    row0 = kind(0)
    result = Result(c.memory, start_c, c.down, c.right, extents.m, extents.n)
    corner = Corner(row0, line0)
    for upper in cuda.unroll(range(stacks)):
        height = min(16, rows - upper * 16)
        cuda.syncthreads()
        for half in cuda.unroll(range(2)):
            row = lane // 4 + half * 8
            if row < height:
                at = (warp_k * height + row) * pitch + warp_n * COLUMNS
                _leave_row(acc[upper], shared, at, lane % 4, half, plan.along)
        cuda.syncthreads()
        leave_sums(
            shared,
            Shared(plan.warps_k, pitch, 1, height * pitch),
            result,
            parts.memory,
            base,
            corner,
            factors,
            thread,
            height,
            upper * 16,
            strip,
        )
    if plan.arrive:
        last = arrive(parts.arrived, place, split.count, latest, thread, 0, threads)
        if last:
            base = place * split.count * (rows * width)
            add_parts_in_order(result, parts.memory, base, corner, factors, thread, split.count, strip, np.float32)


@cuda.jit(device=True)
def _leave_row(acc, shared, at, quarter, half: cuda.constexpr, along: cuda.constexpr):
    """A thread's sums of one row, 16 of 64 columns, to shared memory from ``at`` on in the columns' order."""
    if along:
        for block in cuda.unroll(range(8)):
            pair = cuda.float32x2(acc[block, half * 2], acc[block, half * 2 + 1])
            cuda.vstore(pair, shared, at + block * 8 + quarter * 2, aligned=True)
    else:
        for part in cuda.unroll(range(2)):
            for four in cuda.unroll(range(2)):
                i = half * 2 + part
                values = cuda.float32x4(
                    acc[four * 4, i], acc[four * 4 + 1, i], acc[four * 4 + 2, i], acc[four * 4 + 3, i]
                )
                cuda.vstore(values, shared, at + quarter * 16 + part * 8 + four * 4, aligned=True)
