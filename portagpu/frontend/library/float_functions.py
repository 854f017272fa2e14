"""Functions of floats that take several operations, written in the dialect: kernels call them as device functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.frontend.source.callables import LibraryFunction


@LibraryFunction
def logaddexp(x: Any, y: Any) -> Any:
    """`numpy.logaddexp`."""
    if x == y:  # also infinities, whose difference is no number
        return x + math.log(2.0)
    difference = x - y
    if difference > 0:
        return x + math.log1p(math.exp(-difference))
    return y + math.log1p(math.exp(difference))


@LibraryFunction
def logaddexp2(x: Any, y: Any) -> Any:
    """`numpy.logaddexp2`."""
    if x == y:
        return x + 1
    difference = x - y
    if difference > 0:
        return x + math.log1p(np.exp2(-difference)) * (1 / math.log(2.0))
    return y + math.log1p(np.exp2(difference)) * (1 / math.log(2.0))


@LibraryFunction
def heaviside(x: Any, middle: Any) -> Any:
    """`numpy.heaviside`."""
    if math.isnan(x):
        return x
    if x == 0:
        return middle
    return 0.0 if x < 0 else 1.0


@LibraryFunction
def spacing(x: Any) -> Any:
    """`numpy.spacing`."""
    if not math.isfinite(x):
        return x - x
    return np.nextafter(x, -math.inf if x < 0 else math.inf) - x


@LibraryFunction
def ulp(x: Any) -> Any:
    """`math.ulp`: an infinity's is infinite, the largest number's the step below it."""
    size = abs(x)
    if not math.isfinite(size):
        return size
    step = spacing(size)
    return step if math.isfinite(step) else size - np.nextafter(size, 0.0)


@LibraryFunction
def half_nextafter(x: Any, y: Any) -> Any:
    """`numpy.nextafter` of float16, computed in float32, where sums of halves and their steps are exact."""
    a = np.float32(x)
    b = np.float32(y)
    if a == b:
        return y  # of zeros the second, as in C, and as NumPy from 2.5 on has it for halves
    if math.isnan(a) or math.isnan(b):
        return x + y
    if math.isinf(a):
        return np.float16(math.copysign(65504.0, a))
    mantissa, exponent = math.frexp(a)
    narrower = abs(mantissa) == 0.5 and (b < a) == (a > 0)  # below a power of two
    digit = exponent - 12 if narrower else exponent - 11
    step = math.ldexp(np.float32(1), digit if digit > -24 and a != 0 else -24)
    after = a + step if b > a else a - step
    return np.float16(math.copysign(after, a) if after == 0 else after)


@LibraryFunction
def sinc(x: Any) -> Any:
    """`numpy.sinc`."""
    if x == 0:
        return x * 0 + 1
    scaled = x * math.pi
    return math.sin(scaled) / scaled


@LibraryFunction
def modf(x: Any) -> Any:
    """`math.modf`."""
    whole = np.trunc(x)
    return (math.copysign(0.0, x) if math.isinf(x) else math.copysign(x - whole, x)), whole


@LibraryFunction
def power_of_ten(count: Any) -> Any:
    """Exact where a float can be."""
    result = 1.0
    for _ in range(count):
        result *= 10.0
    return result


@LibraryFunction
def round_to(x: Any, digits: Any) -> Any:
    """Rounded to decimal digits, half to even; values that cannot be scaled have no such digits."""
    if digits < 0:
        step = power_of_ten(min(-digits, 400))
        if not math.isfinite(x):
            return x
        return np.rint(x / step) * step if math.isfinite(step) else x * 0
    low = power_of_ten(min(digits, 22))
    high = power_of_ten(min(max(digits - 22, 0), 400))
    scaled = x * high * low
    if not math.isfinite(scaled):
        return x
    return np.rint(scaled) / low / high


@LibraryFunction
def round_digits(x: Any, digits: Any) -> Any:
    """Python's `round` of a narrow float: scaled in double precision, where halves are halves, if the device has it."""
    return x.dtype.type(round_to(float(x), digits))


@LibraryFunction
def is_close(a: Any, b: Any, relative: Any, absolute: Any) -> Any:
    """As Python's `math.isclose`."""
    if a == b:
        return True
    if math.isinf(abs(a)) or math.isinf(abs(b)):
        return False
    return abs(a - b) <= max(relative * max(abs(a), abs(b)), absolute)


@LibraryFunction
def is_close_to(a: Any, b: Any, relative: Any, absolute: Any, equal_nan: Any) -> Any:
    """As `numpy.isclose`, where ``b`` is the reference."""
    if a == b or (equal_nan and a != a and b != b):
        return True
    return abs(a - b) <= absolute + relative * abs(b) and math.isfinite(abs(b))


@LibraryFunction
def number_of(x: Any, missing: Any, above: Any, below: Any) -> Any:
    """`numpy.nan_to_num`."""
    if math.isnan(x):
        return missing
    if math.isinf(x):
        return above if x > 0 else below
    return x
