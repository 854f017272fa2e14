"""Logarithms, exponentials, sines and cosines of random words, without branches: what compilers run in lanes.

They are written out, so that devices agree up to the rounding of products and sums, and because words are integers:
there is no range to reduce. Polynomials are least-squares fits of log1p and atanh, and Taylor's of the others.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, no-check-untyped-defs
# ruff: noqa: ANN001, ANN201, ANN202

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from portagpu import cuda
from portagpu.dispatch.dispatcher import Dispatcher


class Format(NamedTuple):
    """A floating-point type: its bits, and what its functions are computed with.

    ``exponent``: the place of its bits; ``log2``: log(2) as a sum whose first part times any exponent is exact;
    polynomials have the highest power first. All that is added to bits is of ``whole``, the integers of its size.
    """

    real: Any
    whole: Any
    bits_of: Any
    from_bits: Any
    exponent: Any
    bias: Any
    mantissa: Any
    root_half: Any  # the bits of sqrt(1/2)
    to_one: Any  # from there to the bits of 1
    log2: tuple[Any, Any]
    least: float  # what is below becomes 0 as an exponent of e
    most: float  # and what is above infinity
    exp: tuple[float, ...]  # (exp(r) - 1 - r) / r**2 for abs(r) <= log(2) / 2
    sine: tuple[float, ...]  # (sin(t) - t) / t**3 as powers of t**2, for abs(t) <= pi / 4
    cosine: tuple[float, ...]  # (cos(t) - 1 + t**2 / 2) / t**4


def _exponentials(degree: int) -> tuple[float, ...]:
    return tuple(1 / math.factorial(k) for k in range(degree, 1, -1))


def _sines(count: int) -> tuple[float, ...]:
    return tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(count, 0, -1))


def _cosines(count: int) -> tuple[float, ...]:
    return tuple((-1) ** k / math.factorial(2 * k) for k in range(count, 1, -1))


_SINGLE = Format(
    real=np.float32,
    whole=np.int32,
    bits_of=cuda.libdevice.float_as_int,
    from_bits=cuda.libdevice.int_as_float,
    exponent=np.int32(23),
    bias=np.int32(127),
    mantissa=np.int32(0x007FFFFF),
    root_half=np.int32(0x3F3504F3),
    to_one=np.int32(0x3F800000 - 0x3F3504F3),
    log2=(np.float32(0.693359375), np.float32(math.log(2) - 0.693359375)),
    least=-175,
    most=176,
    exp=_exponentials(7),
    sine=_sines(5),
    cosine=_cosines(5),
)
_DOUBLE = Format(
    real=np.float64,
    whole=np.int64,
    bits_of=cuda.libdevice.double_as_longlong,
    from_bits=cuda.libdevice.longlong_as_double,
    exponent=np.int64(52),
    bias=np.int64(1023),
    mantissa=np.int64(0x000FFFFFFFFFFFFF),
    root_half=np.int64(0x3FE6A09E667F3BCD),
    to_one=np.int64(0x3FF0000000000000 - 0x3FE6A09E667F3BCD),
    log2=(np.float64(0.6931471803691238), np.float64(1.9082149292705877e-10)),
    least=-1416,
    most=1418,
    exp=_exponentials(13),
    sine=_sines(9),
    cosine=_cosines(9),
)
# (log1p(f) - f + f**2 / 2) / f**3 for sqrt(1/2) <= 1 + f <= sqrt(2), highest power first
_LOG = (0.06800912, -0.11726605, 0.1189099, -0.12396445, 0.14217763, -0.16668513, 0.20002247, -0.25, 0.3333331)
# (2 * atanh(s) - 2 * s) / s**3 for z = s**2 <= 0.0296
_ATANH = (
    *(0.06547332749872906, 0.13898156066488004, 0.15362956731522392, 0.18182208030297317),
    *(0.22222218883420722, 0.2857142857142857, 0.4000000000000163, 0.6666666666666666),
)


@cuda.jit(device=True)
def log32(x):
    """The natural logarithm of a normal positive float32."""
    bits = cuda.libdevice.float_as_int(x) + _SINGLE.to_one
    exponent = np.float32((bits >> _SINGLE.exponent) - _SINGLE.bias)
    f = cuda.libdevice.int_as_float((bits & _SINGLE.mantissa) + _SINGLE.root_half) - np.float32(1)
    y = np.float32(_LOG[0])
    for c in cuda.unroll(_LOG[1:]):
        y = y * f + np.float32(c)
    square = f * f
    y = y * f * square + exponent * _SINGLE.log2[1] - np.float32(0.5) * square
    return f + y + exponent * _SINGLE.log2[0]


@cuda.jit(device=True)
def log64(x):
    """The natural logarithm of a normal positive float64."""
    bits = cuda.libdevice.double_as_longlong(x) + _DOUBLE.to_one
    exponent = np.float64(np.int32(bits >> _DOUBLE.exponent) - np.int32(_DOUBLE.bias))
    f = cuda.libdevice.longlong_as_double((bits & _DOUBLE.mantissa) + _DOUBLE.root_half) - np.float64(1)
    s = f / (np.float64(2) + f)
    z = s * s
    y = np.float64(_ATANH[0])
    for c in cuda.unroll(_ATANH[1:]):
        y = y * z + np.float64(c)
    half = np.float64(0.5) * f * f
    return exponent * _DOUBLE.log2[0] + (f - (half - (s * (half + y * z) + exponent * _DOUBLE.log2[1])))


# a function for each format, not one that both share: what a program calls at one place is inlined, and runs in lanes
def _exponential(form: Format) -> Dispatcher:
    def exponential(x):
        """The exponential: infinity where it is too large, 0 where it is too small."""
        real, whole_number = form.real, form.whole
        x = cuda.selp(x < form.least, real(form.least), cuda.selp(x > form.most, real(form.most), x))
        whole = np.int32(x * real(1 / math.log(2)) + cuda.selp(x < 0, real(-0.5), real(0.5)))
        n = real(whole)
        r = x - n * form.log2[0] - n * form.log2[1]
        y = real(form.exp[0])
        for c in cuda.unroll(form.exp[1:]):
            y = y * r + real(c)
        first = whole >> np.int32(1)  # in two steps: 2**whole may be no number
        scale = form.from_bits((whole_number(first) + form.bias) << form.exponent)
        rest = form.from_bits((whole_number(whole - first) + form.bias) << form.exponent)
        return (1 + (r + y * r * r)) * scale * rest

    return cuda.jit(exponential, device=True)


def _circle(form: Format) -> Dispatcher:
    def circle(quarter, t):
        """Cosine and sine of an angle of at most an eighth of a turn, and as many quarters of one."""
        z = t * t
        sine = form.real(form.sine[0])
        for c in cuda.unroll(form.sine[1:]):
            sine = sine * z + form.real(c)
        cosine = form.real(form.cosine[0])
        for c in cuda.unroll(form.cosine[1:]):
            cosine = cosine * z + form.real(c)
        sine = sine * z * t + t
        cosine = (cosine * z - form.real(0.5)) * z + form.real(1)
        odd = (quarter & np.uint32(1)) != 0
        x = cuda.selp(odd, sine, cosine)
        y = cuda.selp(odd, cosine, sine)
        x = cuda.selp(((quarter + np.uint32(1)) & np.uint32(2)) != 0, -x, x)
        return x, cuda.selp((quarter & np.uint32(2)) != 0, -y, y)

    return cuda.jit(circle, device=True)


exp32, exp64 = _exponential(_SINGLE), _exponential(_DOUBLE)
_circle32, _circle64 = _circle(_SINGLE), _circle(_DOUBLE)


@cuda.jit(device=True)
def turn32(word):
    """Cosine and sine, float32, of ``2 * pi * word / 2**32``; uint32."""
    quarter = (word + np.uint32(0x20000000)) >> np.uint32(30)
    return _circle32(quarter, np.float32(np.int32(word - (quarter << np.uint32(30)))) * np.float32(math.pi * 2.0**-31))


@cuda.jit(device=True)
def turn64(high, low):
    """Cosine and sine, float64, of ``2 * pi * (high * 2**32 + low) / 2**64``; two uint32."""
    quarter = (high + np.uint32(0x20000000)) >> np.uint32(30)
    rest = np.int32(high - (quarter << np.uint32(30)))
    return _circle64(quarter, (np.float64(rest) + np.float64(low) * 2.0**-32) * (math.pi * 2.0**-31))
