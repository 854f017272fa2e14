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
    m,
    n,
    k,
    a_pitch,
    a_batch,
    b_pitch,
    b_batch,
    c_pitch,
    c_batch,
    batch,
    alpha,
    beta,
    accumulator: cuda.constexpr,
    scaling: cuda.constexpr,
    whole: cuda.constexpr,
    a_transposed: cuda.constexpr,
    b_transposed: cuda.constexpr,
):
    """``c = alpha * a @ b + beta * c`` for ``batch`` products; see `operands` for the layouts.

    A one-dimensional grid has a thread for each element of c, columns first. Sums have the type ``accumulator``.
    """
    flat_a = a.T.ravel() if a_transposed and a.ndim == 2 else a.ravel()
    flat_b = b.T.ravel() if b_transposed and b.ndim == 2 else b.ravel()
    flat_c = c.ravel()
    position = type(m)(cuda.grid(1))
    if position < m * n * batch:
        matrix = position // (m * n)
        within = position % (m * n)
        row, column = within // n, within % n
        place_a = matrix * a_batch + (row if a_transposed else row * a_pitch)
        place_b = matrix * b_batch + (column * b_pitch if b_transposed else column)
        step_a = a_pitch if a_transposed else type(m)(1)
        step_b = type(m)(1) if b_transposed else b_pitch
        total = accumulator(0)
        for _ in range(k):
            total = multiply_add(accumulator(flat_a[place_a]), accumulator(flat_b[place_b]), total, whole)
            place_a += step_a
            place_b += step_b
        store_element(total, flat_c, matrix * c_batch + row * c_pitch + column, alpha, beta, scaling)
