"""Tiles of operands to shared memory by asynchronous copies, in several stages; in the dialect.

The threads of a block share the copies of a tile, and tiles follow each other along k through a ring of places in
shared memory. A thread finds its `Part` of a tile once. A `Route` has what stays the same from tile to tile, a `Front`
what does not.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.tile_order import element_of

ACROSS, SINGLES, LINES = range(3)
"""Of `Staging.way`. The operand's elements lie side by side across k, and so they do in shared memory; or along k, and
single elements are copied, so that they come to lie across k; or along k in both, a line for each row (column)."""


class Staging(NamedTuple):
    """How tiles of an operand are copied, as is known when the kernel is compiled.

    ``way``: `ACROSS`, `SINGLES` or `LINES`; ``extent``: rows (columns) of a tile; ``pitch``: elements in shared memory
    from one k to the next, or from one line to the next; ``wide``: elements of a copy, 1 for `SINGLES`. Others as in a
    kernel's plan.
    """

    way: int
    extent: int
    pitch: int
    tile_k: int
    wide: int
    threads: int
    guard: bool
    tail: bool


class Part(NamedTuple):
    """A thread's part of each tile: row (column) ``x`` and ``k`` of its first element.

    hop, step: elements of memory from there to the first of its next copy, and to that of the next tile.
    """

    x: Any
    k: Any
    hop: Any
    step: Any


class Route(NamedTuple):
    """The way of a thread's copies of an operand: from memory to a ring, in a place of it from element ``first`` on."""

    memory: Any
    ring: Any
    first: Any
    part: Any
    staging: Any


class Front(NamedTuple):
    """Of the tile that is copied next: where the thread's first element is in memory, and k's from that one on."""

    start: Any
    k: Any


class Both(NamedTuple):
    """A pair of values, of operand a and of operand b."""

    a: Any
    b: Any


@cuda.jit(device=True)
def part_of_tile(thread, pitch, staging):
    """A thread's `Part` of tiles of an operand; pitch: elements of memory between its rows (columns)."""
    tile_k, wide, threads = staging.tile_k, staging.wide, staging.threads
    if staging.way == SINGLES:
        return Part(thread // 8, thread % 8, pitch * np.uint32(threads // 8), np.uint32(tile_k))
    if staging.way == LINES:
        copies = tile_k // wide
        return Part(thread // copies, thread % copies * wide, pitch * np.uint32(threads // copies), np.uint32(tile_k))
    copies = staging.extent // wide
    hop = pitch * np.uint32(max(threads // copies, 1))
    return Part(thread % copies * wide, thread // copies, hop, pitch * np.uint32(tile_k))


@cuda.jit(device=True)
def front_at(matrix, product, x, k, depth, part, staging):
    """The `Front` at a tile of an operand, from its row (column) ``x`` and from ``k`` on; depth: k's from there on."""
    along_k = staging.way != ACROSS
    start = np.uint32(product) * matrix.batch + element_of(x + part.x, k + part.k, matrix.pitch, along_k)
    return Front(start, depth - part.k if staging.tail else 0)


@cuda.jit(device=True)
def fetch(route, front, rest, place, begin: cuda.constexpr, end: cuda.constexpr):
    """Begin to copy a tile of an operand to a place of the ring: of the thread's copies, those from begin to end.

    rest: rows (columns) that the operand has from the thread's first on. What is none, or no k, becomes zero.
    (A constant in a tuple is one in C, too: with the place in one there would be a function for each.)
    """
    staging = route.staging
    threads, wide, pitch = staging.threads, staging.wide, staging.pitch
    for copy in cuda.unroll(range(begin, end)):
        if staging.way == SINGLES:
            eights = staging.tile_k // 8
            x, depth = copy // eights * (threads // 8), copy % eights * 8
            inner = depth * pitch + x
            origin = front.start + (np.uint32(copy // eights) * route.part.hop + np.uint32(depth))
        elif staging.way == LINES:
            x, depth = copy * (threads * wide // staging.tile_k), 0
            inner = x * pitch
            origin = front.start + np.uint32(copy) * route.part.hop
        else:
            across = staging.extent // wide
            x, depth = copy * threads % across * wide, copy * threads // across
            inner = depth * pitch + x
            if threads < across:
                origin = front.start + (np.uint32(depth) * route.part.hop + np.uint32(x))
            else:
                origin = front.start + np.uint32(copy) * route.part.hop
        inside = (not staging.guard or x < rest) and (not staging.tail or depth < front.k)
        # the sum stands in the subscript, where it is an index: a variable's wraps around, which held six per cent of
        # float64 (H100) up in registers
        cuda.pipeline_memcpy_async(route.ring, (place, route.first + inner), route.memory, origin, wide, valid=inside)


@cuda.jit(device=True)
def fetch_both(routes, fronts, rests, place, turn: cuda.constexpr, turns: cuda.constexpr):
    """Begin to copy the next tiles of both operands: of the thread's copies, those of one of so many turns."""
    a, b = routes.a.staging, routes.b.staging
    copies_a, copies_b = a.extent * a.tile_k // (a.threads * a.wide), b.extent * b.tile_k // (b.threads * b.wide)
    fetch(routes.a, fronts.a, rests.a, place, turn * copies_a // turns, (turn + 1) * copies_a // turns)
    fetch(routes.b, fronts.b, rests.b, place, turn * copies_b // turns, (turn + 1) * copies_b // turns)


@cuda.jit(device=True)
def _next(front, route):
    return Front(front.start + route.part.step, front.k - route.staging.tile_k if route.staging.tail else 0)


@cuda.jit(device=True)
def advanced(fronts, routes):
    """The `Front`s of both operands at the next tiles along k."""
    return Both(_next(fronts.a, routes.a), _next(fronts.b, routes.b))


@cuda.jit(device=True)
def fill_ring(routes, fronts, rests, steps, stages: cuda.constexpr):
    """Begin to copy the first tiles, all but one of the ring's places, and wait for the first; the `Front`s after them.

    At the end of a sum of so many steps the last tiles are copied again, to places that nobody reads: cheaper than
    asking each time.
    """
    for stage in cuda.unroll(range(stages - 1)):
        fetch_both(routes, fronts, rests, np.int32(stage), 0, 1)
        cuda.pipeline_commit()
        if stage + 1 < steps:
            fronts = advanced(fronts, routes)
    cuda.pipeline_wait_prior(stages - 2)
    cuda.syncthreads()
    return fronts
