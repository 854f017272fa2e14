"""Logarithms, exponentials, sines and cosines of random words, without branches: what compilers run in lanes.

They are written out, so that devices agree up to the rounding of products and sums, and because words are integers:
there is no range to reduce. Polynomials are least-squares fits of log1p and atanh, and Taylor's of the others.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math

import numpy as np

from portagpu import cuda

_EXPONENT, _BIAS, _MANTISSA = np.int32(23), np.int32(127), np.int32(0x007FFFFF)
_ROOT_HALF, _TO_ONE = np.int32(0x3F3504F3), np.int32(0x3F800000 - 0x3F3504F3)  # the bits of sqrt(1/2), and up to 1
_EXPONENT_WIDE, _BIAS_WIDE, _MANTISSA_WIDE = np.int64(52), np.int64(1023), np.int64(0x000FFFFFFFFFFFFF)
_ROOT_HALF_WIDE = np.int64(0x3FE6A09E667F3BCD)
_TO_ONE_WIDE = np.int64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD)
# log(2) as a sum: the first part times any exponent is exact
_LOG2_HIGH, _LOG2_LOW = np.float32(0.693359375), np.float32(math.log(2) - 0.693359375)
_LOG2_HIGH_WIDE, _LOG2_LOW_WIDE = np.float64(0.6931471803691238), np.float64(1.9082149292705877e-10)
# (log1p(f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2), highest power first
_LOG = (0.06800912, -0.11726605, 0.1189099, -0.12396445, 0.14217763, -0.16668513, 0.20002247, -0.25, 0.3333331)
# (2 * atanh(s) - 2 * s) / s**3 for z = s**2 <= 0.0296
_ATANH = (
    *(0.06547332749872906, 0.13898156066488004, 0.15362956731522392, 0.18182208030297317),
    *(0.22222218883420722, 0.2857142857142857, 0.4000000000000163, 0.6666666666666666),
)
_EXP = tuple(1 / math.factorial(k) for k in range(7, 1, -1))
_EXP_WIDE = tuple(1 / math.factorial(k) for k in range(13, 1, -1))
_SINE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(5, 0, -1))
_COSINE = tuple((-1) ** k / math.factorial(2 * k) for k in range(5, 1, -1))
_SINE_WIDE = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9, 0, -1))
_COSINE_WIDE = tuple((-1) ** k / math.factorial(2 * k) for k in range(9, 1, -1))


@cuda.jit(device=True)
def log32(x):
    """The natural logarithm of a normal positive float32."""
    bits = cuda.libdevice.float_as_int(x) + _TO_ONE
    exponent = np.float32((bits >> _EXPONENT) - _BIAS)
    f = cuda.libdevice.int_as_float((bits & _MANTISSA) + _ROOT_HALF) - np.float32(1)
    y = np.float32(_LOG[0])
    for c in cuda.unroll(_LOG[1:]):
        y = y * f + np.float32(c)
    square = f * f
    y = y * f * square + exponent * _LOG2_LOW - np.float32(0.5) * square
    return f + y + exponent * _LOG2_HIGH


@cuda.jit(device=True)
def log64(x):
    """The natural logarithm of a normal positive float64."""
    bits = cuda.libdevice.double_as_longlong(x) + _TO_ONE_WIDE
    exponent = np.float64(np.int32(bits >> _EXPONENT_WIDE) - np.int32(_BIAS_WIDE))
    f = cuda.libdevice.longlong_as_double((bits & _MANTISSA_WIDE) + _ROOT_HALF_WIDE) - np.float64(1)
    s = f / (np.float64(2) + f)
    z = s * s
    y = np.float64(_ATANH[0])
    for c in cuda.unroll(_ATANH[1:]):
        y = y * z + np.float64(c)
    half = np.float64(0.5) * f * f
    return exponent * _LOG2_HIGH_WIDE + (f - (half - (s * (half + y * z) + exponent * _LOG2_LOW_WIDE)))


@cuda.jit(device=True)
def exp32(x):
    """The exponential of a float32: infinity where it is too large, 0 where it is too small."""
    x = cuda.selp(x < -175, np.float32(-175), cuda.selp(x > 176, np.float32(176), x))
    whole = np.int32(x * np.float32(1 / math.log(2)) + cuda.selp(x < 0, np.float32(-0.5), np.float32(0.5)))
    n = np.float32(whole)
    r = x - n * _LOG2_HIGH - n * _LOG2_LOW
    y = np.float32(_EXP[0])
    for c in cuda.unroll(_EXP[1:]):
        y = y * r + np.float32(c)
    first = whole >> np.int32(1)
    scale = cuda.libdevice.int_as_float((first + _BIAS) << _EXPONENT)
    return (1 + (r + y * r * r)) * scale * cuda.libdevice.int_as_float((whole - first + _BIAS) << _EXPONENT)


@cuda.jit(device=True)
def exp64(x):
    """The exponential of a float64: infinity where it is too large, 0 where it is too small."""
    x = cuda.selp(x < -1416, np.float64(-1416), cuda.selp(x > 1418, np.float64(1418), x))
    whole = np.int32(x * np.float64(1 / math.log(2)) + cuda.selp(x < 0, np.float64(-0.5), np.float64(0.5)))
    n = np.float64(whole)
    r = x - n * _LOG2_HIGH_WIDE - n * _LOG2_LOW_WIDE
    y = np.float64(_EXP_WIDE[0])
    for c in cuda.unroll(_EXP_WIDE[1:]):
        y = y * r + np.float64(c)
    first = whole >> np.int32(1)
    scale = cuda.libdevice.longlong_as_double((np.int64(first) + _BIAS_WIDE) << _EXPONENT_WIDE)
    rest = cuda.libdevice.longlong_as_double((np.int64(whole - first) + _BIAS_WIDE) << _EXPONENT_WIDE)
    return (1 + (r + y * r * r)) * scale * rest


@cuda.jit(device=True)
def turn32(word):
    """Cosine and sine, float32, of ``2 * pi * word / 2**32``; uint32."""
    quarter = (word + np.uint32(0x20000000)) >> np.uint32(30)
    t = np.float32(np.int32(word - (quarter << np.uint32(30)))) * np.float32(math.pi * 2.0**-31)
    z = t * t
    sine = np.float32(_SINE[0])
    for c in cuda.unroll(_SINE[1:]):
        sine = sine * z + np.float32(c)
    cosine = np.float32(_COSINE[0])
    for c in cuda.unroll(_COSINE[1:]):
        cosine = cosine * z + np.float32(c)
    return _turned(quarter, sine * z * t + t, (cosine * z - np.float32(0.5)) * z + np.float32(1))


@cuda.jit(device=True)
def turn64(high, low):
    """Cosine and sine, float64, of ``2 * pi * (high * 2**32 + low) / 2**64``; two uint32."""
    quarter = (high + np.uint32(0x20000000)) >> np.uint32(30)
    rest = np.int32(high - (quarter << np.uint32(30)))
    t = (np.float64(rest) + np.float64(low) * 2.0**-32) * (math.pi * 2.0**-31)
    z = t * t
    sine = np.float64(_SINE_WIDE[0])
    for c in cuda.unroll(_SINE_WIDE[1:]):
        sine = sine * z + np.float64(c)
    cosine = np.float64(_COSINE_WIDE[0])
    for c in cuda.unroll(_COSINE_WIDE[1:]):
        cosine = cosine * z + np.float64(c)
    return _turned(quarter, sine * z * t + t, (cosine * z - np.float64(0.5)) * z + np.float64(1))


@cuda.jit(device=True)
def _turned(quarter, sine, cosine):
    """Cosine and sine of an angle and as many quarters of a turn."""
    odd = (quarter & np.uint32(1)) != 0
    x = cuda.selp(odd, sine, cosine)
    y = cuda.selp(odd, cosine, sine)
    x = cuda.selp(((quarter + np.uint32(1)) & np.uint32(2)) != 0, -x, x)
    return x, cuda.selp((quarter & np.uint32(2)) != 0, -y, y)
