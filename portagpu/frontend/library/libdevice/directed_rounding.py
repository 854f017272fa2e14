"""Directed rounding (up, down, towards zero), from OpenCL C's rounding to nearest and its error.

On which side of the exact result a rounded one is, sums of two numbers without error tell: what a sum or product lost
is a number itself. Operands are scaled by powers of two first, so that nothing of it vanishes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portagpu.dialect.names import INTRINSICS
from portagpu.frontend.source.callables import LibraryFunction

fma: Any = INTRINSICS["fma"]
DOWN, UP, TOWARDS_ZERO = -1, 1, 0


@LibraryFunction
def rounded(found: Any, side: Any, mode: Any) -> Any:
    """The neighbour of ``found`` that the mode asks for; ``side`` is above 0 where it is above the exact result."""
    downwards = mode < 0 or (mode == 0 and not np.signbit(found))
    if side > 0 and downwards:
        return math.copysign(np.nextafter(found, -math.inf), found) if mode == 0 else np.nextafter(found, -math.inf)
    if side < 0 and not downwards:
        return math.copysign(np.nextafter(found, math.inf), found) if mode == 0 else np.nextafter(found, math.inf)
    return found


@LibraryFunction
def beyond(found: Any, mode: Any) -> Any:
    """The largest number instead of an infinity, where the mode goes towards zero."""
    return rounded(found, found, mode)


@LibraryFunction
def lost(x: Any, y: Any) -> Any:
    """What the rounded sum of two numbers lacks."""
    if abs(x) < abs(y):
        x, y = y, x
    return y - ((x + y) - x)


@LibraryFunction
def sum_of_four(a: Any, b: Any, c: Any, d: Any) -> Any:
    """A number with the sign of the exact sum: by expansions that do not overlap, the last part that is not 0."""
    first, second = a + b, lost(a, b)
    low = second + c
    lowest = lost(second, c)
    middle = first + low
    low = lost(first, low)
    # middle + low + lowest is the sum of three
    tail = lowest + d
    tail_lost = lost(lowest, d)
    part = low + tail
    part_lost = lost(low, tail)
    top = middle + part
    top_lost = lost(middle, part)
    if top != 0:
        return top
    if top_lost != 0:
        return top_lost
    return part_lost if part_lost != 0 else tail_lost


@LibraryFunction
def add(x: Any, y: Any, mode: Any) -> Any:
    """The sum, rounded in one direction."""
    found = x + y
    if not (math.isfinite(x) and math.isfinite(y)):
        return found
    if not math.isfinite(found):
        return beyond(found, mode)
    if found == 0 and mode < 0 and (np.signbit(x) or np.signbit(y)):
        return -abs(found)  # a sum that is exactly 0
    return rounded(found, -lost(x, y), mode)


@LibraryFunction
def subtract(x: Any, y: Any, mode: Any) -> Any:
    """The difference, rounded in one direction."""
    return add(x, -y, mode)


@LibraryFunction
def multiply(x: Any, y: Any, mode: Any) -> Any:
    """The product, rounded in one direction."""
    found = x * y
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return found
    if not math.isfinite(found):
        return beyond(found, mode)
    left, first = math.frexp(x)
    right, second = math.frexp(y)
    high = left * right
    scaled = math.ldexp(found, -(first + second))
    return rounded(found, (scaled - high) - fma(left, right, -high), mode)


@LibraryFunction
def quotient_side(found: Any, x: Any, y: Any) -> Any:
    """On which side of ``x / y`` a number is."""
    left, first = math.frexp(x)
    right, second = math.frexp(y)
    scaled = math.ldexp(found, second - first)
    high = scaled * right
    side = (high - left) + fma(scaled, right, -high)
    return side if y > 0 else -side


@LibraryFunction
def divide(x: Any, y: Any, mode: Any) -> Any:
    """The quotient, rounded in one direction."""
    found = x / y
    if not (math.isfinite(x) and math.isfinite(y)) or x == 0 or y == 0:
        return found
    if not math.isfinite(found):
        return beyond(found, mode)
    for _ in range(4):  # some devices' quotients are not the nearest ones
        side = quotient_side(found, x, y)
        nearer = np.nextafter(found, -math.inf if side > 0 else math.inf)
        beyond_it = quotient_side(nearer, x, y)
        if side == 0 or (beyond_it != 0 and (beyond_it > 0) != (side > 0)):
            break
        found = nearer
    return rounded(found, quotient_side(found, x, y), mode)


@LibraryFunction
def reciprocal(x: Any, mode: Any) -> Any:
    """One over the number, rounded in one direction."""
    return divide(x * 0 + 1, x, mode) if math.isfinite(x) else 1 / x


@LibraryFunction
def root_side(found: Any, x: Any) -> Any:
    """On which side of a square root a number is."""
    size, exponent = math.frexp(x)
    if exponent & 1:
        size *= 0.5
        exponent += 1
    scaled = math.ldexp(found, -(exponent >> 1))
    square = scaled * scaled
    return (square - size) + fma(scaled, scaled, -square)


@LibraryFunction
def root(x: Any, mode: Any) -> Any:
    """The square root, rounded in one direction."""
    found = math.sqrt(x)
    if not (x > 0 and x < math.inf):
        return found
    for _ in range(4):
        side = root_side(found, x)
        nearer = np.nextafter(found, -math.inf if side > 0 else math.inf)
        beyond_it = root_side(nearer, x)
        if side == 0 or (beyond_it != 0 and (beyond_it > 0) != (side > 0)):
            break
        found = nearer
    return rounded(found, root_side(found, x), mode)


@LibraryFunction
def multiply_add(x: Any, y: Any, z: Any, mode: Any) -> Any:
    """``x * y + z``, rounded once, in one direction."""
    found = fma(x, y, z)
    if not (math.isfinite(x) and math.isfinite(y) and math.isfinite(z)):
        return found
    if not math.isfinite(found):
        return beyond(found, mode)
    if x == 0 or y == 0:
        return add(x * y, z, mode)
    left, first = math.frexp(x)
    right, second = math.frexp(y)
    high = left * right
    low = fma(left, right, -high)
    both = first + second
    last, third = math.frexp(z)
    digits = 64 if x.dtype.itemsize == 8 else 32
    if z != 0 and third - both > 2 * digits:  # the product is less than any digit of z
        side = (found - z) if found != z else -high
        return rounded(found, side, mode)
    if z != 0 and both - third > 2 * digits:  # z is less than any digit of the product
        side = (math.ldexp(found, -both) - high) - low
        return rounded(found, side if side != 0 else -z, mode)
    if z == 0:
        both_z = both
        other = z
    else:
        both_z = max(both, third)
        other = math.ldexp(last, third - both_z)
    high = math.ldexp(high, both - both_z)
    low = math.ldexp(low, both - both_z)
    side = sum_of_four(high, low, other, -math.ldexp(found, -both_z))
    if found == 0 and side == 0:
        return -abs(found) if mode < 0 else abs(found)  # a sum that is exactly 0, of a product that is not
    return rounded(found, -side, mode)
