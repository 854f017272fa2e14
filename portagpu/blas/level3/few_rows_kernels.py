"""Triangular systems of few rows, each by one thread; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from portagpu import cuda


@cuda.jit
def substitute_few_rows(a, b, n, m, alpha, unit, conjugate: cuda.constexpr):
    """``b = inv(a) @ (alpha * b)`` for lower triangles of n rows and m right sides, both `Strided`.

    The diagonal is ones if ``unit`` is not 0. A block of one thread for each matrix.
    """
    kind = type(n)
    matrix = kind(cuda.blockIdx.x)
    triangle = a.first + matrix * a.batch
    sides = b.first + matrix * b.batch
    for column in range(m):
        at = sides + column * b.right
        for row in range(n):
            value = alpha * b.memory[at + row * b.down]
            for k in range(row):
                factor = a.memory[triangle + row * a.down + k * a.right]
                if conjugate:
                    factor = factor.conjugate()
                value -= factor * b.memory[at + k * b.down]
            if unit == 0:
                pivot = a.memory[triangle + row * (a.down + a.right)]
                if conjugate:
                    pivot = pivot.conjugate()
                value = value / pivot
            b.memory[at + row * b.down] = value
