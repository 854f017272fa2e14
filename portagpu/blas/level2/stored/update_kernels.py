"""Rank-one and rank-two updates of packed triangles, in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level2.stored.elements import place_of, subscript, vector_element
from portagpu.blas.level2.stored.storage import UPPER


class UpdatePlan(NamedTuple):
    """What is known when the kernel is compiled: threads of a block, the triangle's `Part`, how many vectors there are,
    and whether the matrix is Hermitian.
    """

    threads: int
    part: Any
    vectors: int
    hermitian: bool


@cuda.jit(device=True)
def _factor(alpha, value, hermitian: cuda.constexpr):
    return alpha * (value.conjugate() if hermitian else value)


@cuda.jit(device=True)
def _add_to_column(a, vectors, column, thread, alpha, plan):
    """``a[:, column] += alpha * x * y[column]``, and the same with x and y exchanged if there are two."""
    hermitian = plan.hermitian
    first = _factor(alpha, vector_element(vectors[plan.vectors - 1], column), hermitian)
    second = first
    if plan.vectors == 2:
        value = alpha * vector_element(vectors[0], column)
        second = value.conjugate() if hermitian else value
    begin = type(column)(0) if plan.part.storage == UPPER else column
    end = column + 1 if plan.part.storage == UPPER else a.order
    for row in range(begin + thread, end, type(column)(plan.threads)):
        added = vector_element(vectors[0], row) * first
        if plan.vectors == 2:
            added += vector_element(vectors[1], row) * second
        place = subscript(place_of(a, row, column, plan.part))
        if hermitian and row == column:
            a.memory[place] = type(added)(a.memory[place].real + added.real)
        else:
            a.memory[place] += added


@cuda.jit
def add_to_columns(a, vectors, alpha, plan: cuda.constexpr):
    """``a += alpha * x * x^T`` or ``alpha * (x * y^T + y * x^T)``, with conjugates if Hermitian.

    a: a `Stored` packed triangle; vectors: a tuple of one or two `Vector`. A block takes a short column with a long
    one, so that blocks have the same work.
    """
    thread = type(a.order)(cuda.threadIdx.x)
    for short in range(type(a.order)(cuda.blockIdx.x), (a.order + 1) // 2, type(a.order)(cuda.gridDim.x)):
        _add_to_column(a, vectors, short, thread, alpha, plan)
        if a.order - 1 - short != short:
            _add_to_column(a, vectors, a.order - 1 - short, thread, alpha, plan)
