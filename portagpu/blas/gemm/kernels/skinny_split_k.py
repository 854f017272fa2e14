"""Strips of few rows that several blocks form parts of: left row by row, and added in order; in the dialect.

The last block to arrive adds (`portagpu.blas.gemm.kernels.split_k`, whose parts lie as threads hold them; these lie as
rows, for blocks that have shared their sums already). That needs a fence for the whole device, which OpenCL C before
2.0 does not promise and PTX has; elsewhere a second launch adds (`add_strips`).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import store_element


@cuda.jit(device=True)
def _store(total, c, start, row, line, m, n, c_row, c_column, lanes, alpha, beta, scaling: cuda.constexpr):
    """Element (row, line) of a result; nothing outside of it.

    Lines are dealt in vectors of ``lanes``; those that would end beyond the last line begin earlier, and what they have
    in common with others is stored by those.
    """
    first = line // lanes * lanes
    own = min(first, n - lanes) + line % lanes
    if row < m and own >= first and own < n:
        store_element(total, c, start + row * c_row + own * c_column, alpha, beta, scaling)


@cuda.jit(device=True)
def leave_sums(
    shared,
    c,
    parts,
    base,
    start,
    row0,
    line0,
    m,
    n,
    c_row,
    c_column,
    alpha,
    beta,
    thread,
    rows: cuda.constexpr,
    first: cuda.constexpr,
    width: cuda.constexpr,
    deep: cuda.constexpr,
    pitch: cuda.constexpr,
    step: cuda.constexpr,
    apart: cuda.constexpr,
    threads: cuda.constexpr,
    lanes: cuda.constexpr,
    split: cuda.constexpr,
    scaling: cuda.constexpr,
):
    """Add what the threads of a block left in shared memory for ``rows`` rows, from the block's row ``first`` on.

    The sum of row r and line l is that of ``shared[r * pitch + l * step + i * apart]`` over ``deep`` i's. It becomes an
    element of c, or with ``split`` an element of ``parts`` from ``base`` on.
    """
    count = rows * width
    for turn in cuda.unroll(range((count + threads - 1) // threads)):
        result = thread + turn * threads
        if count % threads == 0 or result < count:
            row, line = result // width, result % width
            at = row * pitch + line * step
            total = shared[at]
            for i in cuda.unroll(range(1, deep)):
                total += shared[at + i * apart]
            if split:
                parts[base + result + first * width] = total
            else:
                _store(
                    total,
                    c,
                    start,
                    row0 + first + row,
                    line0 + line,
                    m,
                    n,
                    c_row,
                    c_column,
                    lanes,
                    alpha,
                    beta,
                    scaling,
                )


@cuda.jit(device=True)
def add_parts_in_order(
    c,
    parts,
    base,
    start,
    row0,
    line0,
    m,
    n,
    c_row,
    c_column,
    alpha,
    beta,
    thread,
    splits,
    rows: cuda.constexpr,
    width: cuda.constexpr,
    threads: cuda.constexpr,
    lanes: cuda.constexpr,
    scaling: cuda.constexpr,
    accumulator: cuda.constexpr,
):
    """Elements of c from ``splits`` parts of rows * width sums each, which lie one after the other from ``base`` on."""
    count = rows * width
    turns = (count + threads - 1) // threads
    totals = cuda.local.array(turns, accumulator)
    for turn in cuda.unroll(range(turns)):
        totals[turn] = 0
    # loads of several parts are under way at once; beyond the last sum it is the last one, which is cheaper than asking
    at_once = max(1, 8 // turns)
    found = cuda.local.array((at_once, turns), accumulator)
    whole = splits // at_once * at_once
    for part in range(type(splits)(0), whole, type(splits)(at_once)):
        for beside in cuda.unroll(range(at_once)):
            for turn in cuda.unroll(range(turns)):
                result = min(thread + turn * threads, type(thread)(count - 1))
                found[beside, turn] = parts[base + (part + beside) * count + result]
        for beside in cuda.unroll(range(at_once)):
            for turn in cuda.unroll(range(turns)):
                totals[turn] += found[beside, turn]
    for part in range(whole, splits):
        for turn in cuda.unroll(range(turns)):
            result = min(thread + turn * threads, type(thread)(count - 1))
            totals[turn] += parts[base + part * count + result]
    for turn in cuda.unroll(range(turns)):
        result = thread + turn * threads
        if count % threads == 0 or result < count:
            row, line = row0 + result // width, line0 + result % width
            _store(totals[turn], c, start, row, line, m, n, c_row, c_column, lanes, alpha, beta, scaling)


@cuda.jit
def add_strips(
    c,
    parts,
    m,
    n,
    c_row,
    c_column,
    c_batch,
    splits,
    alpha,
    beta,
    rows: cuda.constexpr,
    width: cuda.constexpr,
    threads: cuda.constexpr,
    lanes: cuda.constexpr,
    scaling: cuda.constexpr,
    accumulator: cuda.constexpr,
):
    """What last blocks do, for all of a batch's products: a block for each rows * width sums."""
    kind = type(n)
    place = kind(cuda.blockIdx.x)
    stacks = (m + (rows - 1)) // rows
    strips = (n + (width - 1)) // width
    start = place // (stacks * strips) * c_batch
    row0, line0 = place % stacks * rows, place // stacks % strips * width
    base = place * splits * (rows * width)
    add_parts_in_order(
        *(c, parts, base, start, row0, line0, m, n, c_row, c_column, alpha, beta, kind(cuda.threadIdx.x), splits),
        *(rows, width, threads, lanes, scaling, accumulator),
    )
