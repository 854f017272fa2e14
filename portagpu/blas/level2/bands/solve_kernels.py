"""Triangular systems with bands, by one block that walks along the diagonal; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level2.bands.elements import element, subscript, vector_element
from portagpu.blas.level2.bands.row_kernels import SUBTOTAL
from portagpu.blas.level2.bands.storage import ALONG


class SolvePlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``rows``: unknowns of a step; ``lanes``: threads of each; ``part``: the triangle's `Part`; ``unit``: the diagonal is
    ones; ``forward``: op(A) is a lower triangle.
    """

    dtype: Any
    rows: int
    lanes: int
    part: Any
    unit: bool
    forward: bool


@cuda.jit(device=True)
def _known_terms(a, x, i, lane, known, window, plan):
    """The terms of row i with unknowns that are solved, those of a lane; known: the first and the end of these."""
    begin = max(known[0], i + window.low)
    end = min(known[1], i + window.high)
    total = plan.dtype(0)
    for chunk in range(begin, end, type(i)(plan.lanes * SUBTOTAL)):
        subtotal = plan.dtype(0)
        for j in range(chunk + lane, min(end, chunk + plan.lanes * SUBTOTAL), type(i)(plan.lanes)):
            subtotal += element(a, i, j, plan.part) * vector_element(x, j)
        total += subtotal
    return total


@cuda.jit
def solve_rows(a, x, first, last, window, plan: cuda.constexpr):
    """Solve ``op(A) @ x = b`` for the rows and columns from ``first`` up to ``last``; x: b before, the solution after.

    One block. a: a `Band`; x: a `Vector`; window: what a row has beside the diagonal. In each step a block of rows
    subtracts what is known, and then solves its own triangle, a column at a time (Golub, Van Loan: Matrix Computations,
    section 3.1).
    """
    rows, lanes = plan.rows, plan.lanes
    thread = type(first)(cuda.threadIdx.x)
    if rows > 1:
        triangle = cuda.shared.array((rows, rows + 1), plan.dtype)
        sums = cuda.shared.array((lanes, rows + 1), plan.dtype)
        solved = cuda.shared.array(rows, plan.dtype)
    for done in range(type(first)(0), last - first, type(first)(rows)):
        count = min(last - first - done, type(first)(rows))
        top = first + done if plan.forward else last - done - count
        known = (first, top) if plan.forward else (top + count, last)
        row, lane = (thread // lanes, thread % lanes) if plan.part.order == ALONG else (thread % rows, thread // rows)
        total = plan.dtype(0)
        if row < count:
            total = _known_terms(a, x, top + row, lane, known, window, plan)
        if rows == 1:
            value = vector_element(x, top) - total
            if not plan.unit:
                value = value / element(a, top, top, plan.part)
            x.memory[subscript(x.first + top * x.step)] = value
        else:
            sums[lane, row] = total
            for number in range(thread, type(first)(rows * rows), type(first)(rows * lanes)):
                i, j = (number // rows, number % rows) if plan.part.order == ALONG else (number % rows, number // rows)
                inside = i < count and j < count and j - i >= window.low and j - i < window.high
                if inside or (i == j and i < count and not plan.unit):
                    triangle[i, j] = element(a, top + i, top + j, plan.part)
                else:
                    triangle[i, j] = plan.dtype(1) if i == j else plan.dtype(0)
            cuda.syncthreads()
            value = plan.dtype(0)
            if thread < count:
                for other in cuda.unroll(range(lanes)):
                    value += sums[other, thread]
                value = vector_element(x, top + thread) - value
            for step in range(type(first)(rows)):
                column = step if plan.forward else type(first)(rows - 1) - step
                if thread == column:
                    if not plan.unit:
                        value = value / triangle[thread, thread]
                    solved[column] = value
                cuda.syncthreads()
                if thread < rows and ((thread > column) if plan.forward else (thread < column)):
                    value -= triangle[thread, column] * solved[column]
            if thread < count:
                x.memory[subscript(x.first + (top + thread) * x.step)] = value
            cuda.syncthreads()
