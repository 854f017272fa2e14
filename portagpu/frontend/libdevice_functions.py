"""Functions of libdevice that take more than one operation, written in the dialect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.frontend.calls import LibraryFunction
from portagpu.frontend.vocabulary import INTRINSICS

fma: Any = INTRINSICS["fma"]


@LibraryFunction
def sad(x: Any, y: Any, z: Any) -> Any:
    """The distance of two integers, plus a third."""
    return (x - y if x > y else y - x) + z


@LibraryFunction
def byte_perm(x: Any, y: Any, selector: Any) -> Any:
    """Four of the eight bytes of two integers, by four three-bit numbers in a third."""
    pool = np.uint64(y) << np.uint64(32) | np.uint64(x)
    result = np.uint32(0)
    for n in range(4):
        place = np.uint64(selector >> np.uint32(4 * n)) & np.uint64(7)
        result |= np.uint32(pool >> (place * np.uint64(8)) & np.uint64(255)) << np.uint32(8 * n)
    return result


@LibraryFunction
def saturate(x: Any) -> Any:
    """The number clamped to [0, 1]; nan is 0."""
    if x > 1:
        return 1.0
    return x if x > 0 else 0.0


@LibraryFunction
def rcbrt(x: Any) -> Any:
    """One over the cube root."""
    return 1 / np.cbrt(x)


@LibraryFunction
def reciprocal(x: Any) -> Any:
    """One over the number."""
    return 1 / x


@LibraryFunction
def reciprocal_root(x: Any) -> Any:
    """One over the square root, rounded once: the rounded one corrected by its exact residue."""
    found = 1 / math.sqrt(x)
    if x > 0 and x < math.inf:
        product = x * found
        rest = fma(-product, found, 1) - fma(x, found, -product) * found
        found = fma(found * 0.5, rest, found)
    return found


@LibraryFunction
def remquo(x: Any, y: Any) -> Any:
    """The IEEE remainder, and the lowest three bits of the rounded quotient with its sign."""
    size = abs(y)
    rest = abs(x)
    if math.isfinite(8 * size) and math.isfinite(rest):
        rest = math.fmod(rest, 8 * size)
    remainder = math.remainder(rest, size)
    quotient = np.int32(0)
    if math.isfinite(remainder) and math.isfinite(size):
        quotient = np.int32(np.rint((rest - remainder) / size)) & np.int32(7)
    if (x < 0) != (y < 0):
        quotient = -quotient
    return (-remainder if np.signbit(x) else remainder), quotient


@LibraryFunction
def normcdf(x: Any) -> Any:
    """Probability that a normal number is at most x."""
    scaled = x * -0.7071067811865476
    if not abs(x) < 40:
        return math.erfc(scaled) * 0.5
    # what the product lost, and the constant's own rounding, times the derivative
    lost = fma(x, -0.7071067811865476, -scaled)
    if x.dtype.itemsize == 4:
        lost = fma(x, -1.21016175e-08, lost)
    else:
        lost = fma(x, 4.833646656726457e-17, lost)
    return math.erfc(scaled) * fma(-2 * scaled if scaled > 1 else x * 0, lost, 1) * 0.5


@LibraryFunction
def erfcinv(y: Any) -> Any:
    """The number whose `erfc` is y: a closed form, then steps of Newton's method on the logarithm, or of Halley's."""
    if not (y > 0 and y < 2):
        if y == 0:
            return math.inf
        return -math.inf if y == 2 else math.nan
    tail = min(y, 2 - y)
    size = math.log(tail * (2 - tail))
    middle = 4.330746750799873 + size * 0.5
    found = math.sqrt(max(math.sqrt(middle * middle - size / 0.147) - middle, 0.0))
    if tail < 0.01:  # its digits may be few, those of the logarithm are not
        size = math.log(tail)
        for _ in range(4):
            scaled = erfcx(found)
            found += (math.log(scaled) - size - found * found) * scaled * 0.886226925452758
    else:
        for _ in range(3):
            step = (math.erfc(found) - tail) / (-1.1283791670955126 * math.exp(-found * found))
            found -= step / (1 + found * step)
    return found if y < 1 else -found


@LibraryFunction
def erfinv(x: Any) -> Any:
    """The number whose `erf` is x."""
    if not abs(x) <= 0.5:
        return math.copysign(erfcinv(1 - abs(x)), x)
    found = x * 0.8862269254527580
    for _ in range(3):
        step = (math.erf(found) - x) / (1.1283791670955126 * math.exp(-found * found))
        found -= step / (1 + found * step)
    return found


@LibraryFunction
def normcdfinv(p: Any) -> Any:
    """The inverse of `normcdf`."""
    return erfcinv(p * 2) * -math.sqrt(2.0)


@LibraryFunction
def erfcx(x: Any) -> Any:
    """``exp(x * x) * erfc(x)``, also where the factors overflow and vanish."""
    if x > 8:
        if x > 1e8:
            return 0.5641895835477563 / x
        square = 0.5 / (x * x)
        term = x * 0 + 1
        total = x * 0 + 1
        for k in range(1, 16):
            term *= square * (1 - 2 * k)
            total += term
        return total * 0.5641895835477563 / x
    if x < -30:
        return math.inf
    square = x * x
    return math.exp(square) * (1 + fma(x, x, -square)) * math.erfc(x)
