"""GEMM for batches of small matrices on devices without on-chip local memory; in the dialect.

The sizes are constants, so that loops over a matrix have no ends to look for: for matrices of 8 x 8 the arithmetic
takes some 40 cycles. A work-group has one item and computes one product after the other; nothing is packed, vectors of
b's rows are read where they are, and elements of a one by one.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_vector


class BatchPlan(NamedTuple):
    """What is known when the kernel is compiled: sizes, and the register tile, which divides them.

    ``vector``, ``accumulator``: types of sums, integers if ``whole``; ``along``: rows of a have unit steps.
    """

    m: int
    n: int
    k: int
    tile_m: int
    vectors_n: int
    vector: Any
    accumulator: Any
    whole: bool
    along: bool


@cuda.jit(block_dim=(1, 1, 1))
def multiply_matrices(a, b, c, batch, share, factors, plan: cuda.constexpr, epilogue: cuda.constexpr):
    """``c = alpha * a @ b + beta * c`` for ``batch`` products, ``share`` of them in a work-group.

    a: a `StridedMatrix`; b, c: each a `Matrix` whose rows have unit steps; all of flat memory. plan: a `BatchPlan`.
    """
    vector, accumulator, whole = plan.vector, plan.accumulator, plan.whole
    tile_m, vectors_n = plan.tile_m, plan.vectors_n
    lanes = vector.lanes
    tile_n = vectors_n * lanes
    flat_a, flat_b, flat_c = a.memory, b.memory, c.memory
    acc = cuda.local.array((tile_m, vectors_n), vector)
    row_b = cuda.local.array((vectors_n,), vector)
    first = type(batch)(cuda.blockIdx.x) * share
    for matrix in range(first, min(first + share, batch)):
        for column in range(type(batch)(0), type(batch)(plan.n), type(batch)(tile_n)):
            for row in range(type(batch)(0), type(batch)(plan.m), type(batch)(tile_m)):
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        acc[i, j] = vector(0)
                start_a = matrix * a.batch + row * a.down
                start_b = matrix * b.batch + column
                for k in range(type(batch)(0), type(batch)(plan.k)):
                    for j in cuda.unroll(range(vectors_n)):
                        row_b[j] = vector(cuda.vload(flat_b, start_b + k * b.pitch + j * lanes, lanes))
                    for i in cuda.unroll(range(tile_m)):
                        value = accumulator(flat_a[start_a + i * a.down + (k if plan.along else k * a.right)])
                        for j in cuda.unroll(range(vectors_n)):
                            acc[i, j] = multiply_add(value, row_b[j], acc[i, j], whole)
                start_c = matrix * c.batch + row * c.pitch + column
                for i in cuda.unroll(range(tile_m)):
                    for j in cuda.unroll(range(vectors_n)):
                        place = start_c + i * c.pitch + j * lanes
                        store_vector(
                            acc[i, j], flat_c, place, matrix, row + i, column + j * lanes, factors, epilogue, False
                        )
