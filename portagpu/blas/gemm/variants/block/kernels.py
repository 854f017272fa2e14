"""GEMM in blocks that stay in a CPU's caches: Goto's scheme, written in the dialect.

One launch packs a block of B, ``depth`` rows of it, in panels of as many columns as the register tile; the next one
multiplies: a work-group, which is one item, walks panels of B along its rows of A's block. The sums of a block are
added to c, so that memory of c is read once a block.

The micro-kernel broadcasts single elements of A, a few rows at a time, so rows with unit steps are best read where they
are. Others, and elements that must become what sums are formed in, are copied into local memory first, in the order in
which they lie.

Scheme: K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element, store_vector

_ONE = (1, 1, 1)


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
            for k in range(begin, end):
                packed[matrix, panel, k, line] = flat[start + line * pitch + k]
        for line in range(lines, type(lines)(tile)):
            for k in range(begin, end):
                packed[matrix, panel, k, line] = 0
    elif lines == tile:
        for k in range(begin, end):
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
    pitch,
    step,
    tile: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
    transposed: cuda.constexpr,
):
    """Pack ``depth`` rows of b from ``first_k`` on, for a batch of matrices ``step`` apart.

    ``packed[matrix, panel, k, i]`` is ``b[first_k + k, (first_panel + panel) * tile + i]``, zero outside. Columns
    ("lines") have unit steps along k if ``along``, else rows have unit steps; they are ``pitch`` apart. A work-group
    packs ``chunk`` rows of a panel.
    """
    flat = source.T.ravel() if transposed and source.ndim == 2 else source.ravel()
    panel = type(chunk)(cuda.blockIdx.x)
    matrix = type(chunk)(cuda.blockIdx.z)
    first = (first_panel + panel) * tile
    begin = type(chunk)(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    start = matrix * step + (first * pitch + first_k if along else first_k * pitch + first)
    pack_panel(flat, packed, matrix, panel, start, pitch, begin, end, min(lines - first, tile), tile, vector, along)


@cuda.jit(device=True)
def copy_lines(flat, block, start, pitch, count, whole, length, apart: cuda.constexpr, vector: cuda.constexpr):
    """Copy ``length`` elements of each of ``count`` lines; of lines from ``whole`` on, which are none, the last one."""
    lanes = vector.lanes
    for line in range(count):
        source = start + min(line, whole - 1) * pitch
        target = line * apart
        vectors = length // lanes * lanes
        for i in range(type(count)(0), vectors, type(count)(lanes)):
            cuda.vstore(vector(cuda.vload(flat, source + i, lanes)), block, target + i)
        for i in range(vectors, length):
            block[target + i] = flat[source + i]


@cuda.jit(block_dim=_ONE)
def multiply_block(
    a,
    b,
    packed_b,
    c,
    m,
    n,
    first_k,
    first_panel,
    depth,
    a_pitch,
    a_batch,
    b_pitch,
    b_batch,
    c_pitch,
    c_batch,
    panels_n,
    group_n,
    alpha,
    beta,
    tile_m: cuda.constexpr,
    vectors_n: cuda.constexpr,
    group_m: cuda.constexpr,
    apart: cuda.constexpr,
    room: cuda.constexpr,
    vector: cuda.constexpr,
    stored: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    transposed: cuda.constexpr,
    copied: cuda.constexpr,
    packs: cuda.constexpr,
    b_transposed: cuda.constexpr,
):
    """``c = alpha * a[:, first_k:first_k + depth] @ b + beta * c``, where b is the block that was packed.

    A work-group computes ``group_m`` tiles of ``tile_m`` rows by ``group_n`` panels. If it ``packs``, it computes all
    rows, so many tiles at a time, and packs these panels first, which no other one may use; else b is not read.
    packed_b: (1 or batch, panels_n, depth, vectors_n * lanes). c: rows of n with unit steps, ``c_pitch`` apart,
    matrices ``c_batch`` apart. a: rows, or columns if ``transposed``, with unit steps, ``a_pitch`` apart. If it is
    ``copied``, there is ``room`` for so many elements, in lines that are ``apart``.
    """
    lanes = vector.lanes
    tile_n = vectors_n * lanes
    row0 = type(m)(cuda.blockIdx.x) * (group_m * tile_m)
    panel0 = type(depth)(cuda.blockIdx.y) * group_n
    matrix = type(depth)(cuda.blockIdx.z)
    matrix_b = matrix if packed_b.shape[0] > 1 else type(depth)(0)
    flat_a = a.T.ravel() if transposed and a.ndim == 2 else a.ravel()
    flat_c = c.ravel()
    block = cuda.shared.array(room, vector.dtype)
    acc = cuda.local.array((tile_m, vectors_n), vector)
    vectors = cuda.local.array((vectors_n,), vector)
    scratch = cuda.local.array(tile_m * tile_n, vector.dtype)
    group_rows = group_m * tile_m
    last_row = m if packs else min(row0 + group_rows, m)
    last_panel = min(panel0 + group_n, panels_n) - 1
    lines = cuda.local.array(tile_m, np.uint64)  # unsigned: these subscripts never count from the end
    if packs:
        flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
        corner = matrix_b * b_batch + (first_k if b_transposed else first_k * b_pitch)
        across = b_pitch if b_transposed else type(b_pitch)(1)
        for panel in range(panel0, last_panel + 1):
            column = (first_panel + panel) * tile_n
            start = corner + column * across
            wide = min(n - column, tile_n)
            pack_panel(
                flat_b,
                packed_b,
                matrix_b,
                panel,
                start,
                b_pitch,
                first_k * 0,
                depth,
                wide,
                tile_n,
                vector,
                b_transposed,
            )
    flat_packed = packed_b.ravel()
    for top in range(row0, last_row, type(m)(group_rows)):
        rows = min(type(m)(group_rows), last_row - top)
        if not copied:
            begin = matrix * a_batch + first_k
        elif transposed:
            # columns of the block; rows beyond m are left as they are, and so are the sums that use them: nobody sees
            # them
            begin = matrix * a_batch + first_k * a_pitch + top
            copy_lines(flat_a, block, begin, a_pitch, depth, depth, rows, apart, vector)
        else:
            begin = matrix * a_batch + top * a_pitch + first_k
            padded = (rows + tile_m - 1) // tile_m * tile_m
            copy_lines(flat_a, block, begin, a_pitch, padded, rows, depth, apart, vector)
        tiles = (rows + tile_m - 1) // tile_m
        # elements of the next panel from one to the next that a tile asks for, one with each term of its sums: 4 to 16
        # tiles together ask for every line, some more than once; fewer for lines in between, and hardware for the rest
        share = (tile_n + tiles - 1) // tiles if last_panel > panel0 else type(tiles)(0)
        for panel in range(panel0, last_panel + 1):
            column0 = (first_panel + panel) * tile_n
            coming = (matrix_b * packed_b.shape[1] + (panel + 1 if panel < last_panel else panel0)) * tile_n
            for first in range(type(m)(0), rows, type(m)(tile_m)):
                start = matrix * c_batch + (top + first) * c_pitch + column0
                complete = first + tile_m <= rows and column0 + tile_n <= n
                # the tile of c is asked for before the sums are formed, the next panel meanwhile: they are there when
                # they are needed
                if complete:
                    for i in cuda.unroll(range(tile_m)):
                        for j in cuda.unroll(range(vectors_n)):
                            cuda.prefetch(flat_c, start + i * c_pitch + j * lanes)
                part = first // tile_m * share
                wanted = np.uint64((coming + min(part, type(part)(tile_n))) * depth)
                step = np.uint64(share if part < tile_n else type(share)(0))
                for i in cuda.unroll(range(tile_m)):
                    if not copied:  # of rows beyond m, the last one in their place
                        lines[i] = np.uint64(begin + (top + min(first + i, rows - 1)) * a_pitch)
                    for j in cuda.unroll(range(vectors_n)):
                        acc[i, j] = vector(0)
                for k in range(depth):
                    cuda.prefetch(flat_packed, wanted + np.uint64(k) * step)
                    for j in cuda.unroll(range(vectors_n)):
                        vectors[j] = cuda.vload(packed_b, (matrix_b, panel, k, j * lanes), lanes, aligned=True)
                    for i in cuda.unroll(range(tile_m)):
                        if not copied:
                            scalar = flat_a[lines[i] + np.uint64(k)]
                        else:
                            scalar = block[first + i + k * apart] if transposed else block[(first + i) * apart + k]
                        for j in cuda.unroll(range(vectors_n)):
                            acc[i, j] = multiply_add(scalar, vectors[j], acc[i, j], whole)
                if complete:
                    for i in cuda.unroll(range(tile_m)):
                        for j in cuda.unroll(range(vectors_n)):
                            place = start + i * c_pitch + j * lanes
                            store_vector(acc[i, j], flat_c, place, alpha, beta, vector, stored, scaling, False)
                else:
                    for i in cuda.unroll(range(tile_m)):
                        for j in cuda.unroll(range(vectors_n)):
                            cuda.vstore(acc[i, j], scratch, i * tile_n + j * lanes, aligned=True)
                    for i in range(min(type(m)(tile_m), rows - first)):
                        for j in range(min(type(m)(tile_n), n - column0)):
                            place = start + i * c_pitch + j
                            store_element(scratch[i * tile_n + j], flat_c, place, alpha, beta, scaling)
