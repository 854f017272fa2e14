"""GEMM for devices without on-chip local memory: BLIS's scheme, written in the dialect.

A is packed in panels of ``tile_m`` rows, B in panels of ``tile_n`` columns, both contiguous along k and padded with
zeros, so that the micro-kernel reads nothing but consecutive aligned vectors. Elements become what sums are formed in
when they are packed. A work-group has one item; the vector registers are the item's local array, which the compiler
splits into separate variables.

Scheme: F. Van Zee, R. van de Geijn, "BLIS: A Framework for Rapidly Instantiating BLAS Functionality", ACM TOMS 41(3),
2015.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element, store_vector

_ONE = (1, 1, 1)


@cuda.jit(block_dim=_ONE)
def pack(
    source,
    packed,
    lines,
    depth,
    chunk,
    pitch,
    step,
    tile: cuda.constexpr,
    width: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
    transposed: cuda.constexpr,
):
    """Pack panels of ``tile`` lines, which are rows of a or columns of b, for a batch of matrices ``step`` apart.

    ``packed[matrix, panel, k, i]`` is element k of line ``panel * tile + i``, zero outside. Lines have unit steps along
    k if ``along``, and are ``pitch`` apart; else neighbouring lines have unit steps, and ``width`` of them are read as
    one ``vector`` of the type of sums. A work-group packs ``chunk`` steps of k of one panel.
    """
    flat = source.T.ravel() if transposed and source.ndim == 2 else source.ravel()
    panel = type(chunk)(cuda.blockIdx.x)
    matrix = type(chunk)(cuda.blockIdx.z)
    first = panel * tile
    begin = type(chunk)(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    start = matrix * step + (first * pitch if along else first)
    if first + tile <= lines:
        for k in range(begin, end):
            if along:
                for line in cuda.unroll(range(tile)):
                    packed[matrix, panel, k, line] = flat[start + line * pitch + k]
            elif width > 1:
                for part in cuda.unroll(range(tile // width)):
                    lanes = vector(cuda.vload(flat, start + k * pitch + part * width, width))
                    cuda.vstore(lanes, packed, (matrix, panel, k, part * width), aligned=True)
            else:
                for line in cuda.unroll(range(tile)):
                    packed[matrix, panel, k, line] = flat[start + k * pitch + line]
    else:
        for k in range(begin, end):
            for line in range(type(chunk)(tile)):
                if first + line < lines:
                    packed[matrix, panel, k, line] = flat[start + (line * pitch + k if along else k * pitch + line)]
                else:
                    packed[matrix, panel, k, line] = 0


@cuda.jit(block_dim=_ONE)
def multiply_panels(
    packed_a,
    packed_b,
    c,
    m,
    n,
    c_pitch,
    c_batch,
    depth,
    panels_m,
    panels_n,
    group_m,
    group_n,
    alpha,
    beta,
    tile_m: cuda.constexpr,
    vectors_n: cuda.constexpr,
    vector: cuda.constexpr,
    scaled: cuda.constexpr,
    stored: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    unroll_k: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c`` from packed operands; a work-group computes ``group_m`` x ``group_n`` tiles.

    packed_a: (1 or batch, panels_m, depth, tile_m); packed_b: (1 or batch, panels_n, depth, vectors_n * lanes);
    c: rows of n with unit steps, ``c_pitch`` apart, matrices ``c_batch`` apart.
    """
    lanes = vector.lanes
    tile_n = vectors_n * lanes
    first_m = type(depth)(cuda.blockIdx.x) * group_m
    first_n = type(depth)(cuda.blockIdx.y) * group_n
    matrix = type(depth)(cuda.blockIdx.z)
    matrix_a = matrix if packed_a.shape[0] > 1 else type(depth)(0)
    matrix_b = matrix if packed_b.shape[0] > 1 else type(depth)(0)
    flat_c = c.ravel()
    acc = cuda.local.array((tile_m, vectors_n), vector)
    b = cuda.local.array((vectors_n,), vector)
    scratch = cuda.local.array(tile_m * tile_n, vector.dtype)
    for panel_n in range(first_n, min(first_n + group_n, panels_n)):
        for panel_m in range(first_m, min(first_m + group_m, panels_m)):
            for i in cuda.unroll(range(tile_m)):
                for j in cuda.unroll(range(vectors_n)):
                    acc[i, j] = vector(0)
            rounds = depth // unroll_k * unroll_k
            for k0 in range(type(depth)(0), rounds, type(depth)(unroll_k)):
                for step in cuda.unroll(range(unroll_k)):
                    k = k0 + step
                    for j in cuda.unroll(range(vectors_n)):
                        b[j] = cuda.vload(packed_b, (matrix_b, panel_n, k, j * lanes), lanes, aligned=True)
                    for i in cuda.unroll(range(tile_m)):
                        scalar = packed_a[matrix_a, panel_m, k, i]
                        for j in cuda.unroll(range(vectors_n)):
                            acc[i, j] = multiply_add(scalar, b[j], acc[i, j], whole)
            for k in range(rounds, depth):
                for j in cuda.unroll(range(vectors_n)):
                    b[j] = cuda.vload(packed_b, (matrix_b, panel_n, k, j * lanes), lanes, aligned=True)
                for i in cuda.unroll(range(tile_m)):
                    scalar = packed_a[matrix_a, panel_m, k, i]
                    for j in cuda.unroll(range(vectors_n)):
                        acc[i, j] = multiply_add(scalar, b[j], acc[i, j], whole)
            row0 = panel_m * tile_m
            column0 = panel_n * tile_n
            start = matrix * c_batch + row0 * c_pitch + column0
            if row0 + tile_m <= m and column0 + tile_n <= n:
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        place = start + i * c_pitch + j * lanes
                        store_vector(acc[i, j], flat_c, place, alpha, beta, scaled, stored, scaling, False)
            else:
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        cuda.vstore(acc[i, j], scratch, i * tile_n + j * lanes, aligned=True)
                for i in range(min(type(m)(tile_m), m - row0)):
                    for j in range(min(type(m)(tile_n), n - column0)):
                        place = start + i * c_pitch + j
                        store_element(scratch[i * tile_n + j], flat_c, place, alpha, beta, scaling)
