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
):
    """``c = alpha * a @ b + beta * c`` for ``batch`` products; a, b: each a `StridedMatrix`, c: a `Matrix`, all flat.

    A one-dimensional grid has a thread for each element of c, columns first. Sums have the type ``accumulator``.
    """
    flat_a, flat_b, flat_c = a.memory, b.memory, c.memory
    position = type(extents.m)(cuda.grid(1))
    if position < extents.m * extents.n * batch:
        matrix = position // (extents.m * extents.n)
        within = position % (extents.m * extents.n)
        row, column = within // extents.n, within % extents.n
        place_a = matrix * a.batch + row * a.down
        place_b = matrix * b.batch + column * b.right
        total = accumulator(0)
        for _ in range(extents.k):
            total = multiply_add(accumulator(flat_a[place_a]), accumulator(flat_b[place_b]), total, whole)
            place_a += a.right
            place_b += b.down
        store_element(total, flat_c, matrix * c.batch + row * c.pitch + column, matrix, row, column, factors, epilogue)
