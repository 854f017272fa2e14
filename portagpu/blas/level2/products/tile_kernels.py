"""Products with a vector on GPUs: a block for each tile of a matrix, whose threads share sums; in the dialect.

Threads have vectors of some lines, neighbours side by side along these. Sums along lines and across them are kept apart
until the tile is read, and then added in shared memory.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level2.products.form import LOWER, READ, UNIT
from portagpu.blas.level2.products.lines import start_of


class Tile(NamedTuple):
    """What is known of a block's tile when kernels are compiled.

    Each of ``threads_x`` times ``threads_y`` threads has ``lines`` lines, and ``vectors`` vectors of each.
    """

    threads_x: int
    threads_y: int
    lines: int
    vectors: int
    vector: Any
    number: Any
    aligned: bool


class Place(NamedTuple):
    """A thread's place: its number in the tile along a line, and across, and where the tile begins."""

    along: Any
    across: Any
    line: Any
    begin: Any


@cuda.jit(device=True)
def _add_whole_line(m, x, out, sum_along, line, place, extents, form, tile: cuda.constexpr):
    """Add a thread's part of a line, all of which there is."""
    lanes, parts = tile.vector.lanes, form.parts
    own = cuda.local.array(parts, tile.number)
    if form.across:
        for v in cuda.unroll(range(parts)):
            own[v] = x.memory[x.across + v * extents.lines + line]
    for q in cuda.unroll(range(tile.vectors)):
        c = place.begin + (q * tile.threads_x + place.along) * lanes
        found = cuda.vload(m.memory, start_of(m, line) + c, lanes, aligned=tile.aligned)
        for v in cuda.unroll(range(parts)):
            for lane in cuda.unroll(range(lanes)):
                if form.along:
                    given = x.memory[x.along + v * extents.columns + c + lane]
                    sum_along[v] = cuda.fma(found[lane], given, sum_along[v])
                if form.across:
                    out[v, q, lane] = cuda.fma(found[lane], own[v], out[v, q, lane])


@cuda.jit(device=True)
def _add_number(m, x, out, sum_along, line, c, q: cuda.constexpr, lane: cuda.constexpr, extents, form):
    """Add number c of a line, if it is in the triangle."""
    parts = form.parts
    j = c // parts
    there = not form.triangle or (j < line if m.shape == LOWER else j > line)
    diagonal = form.triangle and j == line and (m.diagonal == READ or c % parts == 0)
    if there or diagonal:
        value = type(out[0, 0, 0])(1)
        if there or m.diagonal != UNIT:
            value = m.memory[start_of(m, line) + c]
        for v in cuda.unroll(range(parts)):
            if form.along:
                sum_along[v] = cuda.fma(value, x.memory[x.along + v * extents.columns + c], sum_along[v])
            if form.across and (there or not form.along):
                out[v, q, lane] = cuda.fma(value, x.memory[x.across + v * extents.lines + line], out[v, q, lane])


@cuda.jit(device=True)
def _add_line(m, x, out, sum_along, line, place, extents, form, tile: cuda.constexpr):
    """Add a thread's part of a line as far as it is there."""
    lanes = tile.vector.lanes
    for q in cuda.unroll(range(tile.vectors)):
        for lane in cuda.unroll(range(lanes)):
            c = place.begin + (q * tile.threads_x + place.along) * lanes + lane
            if c < extents.columns:
                _add_number(m, x, out, sum_along, line, c, q, lane, extents, form)


@cuda.jit(device=True)
def _leave_along(shared, sums, place, thread, extents, form, chunk, tile: cuda.constexpr):
    """Add the threads' sums along lines."""
    height, pitch = tile.lines * tile.threads_y, tile.threads_x + 1
    kind = type(place.line)
    for t in range(thread, height * form.parts, tile.threads_x * tile.threads_y):
        line = place.line + kind(t % height)
        total = tile.number(0)
        for i in range(tile.threads_x):
            total += shared[t * pitch + i]
        if line < extents.lines:
            sums.memory[(chunk * extents.lines + line) * form.parts + kind(t // height)] = total


@cuda.jit(device=True)
def _leave_across(shared, out, sums, place, thread, extents, form, strip, tile: cuda.constexpr):
    """Add the threads' sums across lines."""
    lanes, across = tile.vector.lanes, tile.threads_x
    width = tile.vectors * across * lanes
    kind = type(place.line)
    x, y = thread % across, thread // across
    for v in cuda.unroll(range(form.parts)):
        cuda.syncthreads()
        for q in cuda.unroll(range(tile.vectors)):
            for lane in cuda.unroll(range(lanes)):
                shared[y * width + (q * lanes + lane) * across + x] = out[v, q, lane]
        cuda.syncthreads()
        for t in range(thread, width, across * tile.threads_y):
            total = tile.number(0)
            for i in range(tile.threads_y):
                total += shared[i * width + t]
            c = place.begin + kind((t // (lanes * across) * across + t % across) * lanes + t // across % lanes)
            if c < extents.columns:
                sums.memory[sums.across + (strip * form.parts + v) * extents.columns + c] = total


@cuda.jit
def add_tiles(m, x, sums, extents, form: cuda.constexpr, tile: cuda.constexpr):
    """The sums of a sheet's tiles: m: a `Sheet`, x: `Given`, sums: `Sums`; a block for each tile.

    A tile has a strip of ``lines * threads_y`` lines and a chunk of ``vectors * threads_x`` vectors.
    """
    parts, lanes = form.parts, tile.vector.lanes
    height, width = tile.lines * tile.threads_y, tile.vectors * tile.threads_x * lanes
    across = tile.threads_x
    shared = cuda.shared.array(max(height * parts * (across + 1), tile.threads_y * width), tile.number)
    out = cuda.local.array((parts, tile.vectors, lanes), tile.number)
    sum_along = cuda.local.array(parts, tile.number)

    kind = type(extents.lines)
    chunks = (extents.columns + (width - 1)) // width
    strip, chunk = kind(cuda.blockIdx.x) // chunks, kind(cuda.blockIdx.x) % chunks
    thread = cuda.threadIdx.x
    place = Place(kind(thread % across), kind(thread // across), strip * height, chunk * width)
    last = min(place.line + height, extents.lines)
    end = min(place.begin + width, extents.columns)
    if form.triangle and (place.begin >= last * parts if m.shape == LOWER else end <= place.line * parts):
        return
    whole = end - place.begin == width and last - place.line == height
    if form.triangle:
        whole = whole and (end <= place.line * parts if m.shape == LOWER else place.begin >= last * parts)
    for v in cuda.unroll(range(parts)):
        for q in cuda.unroll(range(tile.vectors)):
            for lane in cuda.unroll(range(lanes)):
                out[v, q, lane] = tile.number(0)
    if whole:
        for k in cuda.unroll(range(tile.lines)):
            line = place.line + place.across + k * tile.threads_y
            for v in cuda.unroll(range(parts)):
                sum_along[v] = tile.number(0)
            _add_whole_line(m, x, out, sum_along, line, place, extents, form, tile)
            if form.along:
                for v in cuda.unroll(range(parts)):
                    row = v * height + k * tile.threads_y + thread // across
                    shared[row * (across + 1) + thread % across] = sum_along[v]
    else:
        for k in range(tile.lines):
            line = place.line + place.across + kind(k * tile.threads_y)
            for v in cuda.unroll(range(parts)):
                sum_along[v] = tile.number(0)
            if line < extents.lines:
                _add_line(m, x, out, sum_along, line, place, extents, form, tile)
            if form.along:
                for v in cuda.unroll(range(parts)):
                    row = v * height + k * tile.threads_y + thread // across
                    shared[row * (across + 1) + thread % across] = sum_along[v]
    if form.along:
        cuda.syncthreads()
        _leave_along(shared, sums, place, thread, extents, form, chunk, tile)
    if form.across:
        _leave_across(shared, out, sums, place, thread, extents, form, strip, tile)
