"""Functions of complex numbers, written in the dialect: kernels call them as device functions.

Branch cuts, signed zeros, infinities and nans are those of C99's Annex G, which Python's `cmath` and NumPy follow. The
inverse functions are Kahan's ("Branch Cuts for Complex Elementary Functions", 1987).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.dialect.names import INTRINSICS
from portagpu.frontend.source.callables import LibraryFunction

fma: Any = INTRINSICS["fma"]


@LibraryFunction
def complex_sqrt(z: Any) -> Any:
    """`cmath.sqrt`."""
    x = z.real
    y = z.imag
    if math.isinf(y):
        return complex(abs(y), y)
    if math.isnan(x):
        return complex(x, x)
    if math.isinf(x):
        if x > 0:
            return complex(x, y if math.isnan(y) else math.copysign(0.0, y))
        return complex(y if math.isnan(y) else abs(y) * 0, math.copysign(x, y))
    if math.isnan(y):
        return complex(y, y)
    if x == 0 and y == 0:
        return complex(abs(x), y)
    a = abs(x)
    b = abs(y)
    tiny = float(np.finfo(x.dtype).tiny) * 16
    unit = float(np.finfo(x.dtype).eps)
    if max(a, b) > float(np.finfo(x.dtype).max) / 4:  # keep the sum below from overflowing, ...
        root = math.sqrt(a * 0.125 + math.hypot(a * 0.125, b * 0.125)) * 2
    elif max(a, b) < tiny:  # ... and its terms from losing digits
        scale = 1 / unit / unit
        root = math.sqrt(a * scale + math.hypot(a * scale, b * scale)) * (unit * 0.7071067811865476)
    else:
        root = math.sqrt((a + math.hypot(a, b)) * 0.5)
    other = b / root * 0.5
    if x >= 0:
        return complex(root, math.copysign(other, y))
    return complex(other, math.copysign(root, y))


@LibraryFunction
def complex_exp(z: Any) -> Any:
    """`numpy.exp`."""
    x = z.real
    y = z.imag
    if y == 0:
        return complex(math.exp(x), y)
    if math.isinf(x):
        if not math.isfinite(y):
            size = math.exp(x)
            return complex(size, y - y) if x > 0 else complex(size, math.copysign(size, y))
        size = math.exp(x)
        return complex(math.copysign(size, math.cos(y)), math.copysign(size, math.sin(y)))
    if x > math.log(float(np.finfo(x.dtype).max)):  # the factor may overflow where the product does not
        half = math.exp(x * 0.5)
        return complex(half * math.cos(y) * half, half * math.sin(y) * half)
    size = math.exp(x)
    return complex(size * math.cos(y), size * math.sin(y))


@LibraryFunction
def complex_exp_of_cmath(z: Any) -> Any:
    """`cmath.exp`: ``-inf - infj`` becomes ``+0j``; C99 leaves the sign open, and NumPy's is another."""
    if z.real < 0 and math.isinf(z.real) and not math.isfinite(z.imag):
        size = math.exp(z.real)
        return complex(size, size)
    return complex_exp(z)


@LibraryFunction
def norm_minus_one(a: Any, b: Any) -> Any:
    """``a*a + b*b - 1`` for a >= b >= 0 near the unit circle, where the plain expression loses all digits."""
    p = fma(a, a, 0.0)  # as plain products, compilers might fuse them with the sums below
    q = fma(b, b, 0.0)
    low = fma(a, a, -p) + fma(b, b, -q)
    high = p - 1
    low += p - (high + 1)
    total = high + q
    added = total - high
    return total + (((high - (total - added)) + (q - added)) + low)


@LibraryFunction
def log_modulus(x: Any, y: Any) -> Any:
    """``log(abs(x + 1j * y))``."""
    a = abs(x)
    b = abs(y)
    largest = float(np.finfo(x.dtype).max) / 4
    smallest = float(np.finfo(x.dtype).tiny) * 16
    if a > largest or b > largest:
        return math.log(math.hypot(a * 0.25, b * 0.25)) + math.log(4.0)
    if a < smallest and b < smallest:
        scale = 2.0**60
        return math.log(math.hypot(a * scale, b * scale)) - math.log(2.0**60)
    size = math.hypot(a, b)
    if 0.5 < size < 2.0:  # log would magnify the rounding of the modulus
        return math.log1p(norm_minus_one(max(a, b), min(a, b))) * 0.5
    return math.log(size)


@LibraryFunction
def complex_log(z: Any) -> Any:
    """`cmath.log`."""
    return complex(log_modulus(z.real, z.imag), math.atan2(z.imag, z.real))


# 1 / log(2) and 1 / log(10): a float32 below it, and the rest, of the same sign, so that infinities stay
_PER_LOG_2, _REST_2 = 1.4426950216293335, 1.9259629911266175e-08
_PER_LOG_10, _REST_10 = 0.4342944622039795, 1.9699272335463627e-08


@LibraryFunction
def scaled(x: Any, factor: Any, rest: Any) -> Any:
    """``x * (factor + rest)``, rounded as if once: a factor that is rounded first costs half a unit more."""
    return fma(x, factor, x * rest)


@LibraryFunction
def complex_log2(z: Any) -> Any:
    """`numpy.log2`."""
    return complex(
        scaled(log_modulus(z.real, z.imag), _PER_LOG_2, _REST_2),
        scaled(math.atan2(z.imag, z.real), _PER_LOG_2, _REST_2),
    )


@LibraryFunction
def complex_log10(z: Any) -> Any:
    """`cmath.log10`."""
    return complex(
        scaled(log_modulus(z.real, z.imag), _PER_LOG_10, _REST_10),
        scaled(math.atan2(z.imag, z.real), _PER_LOG_10, _REST_10),
    )


@LibraryFunction
def norm_of_one_more(x: Any, y: Any) -> Any:
    """``(1 + x)**2 + y*y - 1`` as if rounded once, also where its terms ``2*x``, ``x*x`` and ``y*y`` cancel."""
    p = fma(x, x, 0.0)  # see `norm_minus_one`
    q = fma(y, y, 0.0)
    first = 2 * x + p
    part = first - 2 * x
    low = (2 * x - (first - part)) + (p - part)
    total = first + q
    part = total - first
    low += (first - (total - part)) + (q - part)
    return total + (low + (fma(x, x, -p) + fma(y, y, -q)))


@LibraryFunction
def complex_log1p(z: Any) -> Any:
    """`numpy.log1p`, exact also near 0, where NumPy's loses the digits that 1 has not."""
    if abs(z.real) < 3 and abs(z.imag) < 3:
        above_one = norm_of_one_more(z.real, z.imag)
        if above_one > -0.6:  # else z is near -1, and the sum below has all digits
            return complex(math.log1p(above_one) * 0.5, math.atan2(z.imag, z.real + 1))
    return complex(log_modulus(z.real + 1, z.imag), math.atan2(z.imag, z.real + 1))


# log(2): a float32 below it, and the rest
_LOG_2, _REST_OF_LOG_2 = 0.6931471228599548, 5.7699990475444315e-08


@LibraryFunction
def complex_exp2(z: Any) -> Any:
    """`numpy.exp2`; the digits that the rounded angle ``y * log(2)`` lacks are added to its sine and cosine."""
    x = z.real
    y = z.imag
    if y == 0 or not (math.isfinite(x) and math.isfinite(y)):
        return complex_exp(complex(x * math.log(2.0), y * math.log(2.0)))
    angle = scaled(y, _LOG_2, _REST_OF_LOG_2)
    rest = fma(y, _LOG_2, -angle) + y * _REST_OF_LOG_2
    cosine = math.cos(angle)
    sine = math.sin(angle)
    if abs(rest) < math.sqrt(float(np.finfo(x.dtype).eps)):
        cosine, sine = fma(-rest, sine, cosine), fma(rest, cosine, sine)
    elif math.isfinite(rest):
        c = math.cos(rest)
        s = math.sin(rest)
        cosine, sine = cosine * c - sine * s, sine * c + cosine * s
    if x > math.log2(float(np.finfo(x.dtype).max)):  # the factor may overflow where the product does not
        half = np.exp2(x * 0.5)
        return complex(half * cosine * half, half * sine * half)
    size = np.exp2(x)
    return complex(size * cosine, size * sine)


@LibraryFunction
def complex_expm1(z: Any) -> Any:
    """`numpy.expm1`, with the array API standard's infinities and real NaN, those of ``exp(z) - 1``."""
    x = z.real
    y = z.imag
    if y == 0:
        return complex(math.expm1(x), y)
    if math.isinf(x):
        power = complex_exp(z)
        return complex(power.real - 1, power.imag)
    half = math.sin(y * 0.5)
    return complex(math.expm1(x) * math.cos(y) - 2 * half * half, math.exp(x) * math.sin(y))


@LibraryFunction
def complex_sinh(z: Any) -> Any:
    """`cmath.sinh`."""
    x = z.real
    y = z.imag
    if y == 0:
        return complex(math.sinh(x), y)
    if not math.isfinite(y):
        return complex(x if x == 0 or math.isinf(x) else y - y, y - y)
    if math.isinf(x):
        return complex(x * math.cos(y), abs(x) * math.sin(y))
    if abs(x) > math.log(float(np.finfo(x.dtype).max)):
        half = math.exp(abs(x) * 0.5)
        return complex(math.copysign(0.5 * half, x) * math.cos(y) * half, 0.5 * half * math.sin(y) * half)
    return complex(math.sinh(x) * math.cos(y), math.cosh(x) * math.sin(y))


@LibraryFunction
def complex_cosh(z: Any) -> Any:
    """`cmath.cosh`."""
    x = z.real
    y = z.imag
    if y == 0:
        return complex(math.cosh(x), math.copysign(1.0, x) * y)
    if x == 0:
        return complex(math.cos(y), x * math.sin(y) if math.isfinite(y) else x)
    if not math.isfinite(y):
        return complex(abs(x) if math.isinf(x) else y - y, y - y)
    if math.isinf(x):
        return complex(abs(x) * math.cos(y), x * math.sin(y))
    if abs(x) > math.log(float(np.finfo(x.dtype).max)):
        half = math.exp(abs(x) * 0.5)
        return complex(0.5 * half * math.cos(y) * half, math.copysign(0.5 * half, x) * math.sin(y) * half)
    return complex(math.cosh(x) * math.cos(y), math.sinh(x) * math.sin(y))


@LibraryFunction
def complex_tanh(z: Any) -> Any:
    """`cmath.tanh`."""
    x = z.real
    y = z.imag
    if math.isinf(x):
        return complex(math.copysign(1.0, x), math.copysign(0.0, math.sin(y) * math.cos(y) if math.isfinite(y) else y))
    if y == 0:
        return complex(math.tanh(x), y)
    if not math.isfinite(y):
        return complex(x if x == 0 else y - y, y - y)
    if abs(x) > 2 - math.log(float(np.finfo(x.dtype).eps)) / 2:
        return complex(math.copysign(1.0, x), 4 * math.sin(y) * math.cos(y) * math.exp(-2 * abs(x)))
    slope = math.tan(y)
    s = math.sinh(x)
    beta = 1 + slope * slope
    below = 1 + beta * s * s
    return complex(beta * math.cosh(x) * s / below, slope / below)


@LibraryFunction
def complex_sin(z: Any) -> Any:
    """`cmath.sin`."""
    w = complex_sinh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@LibraryFunction
def complex_cos(z: Any) -> Any:
    """`cmath.cos`."""
    return complex_cosh(complex(-z.imag, z.real))


@LibraryFunction
def complex_tan(z: Any) -> Any:
    """`cmath.tan`."""
    w = complex_tanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@LibraryFunction
def log_of_double(x: Any, y: Any) -> Any:
    """``log(abs(2 * z))`` of a large z."""
    return math.log(math.hypot(x * 0.5, y * 0.5)) + 2 * math.log(2.0)


@LibraryFunction
def complex_asinh(z: Any) -> Any:
    """`cmath.asinh`."""
    x = z.real
    y = z.imag
    largest = float(np.finfo(x.dtype).max) / 4
    if abs(x) > largest or abs(y) > largest:
        return complex(math.copysign(log_of_double(x, y), x), math.atan2(y, abs(x)))
    if math.isnan(x) and y == 0:
        return z
    if math.isnan(x) or math.isnan(y):
        return complex(x + y, x + y)
    s = complex_sqrt(complex(1 + y, -x))
    t = complex_sqrt(complex(1 - y, x))
    return complex(math.asinh(s.real * t.imag - t.real * s.imag), math.atan2(y, s.real * t.real - s.imag * t.imag))


@LibraryFunction
def complex_acosh(z: Any) -> Any:
    """`cmath.acosh`."""
    x = z.real
    y = z.imag
    largest = float(np.finfo(x.dtype).max) / 4
    if abs(x) > largest or abs(y) > largest:
        return complex(log_of_double(x, y), math.atan2(y, x))
    if math.isnan(x) or math.isnan(y):
        return complex(x + y, math.pi / 2 if x == 0 else x + y)
    s = complex_sqrt(complex(x - 1, y))
    t = complex_sqrt(complex(x + 1, y))
    return complex(math.asinh(s.real * t.real + s.imag * t.imag), 2 * math.atan2(s.imag, t.real))


@LibraryFunction
def complex_acos(z: Any) -> Any:
    """`cmath.acos`."""
    x = z.real
    y = z.imag
    largest = float(np.finfo(x.dtype).max) / 4
    if abs(x) > largest or abs(y) > largest:
        return complex(math.atan2(abs(y), x), math.copysign(log_of_double(x, y), -y))
    if math.isnan(x) or math.isnan(y):
        return complex(math.pi / 2 if x == 0 else x + y, x + y)
    s = complex_sqrt(complex(1 - x, -y))
    t = complex_sqrt(complex(1 + x, y))
    return complex(2 * math.atan2(s.real, t.real), math.asinh(t.real * s.imag - t.imag * s.real))


@LibraryFunction
def complex_atanh(z: Any) -> Any:
    """`cmath.atanh`."""
    x = z.real
    y = z.imag
    a = abs(x)
    b = abs(y)
    largest = math.sqrt(float(np.finfo(x.dtype).max)) / 2
    if math.isinf(x) or math.isinf(y):
        return complex(math.copysign(0.0, x), y if math.isnan(y) else math.copysign(math.pi / 2, y))
    if math.isnan(x) or math.isnan(y):
        return complex(x if x == 0 else x + y, x + y)
    if a > largest or b > largest:
        half = math.hypot(a * 0.5, b * 0.5)
        return complex(math.copysign(a / 4 / half / half, x), math.copysign(math.pi / 2, y))
    if a == 1 and b == 0:
        return complex(math.copysign(math.inf, x), y)
    if a == 1 and b <= math.sqrt(float(np.finfo(x.dtype).tiny)):
        real = math.log(math.sqrt(math.hypot(b, 2.0)) / math.sqrt(b))
        imag = math.atan2(2.0, -b) * 0.5
    else:
        real = math.log1p(4 * a / ((1 - a) * (1 - a) + b * b)) * 0.25
        imag = math.atan2(2 * b, (1 - a) * (1 + a) - b * b) * 0.5
    return complex(math.copysign(real, x), math.copysign(imag, y))


@LibraryFunction
def complex_asin(z: Any) -> Any:
    """`cmath.asin`."""
    w = complex_asinh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@LibraryFunction
def complex_atan(z: Any) -> Any:
    """`cmath.atan`."""
    w = complex_atanh(complex(-z.imag, z.real))
    return complex(w.imag, -w.real)


@LibraryFunction
def complex_reciprocal(z: Any) -> Any:
    """`numpy.reciprocal`, with the signs of its zeros."""
    w = 1 / z
    return w if z == 0 else complex(math.copysign(w.real, z.real), math.copysign(w.imag, -z.imag))


@LibraryFunction
def complex_sign(z: Any) -> Any:
    """`numpy.sign`: a number of modulus 1, or 0, whose parts are positive. One infinite part is the direction."""
    if math.isinf(z.real) != math.isinf(z.imag):
        along = np.sign(z.real if math.isinf(z.real) else z.imag)
        return complex(along, along * 0.0 + 0.0) if math.isinf(z.real) else complex(along * 0.0 + 0.0, along)
    if z == 0:
        return z - z
    halves = abs(z.real) > 1 or abs(z.imag) > 1  # the modulus of the largest numbers overflows
    x = z.real * 0.5 if halves else z.real
    y = z.imag * 0.5 if halves else z.imag
    size = math.hypot(x, y)
    return complex(x / size, y / size)


@LibraryFunction
def polar(z: Any) -> Any:
    """`cmath.polar`."""
    return abs(z), math.atan2(z.imag, z.real)


@LibraryFunction
def rect(r: Any, phi: Any) -> Any:
    """`cmath.rect`."""
    if phi == 0:
        return complex(r, r * phi if math.isfinite(r) else -phi if r < 0 else phi)
    if r == 0 and not math.isfinite(phi):
        return complex(abs(r), 0.0)
    return complex(r * math.cos(phi), r * math.sin(phi))


@LibraryFunction
def complex_rint(z: Any) -> Any:
    """`numpy.rint`."""
    return complex(np.rint(z.real), np.rint(z.imag))


FUNCTIONS: dict[str, LibraryFunction] = {
    "sqrt": complex_sqrt,
    "exp": complex_exp,
    "exp2": complex_exp2,
    "expm1": complex_expm1,
    "log": complex_log,
    "log2": complex_log2,
    "log10": complex_log10,
    "log1p": complex_log1p,
    "sin": complex_sin,
    "cos": complex_cos,
    "tan": complex_tan,
    "sinh": complex_sinh,
    "cosh": complex_cosh,
    "tanh": complex_tanh,
    "asin": complex_asin,
    "acos": complex_acos,
    "atan": complex_atan,
    "asinh": complex_asinh,
    "acosh": complex_acosh,
    "atanh": complex_atanh,
    "rint": complex_rint,
}
