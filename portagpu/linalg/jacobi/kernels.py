"""Rotations that make the columns of matrices orthogonal: Jacobi's method from one side; in the dialect.

A column is a row of ``g``, so that its elements are side by side. Pairs that are rotated at the same time have no
column in common: they meet as players of a tournament do, each with each in n - 1 rounds (R. Brent, F. Luk, "The
solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays", SIAM Journal on Scientific and
Statistical Computing 6(1), 1985; J. Demmel, K. Veselic, "Jacobi's method is more accurate than QR", SIAM Journal on
Matrix Analysis and Applications 13(4), 1992).
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.factorisations.cells import put, sum_of_lanes, take

_FAR = 1e6  # beyond it the square of the tangent's cotangent is all there is


class JacobiPlan(NamedTuple):
    """What is known when the kernel is compiled.

    ``along``: threads of a pair's columns, ``groups`` of them in a block; ``lanes``: elements of a thread, side by side
    in a vector ``cell``; ``number``, ``real``: types. ``floor``: squares of columns that count as zero; ``vectors``:
    whether rotations are brought together.
    """

    along: int
    groups: int
    lanes: int
    cell: Any
    number: Any
    real: Any
    is_complex: bool
    floor: float
    vectors: bool


class _Products(NamedTuple):
    """Of two columns: their squares, and the product of the first one's conjugate with the second one."""

    first: Any
    second: Any
    re: Any
    im: Any


@cuda.jit(device=True)
def products_of(g, p, q, m, line, plan: cuda.constexpr):
    """A thread's part of the products of the columns that begin at p and q."""
    kind = type(m)
    if plan.is_complex:
        a, b, re, im = plan.real(0), plan.real(0), plan.real(0), plan.real(0)
        for i in range(line, m, kind(plan.along)):
            x, y = g[p + i], g[q + i]
            a += x.real * x.real + x.imag * x.imag
            b += y.real * y.real + y.imag * y.imag
            re += x.real * y.real + x.imag * y.imag
            im += x.real * y.imag - x.imag * y.real
        return _Products(a, b, re, im)
    a, b, c = plan.cell(0), plan.cell(0), plan.cell(0)
    whole = m // kind(plan.lanes) * kind(plan.lanes)
    for i in range(line * kind(plan.lanes), whole, kind(plan.along * plan.lanes)):
        x, y = plan.cell(take(g, p + i, plan.lanes)), plan.cell(take(g, q + i, plan.lanes))
        a += x * x
        b += y * y
        c += x * y
    aa, bb, cc = (
        plan.real(sum_of_lanes(a, plan.lanes)),
        plan.real(sum_of_lanes(b, plan.lanes)),
        plan.real(sum_of_lanes(c, plan.lanes)),
    )
    for i in range(whole + line, m, kind(plan.along)):
        aa += g[p + i] * g[p + i]
        bb += g[q + i] * g[q + i]
        cc += g[p + i] * g[q + i]
    return _Products(aa, bb, cc, plan.real(0))


@cuda.jit(device=True)
def _rotated(x, y, s, tau):
    """``(c x + s y, c y - s x)``, with ``tau = s / (1 + c)``: small angles change numbers by little, without bias (H.
    Rutishauser, "The Jacobi method for real symmetric matrices", Numerische Mathematik 9, 1966)."""
    return x + s * (y - tau * x), y - s * (x + tau * y)


@cuda.jit(device=True)
def _rotate(g, p, q, m, line, s, tau, phase, plan: cuda.constexpr):
    """``(p, q) = (c p + s q', c q' - s p)`` with q' = phase * q, for a thread's part of two columns."""
    kind = type(m)
    if plan.is_complex:
        for i in range(line, m, kind(plan.along)):
            x, y = _rotated(g[p + i], g[q + i] * phase, plan.number(s), plan.number(tau))
            g[p + i] = x
            g[q + i] = y
    else:
        sine, part, sign = plan.cell(s), plan.cell(tau), plan.cell(phase)
        whole = m // kind(plan.lanes) * kind(plan.lanes)
        for i in range(line * kind(plan.lanes), whole, kind(plan.along * plan.lanes)):
            x, y = plan.cell(take(g, p + i, plan.lanes)), plan.cell(take(g, q + i, plan.lanes))
            x, y = _rotated(x, y * sign, sine, part)
            put(x, g, p + i, plan.lanes)
            put(y, g, q + i, plan.lanes)
        for i in range(whole + line, m, kind(plan.along)):
            x, y = _rotated(g[p + i], g[q + i] * phase, s, tau)
            g[p + i] = x
            g[q + i] = y


@cuda.jit(device=True)
def turn_pair(g, v, p, q, n, m, line, found, tolerance, plan: cuda.constexpr):
    """Make two columns, of which ``found`` are the products, orthogonal; whether they were not."""
    size = math.hypot(found.re, found.im) if plan.is_complex else abs(found.re)
    floor = plan.real(plan.floor)
    acts = size > tolerance * math.sqrt(found.first) * math.sqrt(found.second)
    acts = acts and found.first > floor and found.second > floor
    if acts:
        # the angle: cot(2 t) = (first - second) / (2 size), tan(t) the smaller root
        cot = (found.first - found.second) / (plan.real(2) * size)
        far = abs(cot)
        if far > plan.real(_FAR):
            t = plan.real(0.5) / far
        else:
            t = plan.real(1) / (far + math.sqrt(plan.real(1) + far * far))
        c = plan.real(1) / math.sqrt(plan.real(1) + t * t)
        s = t * c
        tau = s / (plan.real(1) + c)
        if cot < plan.real(0):
            s, tau = -s, -tau
        if plan.is_complex:
            phase = plan.number(complex(found.re / size, -found.im / size))
        else:
            phase = plan.number(1 if found.re >= plan.real(0) else -1)
        _rotate(g, p * m, q * m, m, line, s, tau, phase, plan)
        if plan.vectors:
            _rotate(v, p * n, q * n, n, line, s, tau, phase, plan)
    return acts


@cuda.jit
def rotate_pairs(g, v, n, m, first, rounds, blocks, tolerance, moved, sweep, plan: cuda.constexpr):
    """Some rounds of a sweep: pairs of the columns of matrices are made orthogonal.

    g: (count * n * m), v: (count * n * n): columns, and their rotations. moved: (sweeps, count), whether a sweep has
    rotated anything: matrices that the last one did not rotate are left alone. ``blocks`` of a matrix: with several, it
    is one round. plan: a `JacobiPlan`.
    """
    kind = type(n)
    along, groups = plan.along, plan.groups
    sums = cuda.shared.array(4 * along * groups, plan.real)
    thread = kind(cuda.threadIdx.x)
    line, group = thread % kind(along), thread // kind(along)
    block = kind(cuda.blockIdx.x)
    matrix, part = block // blocks, block % blocks
    goes_on = moved[sweep, matrix] != 0
    players = n + n % kind(2)
    circle = players - kind(1)
    half = players // kind(2)
    row = matrix * n
    for turn in range(first, first + rounds if goes_on else first):
        for base in range(part * kind(groups), half, blocks * kind(groups)):
            k = base + group
            one = circle if k == kind(0) else (turn + k) % circle
            other = (turn + circle - k) % circle
            p, q = row + min(one, other), row + max(one, other)
            there = k < half and max(one, other) < n
            found = _Products(plan.real(0), plan.real(0), plan.real(0), plan.real(0))
            if there:
                found = products_of(g, p * m, q * m, m, line, plan)
            if along > 1:
                at = group * kind(4 * along)
                sums[at + line] = found.first
                sums[at + kind(along) + line] = found.second
                sums[at + kind(2 * along) + line] = found.re
                sums[at + kind(3 * along) + line] = found.im
                cuda.syncthreads()
                a, b, re, im = plan.real(0), plan.real(0), plan.real(0), plan.real(0)
                for t in range(along):
                    a += sums[at + kind(t)]
                    b += sums[at + kind(along + t)]
                    re += sums[at + kind(2 * along + t)]
                    im += sums[at + kind(3 * along + t)]
                found = _Products(a, b, re, im)
                cuda.syncthreads()
            if there:
                acts = turn_pair(g, v, p, q, n, m, line, found, tolerance, plan)
                if acts and line == kind(0):
                    moved[sweep + 1, matrix] = 1
        cuda.syncthreads()
