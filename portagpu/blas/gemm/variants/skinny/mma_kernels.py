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
from portagpu.blas.gemm.kernels.skinny_split_k import (
    Outcome,
    Shared,
    StripPlan,
    add_if_last,
    leave_sums,
    strip_of_block,
)

SLAB = 32
"""k's that a warp takes at once."""
COLUMNS = 64
"""Columns that a warp takes."""


class SkinnyFragmentPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``multiply(acc, a, b)``: adds a product of fragments. ``strip``: a block's sums, of all rows of x, at most 32.
    ``warps_n``, ``warps_k``: warps of a block along either axis; ``flight``: slabs of k's of which a warp has all loads
    under way. ``along``: b has its k's side by side. ``vectors``: 16-byte loads of b; ``x_vectors``: of x.
    """

    multiply: Any
    strip: StripPlan
    warps_n: int
    warps_k: int
    flight: int
    along: bool
    vectors: bool
    x_vectors: bool


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
    for upper in cuda.unroll(range((plan.strip.rows + 15) // 16)):
        for half in cuda.unroll(range(2)):
            if upper * 16 + half * 8 < plan.strip.rows:
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
            for upper in cuda.unroll(range((plan.strip.rows + 15) // 16)):
                plan.multiply(acc[upper, block], few[step, upper], pair)


@cuda.jit(device=True)
def _add_slabs(acc, b, x, strip, plan: cuda.constexpr):
    """Add the terms of a strip, a warp those of its slabs.

    Its slabs of a turn are neighbours where they share lines of memory, else those of all warps in order. A slab's
    registers are loaded again as soon as it is multiplied: the others are under way meanwhile.
    """
    flight = plan.flight
    taken = cuda.local.array((flight, 8, 4), np.uint32)
    few = cuda.local.array((flight, 2, (plan.strip.rows + 15) // 16, 4), np.uint32)
    kind = type(strip.line)
    thread = strip.thread
    warp_k = thread // (32 * plan.warps_n)
    own = thread % 32 % 4 * 8  # of the k's of a slab
    step = SLAB if plan.along else plan.warps_k * SLAB
    turn = plan.warps_k * SLAB * flight
    slabs_end = strip.begin + (strip.end - strip.begin) // SLAB * SLAB
    first = strip.begin + warp_k * (SLAB * flight if plan.along else SLAB)
    for u in cuda.unroll(range(flight)):
        if first + u * step < slabs_end:
            _load_slab(taken[u], few[u], b, x, first + own + u * step, strip.end, plan, True)
    for p0 in range(first, slabs_end, kind(turn)):
        for u in cuda.unroll(range(flight)):
            if u == 0 or p0 + u * step < slabs_end:
                _multiply_slab(acc, taken[u], few[u], plan)
                if p0 + (u * step + turn) < slabs_end:
                    _load_slab(taken[u], few[u], b, x, p0 + own + (u * step + turn), strip.end, plan, True)
    if slabs_end < strip.end and warp_k == 0:
        _load_slab(taken[0], few[0], b, x, slabs_end + own, strip.end, plan, False)
        _multiply_slab(acc, taken[0], few[0], plan)


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


@cuda.jit
def multiply_skinny_fragments(x, x_words, b, b_words, c, parts, extents, split, factors, plan: cuda.constexpr):
    """``c[i, j] = sum over p of x[i, p] * b[p, j]``; element (p, j) of b is at ``p * b.pitch + j``, or the other way.

    x, c: each a `StridedMatrix` of flat memory; b: a `Matrix`; x and b are uint16, and (``_words``) uint32. The grid is
    one-dimensional: for each product of the batch and each part of a ``split``, whose k's are a multiple of 32, a block
    for each strip of ``64 * plan.warps_n`` columns. n is at least 8.
    """
    rows, width = plan.strip.rows, plan.strip.width
    stacks = (rows + 15) // 16
    pitch = width + 8
    acc = cuda.local.array((stacks, 8, 4), np.float32)
    b_places = cuda.local.array(8, type(extents.n))
    x_places = cuda.local.array(stacks * 2, type(extents.n))
    shared = cuda.shared.array(plan.warps_k * min(rows, 16) * pitch, np.float32, alignment=16)

    strip = strip_of_block(extents, split, plan.strip)
    thread = strip.thread
    lane = thread % 32
    warp_n, warp_k = thread // 32 % plan.warps_n, thread // (32 * plan.warps_n)
    if plan.along:
        for i in cuda.unroll(range(8)):
            column = min(strip.line + warp_n * COLUMNS + i * 8 + lane // 4, extents.n - 1)
            b_places[i] = strip.batch * b.batch + column * b.pitch
    else:
        b_places[0] = strip.batch * b.batch + min(strip.line + warp_n * COLUMNS + lane // 4 * 8, extents.n - 8)
    for i in cuda.unroll(range(stacks * 2)):
        x_places[i] = strip.batch * x.batch + min(lane // 4 + i * 8, extents.m - 1) * x.down
    for upper in cuda.unroll(range(stacks)):
        for i in cuda.unroll(range(8)):
            for part in cuda.unroll(range(4)):
                acc[upper, i, part] = 0
    large = Operand(b.memory, b_words, b_places, b.pitch)
    _add_slabs(acc, large, Operand(x.memory, x_words, x_places, x.right), strip, plan)

    outcome = Outcome(c, parts, extents, split, factors)
    for upper in cuda.unroll(range(stacks)):
        height = min(16, rows - upper * 16)
        cuda.syncthreads()
        for half in cuda.unroll(range(2)):
            row = lane // 4 + half * 8
            if row < height:
                at = (warp_k * height + row) * pitch + warp_n * COLUMNS
                _leave_row(acc[upper], shared, at, lane % 4, half, plan.along)
        cuda.syncthreads()
        form = Shared(plan.warps_k, pitch, 1, height * pitch)
        leave_sums(shared, form, strip, outcome, height, upper * 16, plan.strip)
    add_if_last(strip, outcome, plan.strip, np.float32)
