"""Matrices are copied and scaled before they are reduced; in the dialect.

Similarities by powers of two make rows and columns of the same index about as long as each other: B. Parlett, C.
Reinsch, "Balancing a matrix for calculation of eigenvalues and eigenvectors", Numerische Mathematik 13, 1969, with the
lengths of R. James, J. Langou, B. Lowery, "On matrix balancing and eigenvector computation", arXiv:1401.5766, as
LAPACK's gebal has them.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math

from portagpu import cuda
from portagpu.blas.factorisations.cells import real_product
from portagpu.linalg.schur.plan import largest_of_threads, meet, size_of, sum_of_threads

_ENOUGH = 0.95  # of a row's and a column's lengths together: what saves less is not done


@cuda.jit(device=True)
def copy_scaled(a, matrix, h, base, n, pitch, thread, held, plan: cuda.constexpr):
    """Copy a matrix, times a power of two where its elements' squares might overflow or vanish.

    a: a `Strided`; h: rows from ``base`` on, ``pitch`` elements apart. Returns the power, 0 where an element is not
    finite.
    """
    kind = type(n)
    start = a.first + matrix * a.batch
    largest, odd = plan.real(0), plan.real(0)
    for at in range(thread, n * n, kind(plan.threads)):
        i, j = at // n, at % n
        value = a.memory[start + i * a.down + j * a.right]
        if plan.is_complex:
            size = max(abs(value.real), abs(value.imag))
            is_finite = abs(value.real) < plan.real(math.inf) and abs(value.imag) < plan.real(math.inf)
        else:
            size = abs(value)
            is_finite = size < plan.real(math.inf)
        largest = max(largest, size)
        if not is_finite:
            odd = plan.real(1)
        h[base + i * pitch + j] = value
    odd = sum_of_threads(odd, held, thread, plan)
    largest = largest_of_threads(largest, held, thread, plan)
    scale = plan.real(1)
    if odd != plan.real(0):
        scale = plan.real(0)
    elif largest > plan.real(0):
        exponent = math.frexp(largest)[1]
        if exponent > plan.reach:
            scale = plan.real(math.ldexp(plan.real(1), plan.reach - exponent))
        elif exponent < -plan.reach:
            scale = plan.real(math.ldexp(plan.real(1), -plan.reach - exponent))
        if scale != plan.real(1):
            for at in range(thread, n * n, kind(plan.threads)):
                place = base + at // n * pitch + at % n
                h[place] = h[place] * plan.number(scale)
    meet(plan)
    return scale


@cuda.jit(device=True)
def _isolate(h, base, d, own, n, pitch, thread, held, plan: cuda.constexpr):
    """Make 0 those of d whose row or column has nothing beside the diagonal, in the rows and columns that are left.

    Their eigenvalues stand on the diagonal, and nothing would end their scaling; LAPACK exchanges rows to set them
    apart.
    """
    kind = type(n)
    goes_on = True
    while goes_on:
        goes_on = False
        for i in range(n):
            before = d[own + i]
            c, r = plan.real(0), plan.real(0)
            for k in range(thread, n, kind(plan.threads)):
                if k != i and d[own + k] != plan.real(0):
                    c = max(c, size_of(h[base + k * pitch + i], plan.is_complex))
                    r = max(r, size_of(h[base + i * pitch + k], plan.is_complex))
            c = largest_of_threads(c, held, thread, plan)
            r = largest_of_threads(r, held, thread, plan)
            meet(plan)
            if before != plan.real(0) and min(c, r) == plan.real(0):
                goes_on = True
                if thread == kind(0):
                    d[own + i] = plan.real(0)
            meet(plan)


@cuda.jit(device=True)
def _lengths(h, row, column, d, own, n, pitch, thread, held, plan: cuda.constexpr):
    """The lengths of a column and of a row, and their largest magnitudes; without elements whose d is 0."""
    kind = type(n)
    ca, ra = plan.real(0), plan.real(0)
    for k in range(thread, n, kind(plan.threads)):
        if d[own + k] != plan.real(0):
            ca = max(ca, size_of(h[column + k * pitch], plan.is_complex))
            ra = max(ra, size_of(h[row + k], plan.is_complex))
    ca = largest_of_threads(ca, held, thread, plan)
    ra = largest_of_threads(ra, held, thread, plan)
    c, r = plan.real(0), plan.real(0)
    by, beside = plan.number(ca if ca > plan.real(0) else 1), plan.number(ra if ra > plan.real(0) else 1)
    for k in range(thread, n, kind(plan.threads)):
        if d[own + k] != plan.real(0):
            x, y = h[column + k * pitch] / by, h[row + k] / beside
            c += real_product(x, x, plan.is_complex)
            r += real_product(y, y, plan.is_complex)
    c = sum_of_threads(c, held, thread, plan)
    r = sum_of_threads(r, held, thread, plan)
    return ca * math.sqrt(c), ra * math.sqrt(r), ca, ra


@cuda.jit(device=True)
def _factor(lengths, before, plan: cuda.constexpr):
    """The power of two for a column, and its inverse for the row; 1 where that gains little. before: those so far, 0
    where there are to be none."""
    c, r, ca, ra = lengths
    least = plan.real(plan.tiny / plan.eps)
    most = plan.real(0.5) / least
    f = plan.real(1)
    if c > plan.real(0) and r > plan.real(0) and before > plan.real(0):
        total = c + r
        while c < r * plan.real(0.5) and max(f, c, ca) < most and min(r, ra) > plan.real(4) * least:
            f *= plan.real(2)
            c *= plan.real(2)
            ca *= plan.real(2)
            r *= plan.real(0.5)
            ra *= plan.real(0.5)
        while c * plan.real(0.5) >= r and max(r, ra) < most and min(f, c, ca) > plan.real(4) * least:
            f *= plan.real(0.5)
            c *= plan.real(0.5)
            ca *= plan.real(0.5)
            r *= plan.real(2)
            ra *= plan.real(2)
        gains = c + r < plan.real(_ENOUGH) * total
        vanishes = f < plan.real(1) and before < plan.real(1) and f * before <= least
        exceeds = f > plan.real(1) and before > plan.real(1) and before >= most / f
        if not gains or vanishes or exceeds:
            f = plan.real(1)
    return f


@cuda.jit(device=True)
def balance(h, base, d, own, n, pitch, thread, held, plan: cuda.constexpr):
    """``h = inv(D) h D``, in place. d: the diagonals of D, powers of two, from ``own`` on."""
    kind = type(n)
    for i in range(thread, n, kind(plan.threads)):
        d[own + i] = plan.real(1)
    meet(plan)
    _isolate(h, base, d, own, n, pitch, thread, held, plan)
    goes_on = True
    while goes_on:
        goes_on = False
        for i in range(n):
            row, column = base + i * pitch, base + i
            f = _factor(_lengths(h, row, column, d, own, n, pitch, thread, held, plan), d[own + i], plan)
            meet(plan)
            if f != plan.real(1):
                goes_on = True
                for k in range(thread, n, kind(plan.threads)):
                    if k != i:
                        h[row + k] = h[row + k] / plan.number(f)
                        h[column + k * pitch] = h[column + k * pitch] * plan.number(f)
                if thread == kind(0):
                    d[own + i] = d[own + i] * f
            meet(plan)
    for i in range(thread, n, kind(plan.threads)):
        if d[own + i] == plan.real(0):
            d[own + i] = plan.real(1)
    meet(plan)
