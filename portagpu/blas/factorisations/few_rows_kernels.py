"""Factors of matrices of few rows, and systems with them, each by one thread; in the dialect.

As in LAPACK: ties of pivots are won by the first row, and reflections are 1 - tau v v^H, with v[i] = 1.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate, real_product, scaled
from portagpu.blas.factorisations.lu_kernels import divisor_of, pivot_size
from portagpu.blas.factorisations.scaling import scale_of


@cuda.jit
def factor_few_rows(a, m, n, pivots, info, real: cuda.constexpr, is_complex: cuda.constexpr):
    """``a = P L U`` for m x n matrices, in place: L below the diagonal of ones, U on and above it.

    a: a `Strided`. pivots: (count, min(m, n)) int32: the rows, counted from 0, with which row 0 and those after it were
    exchanged. info: of each matrix the number of the first pivot that is zero, counted from 1, or 0. real: the type of
    magnitudes. A block of one thread for each matrix.
    """
    kind = type(m)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    failed = np.int32(0)
    for j in range(min(m, n)):
        best = real(-1)
        place = j
        for row in range(j, m):
            found = pivot_size(a.memory[start + row * a.down + j * a.right], row == j, real, is_complex)
            if found > best:
                best = found
                place = row
        pivots[matrix, j] = np.int32(place)
        own = start + j * a.down
        if place != j:
            other = start + place * a.down
            for column in range(n):
                held = a.memory[own + column * a.right]
                a.memory[own + column * a.right] = a.memory[other + column * a.right]
                a.memory[other + column * a.right] = held
        pivot = a.memory[own + j * a.right]
        if pivot == 0 and failed == 0:
            failed = np.int32(j) + np.int32(1)
        pivot = divisor_of(pivot)
        for row in range(j + kind(1), m):
            line = start + row * a.down
            factor = a.memory[line + j * a.right] / pivot
            a.memory[line + j * a.right] = factor
            for column in range(j + kind(1), n):
                a.memory[line + column * a.right] -= factor * a.memory[own + column * a.right]
    info[matrix] = failed


@cuda.jit
def solve_few_rows(a, pivots, b, n, m):
    """``b = inv(a) @ b`` with the factors and pivots of n x n matrices, as `factor_few_rows` leaves them.

    a, b: `Strided`; m: columns of b. A block of one thread for each matrix.
    """
    kind = type(n)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    for column in range(m):
        at = b.first + matrix * b.batch + column * b.right
        for row in range(n):
            place = kind(pivots[matrix, row])
            value = b.memory[at + place * b.down]
            b.memory[at + place * b.down] = b.memory[at + row * b.down]
            b.memory[at + row * b.down] = value
        for row in range(n):
            value = b.memory[at + row * b.down]
            for k in range(row):
                value -= a.memory[start + row * a.down + k * a.right] * b.memory[at + k * b.down]
            b.memory[at + row * b.down] = value
        for i in range(n):
            row = n - kind(1) - i
            value = b.memory[at + row * b.down]
            for k in range(row + kind(1), n):
                value -= a.memory[start + row * a.down + k * a.right] * b.memory[at + k * b.down]
            b.memory[at + row * b.down] = value / a.memory[start + row * (a.down + a.right)]


@cuda.jit
def find_few_reflections(a, taus, m, n, usual: cuda.constexpr, real: cuda.constexpr, is_complex: cuda.constexpr):
    """``a = Q R`` for m x n matrices, in place: R on and above the diagonal, below it the vectors of reflections.

    a: a `Strided`; taus: (count, min(m, n)), the reflections' factors; usual: the `Range` of ``real`` numbers. A block
    of one thread for each matrix.
    """
    kind = type(m)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    number = type(a.memory[start])
    for j in range(min(m, n)):
        at = start + j * a.right
        own = at + j * a.down
        largest = real(0)
        for row in range(j, m):
            value = a.memory[at + row * a.down]
            if is_complex:
                largest = max(largest, abs(value.real), abs(value.imag))
            else:
                largest = max(largest, abs(value))
        scale, back = scale_of(largest, usual, real)
        total = real(0)
        for row in range(j + kind(1), m):
            value = a.memory[at + row * a.down] * number(scale)
            total += real_product(value, value, is_complex)
        alpha = scaled(a.memory[own], scale, is_complex)
        tau = number(0)
        acts = total != 0  # so has NaN
        if is_complex:
            acts = acts or alpha.imag != 0
        if acts:
            if is_complex:
                size = math.sqrt(alpha.real * alpha.real + alpha.imag * alpha.imag + total)
                beta = -size if alpha.real >= 0 else size
                tau = number(complex((beta - alpha.real) / beta, -alpha.imag / beta))
            else:
                size = math.sqrt(alpha * alpha + total)
                beta = -size if alpha >= 0 else size
                tau = (beta - alpha) / beta
            divisor = alpha - number(beta)
            for row in range(j + kind(1), m):
                a.memory[at + row * a.down] = a.memory[at + row * a.down] * number(scale) / divisor
            for column in range(j + kind(1), n):
                other = start + column * a.right
                product = a.memory[other + j * a.down]
                for row in range(j + kind(1), m):
                    product += conjugate(a.memory[at + row * a.down], is_complex) * a.memory[other + row * a.down]
                product = conjugate(tau, is_complex) * product
                a.memory[other + j * a.down] -= product
                for row in range(j + kind(1), m):
                    a.memory[other + row * a.down] -= product * a.memory[at + row * a.down]
            a.memory[own] = number(beta * back)
        taus[matrix, j] = tau


@cuda.jit
def reflect_few_rows(factors, taus, c, m, n, count, adjoint, number: cuda.constexpr, is_complex: cuda.constexpr):
    """``c = Q c``, or ``Q^H c`` if ``adjoint`` is not 0, for the product Q of ``count`` reflections of m rows.

    factors: a `Strided` with the reflections' vectors below its diagonals; taus: their factors; c: a `Strided` of n
    columns. A block of one thread for each matrix.
    """
    kind = type(m)
    matrix = kind(cuda.blockIdx.x)
    start = factors.first + matrix * factors.batch
    for column in range(n):
        at = c.first + matrix * c.batch + column * c.right
        for i in range(count):
            j = i if adjoint != 0 else count - kind(1) - i
            tau = taus[matrix, j]
            if adjoint != 0:
                tau = conjugate(tau, is_complex)
            own = start + j * factors.right
            total = number(c.memory[at + j * c.down])
            for row in range(j + kind(1), m):
                total += conjugate(factors.memory[own + row * factors.down], is_complex) * c.memory[at + row * c.down]
            total = tau * total
            c.memory[at + j * c.down] -= total
            for row in range(j + kind(1), m):
                c.memory[at + row * c.down] -= total * factors.memory[own + row * factors.down]
