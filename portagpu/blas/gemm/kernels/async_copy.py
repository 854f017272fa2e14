"""Tiles of operands to shared memory by asynchronous copies, in several stages; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda


class Source(NamedTuple):
    """Where a thread reads an operand: memory, the number of its first element, the way to those of its next copy."""

    memory: Any
    start: Any
    hop: Any


class Target(NamedTuple):
    """Where a thread's copies go: its first elements of a tile to number ``first`` of a place of the ring."""

    ring: Any
    first: Any


class Rest(NamedTuple):
    """Rows (columns) and k's that an operand has from the thread's first ones on; others become zero."""

    x: Any
    k: Any


class Staging(NamedTuple):
    """How tiles of an operand are copied, as is known when the kernel is compiled.

    ``extent``: rows (columns) of a tile; ``pitch``: elements from one k to the next in shared memory. Others as in
    a kernel's plan.
    """

    along_k: bool
    extent: int
    pitch: int
    tile_k: int
    wide: int
    threads: int
    guard: bool
    tail: bool


@cuda.jit(device=True)
def fetch(source, to, place, rest, staging, begin: cuda.constexpr, end: cuda.constexpr):
    """Begin to copy a tile of an operand to shared memory: of the thread's copies, those from ``begin`` to ``end``.

    source, to, rest: `Source`, `Target` and `Rest`; place: of the ring. (A constant in a tuple is one in C, too: there
    would be a function for each place.)
    """
    tile_k, wide, threads = staging.tile_k, staging.wide, staging.threads
    eights = tile_k // 8
    across = staging.extent // wide
    for copy in cuda.unroll(range(begin, end)):
        if staging.along_k:
            x, depth, count = copy // eights * (threads // 8), copy % eights * 8, 1
            origin = source.start + (np.uint32(copy // eights) * source.hop + np.uint32(depth))
        else:
            x, depth, count = copy * threads % across * wide, copy * threads // across, wide
            if threads < across:
                origin = source.start + (np.uint32(depth) * source.hop + np.uint32(x))
            else:
                origin = source.start + np.uint32(copy) * source.hop
        inner = to.first + (depth * staging.pitch + x)
        if staging.guard and staging.tail:
            inside = x < rest.x and depth < rest.k
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, count, valid=inside)
        elif staging.guard:
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, count, valid=x < rest.x)
        elif staging.tail:
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, count, valid=depth < rest.k)
        else:
            cuda.pipeline_memcpy_async(to.ring, (place, inner), source.memory, origin, count)
