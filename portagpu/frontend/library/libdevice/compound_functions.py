"""Functions of libdevice that take more than one operation, written in the dialect."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.dialect.names import INTRINSICS, Intrinsic
from portagpu.frontend.source.callables import LibraryFunction

fma: Any = INTRINSICS["fma"]
double_as_longlong: Any = Intrinsic("libdevice.double_as_longlong")
longlong_as_double: Any = Intrinsic("libdevice.longlong_as_double")
float_as_uint: Any = Intrinsic("libdevice.float_as_uint")
uint_as_float: Any = Intrinsic("libdevice.uint_as_float")


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
def middle_of_erfinv(x: Any) -> Any:
    """`erfinv` of -0.5 to 0.5, by three steps of Halley's method; of float32 by a polynomial.

    Steps are no more accurate than `erf`, whose errors drivers have in float32. The polynomial is erfinv(x) / x less
    sqrt(pi) / 2, interpolated in x^2 at Chebyshev's points of degree 6: 0.7 units in the last place.
    """
    if x.dtype.itemsize == 4:
        square = x * x
        rest = fma(square, 0.08439230515034737, 0.023609829107805017)
        rest = fma(square, rest, 0.05525943445206671)
        rest = fma(square, rest, 0.06463790399245088)
        rest = fma(square, rest, 0.08656585628370506)
        rest = fma(square, rest, 0.12755595819914223)
        rest = fma(square, rest, 0.23201366709002172)
        rest = fma(square, rest, 3.2981444464397214e-08)  # what the other factor lacks; positive, for the sign of zero
        return fma(x, rest, x * 0.8862268924713135)
    found = x * 0.8862269254527580
    for _ in range(3):
        step = (math.erf(found) - x) / (1.1283791670955126 * math.exp(-found * found))
        found -= step / (1 + found * step)
    return found


@LibraryFunction
def erfcinv(y: Any) -> Any:
    """The number whose `erfc` is y: a closed form, then steps of Newton's method on the logarithm, or of Halley's."""
    if not (y > 0 and y < 2):
        if y == 0:
            return math.inf
        return -math.inf if y == 2 else math.nan
    if abs(1 - y) <= 0.5:
        return middle_of_erfinv(1 - y)
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
    return middle_of_erfinv(x)


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
        rest = x * 0
        for k in range(1, 16):
            term *= square * (1 - 2 * k)
            rest += term
        return (1 + rest) * 0.5641895835477563 / x
    if x < -30:
        return math.inf
    square = x * x
    return math.exp(square) * (1 + fma(x, x, -square)) * math.erfc(x)


@LibraryFunction
def double2hiint(d: Any) -> Any:
    """The upper 32 bits of a float64."""
    return np.int32(double_as_longlong(d) >> np.int64(32))


@LibraryFunction
def double2loint(d: Any) -> Any:
    """The lower 32 bits of a float64."""
    return np.int32(double_as_longlong(d))


@LibraryFunction
def hiloint2double(x: Any, y: Any) -> Any:
    """The float64 with the upper bits x and the lower bits y."""
    return longlong_as_double(np.int64(x) << np.int64(32) | np.int64(np.uint32(y)))


@LibraryFunction
def half2float(h: Any) -> Any:
    """The float16 with the bits h, on devices without float16, too."""
    sign = (np.uint32(h) & np.uint32(0x8000)) << np.uint32(16)
    size = np.uint32(h) & np.uint32(0x7FFF)
    if size >= 0x7C00:
        bits = size << np.uint32(13) | np.uint32(0x7F800000)
    elif size >= 0x400:
        bits = (size << np.uint32(13)) + np.uint32(112 << 23)
    else:
        bits = float_as_uint(np.float32(size) * np.float32(2.0**-24))
    return uint_as_float(bits | sign)


@LibraryFunction
def float2half(f: Any) -> Any:
    """The bits of the nearest float16, halves to the even one; 0x7FFF for nan."""
    bits = float_as_uint(f)
    sign = bits >> np.uint32(16) & np.uint32(0x8000)
    size = bits & np.uint32(0x7FFFFFFF)
    if size > 0x7F800000:
        return np.int16(0x7FFF)
    if size >= 0x477FF000:  # 65520 lies between the largest number and the next power of two
        half = np.uint32(0x7C00)
    elif size < 0x38800000:
        half = np.uint32(np.rint(abs(f) * np.float32(2.0**24)))
    else:
        half = (size + np.uint32(0xFFF) + (size >> np.uint32(13) & np.uint32(1)) >> np.uint32(13)) - np.uint32(
            112 << 10
        )
    return np.int16(half | sign)
