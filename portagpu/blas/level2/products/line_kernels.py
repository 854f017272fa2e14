"""Products with a vector on CPUs: a block is one thread, which walks along lines with vectors; in the dialect.

Lines are read from end to end, some at a time, as processors ask for them ahead. Sums along lie in registers, those
across in the part of the sums' memory that is the block's own, which stays in the nearest caches.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.variants.vector.kernels import sum_of_lanes
from portagpu.blas.level2.products.form import LOWER, READ, UNIT
from portagpu.blas.level2.products.lines import start_of


class Part(NamedTuple):
    """A block's part of a sheet: numbers from ``begin`` up to ``end`` of its lines.

    ``along``, ``across``: where sums for line 0, and those for number 0 of a line, are in the sums' memory.
    """

    begin: Any
    end: Any
    along: Any
    across: Any


class Walk(NamedTuple):
    """What is known of a walk along lines when it is compiled: so many lines at a time, in vectors; type of sums."""

    group: int
    vector: Any
    number: Any


@cuda.jit(device=True)
def _add_number(m, x, sums, rest, own, c, u: cuda.constexpr, line, part, extents, form):
    """Add number c of line ``line + u``."""
    value = m.memory[start_of(m, line + u) + c]
    for v in cuda.unroll(range(form.parts)):
        if form.along:
            rest[u, v] = cuda.fma(value, x.memory[x.along + v * extents.columns + c], rest[u, v])
        if form.across:
            place = part.across + v * extents.columns + c
            sums.memory[place] = cuda.fma(value, own[u, v], sums.memory[place])


@cuda.jit(device=True)
def _add_diagonal(m, x, sums, rest, own, u: cuda.constexpr, line, part, extents, form):
    """Add element (i, i) for i ``line + u``: along where elements are used along, else across."""
    for p in cuda.unroll(range(form.parts)):
        if p == 0 or m.diagonal == READ:
            c = (line + u) * form.parts + p
            value = type(rest[0, 0])(1)
            if m.diagonal != UNIT:
                value = m.memory[start_of(m, line + u) + c]
            for v in cuda.unroll(range(form.parts)):
                if form.along:
                    rest[u, v] = cuda.fma(value, x.memory[x.along + v * extents.columns + c], rest[u, v])
                else:
                    place = part.across + v * extents.columns + c
                    sums.memory[place] = cuda.fma(value, own[u, v], sums.memory[place])


@cuda.jit(device=True)
def _add_corner(m, x, sums, rest, own, line, part, extents, form, count: cuda.constexpr):
    """Add what ``count`` lines of a triangle have within as many elements of the diagonal."""
    kind = type(line)
    for u in cuda.unroll(range(count)):
        first = line if m.shape == LOWER else line + (u + 1)
        last = line + u if m.shape == LOWER else line + count
        for c in range(first * form.parts, last * form.parts, kind(1)):
            _add_number(m, x, sums, rest, own, c, u, line, part, extents, form)
        _add_diagonal(m, x, sums, rest, own, u, line, part, extents, form)


@cuda.jit(device=True)
def _add_vectors(m, x, sums, acc, own, line, begin, end, part, extents, form, walk, count: cuda.constexpr):
    """Add numbers of ``count`` lines in whole vectors, from ``begin`` up to ``end``."""
    vector, parts = walk.vector, form.parts
    lanes = vector.lanes
    given = cuda.local.array(parts, vector)
    out = cuda.local.array(parts, vector)
    for c in range(begin, end, type(line)(lanes)):
        for v in cuda.unroll(range(parts)):
            if form.along:
                given[v] = vector(cuda.vload(x.memory, x.along + v * extents.columns + c, lanes))
            if form.across:
                out[v] = vector(cuda.vload(sums.memory, part.across + v * extents.columns + c, lanes))
        for u in cuda.unroll(range(count)):
            found = vector(cuda.vload(m.memory, start_of(m, line + u) + c, lanes))
            for v in cuda.unroll(range(parts)):
                if form.along:
                    acc[u, v] = cuda.fma(found, given[v], acc[u, v])
                if form.across:
                    out[v] = cuda.fma(found, vector(own[u, v]), out[v])
        if form.across:
            for v in cuda.unroll(range(parts)):
                cuda.vstore(out[v], sums.memory, part.across + v * extents.columns + c)


@cuda.jit(device=True)
def _add_lines(m, x, sums, line, part, extents, form, walk, count: cuda.constexpr):
    """Add ``count`` lines from ``line`` on, as far as they are the part's."""
    parts, vector, number = form.parts, walk.vector, walk.number
    kind = type(line)
    acc = cuda.local.array((count, parts), vector)
    rest = cuda.local.array((count, parts), number)
    own = cuda.local.array((count, parts), number)
    for u in cuda.unroll(range(count)):
        for v in cuda.unroll(range(parts)):
            acc[u, v] = vector(0)
            rest[u, v] = number(0)
            if form.across:
                own[u, v] = x.memory[x.across + v * extents.lines + line + u]
    begin, end = part.begin, part.end
    if form.triangle:
        if m.shape == LOWER:
            end = min(end, line * parts)
        else:
            begin = max(begin, (line + count) * parts)
    if begin < end:
        whole = begin + (end - begin) // vector.lanes * vector.lanes
        _add_vectors(m, x, sums, acc, own, line, begin, whole, part, extents, form, walk, count)
        for c in range(whole, end, kind(1)):
            for u in cuda.unroll(range(count)):
                _add_number(m, x, sums, rest, own, c, u, line, part, extents, form)
    if form.triangle and line * parts >= part.begin and line * parts < part.end:
        _add_corner(m, x, sums, rest, own, line, part, extents, form, count)
    if form.along:
        for u in cuda.unroll(range(count)):
            for v in cuda.unroll(range(parts)):
                total = sum_of_lanes(acc[u, v], vector.lanes) + rest[u, v]
                sums.memory[part.along + (line + u) * parts + v] = total


@cuda.jit(block_dim=(1, 1, 1))
def add_lines(m, x, sums, extents, tiling, form: cuda.constexpr, walk: cuda.constexpr):
    """The sums of a sheet's parts: m: a `Sheet`, x: `Given`, sums: `Sums`; a block for each part of the `Tiling`.

    Strips are multiples of ``walk.group`` lines, and chunks of ``walk.group`` elements. Blocks take strips from both
    ends in turn: those of a triangle are long at one end, and neighbours go to one core.
    """
    parts, lanes = form.parts, walk.vector.lanes
    kind = type(extents.lines)
    strips = (extents.lines + (tiling.strip - 1)) // tiling.strip
    chunks = (extents.columns + (tiling.chunk - 1)) // tiling.chunk
    block = kind(cuda.blockIdx.x)
    tile = block >> 1
    if block & 1:
        tile = strips * chunks - 1 - tile
    strip, chunk = tile // chunks, tile % chunks
    first, last = strip * tiling.strip, min((strip + 1) * tiling.strip, extents.lines)
    begin, end = chunk * tiling.chunk, min((chunk + 1) * tiling.chunk, extents.columns)
    if form.triangle and (begin >= last * parts if m.shape == LOWER else end <= first * parts):
        return
    part = Part(begin, end, chunk * extents.lines * parts, sums.across + strip * parts * extents.columns)
    if form.across:
        for v in cuda.unroll(range(parts)):
            whole = begin + (end - begin) // lanes * lanes
            for c in range(begin, whole, kind(lanes)):
                cuda.vstore(walk.vector(0), sums.memory, part.across + v * extents.columns + c)
            for c in range(whole, end, kind(1)):
                sums.memory[part.across + v * extents.columns + c] = walk.number(0)
    groups = first + (last - first) // walk.group * walk.group
    for line in range(first, groups, kind(walk.group)):
        _add_lines(m, x, sums, line, part, extents, form, walk, walk.group)
    for line in range(groups, last, kind(1)):
        _add_lines(m, x, sums, line, part, extents, form, walk, 1)
