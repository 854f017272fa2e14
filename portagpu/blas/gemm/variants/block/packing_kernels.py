"""Packing of a block of b in panels, and of rows of a in tiles: in the order in which the micro-kernel takes elements.

b may be a triangle, or a symmetric matrix of which one triangle is read; panels of it are whole.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.variants.block.triangles import LOWER, UPPER, terms_of_panel

_ONE = (1, 1, 1)
_ROWS_AHEAD = 8  # that packing asks for
_LINES_AHEAD = 4


@cuda.jit(device=True)
def pack_panel(
    flat,
    packed,
    matrix,
    panel,
    start,
    pitch,
    begin,
    end,
    lines,
    tile: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
):
    """Pack rows ``begin`` to ``end`` of a panel, which begins at ``flat[start]``: ``lines`` columns, then zeros."""
    lanes = vector.lanes
    if along:
        for line in range(lines):
            ahead = start + min(line + _LINES_AHEAD, lines - 1) * pitch
            for k in range(begin, end, type(end)(lanes)):
                cuda.prefetch(flat, ahead + k)
            for k in range(begin, end):
                packed[matrix, panel, k, line] = flat[start + line * pitch + k]
        for line in range(lines, type(lines)(tile)):
            for k in range(begin, end):
                packed[matrix, panel, k, line] = 0
    elif lines == tile:
        for k in range(begin, end):
            # rows are pages apart, where processors fetch nothing ahead
            ahead = start + min(k + _ROWS_AHEAD, end - 1) * pitch
            for part in cuda.unroll(range(tile // lanes)):
                cuda.prefetch(flat, ahead + part * lanes)
            for part in cuda.unroll(range(tile // lanes)):
                values = vector(cuda.vload(flat, start + k * pitch + part * lanes, lanes))
                cuda.vstore(values, packed, (matrix, panel, k, part * lanes), aligned=True)
    else:
        for k in range(begin, end):
            for line in range(type(lines)(tile)):
                packed[matrix, panel, k, line] = flat[start + k * pitch + line] if line < lines else 0


@cuda.jit(block_dim=_ONE)
def pack_block(
    source,
    packed,
    lines,
    first_k,
    first_panel,
    depth,
    chunk,
    tile: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
):
    """Pack ``depth`` rows of b from ``first_k`` on, for a batch of matrices.

    ``packed[matrix, panel, k, i]`` is ``b[first_k + k, (first_panel + panel) * tile + i]``, zero outside. Columns
    ("lines") have unit steps along k if ``along``, else rows have unit steps. A work-group
    packs ``chunk`` rows of a panel.
    """
    flat = source.memory
    panel = type(chunk)(cuda.blockIdx.x)
    matrix = type(chunk)(cuda.blockIdx.z)
    first = (first_panel + panel) * tile
    begin = type(chunk)(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    start = matrix * source.batch + (first * source.pitch + first_k if along else first_k * source.pitch + first)
    pack_panel(
        flat, packed, matrix, panel, start, source.pitch, begin, end, min(lines - first, tile), tile, vector, along
    )


@cuda.jit(block_dim=_ONE)
def pack_triangle(
    source,
    packed,
    lines,
    first_k,
    first_panel,
    depth,
    chunk,
    tile: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
    shape: cuda.constexpr,
):
    """As `pack_block`, of a triangle: zeros beyond it, rows that no sum uses left out. shape: which, and if unit."""
    flat = source.memory
    part, unit = shape
    panel = type(chunk)(cuda.blockIdx.x)
    matrix = type(chunk)(cuda.blockIdx.z)
    first = (first_panel + panel) * tile
    least, most = terms_of_panel(first, first_k, depth, tile, part)
    begin = max(least, type(chunk)(cuda.blockIdx.y) * chunk)
    end = min(most, min(type(chunk)(cuda.blockIdx.y) * chunk + chunk, depth))
    if begin >= end:
        return
    start = matrix * source.batch + (first * source.pitch + first_k if along else first_k * source.pitch + first)
    pack_panel(
        flat, packed, matrix, panel, start, source.pitch, begin, end, min(lines - first, tile), tile, vector, along
    )
    for k in range(max(begin, first - first_k), min(end, first + tile - first_k)):
        own = k + first_k - first
        if part == UPPER:
            for line in range(own):
                packed[matrix, panel, k, line] = 0
        else:
            for line in range(own + 1, type(chunk)(tile)):
                packed[matrix, panel, k, line] = 0
        if unit and first + own < lines:
            packed[matrix, panel, k, own] = 1


@cuda.jit(block_dim=_ONE)
def pack_symmetric(
    source,
    packed,
    lines,
    first_k,
    first_panel,
    depth,
    chunk,
    tile: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
    part: cuda.constexpr,
):
    """As `pack_block`, of a symmetric matrix of which only the triangle ``part`` is read."""
    flat = source.memory
    panel = type(chunk)(cuda.blockIdx.x)
    matrix = type(chunk)(cuda.blockIdx.z)
    first = (first_panel + panel) * tile
    begin = type(chunk)(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    wide = min(lines - first, type(lines)(tile))
    corner = matrix * source.batch
    by_rows, by_columns = corner + first_k * source.pitch + first, corner + first * source.pitch + first_k
    # terms above the diagonal's square, its own, and those below it
    upper_end = max(begin, min(end, first - first_k))
    lower_begin = max(begin, min(end, first + tile - first_k))
    above, below = (along, not along) if part == UPPER else (not along, along)
    start = by_columns if above else by_rows
    pack_panel(flat, packed, matrix, panel, start, source.pitch, begin, upper_end, wide, tile, vector, above)
    for k in range(upper_end, lower_begin):
        own = k + first_k - first
        for line in range(wide):
            is_named = line <= own if part == LOWER else line >= own
            at = line * source.pitch + k if along == is_named else k * source.pitch + line
            packed[matrix, panel, k, line] = flat[(by_columns if along == is_named else by_rows) + at]
        for line in range(wide, type(lines)(tile)):
            packed[matrix, panel, k, line] = 0
    start = by_columns if below else by_rows
    pack_panel(flat, packed, matrix, panel, start, source.pitch, lower_begin, end, wide, tile, vector, below)


@cuda.jit(device=True)
def copy_tiles(
    flat, tiles, start, pitch, rows, depth, tile_m: cuda.constexpr, across: cuda.constexpr, line: cuda.constexpr
):
    """Copy ``depth`` elements of each of some rows as they are met: ``tiles[(tile * depth + k) * tile_m + i]``.

    Neighbours in a column lie side by side if ``across``, else those in a row. Rows that a tile lacks are left as they
    are if ``across``, and so are the sums that use them, which nobody sees; else they are the last one's.
    """
    kind = type(rows)
    if across:
        whole = rows // tile_m * tile_m
        for k in range(depth):
            source = start + k * pitch
            ahead = start + min(k + _ROWS_AHEAD, depth - 1) * pitch
            for first in range(kind(0), rows, kind(line)):
                cuda.prefetch(flat, ahead + first)
            for first in range(kind(0), whole, kind(tile_m)):
                target = first * depth + k * tile_m
                for i in cuda.unroll(range(tile_m)):
                    tiles[target + i] = flat[source + first + i]
            for i in range(rows - whole):
                tiles[whole * depth + k * tile_m + i] = flat[source + whole + i]
    else:
        lines = cuda.local.array(tile_m, np.uint64)
        for first in range(kind(0), rows, kind(tile_m)):
            for i in cuda.unroll(range(tile_m)):
                lines[i] = np.uint64(start + min(first + i, rows - 1) * pitch)
            for k in range(depth):
                for i in cuda.unroll(range(tile_m)):
                    tiles[(first * depth + k * tile_m) + i] = flat[lines[i] + np.uint64(k)]
