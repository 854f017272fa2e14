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
from portagpu.blas.level2.products.form import LOWER, UNIT
from portagpu.blas.level2.products.lines import start_of


class Solve(NamedTuple):
    """What is known of a solve when its kernel is compiled.

    ``width``: unknowns of a step; ``threads`` of a block; ``rows``: elements of a row lie side by side, else those of a
    column; ``lanes``: real elements taken at once by a thread, or 1; ``number``: dtype of elements; ``staged``: the
    diagonal block is brought to shared memory.
    """

    width: int
    threads: int
    rows: bool
    lanes: int
    vector: Any
    number: Any
    is_complex: bool
    staged: bool


class Triangle(NamedTuple):
    """A triangle to solve with: its elements, a `Sheet`; ``conjugate``: not 0 if they are conjugated.

    ``m.shape``: `LOWER` is solved from the first unknown on, else from the last one; ``m.diagonal``: `READ` or `UNIT`.
    """

    m: Any
    conjugate: Any


class Step(NamedTuple):
    """Unknowns from ``begin`` up to ``end``, and rows from ``first`` up to ``last`` that they are taken from."""

    begin: Any
    end: Any
    first: Any
    last: Any


@cuda.jit(device=True)
def _value(t, place, solve: cuda.constexpr):
    """An element of the triangle."""
    value = t.m.memory[place]
    if solve.is_complex:
        value = value.conjugate() if t.conjugate != 0 else value
    return value


@cuda.jit(device=True)
def _element(t, i, j, solve):
    """Element (i, j) of the triangle."""
    line, other = (i, j) if solve.rows else (j, i)
    return _value(t, start_of(t.m, line) + other, solve)


@cuda.jit(device=True)
def _solve_diagonal(t, found, tile, step, thread, solve: cuda.constexpr):
    """Solve for a step's unknowns: column after column, ``found`` is what is left and becomes the solution."""
    kind = type(step.begin)
    held = step.end - step.begin
    lower, unit = t.m.shape == LOWER, t.m.diagonal == UNIT
    if solve.staged:
        for place in range(thread, held * held, kind(solve.threads)):
            row = place // held if solve.rows else place % held
            column = place % held if solve.rows else place // held
            if (column <= row) == lower or column == row:
                tile[row * (solve.width + 1) + column] = _element(t, step.begin + row, step.begin + column, solve)
    for turn in range(kind(0), held, kind(1)):
        j = turn if lower else held - 1 - turn
        if solve.threads > 1:
            cuda.syncthreads()
        if not unit:
            if thread == 0:
                if solve.staged:
                    found[j] = found[j] / tile[j * (solve.width + 1) + j]
                else:
                    found[j] = found[j] / _element(t, step.begin + j, step.begin + j, solve)
            if solve.threads > 1:
                cuda.syncthreads()
        known = found[j]
        first = j + 1 if lower else kind(0)
        last = held if lower else j
        for i in range(first + thread, last, kind(solve.threads)):
            if solve.staged:
                found[i] -= tile[i * (solve.width + 1) + j] * known
            else:
                found[i] -= _element(t, step.begin + i, step.begin + j, solve) * known
    if solve.threads > 1:
        cuda.syncthreads()


@cuda.jit(device=True)
def _take(t, left, found, i, step, solve):
    """Take the terms of a step's unknowns from row i, one after the other."""
    kind = type(i)
    total = solve.number(0)
    place = start_of(t.m, i if solve.rows else step.begin) + (step.begin if solve.rows else i)
    for j in range(kind(0), step.end - step.begin, kind(1)):
        total += _value(t, place, solve) * found[j]
        place += kind(1) if solve.rows else t.m.pitch + (step.begin + j) * t.m.growth  # the next line
    left[i] -= total


@cuda.jit(device=True)
def _take_along(t, left, found, i, step, solve):
    """As `_take`, a row's elements in vectors."""
    kind, lanes, vector = type(i), solve.lanes, solve.vector
    held = step.end - step.begin
    whole = held // lanes * lanes
    acc = vector(0)
    place = start_of(t.m, i) + step.begin
    for j in range(kind(0), whole, kind(lanes)):
        acc = cuda.fma(vector(cuda.vload(t.m.memory, place + j, lanes)), vector(cuda.vload(found, j, lanes)), acc)
    total = sum_of_lanes(acc, lanes)
    for j in range(whole, held, kind(1)):
        total = cuda.fma(t.m.memory[place + j], found[j], total)
    left[i] -= total


@cuda.jit(device=True)
def _take_across(t, left, found, i, step, solve):
    """As `_take`, from a vector of rows."""
    kind, lanes, vector = type(i), solve.lanes, solve.vector
    acc = vector(0)
    place = start_of(t.m, step.begin) + i
    for j in range(kind(0), step.end - step.begin, kind(1)):
        acc = cuda.fma(vector(cuda.vload(t.m.memory, place, lanes)), vector(found[j]), acc)
        place += t.m.pitch + (step.begin + j) * t.m.growth  # the next line
    cuda.vstore(vector(cuda.vload(left, i, lanes)) - acc, left, i)


@cuda.jit
def solve_step(t, left, x, step, strip, solve: cuda.constexpr):
    """One step of ``T x = b``: t: a `Triangle`, left: what is left of b, x: the `Vector` of the solution.

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
    _solve_diagonal(t, found, tile, step, thread, solve)
    if cuda.blockIdx.x == 0:
        for i in range(thread, step.end - step.begin, kind(solve.threads)):
            x.memory[x.first + type(x.first)(step.begin + i) * x.step] = found[i]
    first = min(step.first + kind(cuda.blockIdx.x) * strip, step.last)
    last = min(first + strip, step.last)
    if solve.lanes == 1:
        for i in range(first + thread, last, kind(solve.threads)):
            _take(t, left, found, i, step, solve)
    elif solve.rows:
        for i in range(first + thread, last, kind(solve.threads)):
            _take_along(t, left, found, i, step, solve)
    else:
        whole = first + (last - first) // solve.lanes * solve.lanes
        for i in range(first + thread * solve.lanes, whole, kind(solve.threads * solve.lanes)):
            _take_across(t, left, found, i, step, solve)
        for i in range(whole + thread, last, kind(solve.threads)):
            _take(t, left, found, i, step, solve)
