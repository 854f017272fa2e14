"""GEMM for matrix units of subgroups (`cuda.subgroup_matrix_mad`), float16 and bfloat16, without local memory.

A subgroup computes ``8 parts_m`` rows and ``parts_n`` times its size of columns of C, 16 deep at a step. What the lanes
hold: docs/matrix-units.md. Neighbouring subgroups of a block share their operands through the cache. Elements are moved
by their bits.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, SUM, Epilogue
from portagpu.blas.gemm.kernels.epilogue import store_element

ROWS, DEPTH = 8, 16  # of one instruction


@cuda.jit(device=True)
def _bits(source, row, column, rows, columns, transposed: cuda.constexpr, exact: cuda.constexpr):
    """An element of a matrix of ``rows`` x ``columns``, stored as it is or transposed; zero outside."""
    if exact:
        return source[column, row] if transposed else source[row, column]
    if row < rows and column < columns:
        return source[column, row] if transposed else source[row, column]
    return np.int16(0)


@cuda.jit(device=True)
def _pair(low, high):
    return (np.int32(low) & np.int32(0xFFFF)) | (np.int32(high) << np.int32(16))


@cuda.jit(device=True)
def _row(a, row, k0, m, k, lane, size: cuda.constexpr, transposed: cuda.constexpr, exact: cuda.constexpr):
    """What a lane holds of one row of A: with 16 lanes one element, with 8 a pair."""
    if size == 16:
        if exact and not transposed:
            return cuda.subgroup_block_read(a, (row, k0))
        return _bits(a, row, k0 + lane, m, k, transposed, exact)
    low = _bits(a, row, k0 + 2 * lane, m, k, transposed, exact)
    return _pair(low, _bits(a, row, k0 + 2 * lane + 1, m, k, transposed, exact))


@cuda.jit(device=True)
def _column(b, k0, column, k, n, lane, transposed: cuda.constexpr, exact: cuda.constexpr):
    """What a lane holds of two rows of B: the pair in its column."""
    if exact and not transposed:
        low = cuda.subgroup_block_read(b, (k0, column))
        return _pair(low, cuda.subgroup_block_read(b, (k0 + 1, column)))
    low = _bits(b, k0, column + lane, k, n, transposed, exact)
    return _pair(low, _bits(b, k0 + 1, column + lane, k, n, transposed, exact))


class SubgroupMatrixPlan(NamedTuple):
    """What is known when the kernel is compiled.

    A block has ``groups_m`` x ``groups_n`` subgroups of ``size`` (8 or 16) threads; ``multiply(a, b, acc)`` is the
    instruction. ``exact``: sizes are multiples of the tiles and rows begin at multiples of 16 bytes. ``scaled``: alpha
    is not 1, or beta not 0.
    """

    parts_m: int
    parts_n: int
    size: int
    groups_m: int
    groups_n: int
    multiply: Any
    a_transposed: bool
    b_transposed: bool
    exact: bool
    scaled: bool


@cuda.jit
def multiply_subgroup_matrices(a, b, c, factors, plan: cuda.constexpr):
    """``c = alpha * a @ b + beta * c``.

    a: (m, k), or (k, m) if transposed; b: (k, n), or (n, k) if transposed, both by their bits as int16; c: (m, n).
    """
    parts_m, parts_n, size, groups_m, groups_n, multiply, a_transposed, b_transposed, exact, scaled = plan
    epilogue = Epilogue(BETA_UNLESS_ZERO if scaled else SUM)
    operand = cuda.int16x8 if size == 16 else cuda.int32x8
    m, n = np.int32(c.shape[0]), np.int32(c.shape[1])
    k = np.int32(a.shape[0]) if a_transposed else np.int32(a.shape[1])
    lane = np.int32(cuda.threadIdx.x) % size
    subgroup = cuda.subgroup_id()
    row0 = (np.int32(cuda.blockIdx.y) * groups_m + subgroup // groups_n) * (ROWS * parts_m)
    column0 = (np.int32(cuda.blockIdx.x) * groups_n + subgroup % groups_n) * (size * parts_n)
    acc = cuda.local.array((parts_m, parts_n), cuda.float32x8)
    left, right = cuda.local.array(parts_m, operand), cuda.local.array(parts_n, cuda.int32x8)
    for i in cuda.unroll(range(parts_m)):
        for j in cuda.unroll(range(parts_n)):
            acc[i, j] = cuda.float32x8(0)
    for k0 in range(np.int32(0), k, np.int32(DEPTH)):
        for i in cuda.unroll(range(parts_m)):
            row = row0 + i * ROWS
            left[i] = operand(
                _row(a, row, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 1, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 2, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 3, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 4, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 5, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 6, k0, m, k, lane, size, a_transposed, exact),
                _row(a, row + 7, k0, m, k, lane, size, a_transposed, exact),
            )
        for j in cuda.unroll(range(parts_n)):
            column = column0 + j * size
            right[j] = cuda.int32x8(
                _column(b, k0, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 2, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 4, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 6, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 8, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 10, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 12, column, k, n, lane, b_transposed, exact),
                _column(b, k0 + 14, column, k, n, lane, b_transposed, exact),
            )
        for i in cuda.unroll(range(parts_m)):
            for j in cuda.unroll(range(parts_n)):
                acc[i, j] = multiply(left[i], right[j], acc[i, j])
    for i in cuda.unroll(range(parts_m)):
        for j in cuda.unroll(range(parts_n)):
            for e in cuda.unroll(range(ROWS)):
                row, column = row0 + i * ROWS + e, column0 + j * size + lane
                if exact or (row < m and column < n):
                    store_element(acc[i, j][e], c, (row, column), np.int32(0), row, column, factors, epilogue)


def instruction(dtype):
    """The device function that applies one instruction: ``multiply(a, b, acc)``."""

    @cuda.jit(device=True)
    def multiply(a, b, acc):
        return cuda.subgroup_matrix_mad(dtype, a, b, acc)

    return multiply
