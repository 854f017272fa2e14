"""Triangular solves with one right-hand side, block by block along the diagonal; in the dialect.

A launch is one step: each block of threads solves the same few unknowns again, which is cheaper than to wait for
another launch, and takes their terms from rows of its own. The vector of what is left lies beside the solution, so that
no block reads what another writes.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.variants.vector.kernels import sum_of_lanes
from portagpu.blas.level2.products.form import PITCHED
from portagpu.blas.level2.products.lines import start_of


class Solve(NamedTuple):
    """What is known of a solve when its kernel is compiled.

    ``width``: unknowns of a step; ``threads`` of a block; ``lower``: from the first unknown on, else from the last one;
    ``unit``: the diagonal is ones; ``conjugate``: of elements; ``rows``: elements of a row lie side by side, else those
    of a column; ``lanes``: real elements taken at once by a thread, or 1; ``number``: dtype of elements; ``staged``:
    the diagonal block is brought to shared memory; ``layout``: `PITCHED`, or that of a packed triangle.
    """

    width: int
    threads: int
    lower: bool
    unit: bool
    conjugate: bool
    rows: bool
    lanes: int
    vector: Any
    number: Any
    staged: bool
    layout: int = PITCHED


class Step(NamedTuple):
    """Unknowns from ``begin`` up to ``end``, and rows from ``first`` up to ``last`` that they are taken from."""

    begin: Any
    end: Any
    first: Any
    last: Any


@cuda.jit(device=True)
def _element(m, i, j, solve):
    """Element (i, j) of the triangle."""
    line, other = (i, j) if solve.rows else (j, i)
    value = m.memory[start_of(m, line, solve.layout, 1) + other]
    return value.conjugate() if solve.conjugate else value


@cuda.jit(device=True)
def _solve_diagonal(m, found, tile, step, thread, solve: cuda.constexpr):
    """Solve for a step's unknowns: column after column, ``found`` is what is left and becomes the solution."""
    kind = type(step.begin)
    held = step.end - step.begin
    if solve.staged:
        for t in range(thread, held * held, kind(solve.threads)):
            row = t // held if solve.rows else t % held
            column = t % held if solve.rows else t // held
            if (column <= row) == solve.lower or column == row:
                tile[row * (solve.width + 1) + column] = _element(m, step.begin + row, step.begin + column, solve)
    for turn in range(kind(0), held, kind(1)):
        j = turn if solve.lower else held - 1 - turn
        if solve.threads > 1:
            cuda.syncthreads()
        if not solve.unit:
            if thread == 0:
                if solve.staged:
                    found[j] = found[j] / tile[j * (solve.width + 1) + j]
                else:
                    found[j] = found[j] / _element(m, step.begin + j, step.begin + j, solve)
            if solve.threads > 1:
                cuda.syncthreads()
        known = found[j]
        first = j + 1 if solve.lower else kind(0)
        last = held if solve.lower else j
        for i in range(first + thread, last, kind(solve.threads)):
            if solve.staged:
                found[i] -= tile[i * (solve.width + 1) + j] * known
            else:
                found[i] -= _element(m, step.begin + i, step.begin + j, solve) * known
    if solve.threads > 1:
        cuda.syncthreads()


@cuda.jit(device=True)
def _take(m, left, found, i, step, solve):
    """Take the terms of a step's unknowns from row i, one after the other."""
    total = solve.number(0)
    for j in range(type(i)(0), step.end - step.begin, type(i)(1)):
        total += _element(m, i, step.begin + j, solve) * found[j]
    left[i] -= total


@cuda.jit(device=True)
def _take_along(m, left, found, i, step, solve):
    """As `_take`, a row's elements in vectors."""
    kind, lanes, vector = type(i), solve.lanes, solve.vector
    held = step.end - step.begin
    whole = held // lanes * lanes
    acc = vector(0)
    place = start_of(m, i, solve.layout, 1) + step.begin
    for j in range(kind(0), whole, kind(lanes)):
        acc = cuda.fma(vector(cuda.vload(m.memory, place + j, lanes)), vector(cuda.vload(found, j, lanes)), acc)
    total = sum_of_lanes(acc, lanes)
    for j in range(whole, held, kind(1)):
        total = cuda.fma(m.memory[place + j], found[j], total)
    left[i] -= total


@cuda.jit(device=True)
def _take_across(m, left, found, i, step, solve):
    """As `_take`, from a vector of rows."""
    kind, lanes, vector = type(i), solve.lanes, solve.vector
    acc = vector(0)
    for j in range(kind(0), step.end - step.begin, kind(1)):
        column = vector(cuda.vload(m.memory, start_of(m, step.begin + j, solve.layout, 1) + i, lanes))
        acc = cuda.fma(column, vector(found[j]), acc)
    cuda.vstore(vector(cuda.vload(left, i, lanes)) - acc, left, i)


@cuda.jit
def solve_step(m, left, x, step, strip, solve: cuda.constexpr):
    """One step of ``T x = b``: m: a `Sheet` of T's elements, left: what is left of b, x: the `Vector` of the solution.

    A block has ``strip`` rows; the first one stores the solution, too.
    """
    kind = type(strip)
    thread = kind(cuda.threadIdx.x)
    found = cuda.shared.array(solve.width, solve.number)
    tile = cuda.shared.array(solve.width * (solve.width + 1) if solve.staged else 1, solve.number)
    for i in range(thread, step.end - step.begin, kind(solve.threads)):
        found[i] = left[step.begin + i]
    if solve.threads > 1:
        cuda.syncthreads()
    _solve_diagonal(m, found, tile, step, thread, solve)
    if cuda.blockIdx.x == 0:
        for i in range(thread, step.end - step.begin, kind(solve.threads)):
            x.memory[x.first + type(x.first)(step.begin + i) * x.step] = found[i]
    first = min(step.first + kind(cuda.blockIdx.x) * strip, step.last)
    last = min(first + strip, step.last)
    if solve.lanes == 1:
        for i in range(first + thread, last, kind(solve.threads)):
            _take(m, left, found, i, step, solve)
    elif solve.rows:
        for i in range(first + thread, last, kind(solve.threads)):
            _take_along(m, left, found, i, step, solve)
    else:
        whole = first + (last - first) // solve.lanes * solve.lanes
        for i in range(first + thread * solve.lanes, whole, kind(solve.threads * solve.lanes)):
            _take_across(m, left, found, i, step, solve)
        for i in range(whole + thread, last, kind(solve.threads)):
            _take(m, left, found, i, step, solve)
