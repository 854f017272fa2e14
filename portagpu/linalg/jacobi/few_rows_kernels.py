"""Singular and eigenvalues of matrices of few rows, each by one thread from beginning to end; in the dialect.

The method is that of `kernels`. A column of a matrix is a row of ``g``, and its right vector one of ``v``. Unit vectors
complete a basis: each time the one that is farthest from all columns before.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate, real_product
from portagpu.linalg.jacobi.edges import comes_before, element_at, larger, scale_of_largest, size_of
from portagpu.linalg.jacobi.kernels import products_of, turn_pair


@cuda.jit(device=True)
def _scale_of(a, start, n, m, edge: cuda.constexpr):
    """The power of two that brings the largest part of an m x n matrix to what is from 1/2 to 1."""
    largest = edge.real(0)
    for i in range(m):
        for j in range(n):
            largest = larger(largest, size_of(element_at(a, start, i, j, edge), edge), edge)
    return scale_of_largest(largest, edge)


@cuda.jit(device=True)
def _square(g, at, m, is_complex: cuda.constexpr):
    """The sum of squared magnitudes of m neighbours."""
    total = abs(g[at]) * type(abs(g[at]))(0)
    for i in range(m):
        value = g[at + i]
        total += real_product(value, value, is_complex)
    return total


@cuda.jit(device=True)
def _orthogonalise(g, v, base, n, m, tolerance, sweeps, plan: cuda.constexpr):
    """Sweeps over all pairs of a matrix's columns, until none is rotated; ``base``: the number of its first column."""
    kind = type(n)
    sweep = np.int32(0)
    goes_on = True
    while goes_on and sweep < sweeps:
        goes_on = False
        for p in range(base, base + n):
            for q in range(p + kind(1), base + n):
                found = products_of(g, p * m, q * m, m, kind(0), plan)
                if turn_pair(g, v, p, q, n, m, kind(0), found, tolerance, plan):
                    goes_on = True
        sweep += np.int32(1)


@cuda.jit(device=True)
def _rank_of(lengths, base, j, n, edge: cuda.constexpr):
    """The place of value j in order."""
    kind = type(n)
    own = lengths[base + j]
    rank = kind(0)
    for i in range(n):
        if i != j and comes_before(lengths[base + i], own, i, j, edge):
            rank += kind(1)
    return rank


@cuda.jit(device=True)
def _complete(u, start, m, k, first, edge: cuda.constexpr):
    """Columns of u, m x k from ``start`` on, from column ``first`` on: orthonormal ones, orthogonal to those before."""
    kind = type(m)
    for j in range(first, k):
        place = kind(0)
        most = edge.real(-1)
        for i in range(m):
            rest = edge.real(1)
            for c in range(j):
                value = u[start + i * k + c]
                rest -= real_product(value, value, edge.is_complex)
            if rest > most:
                most = rest
                place = i
        for i in range(m):
            u[start + i * k + j] = edge.number(1 if i == place else 0)
        for _ in range(2):  # what rounding leaves of the others is in the first difference
            for c in range(j):
                total = edge.number(0)
                for i in range(m):
                    total += conjugate(u[start + i * k + c], edge.is_complex) * u[start + i * k + j]
                for i in range(m):
                    u[start + i * k + j] -= total * u[start + i * k + c]
        square = edge.real(0)
        for i in range(m):
            value = u[start + i * k + j]
            square += real_product(value, value, edge.is_complex)
        length = edge.number(math.sqrt(square))
        for i in range(m):
            u[start + i * k + j] = u[start + i * k + j] / length


@cuda.jit
def factor_few_singular(
    a, g, v, lengths, values, u, vh, n, m, k, tolerance, sweeps, edge: cuda.constexpr, plan: cuda.constexpr
):
    """``a = u diag(values) vh`` for m x n matrices, n <= m, u with k columns; the values alone unless ``plan.vectors``.

    a: a `Strided`; g: (count * n * m), v: (count * n * n), lengths: (count * n): memory; values (count * n), u (count *
    m * k), vh (count * n * n): flat. plan: a `JacobiPlan` of one thread without vectors of lanes, edge: an `EdgePlan`.
    A block of one thread for each matrix.
    """
    kind = type(n)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    base = matrix * n
    scale = _scale_of(a, start, n, m, edge)
    for j in range(n):
        for i in range(m):
            g[(base + j) * m + i] = element_at(a, start, i, j, edge) * edge.number(scale)
        if plan.vectors:
            for i in range(n):
                v[(base + j) * n + i] = edge.number(1 if i == j else 0)
    _orthogonalise(g, v, base, n, m, tolerance, sweeps, plan)
    for j in range(n):
        lengths[base + j] = math.sqrt(_square(g, (base + j) * m, m, edge.is_complex))
    whole = kind(0)
    for j in range(n):
        own = lengths[base + j]
        rank = _rank_of(lengths, base, j, n, edge)
        values[base + rank] = own / scale
        if plan.vectors:
            is_zero = own * own <= edge.real(edge.floor)
            if not is_zero:
                whole += kind(1)
                for i in range(m):
                    u[(matrix * m + i) * k + rank] = g[(base + j) * m + i] / edge.number(own)
            for i in range(n):
                vh[(base + rank) * n + i] = conjugate(v[(base + j) * n + i], edge.is_complex)
    if plan.vectors:
        _complete(u, matrix * m * k, m, k, whole, edge)


@cuda.jit
def factor_few_hermitian(
    a, t, g, lengths, values, vectors, n, tolerance, sweeps, edge: cuda.constexpr, plan: cuda.constexpr
):
    """``a = vectors diag(values) vectors^H`` for Hermitian matrices of n rows, of which lower triangles are read.

    a: a `Strided`; t, g: (count * n * n), lengths: (count * n): memory; values (count * n), vectors (count * n * n):
    flat. plan, edge: as of `factor_few_singular`. A shift by half more than the Frobenius norm makes all eigenvalues
    positive. A block of one thread for each matrix.
    """
    kind = type(n)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    base = matrix * n
    scale = _scale_of(a, start, n, n, edge)
    for j in range(n):
        for i in range(n):
            t[(base + j) * n + i] = element_at(a, start, i, j, edge) * edge.number(scale)
    shift = edge.real(1.5) * math.sqrt(_square(t, base * n, n * n, edge.is_complex))
    if not shift > edge.real(0):
        shift = edge.real(1)
    for j in range(n):
        for i in range(n):
            g[(base + j) * n + i] = t[(base + j) * n + i] + edge.number(shift if i == j else edge.real(0))
    _orthogonalise(g, t, base, n, n, tolerance, sweeps, plan)
    for j in range(n):
        column = (base + j) * n
        length = edge.number(math.sqrt(_square(g, column, n, edge.is_complex)))
        for i in range(n):
            g[column + i] = g[column + i] / length
        quotient = edge.real(0)
        for c in range(n):
            total = edge.number(0)
            for i in range(n):  # element [c, i] of the matrix is [i, c] of t
                total += t[(base + i) * n + c] * g[column + i]
            own = g[column + c]
            quotient += real_product(own, total, edge.is_complex)
        lengths[base + j] = quotient
    for j in range(n):
        rank = _rank_of(lengths, base, j, n, edge)
        values[base + rank] = lengths[base + j] / scale
        for i in range(n):
            vectors[(base + i) * n + rank] = g[(base + j) * n + i]
