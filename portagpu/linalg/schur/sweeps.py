"""The QR iteration: Hessenberg matrices become triangular, but for blocks of two rows of real ones; in the dialect.

Sweeps with two shifts at once keep real matrices real (J. Francis, "The QR transformation", The Computer Journal 4,
1961 and 1962), complex ones are swept with one shift; as LAPACK's lahqr.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import numpy as np

from portagpu import cuda
from portagpu.blas.factorisations.cells import conjugate
from portagpu.linalg.schur.pairs import imaginary_part, standardise
from portagpu.linalg.schur.plan import meet
from portagpu.linalg.schur.shifts import first_of_block, shifts_of, start_of_sweep
from portagpu.linalg.schur.turns import (
    reflection_of,
    rotate,
    turn_columns,
    turn_of_columns,
    turn_of_rows,
    turn_rows,
)

_SWEEPS = 30  # for each row, and as for ten rows at least: LAPACK's limit


@cuda.jit(device=True)
def _turn(h, zt, base, k, low, high, end, n, pitch, found, thread, three: cuda.constexpr, plan: cuda.constexpr):
    """A reflection of rows and columns k, k + 1 and perhaps k + 2: of columns to ``high``, of rows from ``low`` to
    ``end``, and of the transposed vectors."""
    rows, columns = turn_of_rows(found, plan.is_complex), turn_of_columns(found, plan.is_complex)
    turn_rows(h, base + k * pitch, k, high, pitch, rows, thread, three, plan)
    if plan.vectors:
        turn_rows(zt, base + k * pitch, type(n)(0), n, pitch, columns, thread, three, plan)
    meet(plan)
    turn_columns(h, base + k, low, end, pitch, columns, thread, three, plan)
    meet(plan)


@cuda.jit(device=True)
def _sweep(h, zt, base, l, i, n, pitch, stuck, thread, plan: cuda.constexpr):
    """A sweep over the block of rows l to i."""
    kind = type(n)
    low, high = (kind(0), n) if plan.vectors else (l, i + kind(1))
    start = start_of_sweep(h, base, l, i, pitch, shifts_of(h, base, l, i, pitch, stuck, plan), plan)
    first = start.row
    x, y, z = start.x, start.y, start.z
    for k in range(first, i):
        three = not plan.is_complex and k + kind(1) < i
        if k > first:
            before = base + k * pitch + k - kind(1)
            x, y, z = h[before], h[before + pitch], plan.number(0)
            if three:
                z = h[before + kind(2) * pitch]
        found = reflection_of(x, y, z, plan)
        meet(plan)
        if thread == kind(0):
            if k > first:
                before = base + k * pitch + k - kind(1)
                h[before] = found.beta
                h[before + pitch] = plan.number(0)
                if three:
                    h[before + kind(2) * pitch] = plan.number(0)
            elif k > l:
                before = base + k * pitch + k - kind(1)
                h[before] = h[before] * (plan.number(1) - conjugate(found.tau, plan.is_complex))
        if three:
            end = min(k + kind(4), i + kind(1))
            _turn(h, zt, base, k, low, high, end, n, pitch, found, thread, True, plan)
        else:
            end = min(k + kind(3), i + kind(1))
            _turn(h, zt, base, k, low, high, end, n, pitch, found, thread, False, plan)


@cuda.jit(device=True)
def find_schur_form(h, zt, base, values, own, n, pitch, scale, thread, plan: cuda.constexpr):
    """``T = Q^H h Q`` in place of a Hessenberg matrix; zt becomes Q^T, if ``plan.vectors``.

    values: the eigenvalues divided by ``scale``, from ``own`` on, complex. Returns LAPACK's info, the number of
    eigenvalues, the first ones, that were not found in time, and whether there are others than real ones (1 or 0).
    """
    kind = type(n)
    small = plan.real(plan.tiny / plan.eps) * plan.real(n)
    left = np.int32(_SWEEPS) * max(np.int32(n), np.int32(10))
    stuck, paired = np.int32(0), np.int32(0)
    end = n
    while end > kind(0) and left > np.int32(0):
        i = end - kind(1)
        l = first_of_block(h, base, i, n, pitch, small, plan)
        meet(plan)
        if l > kind(0) and thread == kind(0):
            h[base + l * pitch + l - kind(1)] = plan.number(0)
        if l == i:
            value = h[base + i * pitch + i]
            if thread == kind(0):
                if plan.is_complex:
                    values[own + i] = plan.result(complex(value.real / scale, value.imag / scale))
                else:
                    values[own + i] = plan.result(complex(value / scale, plan.real(0)))
            stuck = np.int32(0)
            end = l
        elif not plan.is_complex and l + kind(1) == i:
            row = base + i * pitch
            at = row + i
            above = at - pitch - kind(1)
            found = standardise(h[above], h[at - pitch], h[at - kind(1)], h[at], plan)
            part = plan.real(0)
            if found.c != plan.real(0):
                part = imaginary_part(found.b, found.c) / scale
            if part != plan.real(0):
                paired = np.int32(1)
            meet(plan)
            if thread == kind(0):
                h[above] = found.a
                h[at - pitch] = found.b
                h[at - kind(1)] = found.c
                h[at] = found.d
                values[own + l] = plan.result(complex(found.a / scale, part))
                values[own + i] = plan.result(complex(found.d / scale, -part))
            if plan.vectors:
                rotate(h, row - pitch, row, end, n, kind(1), found.cs, found.sn, thread, plan)
                rotate(h, base + l, base + i, kind(0), l, pitch, found.cs, found.sn, thread, plan)
                rotate(zt, row - pitch, row, kind(0), n, kind(1), found.cs, found.sn, thread, plan)
            stuck = np.int32(0)
            end = l
        else:
            stuck += np.int32(1)
            left -= np.int32(1)
            _sweep(h, zt, base, l, i, n, pitch, stuck, thread, plan)
        meet(plan)
    return np.int32(end), paired
