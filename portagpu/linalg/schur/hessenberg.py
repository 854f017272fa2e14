"""Matrices with zeros below their first subdiagonals, by Householder reflections from both sides; in the dialect.

G. Golub, C. Van Loan, "Matrix Computations", 4th edition, section 7.4; LAPACK's gehd2. The reflections' product Q is
kept transposed, so that what multiplies it from the right works on whole rows.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate, put, real_product, sum_of_lanes, take
from portagpu.blas.factorisations.scaling import scale_of
from portagpu.linalg.schur.plan import meet


@cuda.jit(device=True)
def _product(h, row, v, own, first, n, line, plan: cuda.constexpr):
    """A thread's part of the product of a row and the vector, from column ``first`` on."""
    kind = type(n)
    lanes = kind(plan.lanes)
    total = plan.cell(0)
    whole = first + (n - first) // lanes * lanes
    for j in range(first + line * lanes, whole, kind(plan.along) * lanes):
        total += plan.cell(take(h, row + j, plan.lanes)) * plan.cell(take(v, own + j, plan.lanes))
    found = plan.number(sum_of_lanes(total, plan.lanes))
    for j in range(whole + line, n, kind(plan.along)):
        found += h[row + j] * v[own + j]
    return found


@cuda.jit(device=True)
def _add_to_row(h, row, factor, v, own, first, n, line, plan: cuda.constexpr):
    """A row plus factor times the vector's conjugate, from column ``first`` on; a thread's part."""
    kind = type(n)
    lanes = kind(plan.lanes)
    whole = first + (n - first) // lanes * lanes
    for j in range(first + line * lanes, whole, kind(plan.along) * lanes):
        value = plan.cell(take(h, row + j, plan.lanes))
        value += plan.cell(factor) * conjugate(plan.cell(take(v, own + j, plan.lanes)), plan.is_complex)
        put(value, h, row + j, plan.lanes)
    for j in range(whole + line, n, kind(plan.along)):
        h[row + j] += factor * conjugate(v[own + j], plan.is_complex)


@cuda.jit(device=True)
def _reflect_columns(
    m, base, v, own, tau, first, start, n, pitch, thread, adjoint: cuda.constexpr, plan: cuda.constexpr
):
    """``m = P^H m`` with ``adjoint``, else ``P^T m``, for columns from ``start`` on; P = 1 - tau v v^H, rows ``first``
    on. Each thread has columns of its own."""
    kind = type(n)
    lanes = kind(plan.lanes)
    whole = start + (n - start) // lanes * lanes
    factor = -conjugate(tau, plan.is_complex and adjoint)
    for j in range(start + thread * lanes, whole, kind(plan.threads) * lanes):
        total = plan.cell(0)
        for i in range(first, n):
            left = plan.cell(conjugate(v[own + i], plan.is_complex and adjoint))
            total += left * plan.cell(take(m, base + i * pitch + j, plan.lanes))
        total = total * plan.cell(factor)
        for i in range(first, n):
            left = plan.cell(conjugate(v[own + i], plan.is_complex and not adjoint))
            value = plan.cell(take(m, base + i * pitch + j, plan.lanes)) + left * total
            put(value, m, base + i * pitch + j, plan.lanes)
    for j in range(whole + thread, n, kind(plan.threads)):
        rest = plan.number(0)
        for i in range(first, n):
            rest += conjugate(v[own + i], plan.is_complex and adjoint) * m[base + i * pitch + j]
        rest = rest * factor
        for i in range(first, n):
            m[base + i * pitch + j] += conjugate(v[own + i], plan.is_complex and not adjoint) * rest


@cuda.jit(device=True)
def _reflection(h, base, k, v, own, n, pitch, thread, plan: cuda.constexpr):
    """The reflection for column k below row k + 1: (beta, tau), tau 0 where there is nothing to do; v from ``own`` on.

    As LAPACK's larfg: P^H times the column is beta and zeros, and v[k + 1] = 1.
    """
    kind = type(n)
    first = k + kind(1)
    largest = plan.real(0)
    for i in range(first, n):
        value = h[base + i * pitch + k]
        if plan.is_complex:
            largest = max(largest, abs(value.real), abs(value.imag))
        else:
            largest = max(largest, abs(value))
    scale, back = scale_of(largest, plan.usual, plan.real)
    total, acts = plan.real(0), False
    for i in range(first + kind(1), n):
        value = h[base + i * pitch + k] * plan.number(scale)
        total += real_product(value, value, plan.is_complex)
        acts = acts or value != plan.number(0)  # also where squares vanish
    alpha = h[base + first * pitch + k] * plan.number(scale)
    beta, tau = plan.real(0), plan.number(0)
    if acts:
        if plan.is_complex:
            size = math.sqrt(alpha.real * alpha.real + alpha.imag * alpha.imag + total)
            beta = -size if alpha.real >= plan.real(0) else size
            tau = plan.number(complex((beta - alpha.real) / beta, -alpha.imag / beta))
        else:
            size = math.sqrt(alpha * alpha + total)
            beta = -size if alpha >= plan.real(0) else size
            tau = (beta - alpha) / beta
        divisor = alpha - plan.number(beta)
        for i in range(first + thread, n, kind(plan.threads)):
            value = h[base + i * pitch + k] * plan.number(scale) / divisor
            v[own + i] = plan.number(1) if i == first else value
    return beta * back, tau


@cuda.jit(device=True)
def reduce_to_hessenberg(h, base, zt, v, part, own, n, pitch, thread, plan: cuda.constexpr):
    """``h = Q^H h Q`` with zeros below the first subdiagonal, in place; zt: Q^T, if ``plan.vectors``.

    v: memory for n numbers from ``own`` on; part: for ``plan.along`` times as many.
    """
    kind = type(n)
    along, groups = kind(plan.along), kind(plan.threads // plan.along)
    line, group = thread % along, thread // along
    if plan.vectors:
        for at in range(thread, n * n, kind(plan.threads)):
            zt[base + at // n * pitch + at % n] = plan.number(1 if at // n == at % n else 0)
        meet(plan)
    for k in range(max(n, kind(2)) - kind(2)):
        first = k + kind(1)
        beta, tau = _reflection(h, base, k, v, own, n, pitch, thread, plan)
        acts = tau != plan.number(0)
        meet(plan)
        if acts:
            for i in range(first + thread, n, kind(plan.threads)):
                h[base + i * pitch + k] = plan.number(beta) if i == first else plan.number(0)
            for i in range(group, n, groups):
                part[(own + i) * along + line] = _product(h, base + i * pitch, v, own, first, n, line, plan)
        meet(plan)
        if acts:
            for i in range(group, n, groups):
                total = plan.number(0)
                for t in range(along):
                    total += part[(own + i) * along + t]
                _add_to_row(h, base + i * pitch, -tau * total, v, own, first, n, line, plan)
        meet(plan)
        if acts:
            _reflect_columns(h, base, v, own, tau, first, first, n, pitch, thread, True, plan)
            if plan.vectors:
                _reflect_columns(zt, base, v, own, tau, first, kind(1), n, pitch, thread, False, plan)
        meet(plan)
