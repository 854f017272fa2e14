"""GEMM for problems too small for tiles: one thread for each element of C; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda
from portagpu.blas.gemm.kernels.epilogue import multiply_add, store_element


@cuda.jit
def multiply_elements(
    a,
    b,
    c,
    extents,
    batch,
    factors,
    accumulator: cuda.constexpr,
    epilogue: cuda.constexpr,
    whole: cuda.constexpr,
    a_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c`` for ``batch`` products; a, b, c: each a `Matrix`, see `operands`.

    A one-dimensional grid has a thread for each element of c, columns first. Sums have the type ``accumulator``.
    """
    flat_a = a.memory.T.ravel() if a_transposed and a.memory.ndim == 2 else a.memory.ravel()
    flat_b = b.memory.T.ravel() if b_transposed and b.memory.ndim == 2 else b.memory.ravel()
    flat_c = c.memory.ravel()
    position = type(extents.m)(cuda.grid(1))
    if position < extents.m * extents.n * batch:
        matrix = position // (extents.m * extents.n)
        within = position % (extents.m * extents.n)
        row, column = within // extents.n, within % extents.n
        place_a = matrix * a.batch + (row if a_transposed else row * a.pitch)
        place_b = matrix * b.batch + (column * b.pitch if b_transposed else column)
        step_a = a.pitch if a_transposed else type(extents.m)(1)
        step_b = type(extents.m)(1) if b_transposed else b.pitch
        total = accumulator(0)
        for _ in range(extents.k):
            total = multiply_add(accumulator(flat_a[place_a]), accumulator(flat_b[place_b]), total, whole)
            place_a += step_a
            place_b += step_b
        store_element(total, flat_c, matrix * c.batch + row * c.pitch + column, matrix, row, column, factors, epilogue)
