"""What comes before and after rotations: matrices are scaled and turned, results put in order; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate


class EdgePlan(NamedTuple):
    """What is known when a kernel is compiled: ``threads`` of a block, types, and ``floor``: squares of columns that
    count as zero; ``least``: the exponent of the smallest number whose inverse is finite; ``hermitian``: whether only
    lower triangles are read; ``descending``: the order of results."""

    threads: int
    number: Any
    real: Any
    is_complex: bool
    floor: float
    least: int
    hermitian: bool
    descending: bool


@cuda.jit(device=True)
def size_of(value, plan: cuda.constexpr):
    """The larger magnitude of a number's parts."""
    return max(abs(value.real), abs(value.imag)) if plan.is_complex else abs(value)


@cuda.jit(device=True)
def element_at(a, start, i, j, plan: cuda.constexpr):
    """An element of a matrix; of one of which the lower triangle is given, if it is Hermitian."""
    if not plan.hermitian:
        return a.memory[start + i * a.down + j * a.right]
    value = a.memory[start + max(i, j) * a.down + min(i, j) * a.right]
    if plan.is_complex:
        if i == j:
            return plan.number(complex(value.real, plan.real(0)))
        return value.conjugate() if i < j else value
    return value


@cuda.jit(device=True)
def _total(held, plan: cuda.constexpr):
    """The sum of what the threads have put into shared memory."""
    cuda.syncthreads()
    total = plan.real(0)
    for t in range(plan.threads):
        total += held[t]
    return total


@cuda.jit(device=True)
def larger(largest, size, plan: cuda.constexpr):
    """The larger magnitude; infinity for NaN."""
    return max(largest, size if size < plan.real(math.inf) else plan.real(math.inf))


@cuda.jit(device=True)
def scale_of_largest(largest, plan: cuda.constexpr):
    """The power of two that brings a matrix's largest part to what is from 1/2 to 1; NaN for one that is not finite."""
    scale = plan.real(1)
    if largest == plan.real(math.inf):
        scale = plan.real(math.nan)
    elif largest > plan.real(0):
        scale = plan.real(math.ldexp(plan.real(1), -max(math.frexp(largest)[1], plan.least)))
    return scale


@cuda.jit
def scale_columns(a, g, v, scales, n, m, plan: cuda.constexpr):
    """The columns of m x n matrices as rows of g, with their largest part from 1/2 to 1; and v = 1.

    a: a `Strided`; scales: what the elements were multiplied by, powers of two. A block for each matrix.
    """
    kind = type(n)
    held = cuda.shared.array(plan.threads, plan.real)
    thread = kind(cuda.threadIdx.x)
    matrix = kind(cuda.blockIdx.x)
    start = a.first + matrix * a.batch
    largest = plan.real(0)
    for at in range(thread, n * m, kind(plan.threads)):
        largest = larger(largest, size_of(element_at(a, start, at // n, at % n, plan), plan), plan)
    held[thread] = largest
    cuda.syncthreads()
    for t in range(plan.threads):
        largest = max(largest, held[t])
    scale = scale_of_largest(largest, plan)
    if thread == kind(0):
        scales[matrix] = scale
    for at in range(thread, n * m, kind(plan.threads)):
        j, i = at // m, at % m
        g[matrix * n * m + at] = element_at(a, start, i, j, plan) * plan.number(scale)
    for at in range(thread, n * n, kind(plan.threads)):
        v[matrix * n * n + at] = plan.number(1 if at // n == at % n else 0)


@cuda.jit
def shift_diagonals(powers, t, g, n, plan: cuda.constexpr):
    """``g = t + s``, s so large that all eigenvalues are positive: 3/2 of a bound on their magnitudes.

    powers: the fourth powers of the matrices t, (count, n, n), whose Frobenius norm is a bound on the fourth power. A
    block for each matrix.
    """
    kind = type(n)
    held = cuda.shared.array(plan.threads, plan.real)
    thread = kind(cuda.threadIdx.x)
    matrix = kind(cuda.blockIdx.x)
    squares = plan.real(0)
    for at in range(thread, n * n, kind(plan.threads)):
        value = powers[matrix * n * n + at]
        squares += value.real * value.real + value.imag * value.imag if plan.is_complex else value * value
    held[thread] = squares
    shift = plan.real(1.5) * math.sqrt(math.sqrt(math.sqrt(_total(held, plan))))
    if not shift > plan.real(0):
        shift = plan.real(1)
    for at in range(thread, n * n, kind(plan.threads)):
        own = shift if at // n == at % n else plan.real(0)
        g[matrix * n * n + at] = t[matrix * n * n + at] + plan.number(own)


@cuda.jit
def measure_rows(g, lengths, m, plan: cuda.constexpr):
    """The Euclidean lengths of rows of m elements. A block for each of them."""
    kind = type(m)
    held = cuda.shared.array(plan.threads, plan.real)
    thread = kind(cuda.threadIdx.x)
    row = kind(cuda.blockIdx.x)
    squares = plan.real(0)
    for i in range(thread, m, kind(plan.threads)):
        value = g[row * m + i]
        squares += value.real * value.real + value.imag * value.imag if plan.is_complex else value * value
    held[thread] = squares
    total = _total(held, plan)
    if thread == kind(0):
        lengths[row] = math.sqrt(total)


@cuda.jit
def divide_rows(g, lengths, m, plan: cuda.constexpr):
    """Rows divided by their lengths, in place. A block for each of them."""
    kind = type(m)
    row = kind(cuda.blockIdx.x)
    length = lengths[row]
    for i in range(kind(cuda.threadIdx.x), m, kind(plan.threads)):
        g[row * m + i] = g[row * m + i] / plan.number(length)


@cuda.jit
def take_quotients(x, ax, values, m, plan: cuda.constexpr):
    """Of each row x of unit length the Rayleigh quotient, the real part of ``conj(x) * ax``. A block for each row."""
    kind = type(m)
    held = cuda.shared.array(plan.threads, plan.real)
    thread = kind(cuda.threadIdx.x)
    row = kind(cuda.blockIdx.x)
    part = plan.real(0)
    for i in range(thread, m, kind(plan.threads)):
        one, other = x[row * m + i], ax[row * m + i]
        part += one.real * other.real + one.imag * other.imag if plan.is_complex else one * other
    held[thread] = part
    total = _total(held, plan)
    if thread == kind(0):
        values[row] = total


@cuda.jit(device=True)
def comes_before(a, b, i, j, plan: cuda.constexpr):
    """Whether value a, number i, is before b, number j; NaN is last."""
    first, second = (b, a) if plan.descending else (a, b)
    if a != a or b != b:
        return a == a or (b != b and i < j)
    return first < second or (a == b and i < j)


@cuda.jit
def order_rows(
    values,
    scales,
    source,
    ordered,
    target,
    n,
    m,
    columns: cuda.constexpr,
    divided: cuda.constexpr,
    conjugated: cuda.constexpr,
    plan: cuda.constexpr,
):
    """n rows of m elements for each matrix, in the order of their values, which are divided by the scale.

    ``columns``: target (count, m, n) has them as columns; ``divided``: by their values, which are lengths, and zero
    where these count as that; ``conjugated``. A block for each row.
    """
    kind = type(n)
    held = cuda.shared.array(plan.threads, plan.real)
    thread = kind(cuda.threadIdx.x)
    row = kind(cuda.blockIdx.x)
    matrix, j = row // n, row % n
    own = values[row]
    before = plan.real(0)
    for i in range(thread, n, kind(plan.threads)):
        if i != j and comes_before(values[matrix * n + i], own, i, j, plan):
            before += plan.real(1)
    held[thread] = before
    rank = kind(_total(held, plan))
    if thread == kind(0):
        ordered[matrix * n + rank] = own / scales[matrix]
    is_zero = divided and own * own <= plan.real(plan.floor)
    for i in range(thread, m, kind(plan.threads)):
        value = plan.number(0)
        if not is_zero:
            value = conjugate(source[row * m + i], plan.is_complex and conjugated)
            value = value / plan.number(own) if divided else value
        to = (matrix * m + i) * n + rank if columns else (matrix * n + rank) * m + i
        target[to] = value


@cuda.jit
def orient_columns(q, r, n, m, k, plan: cuda.constexpr):
    """Columns of q (count, m, k) times the sign of the diagonal of r, whose n columns are as many or fewer; in place. A
    block for each row of q."""
    kind = type(n)
    row = kind(cuda.blockIdx.x)
    matrix, i = row // m, row % m
    for j in range(kind(cuda.threadIdx.x), min(n, k), kind(plan.threads)):
        sign = r[matrix, j, j]
        negative = sign.real < plan.real(0) if plan.is_complex else sign < plan.real(0)
        if negative:
            q[matrix, i, j] = -q[matrix, i, j]
