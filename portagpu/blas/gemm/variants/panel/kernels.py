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

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element, store_vector

_ONE = (1, 1, 1)


class Panels(NamedTuple):
    """Packed panels of an operand, ``count`` of a matrix."""

    memory: Any
    count: Any


class PanelPlan(NamedTuple):
    """What is known when the kernel is compiled: the register tile, steps along k that are unrolled, integer sums."""

    tile_m: int
    vectors_n: int
    unroll_k: int
    whole: bool


@cuda.jit(block_dim=_ONE)
def pack(
    source,
    packed,
    lines,
    depth,
    chunk,
    tile: cuda.constexpr,
    width: cuda.constexpr,
    vector: cuda.constexpr,
    along: cuda.constexpr,
):
    """Pack panels of ``tile`` lines, which are rows of a or columns of b, for a batch of matrices.

    ``packed[matrix, panel, k, i]`` is element k of line ``panel * tile + i``, zero outside. Lines have unit steps along
    k if ``along``, and are a pitch apart; else neighbouring lines have unit steps, and ``width`` of them are read as
    one ``vector`` of the type of sums. A work-group packs ``chunk`` steps of k of one panel.
    """
    flat = source.memory
    panel = type(chunk)(cuda.blockIdx.x)
    matrix = type(chunk)(cuda.blockIdx.z)
    first = panel * tile
    begin = type(chunk)(cuda.blockIdx.y) * chunk
    end = min(begin + chunk, depth)
    start = matrix * source.batch + (first * source.pitch if along else first)
    if first + tile <= lines:
        for k in range(begin, end):
            if along:
                for line in cuda.unroll(range(tile)):
                    packed[matrix, panel, k, line] = flat[start + line * source.pitch + k]
            elif width > 1:
                for part in cuda.unroll(range(tile // width)):
                    lanes = vector(cuda.vload(flat, start + k * source.pitch + part * width, width))
                    cuda.vstore(lanes, packed, (matrix, panel, k, part * width), aligned=True)
            else:
                for line in cuda.unroll(range(tile)):
                    packed[matrix, panel, k, line] = flat[start + k * source.pitch + line]
    else:
        for k in range(begin, end):
            for line in range(type(chunk)(tile)):
                if first + line < lines:
                    packed[matrix, panel, k, line] = flat[
                        start + (line * source.pitch + k if along else k * source.pitch + line)
                    ]
                else:
                    packed[matrix, panel, k, line] = 0


@cuda.jit(block_dim=_ONE)
def multiply_panels(
    a,
    b,
    c,
    extents,
    group_m,
    group_n,
    factors,
    vector: cuda.constexpr,
    plan: cuda.constexpr,
    epilogue: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c`` from packed operands; a work-group computes ``group_m`` x ``group_n`` tiles.

    a: (1 or batch, panels, depth, tile_m); b: (1 or batch, panels, depth, vectors_n * lanes), both `Panels`; c: a
    `Matrix` whose rows have unit steps; ``extents.k`` is the depth.
    """
    lanes = vector.lanes
    tile_m, vectors_n, unroll_k, whole = plan
    tile_n = vectors_n * lanes
    first_m = type(extents.k)(cuda.blockIdx.x) * group_m
    first_n = type(extents.k)(cuda.blockIdx.y) * group_n
    matrix = type(extents.k)(cuda.blockIdx.z)
    matrix_a = matrix if a.memory.shape[0] > 1 else type(extents.k)(0)
    matrix_b = matrix if b.memory.shape[0] > 1 else type(extents.k)(0)
    flat_c = c.memory.ravel()
    acc = cuda.local.array((tile_m, vectors_n), vector)
    row_b = cuda.local.array((vectors_n,), vector)
    scratch = cuda.local.array(tile_m * tile_n, vector.dtype)
    for panel_n in range(first_n, min(first_n + group_n, b.count)):
        for panel_m in range(first_m, min(first_m + group_m, a.count)):
            for i in cuda.unroll(range(tile_m)):
                for j in cuda.unroll(range(vectors_n)):
                    acc[i, j] = vector(0)
            rounds = extents.k // unroll_k * unroll_k
            for k0 in range(type(extents.k)(0), rounds, type(extents.k)(unroll_k)):
                for step in cuda.unroll(range(unroll_k)):
                    k = k0 + step
                    for j in cuda.unroll(range(vectors_n)):
                        row_b[j] = cuda.vload(b.memory, (matrix_b, panel_n, k, j * lanes), lanes, aligned=True)
                    for i in cuda.unroll(range(tile_m)):
                        scalar = a.memory[matrix_a, panel_m, k, i]
                        for j in cuda.unroll(range(vectors_n)):
                            acc[i, j] = multiply_add(scalar, row_b[j], acc[i, j], whole)
            for k in range(rounds, extents.k):
                for j in cuda.unroll(range(vectors_n)):
                    row_b[j] = cuda.vload(b.memory, (matrix_b, panel_n, k, j * lanes), lanes, aligned=True)
                for i in cuda.unroll(range(tile_m)):
                    scalar = a.memory[matrix_a, panel_m, k, i]
                    for j in cuda.unroll(range(vectors_n)):
                        acc[i, j] = multiply_add(scalar, row_b[j], acc[i, j], whole)
            row0 = panel_m * tile_m
            column0 = panel_n * tile_n
            start = matrix * c.batch + row0 * c.pitch + column0
            if row0 + tile_m <= extents.m and column0 + tile_n <= extents.n:
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        place = start + i * c.pitch + j * lanes
                        store_vector(
                            acc[i, j], flat_c, place, matrix, row0 + i, column0 + j * lanes, factors, epilogue, False
                        )
            else:
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        cuda.vstore(acc[i, j], scratch, i * tile_n + j * lanes, aligned=True)
                for i in range(min(type(extents.m)(tile_m), extents.m - row0)):
                    for j in range(min(type(extents.m)(tile_n), extents.n - column0)):
                        place = start + i * c.pitch + j
                        store_element(
                            scratch[i * tile_n + j], flat_c, place, matrix, row0 + i, column0 + j, factors, epilogue
                        )
