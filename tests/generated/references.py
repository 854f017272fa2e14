"""References that neither NumPy nor Python has as such."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from operands import Array


def c_function(function: Callable[..., float]) -> Callable[..., float]:
    """A function of `math` with C's results where Python raises: nan, or an infinity where the result is too large."""

    def called(*args: float) -> float:
        try:
            return float(function(*args))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return called


def _fused(x: float, y: float, z: float) -> np.longdouble:
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        product = x * y if math.isfinite(x) and math.isfinite(y) else np.float64(x) * np.float64(y)
        if math.isfinite(x) and math.isfinite(y):  # the product itself cannot overflow
            return np.longdouble(z)
        return np.longdouble(np.float64(product) + np.float64(z))
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if not exact:
        return np.longdouble(0)
    # a quotient of two integers of some 2000 bits, in the 64 bits of a long double
    shift = 70 - (exact.numerator.bit_length() - exact.denominator.bit_length())
    scaled = (
        (exact.numerator << shift) // exact.denominator
        if shift >= 0
        else exact.numerator // (exact.denominator << -shift)
    )
    high, low = divmod(scaled, 1 << 36)
    return np.ldexp(np.longdouble(high) * np.longdouble(2.0**36) + np.longdouble(low), -shift)


def fused(x: Array, y: Array, z: Array) -> Array:
    """``x * y + z``, rounded once."""
    rows = zip(x.tolist(), y.tolist(), z.tolist(), strict=True)
    with np.errstate(all="ignore"):
        return np.array([_fused(*row) for row in rows], np.longdouble)


def rounded_away(x: Array) -> Array:
    """The nearest whole numbers, halves away from zero."""
    return np.copysign(np.floor(np.abs(x.astype(np.longdouble)) + np.longdouble(0.5)), x).astype(x.dtype)


def integer_power(x: Array, y: Array) -> Array:
    """Powers of integers that wrap around; of a negative exponent, the whole part of the quotient, and 0 for 0."""
    kind = np.result_type(x, y)
    bits = 8 * kind.itemsize
    found = []
    for base, exponent in zip(x.tolist(), y.tolist(), strict=True):
        if exponent < 0:
            power = base if base == 1 else (1 if exponent % 2 == 0 else -1) if base == -1 else 0
        else:
            power = pow(int(base), int(exponent), 1 << bits)
        found.append(power % (1 << bits))
    unsigned = np.array(found, np.uint64)
    return unsigned.astype(kind)


_ROOT_OF_PI = np.sqrt(np.longdouble("3.14159265358979323846264338327950288"))


def _erfcx(x: np.longdouble) -> np.longdouble:
    """``exp(x * x) * erfc(x)`` of x from 0 on: a series of positive terms, or a continued fraction."""
    if x >= 2:
        fraction = x
        for k in range(200, 0, -1):
            fraction = x + np.longdouble(k) / 2 / fraction
        return 1 / fraction / _ROOT_OF_PI
    term = total = x
    for k in range(1, 60):
        term = term * 2 * x * x / (2 * k + 1)
        total += term
    return np.exp(x * x) - 2 / _ROOT_OF_PI * total


def erfcx(x: Array) -> Array:
    """The scaled complementary error function, in long double."""
    wide = x.astype(np.longdouble)
    right = np.array([_erfcx(v) for v in np.abs(wide)], np.longdouble)
    return np.where(wide < 0, 2 * np.exp(wide * wide) - right, right)


def normcdf(x: Array) -> Array:
    """Probability that a normal number is at most x, in long double: SciPy's loses digits far from 0."""
    wide = x.astype(np.longdouble)
    square = np.minimum(wide * wide / 2, 1e5)  # infinity times zero is not zero
    scaled = np.array([_erfcx(v) for v in np.sqrt(square)], np.longdouble)
    tail = np.exp(-square) * scaled / 2
    return np.where(np.isnan(wide), np.nan, np.where(wide > 0, 1 - tail, tail))
