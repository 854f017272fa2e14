"""Sums over vectors (dot, asum, nrm2): one kernel, with the terms as device functions; in the dialect.

Sums are formed in the same order each time: each thread adds the chunks of its block that are its own, a few at a time
(a long sum loses digits, `FOLD`), a block's threads add theirs in a tree, and the parts of the blocks are added in
their order: by the last block to arrive where blocks see what others wrote, else by a second launch.

nrm2 has three sums of squares at once: of the elements as they are, made smaller and made larger by powers of two. One
of them has neither overflow nor an underflow that matters, whatever the elements are; which one is decided by the first
(J. L. Blue, "A portable Fortran program to find the Euclidean norm of a vector", ACM TOMS 4(1), 1978, has a sum for
each range of elements; here all elements are in each sum, so that no element is compared).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.split_k import arrive
from portagpu.blas.level1.lanes import exchanged_parts, load, sum_of_even, sum_of_lanes, sum_of_odd

FOLD = 64
"""Chunks that a thread adds to one running sum, before that is added to another one."""

ALONE, ARRIVING, LEFT = range(3)
"""Of `SumPlan.parts`: a vector is one block's; the last block adds the parts; they are left for another launch."""


class SumWork(NamedTuple):
    """``chunks`` of a vector, ``span`` of a block, ``blocks`` of a vector; ``rest``: elements behind the last chunk."""

    chunks: Any
    span: Any
    blocks: Any
    rest: Any


class Scales(NamedTuple):
    """Of nrm2: factors that make elements smaller or larger, and between which sums of squares need neither."""

    smaller: Any
    larger: Any
    low: Any
    high: Any


class SumPlan(NamedTuple):
    """What is known when the kernels are compiled.

    ``add``, ``finish`` and ``result`` are device functions: ``add`` adds the terms of chunks to ``sums`` sums,
    ``finish`` makes of them numbers that blocks add up, as many, and ``result`` of those what the routine returns.
    ``kind``, ``single``, ``lanes``, ``parts``, ``threads``, ``items``, ``aligned``: as of a `MapPlan`; ``number``: type
    of a sum, ``stored`` that of the result. ``left``: `ALONE`, `ARRIVING` or `LEFT`.
    """

    add: Any
    finish: Any
    result: Any
    sums: int
    kind: Any
    single: Any
    number: Any
    stored: Any
    lanes: int
    parts: int
    threads: int
    items: int
    aligned: bool
    reads_y: bool
    left: int


@cuda.jit(device=True)
def _zeros(kind: cuda.constexpr, count: cuda.constexpr):
    if count == 1:
        return (kind(0),)
    if count == 2:
        return (kind(0), kind(0))
    return (kind(0), kind(0), kind(0))


@cuda.jit(device=True)
def _sum_of(a, b, count: cuda.constexpr):
    if count == 1:
        return (a[0] + b[0],)
    if count == 2:
        return (a[0] + b[0], a[1] + b[1])
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@cuda.jit(device=True)
def add_magnitudes(sums, x, y, scales, kind: cuda.constexpr):
    """asum: ``|x|``, of complex numbers ``|re| + |im|``."""
    return (sums[0] + abs(x),)


@cuda.jit(device=True)
def add_squares(sums, x, y, scales, kind: cuda.constexpr):
    """nrm2 of numbers whose squares neither overflow nor vanish."""
    return (cuda.fma(x, x, sums[0]),)


@cuda.jit(device=True)
def add_scaled_squares(sums, x, y, scales, kind: cuda.constexpr):
    """nrm2: squares as they are, made smaller, and made larger."""
    small, large = x * scales.smaller, x * scales.larger
    return (cuda.fma(x, x, sums[0]), cuda.fma(small, small, sums[1]), cuda.fma(large, large, sums[2]))


@cuda.jit(device=True)
def add_products(sums, x, y, scales, kind: cuda.constexpr):
    """dot of real numbers."""
    return (cuda.fma(x, y, sums[0]),)


@cuda.jit(device=True)
def add_complex_products(sums, x, y, scales, kind: cuda.constexpr):
    """dotu, dotc: real times real and imaginary times imaginary parts in one sum, the others in the other."""
    return (cuda.fma(x, y, sums[0]), cuda.fma(x, exchanged_parts(y, kind), sums[1]))


@cuda.jit(device=True)
def lanes_added(sums, kind: cuda.constexpr, lanes: cuda.constexpr):
    """Each sum is that of all its lanes."""
    if len(sums) == 1:
        return (sum_of_lanes(sums[0], lanes),)
    return (sum_of_lanes(sums[0], lanes), sum_of_lanes(sums[1], lanes), sum_of_lanes(sums[2], lanes))


@cuda.jit(device=True)
def plain_products(sums, kind: cuda.constexpr, lanes: cuda.constexpr):
    """dotu: real and imaginary part of the sum of ``x * y``."""
    return (sum_of_even(sums[0], lanes) - sum_of_odd(sums[0], lanes), sum_of_lanes(sums[1], lanes))


@cuda.jit(device=True)
def conjugate_products(sums, kind: cuda.constexpr, lanes: cuda.constexpr):
    """dotc: real and imaginary part of the sum of ``conj(x) * y``."""
    return (sum_of_lanes(sums[0], lanes), sum_of_even(sums[1], lanes) - sum_of_odd(sums[1], lanes))


@cuda.jit(device=True)
def as_it_is(sums, scales):
    """The sums are the result."""
    return sums


@cuda.jit(device=True)
def root(sums, scales):
    """nrm2 of one sum of squares."""
    return (math.sqrt(sums[0]),)


@cuda.jit(device=True)
def root_of_scaled(sums, scales):
    """nrm2 of three sums of squares: nan and infinity are in all of them."""
    if sums[0] > scales.high:
        return (math.sqrt(sums[1]) / scales.smaller,)
    if sums[0] < scales.low:
        return (math.sqrt(sums[2]) / scales.larger,)
    return (math.sqrt(sums[0]),)


@cuda.jit(device=True)
def _sum_of_block(values, shared, thread, count: cuda.constexpr, threads: cuda.constexpr):
    """The sums of the numbers of a block's threads, in all of them; ``threads``: a power of two."""
    if threads == 1:
        return values
    for k in cuda.unroll(range(count)):
        shared[k * threads + thread] = values[k]
    cuda.syncthreads()
    half = threads // 2
    while half > 0:
        if thread < half:
            for k in cuda.unroll(range(count)):
                shared[k * threads + thread] += shared[k * threads + thread + half]
        cuda.syncthreads()
        half = half // 2
    if count == 1:
        return (shared[0],)
    if count == 2:
        return (shared[0], shared[threads])
    return (shared[0], shared[threads], shared[2 * threads])


@cuda.jit(device=True)
def _store(values, result, item, scales, plan):
    """The result of a vector, by one thread."""
    made = plan.result(values, scales)
    for k in cuda.unroll(range(plan.parts if plan.sums == 2 else 1)):
        result[item * (plan.parts if plan.sums == 2 else 1) + k] = plan.stored(made[k])


@cuda.jit(device=True)
def _add_parts(parts, result, item, blocks, thread, shared, scales, plan):
    """The result of a vector from its blocks' parts; all threads of a block call it."""
    index, count, threads, number = type(blocks), plan.sums, plan.threads, plan.number
    first = item * index(count) * blocks
    totals = _zeros(number, count)
    for start in range(thread, blocks, index(threads * FOLD)):
        sums = _zeros(number, count)
        for p in range(start, min(blocks, start + index(threads * FOLD)), index(threads)):
            if count == 1:
                sums = (sums[0] + parts[first + p],)
            elif count == 2:
                sums = (sums[0] + parts[first + p], sums[1] + parts[first + blocks + p])
            else:
                sums = (
                    sums[0] + parts[first + p],
                    sums[1] + parts[first + blocks + p],
                    sums[2] + parts[first + index(2) * blocks + p],
                )
        totals = _sum_of(totals, sums, count)
    totals = _sum_of_block(totals, shared, thread, count, threads)
    if thread == 0:
        _store(totals, result, item, scales, plan)


@cuda.jit(device=True)
def _chunks_added(x, y, x_first, y_first, i, sums, scales, plan, whole: cuda.constexpr):
    """One chunk (``whole``), or one element, added."""
    kind, lanes = (plan.kind, plan.lanes) if whole else (plan.single, plan.parts)
    x_value = load(x.memory, x_first, kind, lanes, plan.aligned and whole)
    y_value = load(y.memory, y_first, kind, lanes, plan.aligned and whole) if plan.reads_y else x_value
    return plan.add(sums, x_value, y_value, scales, kind)


@cuda.jit
def sum_elements(x, y, parts, arrived, result, work, scales, plan: cuda.constexpr):
    """Sums over x and y, each a `Chunked`: to ``result``, or what blocks have of them to ``parts``.

    work: a `SumWork`; scales: `Scales`; plan: a `SumPlan`. Blocks of ``plan.threads`` in a grid of one axis,
    ``work.blocks`` for each vector of a batch. parts: (batch, plan.sums, work.blocks); arrived: int32, zero, for each
    vector.
    """
    index = type(work.chunks)
    count, kind, threads = plan.sums, plan.kind, plan.threads
    shared = cuda.shared.array(count * threads if threads > 1 else 1, plan.number)
    x_values = cuda.local.array(plan.items, kind)
    y_values = cuda.local.array(plan.items, kind)
    thread = index(cuda.threadIdx.x)
    block = index(cuda.blockIdx.x)
    item = block // work.blocks
    block = block - item * work.blocks
    x_first, y_first = x.first + item * x.next, y.first + item * y.next
    begin = block * work.span
    end = min(work.chunks, begin + work.span)
    turn = threads * plan.items
    full = begin + (end - begin) // index(turn) * index(turn)
    totals = _zeros(kind, count)
    for fold in range(begin, full, index(turn * (FOLD // plan.items))):
        sums = _zeros(kind, count)
        for start in range(fold, min(full, fold + index(turn * (FOLD // plan.items))), index(turn)):
            for u in cuda.unroll(range(plan.items)):
                i = start + thread + index(u * threads)
                x_values[u] = load(x.memory, x_first + i * x.step, kind, plan.lanes, plan.aligned)
                if plan.reads_y:
                    y_values[u] = load(y.memory, y_first + i * y.step, kind, plan.lanes, plan.aligned)
            for u in cuda.unroll(range(plan.items)):
                sums = plan.add(sums, x_values[u], y_values[u] if plan.reads_y else x_values[u], scales, kind)
        totals = _sum_of(totals, sums, count)
    sums = _zeros(kind, count)
    for i in range(full + thread, end, index(threads)):
        sums = _chunks_added(x, y, x_first + i * x.step, y_first + i * y.step, i, sums, scales, plan, True)
    values = plan.finish(_sum_of(totals, sums, count), kind, plan.lanes)
    if plan.lanes > plan.parts and block == work.blocks - 1:
        behind = _zeros(plan.single, count)
        for i in range(thread, work.rest, index(threads)):
            place = work.chunks * index(plan.lanes) + i * index(plan.parts)
            behind = _chunks_added(x, y, x_first + place, y_first + place, i, behind, scales, plan, False)
        values = _sum_of(values, plan.finish(behind, plan.single, plan.parts), count)
    values = _sum_of_block(values, shared, thread, count, threads)
    if plan.left == ALONE:
        if thread == 0:
            _store(values, result, item, scales, plan)
    else:
        if thread == 0:
            for k in cuda.unroll(range(count)):
                parts[(item * index(count) + index(k)) * work.blocks + block] = values[k]
        if plan.left == ARRIVING:
            latest = cuda.shared.array(1, "int32")
            if arrive(arrived, item, work.blocks, latest, thread, 0, threads):
                _add_parts(parts, result, item, work.blocks, thread, shared, scales, plan)


@cuda.jit
def add_left_parts(parts, result, blocks, scales, plan: cuda.constexpr):
    """Add what `sum_elements` left: a block for each vector of a batch."""
    index = type(blocks)
    shared = cuda.shared.array(plan.sums * plan.threads if plan.threads > 1 else 1, plan.number)
    item, thread = index(cuda.blockIdx.x), index(cuda.threadIdx.x)
    _add_parts(parts, result, item, blocks, thread, shared, scales, plan)
