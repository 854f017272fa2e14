"""Products of bands with vectors on CPUs: a block is one thread, which has some rows; in the dialect.

It reads columns, diagonals or rows, whichever lie side by side, with vectors, and keeps sums for its rows in memory
that stays in the nearest cache. Numbers are real: complex ones are pairs, multiplied as `products.form` describes.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.gemm.variants.vector.kernels import sum_of_lanes
from portagpu.blas.level2.bands.elements import place_of, subscript
from portagpu.blas.level2.bands.storage import ACROSS, ALONG, REAL_DIAGONAL
from portagpu.blas.level2.products.vector_kernels import store

SUBTOTAL = 512
"""Columns or diagonals after which sums of numbers are added to those of elements, so that they lose no digits."""

SHORT = 4
"""Lanes of the vectors that take what is left of longer ones."""


class WalkPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``rows`` of a block, a multiple of the lanes of ``vector``; ``short``: a vector of `SHORT` lanes, of the type
    ``number``; ``numbers`` of an element; ``parts``, ``diagonal``: see `storage`.
    """

    rows: int
    numbers: int
    number: Any
    vector: Any
    short: Any
    parts: tuple[Any, ...]
    diagonal: int


@cuda.jit(device=True)
def _clear(memory, size: cuda.constexpr, plan):
    for c in range(0, size, plan.vector.lanes):
        cuda.vstore(plan.vector(0), memory, c)


@cuda.jit(device=True)
def _flush(acc, out, plan, part):
    """Add sums of numbers to those of elements, and begin anew."""
    width = plan.rows * plan.numbers
    if plan.numbers == 1:
        for c in range(0, width, plan.vector.lanes):
            total = plan.vector(cuda.vload(out, c, plan.vector.lanes)) + cuda.vload(acc, c, plan.vector.lanes)
            cuda.vstore(total, out, c)
    else:
        for i in range(plan.rows):
            one, two = acc[2 * i], acc[2 * i + 1]
            other, last = acc[width + 2 * i], acc[width + 2 * i + 1]
            if part.order == ACROSS:
                out[2 * i] += one + last if part.conjugated else one - last
                out[2 * i + 1] += other - two if part.conjugated else other + two
            else:
                out[2 * i] += one - two if part.conjugated else one + two
                out[2 * i + 1] += other - last if part.conjugated else other + last
    _clear(acc, plan.numbers * width, plan)


@cuda.jit(device=True)
def _add_vectors(a, x, acc, place, at, given, own, begin, end, columns, vector: cuda.constexpr, plan, part):
    """``acc[at + c] += a[place + c] * x``, in vectors; x: ``own``, or numbers from ``given`` on."""
    lanes = vector.lanes
    for c in range(begin, end, type(place)(lanes)):
        found = vector(cuda.vload(a.memory, subscript(place + c), lanes))
        for v in cuda.unroll(range(plan.numbers)):
            where = subscript(at + v * plan.rows * plan.numbers + c)
            total = vector(cuda.vload(acc, where, lanes))
            if part.order == ACROSS:
                total = cuda.fma(found, vector(own[v]), total)
            else:
                factor = vector(cuda.vload(x.memory, subscript(given + v * columns + c), lanes))
                total = cuda.fma(found, factor, total)
            cuda.vstore(total, acc, where)


@cuda.jit(device=True)
def _add_line(a, x, acc, place, at, given, own, count, columns, plan, part):
    """As `_add_vectors`, for all ``count`` numbers of a column or diagonal."""
    whole = count // plan.vector.lanes * plan.vector.lanes
    _add_vectors(a, x, acc, place, at, given, own, type(place)(0), whole, columns, plan.vector, plan, part)
    rest = whole
    if plan.vector.lanes > SHORT:
        rest = whole + (count - whole) // SHORT * SHORT
        _add_vectors(a, x, acc, place, at, given, own, whole, rest, columns, plan.short, plan, part)
    for c in range(rest, count):
        value = a.memory[subscript(place + c)]
        for v in cuda.unroll(range(plan.numbers)):
            where = subscript(at + v * plan.rows * plan.numbers + c)
            factor = own[v] if part.order == ACROSS else x.memory[subscript(given + v * columns + c)]
            acc[where] = cuda.fma(value, factor, acc[where])


@cuda.jit(device=True)
def _add_columns(a, x, acc, out, top, bottom, within, window, columns, plan, part):
    """Add the part's columns, each as far as it is in the block's rows."""
    numbers = plan.numbers
    own = cuda.local.array(numbers, plan.number)
    begin, end = max(within.left, top + window.low), min(within.right, bottom - 1 + window.high)
    for chunk in range(begin, end, type(top)(SUBTOTAL)):
        for j in range(chunk, min(end, chunk + SUBTOTAL)):
            first, last = max(top, j - window.high + 1), min(bottom, j - window.low + 1)
            for v in cuda.unroll(range(numbers)):
                own[v] = x.memory[subscript(x.across + v * (columns // numbers) + j)]
            place = place_of(a, first, j, part) * numbers
            count = (last - first) * numbers
            _add_line(a, x, acc, place, (first - top) * numbers, place, own, count, columns, plan, part)
        _flush(acc, out, plan, part)


@cuda.jit(device=True)
def _add_diagonals(a, x, acc, out, top, bottom, within, window, columns, plan, part):
    """Add the part's diagonals, each as far as it is in the block's rows."""
    numbers = plan.numbers
    own = cuda.local.array(numbers, plan.number)
    for v in cuda.unroll(range(numbers)):
        own[v] = plan.number(0)
    for chunk in range(window.low, window.high, type(top)(SUBTOTAL)):
        for d in range(chunk, min(window.high, chunk + SUBTOTAL)):
            first, last = max(top, within.left - d), min(bottom, within.right - d)
            place, given = place_of(a, first, first + d, part) * numbers, x.along + (first + d) * numbers
            count = (last - first) * numbers
            if count > 0:
                _add_line(a, x, acc, place, (first - top) * numbers, given, own, count, columns, plan, part)
        _flush(acc, out, plan, part)


@cuda.jit(device=True)
def _add_rows(a, x, out, top, bottom, within, window, columns, plan, part):
    """Add the part's rows, a sum for each."""
    numbers, vector = plan.numbers, plan.vector
    lanes = vector.lanes
    acc = cuda.local.array(numbers, vector)
    rest = cuda.local.array(numbers, plan.number)
    for i in range(top, bottom):
        begin, end = max(within.left, i + window.low), min(within.right, i + window.high)
        place, given = place_of(a, i, begin, part) * numbers, x.along + begin * numbers
        count = max(end - begin, type(i)(0)) * numbers
        whole = count // lanes * lanes
        for v in cuda.unroll(range(numbers)):
            acc[v] = vector(0)
            rest[v] = plan.number(0)
        for c in range(type(i)(0), whole, type(i)(lanes)):
            found = vector(cuda.vload(a.memory, subscript(place + c), lanes))
            for v in cuda.unroll(range(numbers)):
                factor = vector(cuda.vload(x.memory, subscript(given + v * columns + c), lanes))
                acc[v] = cuda.fma(found, factor, acc[v])
        for c in range(whole, count):
            value = a.memory[subscript(place + c)]
            for v in cuda.unroll(range(numbers)):
                rest[v] = cuda.fma(value, x.memory[subscript(given + v * columns + c)], rest[v])
        for v in cuda.unroll(range(numbers)):
            out[subscript((i - top) * numbers + v)] += sum_of_lanes(acc[v], lanes) + rest[v]


@cuda.jit(device=True)
def _finish(a, x, y, out, top, bottom, within, alpha, beta, columns, plan):
    """Make y of the sums of elements."""
    numbers = plan.numbers
    total = cuda.local.array(numbers, plan.number)
    for i in range(top, bottom):
        for v in cuda.unroll(range(numbers)):
            total[v] = out[subscript((i - top) * numbers + v)]
        if plan.diagonal and i < within.right:
            factor = plan.number(1)
            if plan.diagonal == REAL_DIAGONAL:
                factor = a.memory[subscript(place_of(a, i, i, plan.parts[0]) * numbers)]
            for v in cuda.unroll(range(numbers)):
                total[v] += factor * x.memory[subscript(x.across + v * (columns // numbers) + i)]
        store(y, i, total, alpha, beta, numbers)


@cuda.jit(block_dim=(1, 1, 1))
def walk_rows(a, x, y, within, windows, columns, alpha, beta, plan: cuda.constexpr):
    """``y = alpha * op(A) @ x + beta * y`` for the rows and columns of a `Range`.

    a: a `Band` of real numbers; x: a `Given`; y: a `Vector` of real numbers; windows: a `Window` for each part;
    columns: numbers of x. Blocks take ``plan.rows`` rows at a time.
    """
    width = plan.rows * plan.numbers
    acc = cuda.shared.array(plan.numbers * width, plan.number)
    out = cuda.shared.array(width, plan.number)
    kind = type(within.first)
    step = kind(plan.rows) * kind(cuda.gridDim.x)
    _clear(acc, plan.numbers * width, plan)
    for top in range(within.first + kind(plan.rows) * kind(cuda.blockIdx.x), within.last, step):
        bottom = min(within.last, top + kind(plan.rows))
        _clear(out, width, plan)
        for number in cuda.unroll(range(len(plan.parts))):
            part, window = plan.parts[number], windows[number]
            if part.order == ACROSS:
                _add_columns(a, x, acc, out, top, bottom, within, window, columns, plan, part)
            elif part.order == ALONG:
                _add_rows(a, x, out, top, bottom, within, window, columns, plan, part)
            else:
                _add_diagonals(a, x, acc, out, top, bottom, within, window, columns, plan, part)
        _finish(a, x, y, out, top, bottom, within, alpha, beta, columns, plan)
