"""GEMM for subgroups without local memory: loads of blocks, values of A broadcast to all lanes; in the dialect.

A subgroup computes ``rows`` x (``vectors`` times its size) of C: each lane has some columns. In steps of the
subgroup's size along k, lane ``l`` loads ``a[row, k0 + l]`` for each row, and each value is broadcast in its turn,
which is only an operand on hardware whose registers hold whole vectors. Neighbouring subgroups of a block share rows of
A through the cache.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.blas.gemm.core.kernel_arguments import BETA_UNLESS_ZERO, SUM, Epilogue
from portagpu.blas.gemm.kernels.epilogue import store_element


@cuda.jit(device=True)
def _element(source, row, column, rows, columns):
    """``source[row, column]``, or zero outside."""
    return source[row, column] if row < rows and column < columns else 0


@cuda.jit(device=True)
def _across(source, row, column, rows, columns, lane, block: cuda.constexpr):
    """``source[row, column + lane]``, or zero outside; ``block``: all of it is inside and begins aligned."""
    if block:
        return cuda.subgroup_block_read(source, (row, column))
    return _element(source, row, column + lane, rows, columns)


class SubgroupPlan(NamedTuple):
    """What is known when the kernel is compiled.

    A block has ``groups_m`` x ``groups_n`` subgroups of ``size`` threads. ``zero`` is that of the dtype. ``exact``:
    sizes are multiples of the tiles and rows begin at multiples of 16 bytes. ``scaled``: alpha is not 1, or beta not 0.
    """

    rows: int
    vectors: int
    size: int
    groups_m: int
    groups_n: int
    zero: Any
    a_transposed: bool
    b_transposed: bool
    exact: bool
    scaled: bool


@cuda.jit
def multiply_subgroups(a, b, c, factors, plan: cuda.constexpr):
    """``c = alpha * a @ b + beta * c``.

    a: (m, k), or (k, m) if transposed; b: (k, n), or (n, k) if transposed; c: (m, n).
    """
    rows, vectors, size, groups_m, groups_n, zero, a_transposed, b_transposed, exact, scaled = plan
    epilogue = Epilogue(BETA_UNLESS_ZERO if scaled else SUM)
    m, n = np.int32(c.shape[0]), np.int32(c.shape[1])
    k = np.int32(a.shape[0]) if a_transposed else np.int32(a.shape[1])
    lane = np.int32(cuda.threadIdx.x) % size
    subgroup = cuda.subgroup_id()
    row0 = (np.int32(cuda.blockIdx.y) * groups_m + subgroup // groups_n) * rows
    column0 = (np.int32(cuda.blockIdx.x) * groups_n + subgroup % groups_n) * (size * vectors)
    acc = cuda.local.array((rows, vectors), c.dtype)
    left = cuda.local.array(rows, c.dtype)
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(vectors)):
            acc[i, j] = zero
    for k0 in range(np.int32(0), k, np.int32(size)):
        for i in cuda.unroll(range(rows)):
            if a_transposed:
                left[i] = _element(a, k0 + lane, row0 + i, k, m)
            else:
                left[i] = _across(a, row0 + i, k0, m, k, lane, exact)
        for depth in cuda.unroll(range(size)):
            for j in cuda.unroll(range(vectors)):
                column = column0 + j * size
                if b_transposed:
                    right = _element(b, column + lane, k0 + depth, n, k)
                else:
                    right = _across(b, k0 + depth, column, k, n, lane, exact)
                for i in cuda.unroll(range(rows)):
                    acc[i, j] = cuda.fma(cuda.subgroup_broadcast(left[i], depth), right, acc[i, j])
    for i in cuda.unroll(range(rows)):
        for j in cuda.unroll(range(vectors)):
            row, column = row0 + i, column0 + j * size + lane
            if exact or (row < m and column < n):
                store_element(acc[i, j], c, (row, column), np.int32(0), row, column, factors, epilogue)
