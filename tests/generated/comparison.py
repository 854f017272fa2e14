"""Whether a device's numbers are those of the reference: bit for bit, or within a number of ulp."""

from __future__ import annotations

import numpy as np
from operands import Array

EXACT = 0.0


def wrong(found: Array, exact: Array, ulps: float, *, zero_signs: bool = True) -> Array:
    """A mask of the results that are too far from the exact ones, which may have a higher precision.

    NaNs are equal, whatever their bits and sign. A zero has the reference's sign where ``zero_signs``. A complex number
    is as far away as its larger difference of parts, measured in ulp of its modulus.
    """
    if found.dtype.kind == "c":
        return _wrong_complex(found, exact, ulps, zero_signs)
    if found.dtype.kind != "f":
        return np.asarray(found != exact)
    return _wrong_float(found, np.asarray(exact), ulps, zero_signs)


def _wrong_float(found: Array, exact: Array, ulps: float, zero_signs: bool) -> Array:
    with np.errstate(all="ignore"):
        rounded = exact.astype(found.dtype)
        same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
        if ulps:
            same |= np.abs(found.astype(np.longdouble) - exact) <= ulps * _ulp(rounded)
            same |= _overflows(found, exact, ulps)
    if zero_signs:  # where the result is zero, and not one that was too small
        both = (found == 0) & (exact == 0)
        same &= ~both | (np.signbit(found) == np.signbit(exact))
    return np.asarray(~same)


def _ulp(rounded: Array) -> Array:
    """The distance of neighbours; of the largest number's ones for infinities."""
    info = np.finfo(rounded.dtype)
    size = np.minimum(np.abs(rounded), info.max)
    return np.asarray(np.where(np.isnan(size), 0, size - np.nextafter(size, -np.ones_like(size))).astype(np.longdouble))


def _overflows(found: Array, exact: Array, ulps: float) -> Array:
    """Whether one is infinite and the other within the tolerance of the largest number."""
    info = np.finfo(found.dtype)
    edge = np.longdouble(info.max) * (1 - np.longdouble(ulps) * np.longdouble(info.eps))
    large = (np.abs(exact) >= edge) & (np.abs(found) >= edge)
    return np.asarray(large & (np.sign(found) == np.sign(exact)))


def _wrong_complex(found: Array, exact: Array, ulps: float, zero_signs: bool) -> Array:
    parts = ((found.real, np.asarray(exact).real), (found.imag, np.asarray(exact).imag))
    each = [_wrong_float(f, e, ulps, zero_signs) for f, e in parts]
    if not ulps:
        return each[0] | each[1]
    with np.errstate(all="ignore"):
        size = np.abs(exact).astype(found.real.dtype)
        near = [np.abs(f.astype(np.longdouble) - e) <= ulps * _ulp(size) for f, e in parts]
    return np.asarray((each[0] & ~near[0]) | (each[1] & ~near[1]))
