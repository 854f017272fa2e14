"""GEMM for matrix units of wavefronts: `cuda.mfma` (64 lanes) and `cuda.wmma` (32 lanes); in the dialect.

A block computes a ``tile_m`` x ``tile_n`` tile of C, each of its wavefronts ``wave_m`` x ``wave_n`` of it as
instructions of ``size`` x ``size``. Tiles of A and B lie in local memory with k contiguous and rows padded by 16 bytes,
so that what a lane holds of an operand is one aligned vector. The next tiles are on their way into registers meanwhile.

Which elements a lane holds: docs/matrix-units.md. Elements of 16 bits are moved by their bits; any order of k is right
that A and B share.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, SUM, Epilogue
from portagpu.blas.gemm.kernels.epilogue import store_element

PADDING = 8  # elements between rows of a tile in local memory


@cuda.jit(device=True)
def _bits(source, row, column, rows, columns):
    return source[row, column] if row < rows and column < columns else np.int16(0)


@cuda.jit(device=True)
def _load(source, row, column, rows, columns, exact: cuda.constexpr):
    """Eight elements from ``source[row, column]`` on, zeros outside; ``exact``: they are inside and aligned."""
    if exact:
        return cuda.vload(source, (row, column), 8, aligned=True)
    return cuda.int16x8(
        _bits(source, row, column, rows, columns),
        _bits(source, row, column + 1, rows, columns),
        _bits(source, row, column + 2, rows, columns),
        _bits(source, row, column + 3, rows, columns),
        _bits(source, row, column + 4, rows, columns),
        _bits(source, row, column + 5, rows, columns),
        _bits(source, row, column + 6, rows, columns),
        _bits(source, row, column + 7, rows, columns),
    )


@cuda.jit(device=True)
def _fragment(tile, row, place, elements: cuda.constexpr):
    """What a lane holds of an operand; rows are aligned to 16 bytes only."""
    if elements == 16:
        low = cuda.vload(tile, (row, place), 8, aligned=True)
        return cuda.int16x16(low, cuda.vload(tile, (row, place + 8), 8, aligned=True))
    return cuda.vload(tile, (row, place), elements, aligned=True)


class WavePlan(NamedTuple):
    """What is known when the kernel is compiled; see `wave_matrix.variant` for the first six.

    ``multiply(a, b, acc)`` is the instruction. ``exact``: all sizes are multiples of the tiles and all rows aligned to
    16 bytes. ``scaled``: alpha is not 1, or beta not 0. ``group``: tiles of a band.
    """

    tile_m: int
    tile_n: int
    tile_k: int
    wave_m: int
    wave_n: int
    layout: Any
    multiply: Any
    a_transposed: bool
    b_transposed: bool
    exact: bool
    scaled: bool
    group: int


@cuda.jit
def multiply_waves(a, b, c, factors, plan: cuda.constexpr):
    """``c = alpha * a @ b + beta * c``.

    a: (m, k), or (k, m) if transposed; b: (k, n), or (n, k) if transposed, both by their bits as int16; c: (m, n). The
    grid has one block for each tile of C, walked in bands of ``plan.group`` tiles.
    """
    tile_m, tile_n, tile_k, wave_m, wave_n, layout, multiply = plan[:7]
    a_transposed, b_transposed, exact, scaled, group = plan[7:]
    epilogue = Epilogue(BETA_UNLESS_ZERO if scaled else SUM)
    size, depth, elements, lanes = layout.size, layout.depth, layout.elements, layout.lanes
    m, n = np.int32(c.shape[0]), np.int32(c.shape[1])
    k = np.int32(a.shape[0]) if a_transposed else np.int32(a.shape[1])
    waves_n = tile_n // wave_n
    threads = (tile_m // wave_m) * waves_n * lanes
    loads_a, loads_b = tile_m * tile_k // (8 * threads), tile_n * tile_k // (8 * threads)
    parts_m, parts_n = wave_m // size, wave_n // size
    tile_a = cuda.shared.array((tile_m, tile_k + PADDING), np.int16)
    tile_b = cuda.shared.array((tile_n, tile_k + PADDING), np.int16)
    next_a, next_b = cuda.local.array(loads_a, cuda.int16x8), cuda.local.array(loads_b, cuda.int16x8)
    rows = cuda.local.array(parts_m, layout.operand)
    columns = cuda.local.array(parts_n, layout.operand)
    acc = cuda.local.array((parts_m, parts_n), layout.total)

    thread = np.int32(cuda.threadIdx.x)
    lane, wave = thread % lanes, thread // lanes
    inner, part = lane % size, lane // size
    wave_row, wave_column = wave // waves_n * wave_m, wave % waves_n * wave_n
    tiles_m, tiles_n = (m + (tile_m - 1)) // tile_m, (n + (tile_n - 1)) // tile_n
    block = np.int32(cuda.blockIdx.x)
    band = block // (group * tiles_n)
    band_height = max(min(np.int32(group), tiles_m - band * group), 1)
    within = block % (group * tiles_n)
    row0 = (band * group + within % band_height) * tile_m
    column0 = within // band_height * tile_n

    for i in cuda.unroll(range(parts_m)):
        for j in cuda.unroll(range(parts_n)):
            acc[i, j] = layout.total(0)
    steps = (k + (tile_k - 1)) // tile_k
    for step in range(np.int32(0), steps + 1):
        if step < steps:
            k0 = step * tile_k
            for load in cuda.unroll(range(loads_a)):
                place = (thread + load * threads) * 8
                if a_transposed:
                    next_a[load] = _load(a, k0 + place // tile_m, row0 + place % tile_m, k, m, exact)
                else:
                    next_a[load] = _load(a, row0 + place // tile_k, k0 + place % tile_k, m, k, exact)
            for load in cuda.unroll(range(loads_b)):
                place = (thread + load * threads) * 8
                if b_transposed:
                    next_b[load] = _load(b, column0 + place // tile_k, k0 + place % tile_k, n, k, exact)
                else:
                    next_b[load] = _load(b, k0 + place // tile_n, column0 + place % tile_n, k, n, exact)
        if step > 0:
            for start in cuda.unroll(range(0, tile_k, depth)):
                offset = start + part * elements if layout.splits_depth else np.int32(start)
                for i in cuda.unroll(range(parts_m)):
                    rows[i] = _fragment(tile_a, wave_row + i * size + inner, offset, elements)
                for j in cuda.unroll(range(parts_n)):
                    columns[j] = _fragment(tile_b, wave_column + j * size + inner, offset, elements)
                for i in cuda.unroll(range(parts_m)):
                    for j in cuda.unroll(range(parts_n)):
                        acc[i, j] = multiply(rows[i], columns[j], acc[i, j])
            cuda.syncthreads()
        if step < steps:
            for load in cuda.unroll(range(loads_a)):
                place = (thread + load * threads) * 8
                if a_transposed:
                    for e in cuda.unroll(range(8)):
                        tile_a[place % tile_m + e, place // tile_m] = next_a[load][e]
                else:
                    cuda.vstore(next_a[load], tile_a, (place // tile_k, place % tile_k), aligned=True)
            for load in cuda.unroll(range(loads_b)):
                place = (thread + load * threads) * 8
                if b_transposed:
                    cuda.vstore(next_b[load], tile_b, (place // tile_k, place % tile_k), aligned=True)
                else:
                    for e in cuda.unroll(range(8)):
                        tile_b[place % tile_n + e, place // tile_n] = next_b[load][e]
            cuda.syncthreads()

    for i in cuda.unroll(range(parts_m)):
        for j in cuda.unroll(range(parts_n)):
            column = column0 + wave_column + j * size + inner
            for e in cuda.unroll(range(layout.results)):
                within_part = e // layout.run * layout.stride + e % layout.run
                row = row0 + wave_row + i * size + within_part + part * layout.part
                if exact or (row < m and column < n):
                    store_element(acc[i, j][e], c, (row, column), np.int32(0), row, column, factors, epilogue)


def instruction(function, shape, dtype):
    """The device function that applies one instruction: ``multiply(a, b, acc)``."""
    if function == "mfma":

        @cuda.jit(device=True)
        def multiply(a, b, acc):
            return cuda.mfma(shape, dtype, a, b, acc)

    else:

        @cuda.jit(device=True)
        def multiply(a, b, acc):
            return cuda.wmma(shape, dtype, a, b, acc)

    return multiply
