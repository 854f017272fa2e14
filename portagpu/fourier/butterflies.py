"""Transforms of few numbers, the steps of long ones: radix 2, 3, 4, 5, 7, 8, and any other; in the dialect.

Real and imaginary parts are apart, in numbers or in vectors with a transform in each lane. Formulas: C. Van Loan,
"Computational Frameworks for the Fast Fourier Transform", SIAM, 1992.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

from portagpu import cuda
from portagpu.blas.factorisations.cells import put, take


class Pair(NamedTuple):
    """A complex number, or a vector of them."""

    re: Any
    im: Any


class Step(NamedTuple):
    """What a butterfly reads and writes, all in elements of shared memory.

    ``source``: the first input, ``apart`` the others; ``target``: the first output, ``hop`` the others; ``turn``: the
    place in the table of roots of the factor of the second input, twice that of the third one's.
    """

    source: Any
    apart: Any
    target: Any
    hop: Any
    turn: Any


_HALF = math.sqrt(0.5)
_SINE3 = math.sin(2 * math.pi / 3)
_COS5 = math.cos(2 * math.pi / 5), math.cos(4 * math.pi / 5)
_SIN5 = math.sin(2 * math.pi / 5), math.sin(4 * math.pi / 5)
_COS7 = tuple(math.cos(2 * math.pi * k / 7) for k in (1, 2, 3))
_SIN7 = tuple(math.sin(2 * math.pi * k / 7) for k in (1, 2, 3))


@cuda.jit(device=True)
def _plus(a, b):
    return Pair(a.re + b.re, a.im + b.im)


@cuda.jit(device=True)
def _minus(a, b):
    return Pair(a.re - b.re, a.im - b.im)


@cuda.jit(device=True)
def _turned(a):
    """Times -i."""
    return Pair(a.im, -a.re)


@cuda.jit(device=True)
def _scaled(a, factor, plan: cuda.constexpr):
    one = plan.cell(plan.real(factor))
    return Pair(a.re * one, a.im * one)


@cuda.jit(device=True)
def _input(re, im, table, step, q, plan: cuda.constexpr):
    """Input q, times its factor."""
    kind = type(step.source)
    at = step.source + kind(q) * step.apart
    found = Pair(plan.cell(take(re, at, plan.lanes)), plan.cell(take(im, at, plan.lanes)))
    if q == 0:
        return found
    w = table[kind(q) * step.turn]
    c, s = plan.cell(w.real), plan.cell(w.imag)
    return Pair(found.re * c - found.im * s, found.re * s + found.im * c)


@cuda.jit(device=True)
def _output(value, re, im, step, q, plan: cuda.constexpr):
    kind = type(step.source)
    at = step.target + kind(q) * step.hop
    put(value.re, re, at, plan.lanes)
    put(value.im, im, at, plan.lanes)


@cuda.jit(device=True)
def radix2(re, im, table, step, plan: cuda.constexpr):
    """Two numbers."""
    a = _input(re, im, table, step, 0, plan)
    b = _input(re, im, table, step, 1, plan)
    _output(_plus(a, b), re, im, step, 0, plan)
    _output(_minus(a, b), re, im, step, 1, plan)


@cuda.jit(device=True)
def radix3(re, im, table, step, plan: cuda.constexpr):
    """Three numbers."""
    a = _input(re, im, table, step, 0, plan)
    b = _input(re, im, table, step, 1, plan)
    c = _input(re, im, table, step, 2, plan)
    both = _plus(b, c)
    middle = _minus(a, _scaled(both, 0.5, plan))
    side = _turned(_scaled(_minus(b, c), _SINE3, plan))
    _output(_plus(a, both), re, im, step, 0, plan)
    _output(_plus(middle, side), re, im, step, 1, plan)
    _output(_minus(middle, side), re, im, step, 2, plan)


@cuda.jit(device=True)
def radix4(re, im, table, step, plan: cuda.constexpr):
    """Four numbers."""
    a = _input(re, im, table, step, 0, plan)
    b = _input(re, im, table, step, 1, plan)
    c = _input(re, im, table, step, 2, plan)
    d = _input(re, im, table, step, 3, plan)
    even, odd = _plus(a, c), _minus(a, c)
    sums, sides = _plus(b, d), _turned(_minus(b, d))
    _output(_plus(even, sums), re, im, step, 0, plan)
    _output(_plus(odd, sides), re, im, step, 1, plan)
    _output(_minus(even, sums), re, im, step, 2, plan)
    _output(_minus(odd, sides), re, im, step, 3, plan)


@cuda.jit(device=True)
def radix5(re, im, table, step, plan: cuda.constexpr):
    """Five numbers."""
    a = _input(re, im, table, step, 0, plan)
    b = _input(re, im, table, step, 1, plan)
    c = _input(re, im, table, step, 2, plan)
    d = _input(re, im, table, step, 3, plan)
    e = _input(re, im, table, step, 4, plan)
    outer, inner = _plus(b, e), _plus(c, d)
    apart, between = _minus(b, e), _minus(c, d)
    _output(_plus(a, _plus(outer, inner)), re, im, step, 0, plan)
    first = _plus(a, _plus(_scaled(outer, _COS5[0], plan), _scaled(inner, _COS5[1], plan)))
    second = _plus(a, _plus(_scaled(outer, _COS5[1], plan), _scaled(inner, _COS5[0], plan)))
    side = _turned(_plus(_scaled(apart, _SIN5[0], plan), _scaled(between, _SIN5[1], plan)))
    other = _turned(_minus(_scaled(apart, _SIN5[1], plan), _scaled(between, _SIN5[0], plan)))
    _output(_plus(first, side), re, im, step, 1, plan)
    _output(_plus(second, other), re, im, step, 2, plan)
    _output(_minus(second, other), re, im, step, 3, plan)
    _output(_minus(first, side), re, im, step, 4, plan)


@cuda.jit(device=True)
def _mixed(a, x, y, z, i: cuda.constexpr, j: cuda.constexpr, k: cuda.constexpr, plan: cuda.constexpr):
    """A number and three, times the cosines of a seventh of the circle."""
    return _plus(_plus(a, _scaled(x, _COS7[i], plan)), _plus(_scaled(y, _COS7[j], plan), _scaled(z, _COS7[k], plan)))


@cuda.jit(device=True)
def radix7(re, im, table, step, plan: cuda.constexpr):
    """Seven numbers."""
    a = _input(re, im, table, step, 0, plan)
    b = _input(re, im, table, step, 1, plan)
    c = _input(re, im, table, step, 2, plan)
    d = _input(re, im, table, step, 3, plan)
    e = _input(re, im, table, step, 4, plan)
    f = _input(re, im, table, step, 5, plan)
    g = _input(re, im, table, step, 6, plan)
    x, y, z = _plus(b, g), _plus(c, f), _plus(d, e)
    u, v, w = _minus(b, g), _minus(c, f), _minus(d, e)
    _output(_plus(_plus(a, x), _plus(y, z)), re, im, step, 0, plan)
    one = _mixed(a, x, y, z, 0, 1, 2, plan)
    two = _mixed(a, x, y, z, 1, 2, 0, plan)
    three = _mixed(a, x, y, z, 2, 0, 1, plan)
    side1 = _plus(_plus(_scaled(u, _SIN7[0], plan), _scaled(v, _SIN7[1], plan)), _scaled(w, _SIN7[2], plan))
    side2 = _minus(_minus(_scaled(u, _SIN7[1], plan), _scaled(v, _SIN7[2], plan)), _scaled(w, _SIN7[0], plan))
    side3 = _plus(_minus(_scaled(u, _SIN7[2], plan), _scaled(v, _SIN7[0], plan)), _scaled(w, _SIN7[1], plan))
    _output(_plus(one, _turned(side1)), re, im, step, 1, plan)
    _output(_plus(two, _turned(side2)), re, im, step, 2, plan)
    _output(_plus(three, _turned(side3)), re, im, step, 3, plan)
    _output(_minus(three, _turned(side3)), re, im, step, 4, plan)
    _output(_minus(two, _turned(side2)), re, im, step, 5, plan)
    _output(_minus(one, _turned(side1)), re, im, step, 6, plan)


@cuda.jit(device=True)
def radix8(re, im, table, step, plan: cuda.constexpr):
    """Eight numbers."""
    a = _input(re, im, table, step, 0, plan)
    b = _input(re, im, table, step, 1, plan)
    c = _input(re, im, table, step, 2, plan)
    d = _input(re, im, table, step, 3, plan)
    e = _input(re, im, table, step, 4, plan)
    f = _input(re, im, table, step, 5, plan)
    g = _input(re, im, table, step, 6, plan)
    h = _input(re, im, table, step, 7, plan)
    ae, ce, be, de = _plus(a, e), _plus(c, g), _plus(b, f), _plus(d, h)
    ao, co = _minus(a, e), _turned(_minus(c, g))
    bo, do = _minus(b, f), _turned(_minus(d, h))
    even, odd = _plus(ae, ce), _plus(be, de)
    _output(_plus(even, odd), re, im, step, 0, plan)
    _output(_minus(even, odd), re, im, step, 4, plan)
    even, odd = _minus(ae, ce), _turned(_minus(be, de))
    _output(_plus(even, odd), re, im, step, 2, plan)
    _output(_minus(even, odd), re, im, step, 6, plan)
    even, odd = _plus(ao, co), _plus(bo, do)
    odd = _scaled(_plus(odd, _turned(odd)), _HALF, plan)
    _output(_plus(even, odd), re, im, step, 1, plan)
    _output(_minus(even, odd), re, im, step, 5, plan)
    even, odd = _minus(ao, co), _minus(bo, do)
    odd = _scaled(_minus(_turned(odd), odd), _HALF, plan)
    _output(_plus(even, odd), re, im, step, 3, plan)
    _output(_minus(even, odd), re, im, step, 7, plan)


@cuda.jit(device=True)
def radix_any(re, im, table, step, n, radix, plan: cuda.constexpr):
    """Any count of numbers, as sums of products: few primes are not among those above."""
    kind = type(n)
    span = n // radix
    for q in range(radix):
        total_re, total_im = plan.cell(0), plan.cell(0)
        at, by = kind(0), step.turn + span * q
        by = by - n if by >= n else by
        for m in range(radix):
            w = table[at]
            c, s = plan.cell(w.real), plan.cell(w.imag)
            place = step.source + m * step.apart
            x, y = plan.cell(take(re, place, plan.lanes)), plan.cell(take(im, place, plan.lanes))
            total_re += x * c - y * s
            total_im += x * s + y * c
            at += by
            at = at - n if at >= n else at
        put(total_re, re, step.target + q * step.hop, plan.lanes)
        put(total_im, im, step.target + q * step.hop, plan.lanes)
