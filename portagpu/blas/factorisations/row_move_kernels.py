"""Moves of rows on GPUs, as a kernel lists them that has exchanged rows of a part of the matrix; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda


class MovePlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``rows``: at the top that others come to, at most; ``columns``: of a block; ``threads``, which divide ``rows *
    columns``; ``along``: the elements of a row are side by side.
    """

    rows: int
    columns: int
    threads: int
    number: Any
    along: bool


@cuda.jit
def move_rows(a, n, m, gap, wide, moves, plan: cuda.constexpr):
    """Rows ``moves[i]`` come to the first n rows i of a matrix of m columns, which go to ``moves[rows + i]``.

    a: a `Strided`. moves: int32 (2 * rows); where a row goes -1 if it stays among the first n. Of the m columns those
    from ``gap`` on lie behind ``wide`` others, which stay as they are. plan: a `MovePlan`. The grid is one-dimensional:
    a block for each strip of columns.
    """
    kind = type(m)
    rows, width = plan.rows, plan.columns
    each = rows * width // plan.threads
    upper = cuda.local.array(each, plan.number)
    lower = cuda.local.array(each, plan.number)
    thread = kind(cuda.threadIdx.x)
    column0 = kind(cuda.blockIdx.x) * kind(width)
    for u in cuda.unroll(range(each)):
        e = kind(u * plan.threads) + thread
        row = e // kind(width) if plan.along else e % kind(rows)
        column = column0 + (e % kind(width) if plan.along else e // kind(rows))
        upper[u] = plan.number(0)
        lower[u] = plan.number(0)
        if row < n and column < m:
            start = a.first + (column if column < gap else column + wide) * a.right
            lower[u] = a.memory[start + kind(moves[row]) * a.down]
            upper[u] = a.memory[start + row * a.down]
    cuda.syncthreads()
    for u in cuda.unroll(range(each)):
        e = kind(u * plan.threads) + thread
        row = e // kind(width) if plan.along else e % kind(rows)
        column = column0 + (e % kind(width) if plan.along else e // kind(rows))
        if row < n and column < m:
            start = a.first + (column if column < gap else column + wide) * a.right
            to = moves[kind(rows) + row]
            a.memory[start + row * a.down] = lower[u]
            if to >= np.int32(0):
                a.memory[start + kind(to) * a.down] = upper[u]
