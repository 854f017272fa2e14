"""Where sweeps of the QR iteration begin: small subdiagonal elements, shifts, and first reflections; in the dialect.

Matrices are Hessenberg: m[i, j] at ``base + i * pitch + j``. Real ones have two shifts at once, complex ones one. As
LAPACK's lahqr: M. Ahues, F. Tisseur, "A new deflation criterion for the QR algorithm", LAPACK Working Note 122, 1997;
G. Golub, C. Van Loan, "Matrix Computations", 4th edition, section 7.5.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.linalg.schur.plan import size_of

_PATIENCE = 10  # sweeps without a result, after which shifts are others
_AWAY, _ACROSS = 0.75, -0.4375


class Shifts(NamedTuple):
    """Two real shifts or a pair of conjugates: re1 + i im1, re2 - i im1; or one, complex: ``one``."""

    re1: Any
    re2: Any
    im: Any
    one: Any


class Start(NamedTuple):
    """The row where a sweep begins, and the numbers of which its first reflection is."""

    row: Any
    x: Any
    y: Any
    z: Any


@cuda.jit(device=True)
def first_of_block(h, base, i, n, pitch, small, plan: cuda.constexpr):
    """The first row of the block that ends with row i, above which the subdiagonal element is negligible."""
    kind = type(n)
    eps, zero = plan.real(plan.eps), plan.real(0)
    k = i
    goes_on = k > kind(0)
    while goes_on:
        at = base + k * pitch + k
        above = at - pitch - kind(1)
        below = size_of(h[at - kind(1)], plan.is_complex)
        own, before = size_of(h[at], plan.is_complex), size_of(h[above], plan.is_complex)
        is_small = below <= small
        total = own + before
        if total == zero:
            if k >= kind(2):
                total += size_of(h[above - kind(1)], plan.is_complex)
            if k + kind(1) < n:
                total += size_of(h[at + pitch], plan.is_complex)
        if not is_small and below <= eps * total:
            beside = size_of(h[at - pitch], plan.is_complex)
            apart = size_of(h[above] - h[at], plan.is_complex)
            ab, ba = max(below, beside), min(below, beside)
            aa, bb = max(own, apart), min(own, apart)
            s = aa + ab
            is_small = ba * (ab / s) <= max(small, eps * (bb * (aa / s)))
        if is_small:
            goes_on = False
        else:
            k -= kind(1)
            goes_on = k > kind(0)
    return k


@cuda.jit(device=True)
def _real_shifts(a, b, c, d, plan: cuda.constexpr):
    """The eigenvalues of (a, b; c, d), or twice the real one that is nearer to d."""
    zero = plan.real(0)
    s = abs(a) + abs(b) + abs(c) + abs(d)
    re1, re2, im = zero, zero, zero
    if s > zero:
        a, b, c, d = a / s, b / s, c / s, d / s
        middle = (a + d) * plan.real(0.5)
        product = (a - middle) * (d - middle) - b * c
        root = math.sqrt(abs(product))
        if product >= zero:
            re1, re2, im = middle * s, middle * s, root * s
        else:
            one, other = middle + root, middle - root
            nearer = one if abs(one - d) <= abs(other - d) else other
            re1, re2 = nearer * s, nearer * s
    return re1, re2, im


@cuda.jit(device=True)
def _complex_shift(a, b, c, d, plan: cuda.constexpr):
    """The eigenvalue of (a, b; c, d) that is nearer to d (J. Wilkinson)."""
    u = plan.number(np.sqrt(b) * np.sqrt(c))
    s = size_of(u, True)
    if s > plan.real(0):
        x = plan.number(0.5) * (a - d)
        own = size_of(x, True)
        s = max(s, own)
        p, q = x / plan.number(s), u / plan.number(s)
        y = plan.number(s) * plan.number(np.sqrt(p * p + q * q))
        if own > plan.real(0):
            x_unit = x / plan.number(own)
            if x_unit.real * y.real + x_unit.imag * y.imag < plan.real(0):
                y = -y
        d = d - u * (u / (x + y))
    return d


@cuda.jit(device=True)
def shifts_of(h, base, top, i, pitch, stuck, plan: cuda.constexpr):
    """The `Shifts` for the block of rows top to i; others than its last rows' after ten sweeps that brought nothing."""
    kind = type(pitch)
    last = base + i * pitch + i
    above = last - pitch - kind(1)
    a, b, c, d = h[above], h[last - pitch], h[last - kind(1)], h[last]
    is_odd = stuck % np.int32(_PATIENCE) == np.int32(0)
    if is_odd:
        if stuck % np.int32(2 * _PATIENCE) == np.int32(0):
            beside = size_of(c, plan.is_complex)
            if i > top + kind(1):
                beside += size_of(h[above - kind(1)], plan.is_complex)
            centre = d
        else:
            first = base + top * pitch + top
            beside = size_of(h[first + pitch], plan.is_complex)
            if i > top + kind(1):
                beside += size_of(h[first + kind(2) * pitch + kind(1)], plan.is_complex)
            centre = h[first]
        d = plan.number(plan.real(_AWAY) * beside) + centre
        a, b, c = d, plan.number(plan.real(_ACROSS) * beside), plan.number(beside)
    if plan.is_complex:
        one = d
        if not is_odd:
            one = _complex_shift(a, b, c, d, plan)
        return Shifts(plan.real(0), plan.real(0), plan.real(0), one)
    re1, re2, im = _real_shifts(a, b, c, d, plan)
    return Shifts(re1, re2, im, d)


@cuda.jit(device=True)
def _real_start(h, base, m, pitch, shifts, plan: cuda.constexpr):
    """The first column of the product of a matrix from row m on with both shifts, but for a factor."""
    kind = type(pitch)
    at = base + m * pitch + m
    own, right = h[at], h[at + kind(1)]
    below, corner = h[at + pitch], h[at + pitch + kind(1)]
    lower = h[at + kind(2) * pitch + kind(1)]
    away = own - shifts.re2
    s = abs(away) + abs(shifts.im) + abs(below)
    s = s if s > plan.real(0) else plan.real(1)
    part = below / s
    x = part * right + (own - shifts.re1) * (away / s) + shifts.im * (shifts.im / s)
    y = part * (own + corner - shifts.re1 - shifts.re2)
    z = part * lower
    s = abs(x) + abs(y) + abs(z)
    s = s if s > plan.real(0) else plan.real(1)
    return Start(m, x / s, y / s, z / s)


@cuda.jit(device=True)
def _complex_start(h, base, m, pitch, shifts, plan: cuda.constexpr):
    """The first column of a matrix from row m on less the shift, but for a factor."""
    at = base + m * pitch + m
    x, y = h[at] - shifts.one, h[at + pitch]
    s = size_of(x, True) + size_of(y, True)
    s = s if s > plan.real(0) else plan.real(1)
    return Start(m, x / plan.number(s), y / plan.number(s), plan.number(0))


@cuda.jit(device=True)
def start_of_sweep(h, base, top, i, pitch, shifts, plan: cuda.constexpr):
    """The `Start` of a sweep over rows top to i: as far down as two small subdiagonal elements together allow."""
    kind = type(pitch)
    eps = plan.real(plan.eps)
    m = i - kind(1 if plan.is_complex else 2)
    found = Start(m, plan.number(0), plan.number(0), plan.number(0))
    goes_on = True
    while goes_on:
        if plan.is_complex:
            found = _complex_start(h, base, m, pitch, shifts, plan)
        else:
            found = _real_start(h, base, m, pitch, shifts, plan)
        goes_on = m > top
        if goes_on:
            at = base + m * pitch + m
            before = size_of(h[at - kind(1)], plan.is_complex)
            rest = size_of(found.y, plan.is_complex) + size_of(found.z, plan.is_complex)
            around = size_of(h[at], plan.is_complex) + size_of(h[at + pitch + kind(1)], plan.is_complex)
            if not plan.is_complex:
                around += size_of(h[at - pitch - kind(1)], plan.is_complex)
            if before * rest <= eps * (size_of(found.x, plan.is_complex) * around):
                goes_on = False
            else:
                m -= kind(1)
    return found
