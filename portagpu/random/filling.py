"""Arrays filled with random numbers, a block of random words after the other.

Number ``i`` of an array is number ``i % width`` of block ``start + i // width``, however many threads there are. Where
threads run in lanes each makes a block. CPUs whose compilers put loops in lanes, not threads, make many blocks step by
step: the words, then their numbers, then the stores.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch import ready
from portagpu.random import conversions as bits
from portagpu.random.draws import Draw, Source, numbers_of
from portagpu.random.philox import block_at
from portagpu.random.thread_shares import has_lanes_of_threads
from portagpu.runtime.arrays.array import DeviceNDArray

_THREADS = 256
_BLOCKS = 64  # that a thread with loops makes at a time: four words each, in the first cache
_TURNS = 16  # shares of the work for each thread of a CPU, so that all are done at the same time


class Place(NamedTuple):
    """Where the words of an array begin: a block's number, its stream, and the key."""

    start: Any  # uint64
    stream: Any  # uint32
    key: Any  # two uint32


@cuda.jit(device=True)
def accepted(words, block, place, parameters, plan):
    """Words with those drawn again that a distribution does not take: the same ones of the block's next attempts."""
    w0, w1, w2, w3 = words
    attempt = np.uint32(0)
    while True:
        if plan.wide:
            a = plan.accepts(w0, w1, parameters, plan)
            c = plan.accepts(w2, w3, parameters, plan)
            b, d = a, c
        else:
            a = plan.accepts(w0, w0, parameters, plan)
            b = plan.accepts(w1, w1, parameters, plan)
            c = plan.accepts(w2, w2, parameters, plan)
            d = plan.accepts(w3, w3, parameters, plan)
        if a and b and c and d:
            return w0, w1, w2, w3
        attempt += np.uint32(1)
        n0, n1, n2, n3 = block_at(block, place.stream, attempt, place.key)
        w0 = cuda.selp(a, w0, n0)
        w1 = cuda.selp(a if plan.wide else b, w1, n1)
        w2 = cuda.selp(c, w2, n2)
        w3 = cuda.selp(c if plan.wide else d, w3, n3)


@cuda.jit
def fill_by_threads(out, place, parameters, plan: cuda.constexpr):
    """A block for each thread."""
    i = np.int64(cuda.blockIdx.x) * cuda.blockDim.x + cuda.threadIdx.x
    at = i * plan.width
    if at < out.size:
        block = place.start + np.uint64(i)
        words = block_at(block, place.stream, np.uint32(0), place.key)
        if plan.source is Source.ACCEPTED:
            words = accepted(words, block, place, parameters, plan)
        numbers = numbers_of(words, parameters, plan)
        if at + plan.width <= out.size:
            if plan.vector is not None:
                if plan.width == 4:
                    quad = plan.vector(
                        plan.dtype(numbers[0]), plan.dtype(numbers[1]), plan.dtype(numbers[2]), plan.dtype(numbers[3])
                    )
                    cuda.vstore(quad, out, at, aligned=True)
                else:
                    cuda.vstore(plan.vector(plan.dtype(numbers[0]), plan.dtype(numbers[1])), out, at, aligned=True)
            else:
                for k in cuda.unroll(range(plan.width)):
                    out[at + k] = plan.dtype(numbers[k])
        else:
            for k in cuda.unroll(range(plan.width)):
                if at + k < out.size:
                    out[at + k] = plan.dtype(numbers[k])


@cuda.jit
def fill_by_loops(out, place, parameters, plan: cuda.constexpr):
    """Many blocks for each thread, the same step for all of them.

    Each function is called at one place, where compilers put its body: a loop with calls does not run in lanes.
    """
    words = cuda.local.array(4 * _BLOCKS, np.uint32)
    fresh = cuda.local.array(4 * _BLOCKS, np.uint32)
    numbers = cuda.local.array(_BLOCKS * plan.width, plan.dtype)
    missing = cuda.local.array(_BLOCKS * plan.width, np.int32)
    count = _BLOCKS * plan.width
    chunks = (out.size + count - 1) // count
    each = (chunks + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = each * cuda.blockIdx.x
    for chunk in range(first, min(first + each, chunks)):
        block = place.start + np.uint64(chunk) * np.uint64(_BLOCKS)
        if plan.source is Source.ACCEPTED:
            for n in range(count):
                missing[n] = 1
        attempt = np.uint32(0)
        some_missing = 1
        while some_missing != 0:
            for k in range(_BLOCKS):
                w0, w1, w2, w3 = block_at(block + np.uint64(k), place.stream, attempt, place.key)
                fresh[4 * k] = w0
                fresh[4 * k + 1] = w1
                fresh[4 * k + 2] = w2
                fresh[4 * k + 3] = w3
            some_missing = 0
            if plan.source is Source.ACCEPTED:
                for n in range(count):
                    if plan.wide:
                        is_taken = plan.accepts(fresh[2 * n], fresh[2 * n + 1], parameters, plan)
                        words[2 * n] = cuda.selp(missing[n] != 0, fresh[2 * n], words[2 * n])
                        words[2 * n + 1] = cuda.selp(missing[n] != 0, fresh[2 * n + 1], words[2 * n + 1])
                    else:
                        is_taken = plan.accepts(fresh[n], fresh[n], parameters, plan)
                        words[n] = cuda.selp(missing[n] != 0, fresh[n], words[n])
                    missing[n] = cuda.selp(is_taken, np.int32(0), missing[n])
                    some_missing |= missing[n]
                attempt += np.uint32(1)
        drawn = words if plan.source is Source.ACCEPTED else fresh
        if plan.source is Source.NORMALS:
            for k in range(count // 2):
                if plan.wide:
                    x, y = bits.normal_float64(drawn[4 * k], drawn[4 * k + 1], drawn[4 * k + 2], drawn[4 * k + 3])
                else:
                    x, y = bits.normal_float32(drawn[2 * k], drawn[2 * k + 1])
                numbers[2 * k] = x
                numbers[2 * k + 1] = y
        for n in range(count):
            if plan.source is Source.NORMALS:
                numbers[n] = plan.one(numbers[n], numbers[n], parameters, plan)
            elif plan.wide:
                numbers[n] = plan.dtype(plan.one(drawn[2 * n], drawn[2 * n + 1], parameters, plan))
            else:
                numbers[n] = plan.dtype(plan.one(drawn[n], drawn[n], parameters, plan))
        at = np.int64(chunk) * count
        if at + count <= out.size:
            for k in range(count):
                out[at + k] = numbers[k]
        else:
            for k in range(out.size - at):
                out[at + k] = numbers[k]


def fill(out: DeviceNDArray, place: Place, parameters: tuple[Any, ...], plan: Draw, stream: Any) -> int:
    """Fill an array of one axis, without gaps; how many blocks that took."""
    blocks = -(-out.size // plan.width)
    if not blocks:
        return 0
    caps = out.context.capabilities
    if has_lanes_of_threads(caps):
        if out.base is None and out.offset == 0:
            plan = plan._replace(vector=_vector(plan))
        threads = min(_THREADS, caps.max_work_group_size, caps.max_work_item_sizes[0])
        ready.launch(fill_by_threads, -(-blocks // threads), threads, (out, place, parameters, plan), stream)
    else:
        grid = max(1, min(-(-blocks // _BLOCKS), caps.compute_units * _TURNS))
        ready.launch(fill_by_loops, grid, 1, (out, place, parameters, plan), stream)
    return blocks


def _vector(plan: Draw) -> Any:
    """The vector type of a block's numbers, where it has 16 bytes."""
    dtype = np.dtype(plan.dtype)
    if dtype.itemsize * plan.width != 16:
        return None
    return getattr(cuda, f"{dtype.name}x{plan.width}")
