"""GEMM for devices without on-chip local memory: BLIS's scheme, written in the dialect.

A is packed in panels of ``tile_m`` rows, B in panels of ``tile_n`` columns, both contiguous along k and padded with
zeros, so that the micro-kernel reads nothing but consecutive aligned vectors. A work-group has one item; the vector
registers are the item's local array, which the compiler splits into separate variables.

Scheme: F. Van Zee, R. van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality", ACM TOMS 41(3),
2015.
"""

from __future__ import annotations

import numpy as np

from portagpu import cuda

_ONE = (1, 1, 1)


@cuda.jit(block_dim=_ONE)
def pack_rows(source, packed, rows, depth, chunk, tile: cuda.constexpr):
    """Pack panels of ``tile`` rows: ``packed[panel, k, row] = source[panel * tile + row, k]``, zero outside.

    A work-group packs ``chunk`` steps of k of one panel.
    """
    panel = np.int32(cuda.blockIdx.x)
    first = panel * tile
    begin = np.int32(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    if first + tile <= rows:
        for k in range(begin, end):
            for row in cuda.unroll(range(tile)):
                packed[panel, k, row] = source[first + row, k]
    else:
        for k in range(begin, end):
            for row in range(np.int32(tile)):
                if first + row < rows:
                    packed[panel, k, row] = source[first + row, k]
                else:
                    packed[panel, k, row] = 0


@cuda.jit(block_dim=_ONE)
def pack_columns(
    source, packed, columns, depth, chunk, tile: cuda.constexpr, width: cuda.constexpr, contiguous: cuda.constexpr
):
    """Pack panels of ``tile`` columns: ``packed[panel, k, column] = source[k, panel * tile + column]``, zero outside.

    ``contiguous`` says that rows of the source are, so that they are read as vectors of ``width`` lanes.
    """
    panel = np.int32(cuda.blockIdx.x)
    first = panel * tile
    begin = np.int32(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    if first + tile <= columns:
        for k in range(begin, end):
            if contiguous:
                for part in cuda.unroll(range(tile // width)):
                    lanes = cuda.vload(source, (k, first + part * width), width)
                    cuda.vstore(lanes, packed, (panel, k, part * width), aligned=True)
            else:
                for column in cuda.unroll(range(tile)):
                    packed[panel, k, column] = source[k, first + column]
    else:
        for k in range(begin, end):
            for column in range(np.int32(tile)):
                if first + column < columns:
                    packed[panel, k, column] = source[k, first + column]
                else:
                    packed[panel, k, column] = 0


@cuda.jit(block_dim=_ONE)
def multiply_panels(
    packed_a,
    packed_b,
    c,
    depth,
    panels_m,
    panels_n,
    group_m,
    group_n,
    tile_m: cuda.constexpr,
    vectors_n: cuda.constexpr,
    vector: cuda.constexpr,
    unroll_k: cuda.constexpr,
    contiguous: cuda.constexpr,
):
    """``c = a @ b`` from packed operands; a work-group computes ``group_m`` x ``group_n`` register tiles.

    packed_a: (panels_m, depth, tile_m); packed_b: (panels_n, depth, vectors_n * lanes); c: (m, n).

    ``contiguous`` says that rows of c are, so that whole tiles are stored as vectors.
    """
    lanes = vector.lanes
    tile_n = vectors_n * lanes
    first_m = np.int32(cuda.blockIdx.x) * group_m
    first_n = np.int32(cuda.blockIdx.y) * group_n
    rows = np.int32(c.shape[0])
    columns = np.int32(c.shape[1])
    acc = cuda.local.array((tile_m, vectors_n), vector)
    b = cuda.local.array((vectors_n,), vector)
    scratch = cuda.local.array(tile_m * tile_n, vector.dtype)
    for panel_n in range(first_n, min(first_n + group_n, panels_n)):
        for panel_m in range(first_m, min(first_m + group_m, panels_m)):
            for i in cuda.unroll(range(tile_m)):
                for j in cuda.unroll(range(vectors_n)):
                    acc[i, j] = vector(0)
            whole = depth // unroll_k * unroll_k
            for k0 in range(np.int32(0), whole, np.int32(unroll_k)):
                for step in cuda.unroll(range(unroll_k)):
                    k = k0 + step
                    for j in cuda.unroll(range(vectors_n)):
                        b[j] = cuda.vload(packed_b, (panel_n, k, j * lanes), lanes, aligned=True)
                    for i in cuda.unroll(range(tile_m)):
                        scalar = packed_a[panel_m, k, i]
                        for j in cuda.unroll(range(vectors_n)):
                            acc[i, j] = cuda.fma(scalar, b[j], acc[i, j])
            for k in range(whole, depth):
                for j in cuda.unroll(range(vectors_n)):
                    b[j] = cuda.vload(packed_b, (panel_n, k, j * lanes), lanes, aligned=True)
                for i in cuda.unroll(range(tile_m)):
                    scalar = packed_a[panel_m, k, i]
                    for j in cuda.unroll(range(vectors_n)):
                        acc[i, j] = cuda.fma(scalar, b[j], acc[i, j])
            row0 = panel_m * tile_m
            column0 = panel_n * tile_n
            if contiguous and row0 + tile_m <= rows and column0 + tile_n <= columns:
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        cuda.vstore(acc[i, j], c, (row0 + i, column0 + j * lanes))
            else:
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        cuda.vstore(acc[i, j], scratch, i * tile_n + j * lanes, aligned=True)
                for i in range(min(np.int32(tile_m), rows - row0)):
                    for j in range(min(np.int32(tile_n), columns - column0)):
                        c[row0 + i, column0 + j] = scratch[i * tile_n + j]
