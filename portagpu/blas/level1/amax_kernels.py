"""i?amax: the first of the elements with the largest ``|re| + |im|``; in the dialect.

Magnitudes are compared as the integers that their bits are, which are in the same order, with nan above infinity: a
vector that has a nan has its maximum there. (Reference BLAS compares numbers, so that what it says of nan depends on
their order; J. Demmel et al., "Proposed consistent exception handling for the BLAS and LAPACK", 2022, has the first
nan, as NumPy's argmax does.) A thread keeps the largest number and the first chunks that had it, and looks for its
place in these in the end.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.split_k import arrive
from portagpu.blas.level1.lanes import exchanged_parts, largest_lane, load
from portagpu.blas.level1.sum_kernels import ALONE, ARRIVING

NAN_BITS = {"float32": 0x7F800001, "float64": 0x7FF0000000000001}
"""What stands for every nan: the bits of infinity, and one more."""


class AmaxPlan(NamedTuple):
    """What is known when the kernels are compiled.

    ``kind`` and ``bits``: types of the numbers of a chunk, and of their bits; ``single``, ``single_bits``: the same of
    an element; ``number``: of the bits of a number; ``nan``: of `NAN_BITS`. The rest: as of a `SumPlan`.
    """

    kind: Any
    bits: Any
    single: Any
    single_bits: Any
    number: Any
    nan: int
    lanes: int
    parts: int
    threads: int
    items: int
    aligned: bool
    left: int


@cuda.jit(device=True)
def _magnitudes(v, plan, kind: cuda.constexpr, bits: cuda.constexpr):
    """The bits of ``|re| + |im|``, of complex numbers in both of their lanes."""
    size = abs(v)
    if plan.parts == 2:
        size = size + exchanged_parts(size, kind)
    return min(size.view(bits), bits(plan.nan))


@cuda.jit(device=True)
def _largest_of(memory, first, step, plan):
    """The largest magnitude of the chunks of a turn of a thread, from ``first`` on."""
    found = cuda.local.array(plan.items, plan.kind)
    for u in cuda.unroll(range(plan.items)):
        found[u] = load(memory, first + type(first)(u * plan.threads) * step, plan.kind, plan.lanes, plan.aligned)
    largest = _magnitudes(found[0], plan, plan.kind, plan.bits)
    for u in cuda.unroll(range(1, plan.items)):
        largest = max(largest, _magnitudes(found[u], plan, plan.kind, plan.bits))
    return largest_lane(largest, plan.lanes)


@cuda.jit(device=True)
def _place_in(memory, first, step, chunk, count, wanted, plan):
    """The first element with a magnitude in ``count`` chunks that are ``plan.threads`` apart."""
    index = type(first)
    for u in range(count):
        at = first + (chunk + index(u) * index(plan.threads)) * step
        for lane in range(plan.lanes // plan.parts):
            v = load(memory, at + index(lane) * index(plan.parts), plan.single, plan.parts, False)
            size = _magnitudes(v, plan, plan.single, plan.single_bits)
            if largest_lane(size, plan.parts) == wanted:
                return (chunk + index(u) * index(plan.threads)) * index(plan.lanes // plan.parts) + index(lane)
    return ~index(0)


@cuda.jit(device=True)
def _first_of_block(value, place, values, places, thread, threads: cuda.constexpr):
    """The largest value of a block's threads, and the least place that has it, in thread 0."""
    if threads > 1:
        values[thread] = value
        places[thread] = place
        cuda.syncthreads()
        half = threads // 2
        while half > 0:
            if thread < half:
                other, where = values[thread + half], places[thread + half]
                if other > values[thread] or (other == values[thread] and where < places[thread]):
                    values[thread] = other
                    places[thread] = where
            cuda.syncthreads()
            half = half // 2
        value = values[0]
        place = places[0]
    return value, place


@cuda.jit(device=True)
def _first_of_parts(all_values, all_places, result, item, blocks, thread, values, places, plan):
    """The result of a vector from its blocks' parts; all threads of a block call it."""
    index = type(blocks)
    value = plan.number(0)
    place = ~index(0)
    for p in range(item * blocks + thread, item * blocks + blocks, index(plan.threads)):
        other, where = all_values[p], all_places[p]
        if other > value or (other == value and where < place):
            value = other
            place = where
    value, place = _first_of_block(value, place, values, places, thread, plan.threads)
    if thread == 0:
        result[item] = place


@cuda.jit
def amax_elements(x, all_values, all_places, arrived, result, work, plan: cuda.constexpr):
    """The place of the largest element of x, a `Chunked`: to ``result``, or what blocks have of it to the others.

    work: a `SumWork`; plan: an `AmaxPlan`. The grid is that of `sum_elements`. all_values, all_places: (batch,
    work.blocks); arrived: int32, zero, for each vector.
    """
    index = type(work.chunks)
    threads = plan.threads
    values = cuda.shared.array(threads, plan.number)
    places = cuda.shared.array(threads, index)
    thread = index(cuda.threadIdx.x)
    block = index(cuda.blockIdx.x)
    item = block // work.blocks
    block = block - item * work.blocks
    first = x.first + item * x.next
    begin = block * work.span
    end = min(work.chunks, begin + work.span)
    turn = threads * plan.items
    full = begin + (end - begin) // index(turn) * index(turn)
    value = plan.number(0)
    place = ~index(0)
    best = begin + thread
    for start in range(begin + thread, full + thread, index(turn)):
        largest = _largest_of(x.memory, first + start * x.step, x.step, plan)
        if largest > value:
            value = largest
            best = start
    if full > begin:
        place = _place_in(x.memory, first, x.step, best, plan.items, value, plan)
    for i in range(full + thread, end, index(threads)):
        v = load(x.memory, first + i * x.step, plan.kind, plan.lanes, plan.aligned)
        largest = largest_lane(_magnitudes(v, plan, plan.kind, plan.bits), plan.lanes)
        if largest > value or place == ~index(0):
            value = largest
            place = _place_in(x.memory, first, x.step, i, 1, largest, plan)
    if plan.lanes > plan.parts and block == work.blocks - 1:
        for i in range(thread, work.rest, index(threads)):
            behind = work.chunks * index(plan.lanes) + i * index(plan.parts)
            v = load(x.memory, first + behind, plan.single, plan.parts, False)
            largest = largest_lane(_magnitudes(v, plan, plan.single, plan.single_bits), plan.parts)
            if largest > value or place == ~index(0):
                value = largest
                place = work.chunks * index(plan.lanes // plan.parts) + i
    value, place = _first_of_block(value, place, values, places, thread, threads)
    if plan.left == ALONE:
        if thread == 0:
            result[item] = place
    else:
        if thread == 0:
            all_values[item * work.blocks + block] = value
            all_places[item * work.blocks + block] = place
        if plan.left == ARRIVING:
            latest = cuda.shared.array(1, "int32")
            if arrive(arrived, item, work.blocks, latest, thread, 0, threads):
                _first_of_parts(all_values, all_places, result, item, work.blocks, thread, values, places, plan)


@cuda.jit
def amax_left_parts(all_values, all_places, result, blocks, plan: cuda.constexpr):
    """Find the place among those that `amax_elements` left: a block for each vector of a batch."""
    index = type(blocks)
    values = cuda.shared.array(plan.threads, plan.number)
    places = cuda.shared.array(plan.threads, index)
    item, thread = index(cuda.blockIdx.x), index(cuda.threadIdx.x)
    _first_of_parts(all_values, all_places, result, item, blocks, thread, values, places, plan)
