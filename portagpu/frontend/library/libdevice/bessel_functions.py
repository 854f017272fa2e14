"""Bessel functions of libdevice, written in the dialect: exact to a few units of rounding of their largest values.

Below 8 the power series' regular parts are Chebyshev series, from there on the factors of Hankel's expansion are. Other
orders follow from 0 and 1 by the recurrence, in the direction in which errors do not grow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.frontend.library.libdevice import bessel_tables as tables
from portagpu.frontend.source.callables import LibraryFunction

J0, Y0, P0, Q0 = tables.J0, tables.Y0, tables.P0, tables.Q0
J1, Y1, P1, Q1 = tables.J1, tables.Y1, tables.P1, tables.Q1
J0_SINGLE, Y0_SINGLE, P0_SINGLE, Q0_SINGLE = tables.J0_SINGLE, tables.Y0_SINGLE, tables.P0_SINGLE, tables.Q0_SINGLE
J1_SINGLE, Y1_SINGLE, P1_SINGLE, Q1_SINGLE = tables.J1_SINGLE, tables.Y1_SINGLE, tables.P1_SINGLE, tables.Q1_SINGLE


@LibraryFunction
def series(table: Any, t: Any) -> Any:
    """The Chebyshev series with these coefficients, by Clenshaw's sum."""
    last = t * 0
    found = t * 0
    for k in range(table.size - 1, 0, -1):
        last, found = found, 2 * t * found - last + table[k]
    return t * found - last + table[0]


@LibraryFunction
def waves(x: Any, p: Any, q: Any) -> Any:
    """``J`` and ``Y`` of order 0 from Hankel's factors; of order 1, they are ``Y`` and ``-J`` of these."""
    sine = math.sin(x)
    cosine = math.cos(x)
    together = cosine + sine
    apart = sine - cosine
    size = math.sqrt(0.3183098861837907 / x)
    return (p * together - q * apart) * size, (p * apart + q * together) * size


@LibraryFunction
def j0(x: Any) -> Any:
    """Bessel function of the first kind, of order 0."""
    x = abs(x)
    if x < 8:
        if x.dtype.itemsize == 8:
            return series(J0, x * x / 32 - 1)
        return series(J0_SINGLE, x * x / 32 - 1)
    if x == math.inf:
        return 0.0
    inverse = 1 / x
    t = 128 * inverse * inverse - 1
    if x.dtype.itemsize == 8:
        return waves(x, series(P0, t), series(Q0, t) * inverse)[0]
    return waves(x, series(P0_SINGLE, t), series(Q0_SINGLE, t) * inverse)[0]


@LibraryFunction
def j1(x: Any) -> Any:
    """Bessel function of the first kind, of order 1."""
    size = abs(x)
    if size < 8:
        if x.dtype.itemsize == 8:
            return x * series(J1, x * x / 32 - 1)
        return x * series(J1_SINGLE, x * x / 32 - 1)
    if size == math.inf:
        return math.copysign(0.0, x)
    inverse = 1 / size
    t = 128 * inverse * inverse - 1
    if x.dtype.itemsize == 8:
        found = waves(size, series(P1, t), series(Q1, t) * inverse)[1]
    else:
        found = waves(size, series(P1_SINGLE, t), series(Q1_SINGLE, t) * inverse)[1]
    return -found if x < 0 else found


@LibraryFunction
def y0(x: Any) -> Any:
    """Bessel function of the second kind, of order 0."""
    if not x > 0:
        return -math.inf if x == 0 else math.nan
    if x < 8:
        t = x * x / 32 - 1
        if x.dtype.itemsize == 8:
            return 0.6366197723675814 * math.log(x) * series(J0, t) + series(Y0, t)
        return 0.6366197723675814 * math.log(x) * series(J0_SINGLE, t) + series(Y0_SINGLE, t)
    if x == math.inf:
        return 0.0
    inverse = 1 / x
    t = 128 * inverse * inverse - 1
    if x.dtype.itemsize == 8:
        return waves(x, series(P0, t), series(Q0, t) * inverse)[1]
    return waves(x, series(P0_SINGLE, t), series(Q0_SINGLE, t) * inverse)[1]


@LibraryFunction
def y1(x: Any) -> Any:
    """Bessel function of the second kind, of order 1."""
    if not x > 0:
        return -math.inf if x == 0 else math.nan
    if x < 8:
        t = x * x / 32 - 1
        if x.dtype.itemsize == 8:
            regular = x * (0.6366197723675814 * math.log(x) * series(J1, t) + series(Y1, t))
        else:
            regular = x * (0.6366197723675814 * math.log(x) * series(J1_SINGLE, t) + series(Y1_SINGLE, t))
        return regular - 0.6366197723675814 / x
    if x == math.inf:
        return 0.0
    inverse = 1 / x
    t = 128 * inverse * inverse - 1
    if x.dtype.itemsize == 8:
        return -waves(x, series(P1, t), series(Q1, t) * inverse)[0]
    return -waves(x, series(P1_SINGLE, t), series(Q1_SINGLE, t) * inverse)[0]


@LibraryFunction
def yn(n: Any, x: Any) -> Any:
    """Bessel function of the second kind, of order n; nan for a negative n."""
    if n < 0 or not x > 0:
        return -math.inf if n >= 0 and x == 0 else math.nan
    if n == 0:
        return y0(x)
    before = y0(x)
    found = y1(x)
    if x < math.inf:
        for k in range(1, n):
            if found == -math.inf:
                break
            before, found = found, 2 * k / x * found - before
    return found


@LibraryFunction
def jn(n: Any, x: Any) -> Any:
    """Bessel function of the first kind, of order n; nan for a negative n."""
    if n < 0 or x != x:
        return math.nan
    if n == 0:
        return j0(x)
    if n == 1:
        return j1(x)
    size = abs(x)
    found = size * 0
    if size == math.inf or x == 0:
        found = size * 0 if x == 0 else np.copysign(0.0, size)
    elif size * size < 1e-4:  # the first terms of the power series
        found = size * 0 + 1
        for k in range(1, n + 1):
            found *= size * 0.5 / k
            if found == 0:
                break
        square = size * size * 0.25
        found *= 1 - square / (n + 1) * (1 - square / (2 * (n + 2)))
    elif size > n:
        before = j0(size)
        found = j1(size)
        for k in range(1, n):
            before, found = found, 2 * k / size * found - before
    else:  # downwards, from an order whose value is as good as 0, and scaled by what order 0 or 1 must be
        above = size * 0
        here = size * 0 + 1
        for k in range(n + int(math.sqrt(160.0 * n)) + 10, 0, -1):
            above, here = here, 2 * k / size * here - above
            if abs(here) > 1e15:
                here *= 1e-15
                above *= 1e-15
                found *= 1e-15
            if k - 1 == n:
                found = here
        found *= j0(size) / here if abs(here) > abs(above) else j1(size) / above
    return -found if x < 0 and n % 2 == 1 else found
