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

_WARP = 32
_AT_ONCE = 8  # loads of a thread


class Solve(NamedTuple):
    """What is known of a solve when its kernel is compiled.

    ``width``: unknowns of a step; ``threads`` of a block; ``warp``: the first warp alone finds a step's unknowns;
    ``rows``: elements of a row lie side by side, else those of a column; ``lanes``: real elements taken at once by a
    thread, or 1; ``number``: dtype of elements; ``staged``: the diagonal block is brought to shared memory.
    """

    width: int
    threads: int
    rows: bool
    lanes: int
    vector: Any
    number: Any
    is_complex: bool
    staged: bool
    warp: bool


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
def coefficient(value, t, is_complex: cuda.constexpr):
    """An element of the triangle, of what the memory has: its conjugate, if elements are conjugated."""
    if is_complex:
        value = value.conjugate() if t.conjugate != 0 else value
    return value


@cuda.jit(device=True)
def _value(t, place, solve: cuda.constexpr):
    """An element of the triangle."""
    return coefficient(t.m.memory[place], t, solve.is_complex)


@cuda.jit(device=True)
def _element(t, i, j, solve):
    """Element (i, j) of the triangle."""
    line, other = (i, j) if solve.rows else (j, i)
    return _value(t, start_of(t.m, line) + other, solve)


@cuda.jit(device=True)
def _find(t, found, tile, step, thread, lower, unit, crew: cuda.constexpr, solve: cuda.constexpr):
    """Column after column by ``crew`` threads; a value that was found is left when nobody reads its place any more."""
    kind = type(step.begin)
    held = step.end - step.begin
    known = solve.number(0)
    before = kind(0)
    for turn in range(kind(0), held, kind(1)):
        j = turn if lower else held - 1 - turn
        if solve.warp:
            cuda.syncwarp()
        elif crew > 1:
            cuda.syncthreads()
        if thread == 0 and turn > 0:
            found[before] = known
        known = found[j]
        before = j
        if not unit:
            if solve.staged:
                known = known / tile[j * (solve.width + 1) + j]
            else:
                known = known / _element(t, step.begin + j, step.begin + j, solve)
        first = j + 1 if lower else kind(0)
        last = held if lower else j
        for i in range(first + thread, last, kind(crew)):
            if solve.staged:
                found[i] -= tile[i * (solve.width + 1) + j] * known
            else:
                found[i] -= _element(t, step.begin + i, step.begin + j, solve) * known
    if solve.warp:
        cuda.syncwarp()
    elif crew > 1:
        cuda.syncthreads()
    if thread == 0:
        found[before] = known


@cuda.jit(device=True)
def _solve_diagonal(t, found, tile, step, thread, solve: cuda.constexpr):
    """Solve for a step's unknowns: column after column, ``found`` is what is left and becomes the solution."""
    lower, unit = t.m.shape == LOWER, t.m.diagonal == UNIT
    kind = type(thread)
    if solve.staged:
        _stage(t, tile, step, thread, lower, solve)
        cuda.syncthreads()
    if not solve.warp:
        _find(t, found, tile, step, thread, lower, unit, solve.threads, solve)
    elif thread < kind(_WARP):
        _find(t, found, tile, step, thread, lower, unit, _WARP, solve)
    if solve.threads > 1:
        cuda.syncthreads()


@cuda.jit(device=True)
def _stage(t, tile, step, thread, lower, solve: cuda.constexpr):
    """The diagonal block to shared memory; loads in groups, since a thread would wait for each one."""
    kind = type(step.begin)
    held = step.end - step.begin
    part = cuda.local.array(_AT_ONCE, solve.number)
    for begin in range(kind(0), held * held, kind(solve.threads * _AT_ONCE)):
        for u in cuda.unroll(range(_AT_ONCE)):
            place = begin + kind(u * solve.threads) + thread
            row, column = _row_and_column(place, held, solve)
            part[u] = solve.number(0)
            if row < held and column < held and ((column <= row) == lower or column == row):
                part[u] = _element(t, step.begin + row, step.begin + column, solve)
        for u in cuda.unroll(range(_AT_ONCE)):
            place = begin + kind(u * solve.threads) + thread
            row, column = _row_and_column(place, held, solve)
            if row < held and column < held:
                tile[row * (solve.width + 1) + column] = part[u]


@cuda.jit(device=True)
def _row_and_column(place, held, solve: cuda.constexpr):
    """Of an element of the diagonal block, by its number: neighbours in memory follow one another."""
    line, other = place // held, place % held
    return (line, other) if solve.rows else (other, line)


@cuda.jit(device=True)
def _take(t, left, found, i, step, solve):
    """Take the terms of a step's unknowns from row i, one after the other."""
    kind = type(i)
    total = solve.number(0)
    place = start_of(t.m, i if solve.rows else step.begin) + (step.begin if solve.rows else i)
    held = step.end - step.begin
    done = kind(0)
    if solve.threads > 1:  # loads in groups, since a thread would wait for each one
        part = cuda.local.array(_AT_ONCE, solve.number)
        done = held // kind(_AT_ONCE) * kind(_AT_ONCE)
        for group in range(kind(0), done, kind(_AT_ONCE)):
            for u in cuda.unroll(range(_AT_ONCE)):
                part[u] = _value(t, place, solve)
                place += kind(1) if solve.rows else t.m.pitch + (step.begin + group + kind(u)) * t.m.growth
            for u in cuda.unroll(range(_AT_ONCE)):
                total += part[u] * found[group + kind(u)]
    for j in range(done, held, kind(1)):
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
