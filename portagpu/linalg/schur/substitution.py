"""Eigenvectors of Schur forms by back substitution, a thread each, and of the matrices they are of; in the dialect.

As LAPACK's trevc: differences of eigenvalues that are too small count as ``eps`` times the eigenvalue, or as a number
that is small beside ``eps`` times any norm; where elements would grow beyond bounds, what was found is scaled.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math

from portagpu import cuda
from portagpu.linalg.schur.pairs import imaginary_part
from portagpu.linalg.schur.plan import size_of


@cuda.jit(device=True)
def _as_result(value, plan: cuda.constexpr):
    """An element of a matrix as a complex number."""
    return plan.result(value) if plan.is_complex else plan.result(complex(value, plan.real(0)))


@cuda.jit(device=True)
def _row_product(t, row, x, at, step, first, end, plan: cuda.constexpr):
    """The product of a row of t with what is known of a vector, from element ``first`` on."""
    re, im = plan.real(0), plan.real(0)
    for j in range(first, end):
        one, other = t[row + j], x[at + j * step]
        if plan.is_complex:
            re += one.real * other.real - one.imag * other.imag
            im += one.real * other.imag + one.imag * other.real
        else:
            re += one * other.real
            im += one * other.imag
    return plan.result(complex(re, im))


@cuda.jit(device=True)
def _room(value, divisor, plan: cuda.constexpr):
    """What a quotient is to be multiplied by so that it is not too large: 1, or less."""
    size, by = size_of(value, True), size_of(divisor, True)
    room = by * plan.real(plan.most)
    return room / size if size > room else plan.real(1)


@cuda.jit(device=True)
def _shrink(x, at, step, first, end, factor, plan: cuda.constexpr):
    """Multiply what is known of a vector."""
    for j in range(first, end):
        x[at + j * step] = x[at + j * step] * plan.result(factor)


@cuda.jit(device=True)
def _divided(value, divisor, plan: cuda.constexpr):
    """A quotient, by a divisor whose square may overflow or vanish (R. Smith, "Algorithm 116: Complex division",
    Communications of the ACM 5(8), 1962)."""
    a, b = value.real, value.imag
    c, d = divisor.real, divisor.imag
    if abs(c) >= abs(d):
        part = d / c
        by = c + d * part
        return plan.result(complex((a + b * part) / by, (b - a * part) / by))
    part = c / d
    by = d + c * part
    return plan.result(complex((a * part + b) / by, (b * part - a) / by))


@cuda.jit(device=True)
def _solve_one(x, at, step, i, end, own, total, least, plan: cuda.constexpr):
    """Element i of a vector: ``-total / own``."""
    kind = type(i)
    if size_of(own, True) < least:
        own = plan.result(least)
    factor = _room(total, own, plan)
    if factor != plan.real(1):
        _shrink(x, at, step, i + kind(1), end, factor, plan)
        total = total * plan.result(factor)
    x[at + i * step] = -_divided(total, own, plan)


@cuda.jit(device=True)
def _solve_two(t, row, x, at, step, i, pitch, end, w, one, two, least, plan: cuda.constexpr):
    """Elements i - 1 and i of a vector, of a block of two rows, by elimination with the largest element as pivot."""
    kind = type(i)
    a, b = _as_result(t[row - pitch + i - kind(1)], plan) - w, _as_result(t[row - pitch + i], plan)
    c, d = _as_result(t[row + i - kind(1)], plan), _as_result(t[row + i], plan) - w
    sa, sb, sc, sd = size_of(a, True), size_of(b, True), size_of(c, True), size_of(d, True)
    largest = max(sa, sb, sc, sd)
    by_rows = max(sc, sd) == largest
    if by_rows:
        a, b, c, d = c, d, a, b
        one, two = two, one
    by_columns = size_of(b, True) > size_of(a, True)
    if by_columns:
        a, b, c, d = b, a, d, c
    if largest < least:
        a = plan.result(least)
        b, c, d = plan.result(0), plan.result(0), plan.result(least)
    lower = _divided(c, a, plan)
    own = d - lower * b
    if size_of(own, True) < least:
        own = plan.result(least)
    rest = two - lower * one
    factor = min(_room(one, a, plan), _room(rest, own, plan))
    if factor != plan.real(1):
        _shrink(x, at, step, i + kind(1), end, factor, plan)
        one, rest = one * plan.result(factor), rest * plan.result(factor)
    second = -_divided(rest, own, plan)
    first = -_divided(one, a, plan) - _divided(b, a, plan) * second
    if by_columns:
        first, second = second, first
    x[at + (i - kind(1)) * step] = first
    x[at + i * step] = second


@cuda.jit(device=True)
def substitute(t, base, x, at, step, k, n, pitch, plan: cuda.constexpr):
    """An eigenvector of a Schur form: that of the eigenvalue of row k, or of the pair that begins there.

    Returns how many elements it has, of which the largest part is 1; the others are zero, and not written. x: memory
    for them from ``at`` on, ``step`` apart.
    """
    kind = type(n)
    own = base + k * pitch + k
    end = k + kind(1)
    w = _as_result(t[own], plan)
    x[at + k * step] = plan.result(1)
    if not plan.is_complex and end < n and t[own + pitch] != plan.number(0):
        right, below = t[own + kind(1)], t[own + pitch]
        part = imaginary_part(right, below)
        w = plan.result(complex(t[own], part))
        if abs(right) >= abs(below):
            x[at + end * step] = plan.result(complex(plan.real(0), part / right))
        else:
            x[at + k * step] = plan.result(complex(-part / below, plan.real(0)))
            x[at + end * step] = plan.result(complex(plan.real(0), plan.real(1)))
        end += kind(1)
    least = max(plan.real(plan.eps) * size_of(w, True), plan.real(plan.least))
    left = k
    while left > kind(0):
        i = left - kind(1)
        row = base + i * pitch
        is_pair = False
        if not plan.is_complex and i > kind(0):
            is_pair = t[row + i - kind(1)] != plan.number(0)
        total = _row_product(t, row, x, at, step, left, end, plan)
        if is_pair:
            one = _row_product(t, row - pitch, x, at, step, left, end, plan)
            _solve_two(t, row, x, at, step, i, pitch, end, w, one, total, least, plan)
            left -= kind(2)
        else:
            _solve_one(x, at, step, i, end, _as_result(t[row + i], plan) - w, total, least, plan)
            left -= kind(1)
    largest = plan.real(0)
    for j in range(end):
        value = x[at + j * step]
        largest = max(largest, abs(value.real), abs(value.imag))
    for j in range(end):
        value = x[at + j * step]
        x[at + j * step] = plan.result(complex(value.real / largest, value.imag / largest))
    return end


@cuda.jit(device=True)
def finish_vector(v, at, step, d, own, n, is_real, plan: cuda.constexpr):
    """``D v``, of length 1; unless ``is_real``, its largest element is made real, as by LAPACK's geev. In place."""
    kind = type(n)
    largest = plan.real(0)
    for i in range(n):
        value = v[at + i * step]
        value = plan.result(complex(value.real * d[own + i], value.imag * d[own + i]))
        v[at + i * step] = value
        largest = max(largest, abs(value.real), abs(value.imag))
    total, most, place = plan.real(0), plan.real(-1), kind(0)
    for i in range(n):
        value = v[at + i * step]
        re, im = value.real / largest, value.imag / largest
        square = re * re + im * im
        total += square
        if square > most:
            most = square
            place = i
    length = math.sqrt(total)
    chosen = v[at + place * step]
    re, im = chosen.real / largest, chosen.imag / largest
    size = math.sqrt(re * re + im * im)
    c, s = re / size, -im / size
    for i in range(n):
        value = v[at + i * step]
        re, im = value.real / largest / length, value.imag / largest / length
        if not is_real:
            re, im = re * c - im * s, re * s + im * c
            if i == place:
                im = plan.real(0)
        v[at + i * step] = plan.result(complex(re, im))
