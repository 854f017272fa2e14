"""Reflections of two or three neighbouring rows and columns, and rotations of two; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201

from __future__ import annotations

import math
from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate, put, real_product, take
from portagpu.linalg.schur.plan import size_of


class Reflection(NamedTuple):
    """1 - tau v v^H with v = (1, v1, v2): its adjoint makes of three numbers (beta, 0, 0)."""

    beta: Any
    tau: Any
    v1: Any
    v2: Any


class Turn(NamedTuple):
    """How three rows change: by ``x + c1 y + c2 z``, of which f0, f1 and f2 times are taken off x, y, z."""

    c1: Any
    c2: Any
    f0: Any
    f1: Any
    f2: Any


@cuda.jit(device=True)
def reflection_of(x, y, z, plan: cuda.constexpr):
    """The `Reflection` of three numbers, as LAPACK's larfg has it; z is 0 where there are only two."""
    largest = max(size_of(x, plan.is_complex), size_of(y, plan.is_complex), size_of(z, plan.is_complex))
    scale = largest if largest > plan.real(0) else plan.real(1)
    x, y, z = x / plan.number(scale), y / plan.number(scale), z / plan.number(scale)
    rest = real_product(y, y, plan.is_complex) + real_product(z, z, plan.is_complex)
    acts = y != plan.number(0) or z != plan.number(0)  # also where their squares vanish: sweeps go on only so
    if plan.is_complex:
        acts = acts or x.imag != plan.real(0)
    beta, tau, v1, v2 = x, plan.number(0), plan.number(0), plan.number(0)
    if acts:
        size = math.sqrt(real_product(x, x, plan.is_complex) + rest)
        if plan.is_complex:
            away = -size if x.real >= plan.real(0) else size
            tau = plan.number(complex((away - x.real) / away, -x.imag / away))
        else:
            away = -size if x >= plan.real(0) else size
            tau = (away - x) / away
        beta = plan.number(away)
        v1, v2 = y / (x - beta), z / (x - beta)
    return Reflection(beta * plan.number(scale), tau, v1, v2)


@cuda.jit(device=True)
def turn_of_rows(found, is_complex: cuda.constexpr):
    """The adjoint of a reflection, for rows of a matrix."""
    tau = conjugate(found.tau, is_complex)
    return Turn(conjugate(found.v1, is_complex), conjugate(found.v2, is_complex), tau, tau * found.v1, tau * found.v2)


@cuda.jit(device=True)
def turn_of_columns(found, is_complex: cuda.constexpr):
    """A reflection, for columns of a matrix, or rows of its transpose."""
    v1, v2 = conjugate(found.v1, is_complex), conjugate(found.v2, is_complex)
    return Turn(found.v1, found.v2, found.tau, found.tau * v1, found.tau * v2)


@cuda.jit(device=True)
def turn_rows(m, at, begin, end, pitch, turn, thread, three: cuda.constexpr, plan: cuda.constexpr):
    """Turn two or ``three`` rows, the first at ``at``, in columns from ``begin`` to ``end``; a thread's part."""
    kind = type(end)
    lanes, step = kind(plan.lanes), kind(plan.threads * plan.lanes)
    second, third = at + pitch, at + kind(2) * pitch
    whole = begin + (end - begin) // lanes * lanes
    for j in range(begin + thread * lanes, whole, step):
        x, y = plan.cell(take(m, at + j, plan.lanes)), plan.cell(take(m, second + j, plan.lanes))
        total = x + plan.cell(turn.c1) * y
        if three:
            z = plan.cell(take(m, third + j, plan.lanes))
            total += plan.cell(turn.c2) * z
            put(z - plan.cell(turn.f2) * total, m, third + j, plan.lanes)
        put(x - plan.cell(turn.f0) * total, m, at + j, plan.lanes)
        put(y - plan.cell(turn.f1) * total, m, second + j, plan.lanes)
    for j in range(whole + thread, end, kind(plan.threads)):
        total = m[at + j] + turn.c1 * m[second + j]
        if three:
            total += turn.c2 * m[third + j]
            m[third + j] -= turn.f2 * total
        m[at + j] -= turn.f0 * total
        m[second + j] -= turn.f1 * total


@cuda.jit(device=True)
def turn_columns(m, at, begin, end, pitch, turn, thread, three: cuda.constexpr, plan: cuda.constexpr):
    """Turn two or ``three`` columns, the first at ``at``, in rows from ``begin`` to ``end``; a thread's part."""
    kind = type(end)
    for i in range(begin + thread, end, kind(plan.threads)):
        place = at + i * pitch
        x, y = m[place], m[place + kind(1)]
        total = x + turn.c1 * y
        if three:
            z = m[place + kind(2)]
            total += turn.c2 * z
            m[place + kind(2)] = z - turn.f2 * total
        m[place] = x - turn.f0 * total
        m[place + kind(1)] = y - turn.f1 * total


@cuda.jit(device=True)
def rotate(m, first, second, begin, end, step, c, s, thread, plan: cuda.constexpr):
    """``(x, y) = (c x + s y, c y - s x)`` for numbers from ``first`` and ``second`` on; a thread's part."""
    kind = type(end)
    for j in range(begin + thread, end, kind(plan.threads)):
        x, y = m[first + j * step], m[second + j * step]
        m[first + j * step] = c * x + s * y
        m[second + j * step] = c * y - s * x
