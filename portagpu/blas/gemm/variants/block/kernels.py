"""GEMM in blocks that stay in a CPU's caches: Goto's scheme, written in the dialect.

One launch packs a block of B, ``depth`` rows of it, in panels of as many columns as the register tile; the next one
multiplies: a work-group, which is one item, walks panels of B along its rows of A's block. The sums of a block are
added to c, so that memory of c is read once a block.

The micro-kernel broadcasts single elements of A, a few rows at a time, so rows with unit steps are best read where they
are. Others, and elements that must become what sums are formed in, are copied into local memory first, and so are rows
that are met often: tile by tile, in the order in which sums take them.

Scheme: K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS 34(3), 2008.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element, store_vector
from portagpu.blas.gemm.variants.block.packing_kernels import copy_tiles, pack_panel
from portagpu.blas.gemm.variants.block.triangles import WHOLE, is_beyond, is_inside, panels_of_triangle, terms_of_panel

_ONE = (1, 1, 1)


class Block(NamedTuple):
    """What a launch multiplies of b: ``depth`` rows from ``first_k`` on, ``panels_n`` panels from ``first_panel`` on.

    ``group_n``: panels of a work-group; ``rows``: of a work-group, whole tiles, or at a time where it ``packs`` (1, or
    0): then it has all rows.
    """

    first_k: Any
    first_panel: Any
    depth: Any
    panels_n: Any
    group_n: Any
    rows: Any
    packs: Any


class BlockPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``transposed``, ``b_transposed``: columns of the operand have unit steps. If a is ``copied``, there is ``room`` for
    so many elements of it. ``whole``: sums are integers. ``part``: of c, `WHOLE` and so on;
    ``part_of_b``: of b, which is square then.
    """

    tile_m: int
    vectors_n: int
    room: int
    whole: bool
    transposed: bool
    copied: bool
    b_transposed: bool
    part: int
    part_of_b: int


@cuda.jit(block_dim=_ONE)
def multiply_block(
    a,
    b,
    packed_b,
    c,
    extents,
    block,
    factors,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
    epilogue: cuda.constexpr,
):
    """``c = alpha * a[:, first_k:first_k + depth] @ b + beta * c``, where b is the block that was packed.

    A work-group computes ``block.rows`` rows by ``block.group_n`` panels. If it ``packs``, it computes all rows, so
    many at a time, and packs these panels first, which no other one may use; else b is not read. Of a triangle of c,
    tiles beyond it are left out; of a triangle b, terms; neither is packed here. packed_b: (1 or batch, panels, depth,
    vectors_n * lanes). a, b, c: each a `Matrix`, rows with unit steps, or columns of those that are transposed, in flat
    memory; block: a `Block`; plan: a `BlockPlan`.
    """
    tile_m, vectors_n, room, whole, transposed, copied, b_transposed, part_of_c, part_of_b = plan
    lanes = vector.lanes
    tile_n = vectors_n * lanes
    row0 = type(extents.m)(cuda.blockIdx.x) * block.rows
    panel0 = type(block.depth)(cuda.blockIdx.y) * block.group_n
    matrix = type(block.depth)(cuda.blockIdx.z)
    matrix_b = matrix if packed_b.shape[0] > 1 else type(block.depth)(0)
    flat_a, flat_c = a.memory, c.memory
    tiles_a = cuda.shared.array(room, vector.dtype)
    acc = cuda.local.array((tile_m, vectors_n), vector)
    vectors = cuda.local.array((vectors_n,), vector)
    scratch = cuda.local.array(tile_m * tile_n, vector.dtype)
    last_row = extents.m if block.packs > 0 else min(row0 + block.rows, extents.m)
    end_panel = min(panel0 + block.group_n, block.panels_n)
    if part_of_c != WHOLE:  # panels that have elements of the triangle in these rows
        panel0, end_panel = panels_of_triangle(panel0, end_panel, block.first_panel, row0, last_row, tile_n, part_of_c)
        if panel0 >= end_panel:
            return
    last_panel = end_panel - 1
    lines = cuda.local.array(tile_m, np.uint64)  # unsigned: these subscripts never count from the end
    if part_of_c == WHOLE and part_of_b == WHOLE and block.packs > 0:
        flat_b = b.memory
        corner = matrix_b * b.batch + (block.first_k if b_transposed else block.first_k * b.pitch)
        across = b.pitch if b_transposed else type(b.pitch)(1)
        for panel in range(panel0, last_panel + 1):
            column = (block.first_panel + panel) * tile_n
            start = corner + column * across
            wide = min(extents.n - column, tile_n)
            pack_panel(
                flat_b,
                packed_b,
                matrix_b,
                panel,
                start,
                b.pitch,
                block.first_k * 0,
                block.depth,
                wide,
                tile_n,
                vector,
                b_transposed,
            )
    flat_packed = packed_b.ravel()
    for top in range(row0, last_row, block.rows):
        rows = min(block.rows, last_row - top)
        if not copied:
            begin = matrix * a.batch + block.first_k
        else:
            begin = matrix * a.batch + (block.first_k * a.pitch + top if transposed else top * a.pitch + block.first_k)
            copy_tiles(flat_a, tiles_a, begin, a.pitch, rows, block.depth, tile_m, transposed, lanes)
        tiles = (rows + tile_m - 1) // tile_m
        # elements of the next panel from one to the next that a tile asks for, one with each term of its sums: 4 to 16
        # tiles together ask for every line, some more than once; fewer for lines in between, and hardware for the rest
        share = (tile_n + tiles - 1) // tiles if last_panel > panel0 else type(tiles)(0)
        for panel in range(panel0, last_panel + 1):
            column0 = (block.first_panel + panel) * tile_n
            begin_k, end_k = terms_of_panel(column0, block.first_k, block.depth, tile_n, part_of_b)
            if part_of_b != WHOLE and begin_k >= end_k and block.first_k > 0:  # c has these sums already
                continue
            coming = (matrix_b * packed_b.shape[1] + (panel + 1 if panel < last_panel else panel0)) * tile_n
            for first in range(type(extents.m)(0), rows, type(extents.m)(tile_m)):
                if part_of_c != WHOLE and is_beyond(top + first, column0, tile_m, tile_n, part_of_c):
                    continue
                start = matrix * c.batch + (top + first) * c.pitch + column0
                complete = first + tile_m <= rows and column0 + tile_n <= extents.n
                if part_of_c != WHOLE:
                    complete = complete and is_inside(top + first, column0, tile_m, tile_n, part_of_c)
                # the tile of c is asked for before the sums are formed, the next panel meanwhile: they are there when
                # they are needed
                if complete:
                    for i in cuda.unroll(range(tile_m)):
                        for j in cuda.unroll(range(vectors_n)):
                            cuda.prefetch(flat_c, start + i * c.pitch + j * lanes)
                part = first // tile_m * share
                wanted = np.uint64((coming + min(part, type(part)(tile_n))) * block.depth)
                step = np.uint64(share if part < tile_n else type(share)(0))
                own = np.uint64(first * block.depth)
                for i in cuda.unroll(range(tile_m)):
                    if not copied:  # of rows beyond m, the last one in their place
                        lines[i] = np.uint64(begin + (top + min(first + i, rows - 1)) * a.pitch)
                    for j in cuda.unroll(range(vectors_n)):
                        acc[i, j] = vector(0)
                for k in range(begin_k, end_k):
                    cuda.prefetch(flat_packed, wanted + np.uint64(k) * step)
                    for j in cuda.unroll(range(vectors_n)):
                        vectors[j] = cuda.vload(packed_b, (matrix_b, panel, k, j * lanes), lanes, aligned=True)
                    for i in cuda.unroll(range(tile_m)):
                        if not copied:
                            scalar = flat_a[lines[i] + np.uint64(k)]
                        else:
                            scalar = tiles_a[own + np.uint64(k * tile_m + i)]
                        for j in cuda.unroll(range(vectors_n)):
                            acc[i, j] = multiply_add(scalar, vectors[j], acc[i, j], whole)
                if complete:
                    for i in cuda.unroll(range(tile_m)):
                        for j in cuda.unroll(range(vectors_n)):
                            place = start + i * c.pitch + j * lanes
                            store_vector(
                                acc[i, j],
                                flat_c,
                                place,
                                matrix,
                                top + first + i,
                                column0 + j * lanes,
                                factors,
                                epilogue,
                                False,
                            )
                else:
                    for i in cuda.unroll(range(tile_m)):
                        for j in cuda.unroll(range(vectors_n)):
                            cuda.vstore(acc[i, j], scratch, i * tile_n + j * lanes, aligned=True)
                    for i in range(min(type(extents.m)(tile_m), rows - first)):
                        for j in range(min(type(extents.m)(tile_n), extents.n - column0)):
                            if part_of_c != WHOLE and is_beyond(top + first + i, column0 + j, 1, 1, part_of_c):
                                continue
                            place = start + i * c.pitch + j
                            store_element(
                                scratch[i * tile_n + j],
                                flat_c,
                                place,
                                matrix,
                                top + first + i,
                                column0 + j,
                                factors,
                                epilogue,
                            )
