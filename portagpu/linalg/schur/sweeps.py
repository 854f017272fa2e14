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
from portagpu.linalg.schur.turns import reflection_of, rotate, turn_columns, turn_of_columns, turn_of_rows, turn_rows


@cuda.jit(device=True)
def _sweep(h, zt, base, top, i, last, n, pitch, stuck, thread, plan: cuda.constexpr):
    """A sweep over the block of rows top to i; none if ``last`` is not i, but 0."""
    kind = type(n)
    low, high = (kind(0), n) if plan.vectors else (top, i + kind(1))
    first = last
    x, y, z = plan.number(0), plan.number(0), plan.number(0)
    if last > kind(0):
        start = start_of_sweep(h, base, top, i, pitch, shifts_of(h, base, top, i, pitch, stuck, plan), plan)
        first, x, y, z = start.row, start.x, start.y, start.z
    for k in range(first, last):
        row = base + k * pitch
        three = not plan.is_complex and k + kind(1) < i
        if k > first:
            before = row + k - kind(1)
            x, y, z = h[before], h[before + pitch], plan.number(0)
            if three:
                z = h[before + kind(2) * pitch]
        found = reflection_of(x, y, z, plan)
        rows, columns = turn_of_rows(found, plan.is_complex), turn_of_columns(found, plan.is_complex)
        meet(plan)
        if thread == kind(0):
            if k > first:
                before = row + k - kind(1)
                h[before] = found.beta
                h[before + pitch] = plan.number(0)
                if three:
                    h[before + kind(2) * pitch] = plan.number(0)
            elif k > top:
                before = row + k - kind(1)
                h[before] = h[before] * (plan.number(1) - conjugate(found.tau, plan.is_complex))
        if three:
            turn_rows(h, row, k, high, pitch, rows, thread, True, plan)
            if plan.vectors:
                turn_rows(zt, row, kind(0), n, pitch, columns, thread, True, plan)
        else:
            turn_rows(h, row, k, high, pitch, rows, thread, False, plan)
            if plan.vectors:
                turn_rows(zt, row, kind(0), n, pitch, columns, thread, False, plan)
        meet(plan)
        if three:
            turn_columns(h, base + k, low, min(k + kind(4), i + kind(1)), pitch, columns, thread, True, plan)
        else:
            turn_columns(h, base + k, low, i + kind(1), pitch, columns, thread, False, plan)
        meet(plan)


@cuda.jit(device=True)
def _standard_block(h, base, i, pitch, plan: cuda.constexpr):
    """The `Standard` form of the block of rows i - 1 and i."""
    last = base + i * pitch + i
    above = last - pitch - type(i)(1)
    return standardise(h[above], h[last - pitch], h[last - type(i)(1)], h[last], plan)


@cuda.jit(device=True)
def _finish_one(h, base, values, own, i, pitch, scale, thread, plan: cuda.constexpr):
    """The eigenvalue of row i."""
    value = h[base + i * pitch + i]
    if thread == type(i)(0):
        if plan.is_complex:
            values[own + i] = plan.result(complex(value.real / scale, value.imag / scale))
        else:
            values[own + i] = plan.result(complex(value / scale, plan.real(0)))


@cuda.jit(device=True)
def _finish_two(h, zt, base, values, own, i, n, pitch, scale, found, thread, plan: cuda.constexpr):
    """The eigenvalues of rows i - 1 and i of a real matrix; whether they have imaginary parts."""
    kind = type(n)
    top, row = i - kind(1), base + i * pitch
    part = plan.real(0)
    if found.c != plan.real(0):
        part = imaginary_part(found.b, found.c) / scale
    if thread == kind(0):
        h[row - pitch + top] = found.a
        h[row - pitch + i] = found.b
        h[row + top] = found.c
        h[row + i] = found.d
        values[own + top] = plan.result(complex(found.a / scale, part))
        values[own + i] = plan.result(complex(found.d / scale, -part))
    if plan.vectors:
        rotate(h, row - pitch, row, i + kind(1), n, kind(1), found.cs, found.sn, thread, plan)
        rotate(h, base + top, base + i, kind(0), top, pitch, found.cs, found.sn, thread, plan)
        rotate(zt, row - pitch, row, kind(0), n, kind(1), found.cs, found.sn, thread, plan)
    return part != plan.real(0)


@cuda.jit(device=True)
def find_schur_form(h, zt, base, values, own, n, pitch, scale, thread, plan: cuda.constexpr):
    """``T = Q^H h Q`` in place of a Hessenberg matrix; zt becomes Q^T, if ``plan.vectors``.

    values: the eigenvalues divided by ``scale``, from ``own`` on, complex. Returns LAPACK's info, the number of
    eigenvalues, the first ones, that were not found in time, and whether there are others than real ones (1 or 0). No
    barrier stands under a condition, as conditions are read from memory.
    """
    kind = type(n)
    small = plan.real(plan.tiny / plan.eps) * plan.real(n)
    left = np.int32(plan.sweeps) * max(np.int32(n), np.int32(10))
    stuck, paired = np.int32(0), np.int32(0)
    end = n
    while end > kind(0) and left > np.int32(0):
        i = end - kind(1)
        top = first_of_block(h, base, i, n, pitch, small, plan)
        is_two = not plan.is_complex and top + kind(1) == i
        if not plan.is_complex:
            found = standardise(plan.real(0), plan.real(0), plan.real(0), plan.real(0), plan)
            if is_two:
                found = _standard_block(h, base, i, pitch, plan)
        meet(plan)
        if top > kind(0) and thread == kind(0):
            h[base + top * pitch + top - kind(1)] = plan.number(0)
        last = kind(0)
        if top == i:
            _finish_one(h, base, values, own, i, pitch, scale, thread, plan)
        elif is_two:
            if not plan.is_complex:  # noqa: SIM102 - the rest is not for complex numbers
                if _finish_two(h, zt, base, values, own, i, n, pitch, scale, found, thread, plan):
                    paired = np.int32(1)
        else:
            last = i
        stuck += np.int32(1)
        left -= np.int32(1)
        _sweep(h, zt, base, top, i, last, n, pitch, stuck, thread, plan)
        if last == kind(0):
            stuck = np.int32(0)
            end = top
        meet(plan)
    return np.int32(end), paired
