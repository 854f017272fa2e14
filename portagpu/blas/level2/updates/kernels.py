"""Outer products added to the lines of a matrix, or of a triangle, in whole vectors; in the dialect.

Real numbers throughout: a complex ``s * w``, added to a line, is ``re(s) * (re(w), im(w)) + im(s) * (-im(w), re(w))``,
two terms of real vectors.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.level2.products.form import FULL, LOWER, REAL, UPPER
from portagpu.blas.level2.products.lines import start_of


class Update(NamedTuple):
    """What is known of an update when its kernel is compiled.

    ``parts``: numbers of an element; ``terms`` that are added to each number. A block has ``threads_x`` threads along a
    line and ``threads_y`` lines at a time, of ``vectors`` vectors of type ``vector``; where it is one thread, that has
    so many at a time.
    """

    parts: int
    terms: int
    threads_x: int
    threads_y: int
    vectors: int
    vector: Any
    aligned: bool


class Terms(NamedTuple):
    """Number c of line i gets ``memory[t * lines + i] * memory[first + t * columns + c]`` for each term t."""

    memory: Any
    first: Any


@cuda.jit
def pack_factors(x, packed, n, first, alpha, sign, parts: cuda.constexpr):
    """alpha times a vector (its conjugate: ``sign`` -1), real parts from ``packed[first]`` on, then imaginary ones."""
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    if i < n:
        place = (x.first + type(x.first)(i) * x.step) * parts
        re = x.memory[place]
        if parts == 1:
            packed[first + i] = alpha.re * re
        else:
            im = sign * x.memory[place + 1]
            packed[first + i] = alpha.re * re - alpha.im * im
            packed[first + n + i] = alpha.re * im + alpha.im * re


@cuda.jit
def pack_vector(x, packed, n, first, sign, parts: cuda.constexpr):
    """A vector (its conjugate: ``sign`` -1) from ``packed[first]`` on, and after it that times the imaginary unit."""
    kind = type(n)
    i = kind(cuda.blockIdx.x) * kind(cuda.blockDim.x) + kind(cuda.threadIdx.x)
    if i < n:
        place = (x.first + type(x.first)(i) * x.step) * parts
        re = x.memory[place]
        if parts == 1:
            packed[first + i] = re
        else:
            im = sign * x.memory[place + 1]
            packed[first + 2 * i] = re
            packed[first + 2 * i + 1] = im
            packed[first + 2 * n + 2 * i] = -im
            packed[first + 2 * n + 2 * i + 1] = re


@cuda.jit(device=True)
def _updated(m, x, own, place, c, extents, update):
    """A number of a line with the terms."""
    value = m.memory[place + c]
    for t in cuda.unroll(range(update.terms)):
        value = cuda.fma(own[t], x.memory[x.first + t * extents.columns + c], value)
    return value


@cuda.jit(device=True)
def _update_line(m, x, own, place, begin, end, thread, extents, update):
    """Add the terms to numbers of a line, from ``begin`` up to ``end``."""
    lanes, vector, across = update.vector.lanes, update.vector, update.threads_x
    kind = type(begin)
    head = min((begin + (lanes - 1)) // lanes * lanes, end)
    whole = head + (end - head) // lanes * lanes
    for c in range(begin + thread, head, kind(across)):
        m.memory[place + c] = _updated(m, x, own, place, c, extents, update)
    start = head
    if update.vectors > 1:  # of a thread that walks: some are on their way before the first one is used
        values = cuda.local.array(update.vectors, vector)
        step = update.vectors * lanes
        start = head + (end - head) // step * step
        for c in range(head, start, kind(step)):
            for u in cuda.unroll(range(update.vectors)):
                values[u] = vector(cuda.vload(m.memory, place + (c + u * lanes), lanes, aligned=update.aligned))
            for t in cuda.unroll(range(update.terms)):
                for u in cuda.unroll(range(update.vectors)):
                    other = x.first + t * extents.columns + (c + u * lanes)
                    values[u] = cuda.fma(vector(own[t]), vector(cuda.vload(x.memory, other, lanes)), values[u])
            for u in cuda.unroll(range(update.vectors)):
                cuda.vstore(values[u], m.memory, place + (c + u * lanes), aligned=update.aligned)
    for c in range(start + thread * lanes, whole, kind(across * lanes)):
        value = vector(cuda.vload(m.memory, place + c, lanes, aligned=update.aligned))
        for t in cuda.unroll(range(update.terms)):
            given = vector(cuda.vload(x.memory, x.first + t * extents.columns + c, lanes))
            value = cuda.fma(vector(own[t]), given, value)
        cuda.vstore(value, m.memory, place + c, aligned=update.aligned)
    for c in range(whole + thread, end, kind(across)):
        m.memory[place + c] = _updated(m, x, own, place, c, extents, update)


@cuda.jit
def add_outer(m, x, extents, tiling, update: cuda.constexpr):
    """Add terms to each number of a sheet: m: a `Sheet`, x: `Terms`; a block for each part of the `Tiling`.

    Of a `REAL` diagonal, imaginary parts are not read, and become zero. Blocks take strips from both ends in turn:
    those of a triangle are long at one end.
    """
    parts, across = update.parts, update.threads_x
    kind = type(extents.lines)
    own = cuda.local.array(update.terms, type(x.memory[0]))
    strips = (extents.lines + (tiling.strip - 1)) // tiling.strip
    chunks = (extents.columns + (tiling.chunk - 1)) // tiling.chunk
    block = kind(cuda.blockIdx.x)
    tile = block >> 1
    if block & 1:
        tile = strips * chunks - 1 - tile
    strip, chunk = tile // chunks, tile % chunks
    thread = kind(cuda.threadIdx.x)
    last = min((strip + 1) * tiling.strip, extents.lines)
    for line in range(strip * tiling.strip + thread // across, last, kind(update.threads_y)):
        begin, end = chunk * tiling.chunk, min((chunk + 1) * tiling.chunk, extents.columns)
        diagonal = line * parts
        has_diagonal = m.shape != FULL and diagonal >= begin and diagonal < end
        if m.shape == LOWER:
            end = min(end, diagonal if m.diagonal == REAL else diagonal + parts)
        if m.shape == UPPER:
            begin = max(begin, diagonal + parts if m.diagonal == REAL else diagonal)
        place = start_of(m, line)
        for t in cuda.unroll(range(update.terms)):
            own[t] = x.memory[t * extents.lines + line]
        if begin < end:
            _update_line(m, x, own, place, begin, end, thread % across, extents, update)
        if parts == 2 and m.diagonal == REAL and has_diagonal and thread % across == 0:
            m.memory[place + diagonal] = _updated(m, x, own, place, diagonal, extents, update)
            m.memory[place + diagonal + 1] = 0
