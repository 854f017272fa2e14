"""Diagonal blocks of two rows of real Schur forms: brought to a standard form; in the dialect."""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

from portagpu import cuda


class Standard(NamedTuple):
    """A block (a, b; c, d) after a rotation with cosine ``cs`` and sine ``sn``: c = 0, or a = d and b c < 0."""

    a: Any
    b: Any
    c: Any
    d: Any
    cs: Any
    sn: Any


@cuda.jit(device=True)
def sign_of(magnitude, like):
    """The magnitude with the sign of another number."""
    return abs(magnitude) if like >= type(like)(0) else -abs(magnitude)


@cuda.jit(device=True)
def _unit(x, y, plan: cuda.constexpr):
    """Two numbers, not both zero, divided by the root of the sum of their squares, which may vanish."""
    largest = max(abs(x), abs(y))
    x, y = x / largest, y / largest
    length = math.sqrt(x * x + y * y)
    return x / length, y / length


@cuda.jit(device=True)
def standardise(a, b, c, d, plan: cuda.constexpr):
    """The `Standard` form of a real block: that of LAPACK's lanv2 (Z. Bai, J. Demmel, "On swapping diagonal blocks in
    real Schur form", Linear Algebra and its Applications 186, 1993)."""
    zero, one, half = plan.real(0), plan.real(1), plan.real(0.5)
    cs, sn = one, zero
    if c == zero:
        pass
    elif b == zero:
        cs, sn = zero, one
        a, d = d, a
        b, c = -c, zero
    elif a - d == zero and (b < zero) != (c < zero):
        pass
    else:
        apart = a - d
        p = half * apart
        larger = max(abs(b), abs(c))
        smaller = sign_of(min(abs(b), abs(c)), b) * sign_of(one, c)
        scale = max(abs(p), larger)
        z = p / scale * p + larger / scale * smaller
        if z >= plan.real(4 * plan.eps):  # the eigenvalues are real, and well apart
            z = p + sign_of(math.sqrt(scale) * math.sqrt(z), p)
            a = d + z
            d -= larger / z * smaller
            cs, sn = _unit(z, c, plan)
            b, c = b - c, zero
        else:  # complex, or nearly equal: the diagonal's elements are made equal
            sigma = b + c
            along, across = _unit(sigma, apart, plan)
            cs = math.sqrt(half * (one + abs(along)))
            sn = -(half * across / cs) * sign_of(one, sigma)
            aa, bb = a * cs + b * sn, -a * sn + b * cs
            cc, dd = c * cs + d * sn, -c * sn + d * cs
            a, b = aa * cs + cc * sn, bb * cs + dd * sn
            c, d = -aa * sn + cc * cs, -bb * sn + dd * cs
            a = half * (a + d)
            d = a
            if c != zero:
                if b == zero:
                    b, c = -c, zero
                    cs, sn = -sn, cs
                elif (b < zero) == (c < zero):  # real after all: make it triangular
                    left, right = math.sqrt(abs(b)), math.sqrt(abs(c))
                    p = sign_of(left * right, c)
                    tau = one / math.sqrt(abs(b + c))
                    a, d = a + p, a - p
                    b, c = b - c, zero
                    turn, other = left * tau, right * tau
                    cs, sn = cs * turn - sn * other, cs * other + sn * turn
    return Standard(a, b, c, d, cs, sn)


@cuda.jit(device=True)
def imaginary_part(b, c):
    """Of the eigenvalues of a standard block whose c is not 0."""
    return math.sqrt(abs(b)) * math.sqrt(abs(c))
