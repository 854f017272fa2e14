"""Accuracy that devices promise, in ulp.

From "OpenCL Numerical Compliance" in the OpenCL environment specification, section "Relative Error as ULPs", table
"ULP Values for Math Instructions - Embedded Profile": what any device keeps, since the full profile's numbers are as
large or smaller.
CUDA's tables (CUDA C++ Programming Guide, "Mathematical Functions") stay within them, too.
"""

from __future__ import annotations

from collections.abc import Callable

# by dtype: double and single precision have the same limits, half its own
_DOUBLE_AND_SINGLE = {
    **dict.fromkeys("acos acosh asin asinh cos cosh sin sinh cospi sinpi exp exp2 exp10 expm1".split(), 4.0),
    **dict.fromkeys("log log2 log10 log1p cbrt hypot rsqrt sqrt".split(), 4.0),
    **dict.fromkeys("atan atanh tan tanh".split(), 5.0),
    **dict.fromkeys("tanpi atan2".split(), 6.0),
    **dict.fromkeys("erf erfc pow pown tgamma".split(), 16.0),
    **dict.fromkeys(("radians", "degrees"), 2.0),
    "lgamma": 16.0,  # implementation-defined, so this is our own limit
}
_HALF = {
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh atan2 cosh exp exp2 exp10 expm1 log log2 log10 log1p".split(), 3.0
    ),
    **dict.fromkeys("cos cospi sin sinh sinpi tan tanh tanpi cbrt hypot".split(), 3.0),
    **dict.fromkeys(("rsqrt", "sqrt"), 1.0),
    **dict.fromkeys("erf erfc pow pown tgamma lgamma".split(), 4.0),
    **dict.fromkeys(("radians", "degrees"), 2.0),
}
# correctly rounded, compared with a result in higher precision, whose own rounding is a small part of an ulp
ROUNDED = 0.501
# functions of complex numbers are made of up to three real ones, and cancel at most a bit of their modulus
COMPLEX = 16.0


def ulps(name: str) -> Callable[[str], float]:
    """Limit of a function by the dtype of its result."""

    def limit(dtype: str) -> float:
        return (_HALF if dtype == "float16" else _DOUBLE_AND_SINGLE)[name]

    return limit


def within(number: float) -> Callable[[str], float]:
    """The same limit for every dtype."""
    return lambda dtype: number
