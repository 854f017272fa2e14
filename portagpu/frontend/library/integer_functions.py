"""Functions of integers that take several operations, written in the dialect: kernels call them as device functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from portagpu.dialect.names import INTRINSICS
from portagpu.frontend.source.callables import LibraryFunction

_popc: Any = INTRINSICS["popc"]


_clz: Any = INTRINSICS["clz"]


@LibraryFunction
def magnitude(x: Any) -> Any:
    """Absolute value as a uint64, which holds that of every integer."""
    if x.dtype.kind == "u":
        return np.uint64(x)
    return np.uint64(abs(np.int64(x)))


@LibraryFunction
def gcd(x: Any, y: Any) -> Any:
    """`numpy.gcd`, and `math.gcd` of magnitudes."""
    if x.dtype.kind == "u":
        a = x
        b = y
        while b != 0:
            a, b = b, a % b
        return a
    below = -abs(x)  # not above zero, since the most negative number has no counterpart
    other = -abs(y)
    while other != 0:
        below, other = other, below % other
    return -below


@LibraryFunction
def lcm(x: Any, y: Any) -> Any:
    """`numpy.lcm`, and `math.lcm` of magnitudes."""
    divisor = gcd(x, y)
    return divisor if divisor == 0 else abs(x // divisor) * abs(y)


@LibraryFunction
def integer_root(n: Any) -> Any:
    """`math.isqrt` by Newton's method, from above; of negative numbers 0."""
    if n <= 0:
        return n * 0
    root = n.dtype.type(1) << n.dtype.type((65 - _clz(n)) // 2)
    better = (root + n // root) // 2
    while better < root:
        root = better
        better = (root + n // root) // 2
    return root


@LibraryFunction
def factorial(n: Any) -> Any:
    """Lower 64 bits of `math.factorial`; 0 where Python raises."""
    if n < 0 or n > 65:  # 66! is a multiple of 2**64
        return n * 0
    result = n * 0 + 1
    for k in range(2, n + 1):
        result *= k
    return result


@LibraryFunction
def permutations(n: Any, k: Any) -> Any:
    """Lower 64 bits of `math.perm`, a multiple of k!; 0 where Python raises."""
    if k < 0 or k > n or k > 65:
        return n * 0
    result = n * 0 + 1
    for i in range(k):
        result *= n - i
    return result


@LibraryFunction
def combinations(n: Any, k: Any) -> Any:
    """`math.comb`; 0 where Python raises, and beyond int64. Each step is a binomial coefficient, too."""
    if k < 0 or k > n or min(k, n - k) > 33:  # comb(68, 34) has more than 63 bits
        return n * 0
    result = n * 0 + 1
    for i in range(min(k, n - k)):
        factor = n - i
        whole = result // (i + 1)  # of result * factor // (i + 1), whose product may not fit
        rest = result - whole * (i + 1)
        times = factor // (i + 1)
        rest = rest * times + rest * (factor - times * (i + 1)) // (i + 1)
        if whole > (0x7FFFFFFFFFFFFFFF - rest) // factor:
            return n * 0
        result = whole * factor + rest
    return result


@LibraryFunction
def count_bits(x: Any) -> Any:
    """Ones of the absolute value."""
    size = abs(x)
    if size.dtype.itemsize == 1:  # without the sign of the most negative number
        return np.uint8(_popc(np.uint8(size)))
    if size.dtype.itemsize == 2:
        return np.uint8(_popc(np.uint16(size)))
    return np.uint8(_popc(size))


@LibraryFunction
def power_modulo(base: Any, exponent: Any, modulus: Any) -> Any:
    """``pow(base, exponent, modulus)`` of integers; a negative exponent gives zero."""
    result = (modulus * 0 + 1) % modulus
    factor = base % modulus
    rest = exponent
    if rest < 0:
        return modulus * 0
    while rest > 0:
        if rest & 1:
            result = result * factor % modulus
        factor = factor * factor % modulus
        rest >>= 1
    return result


@LibraryFunction
def integer_fmod(x: Any, y: Any) -> Any:
    """C's remainder, with the sign of ``x``."""
    rest = x % y
    if rest != 0 and (x < 0) != (y < 0):
        rest -= y
    return rest


@LibraryFunction
def integer_reciprocal(x: Any) -> Any:
    """C's ``1 / x``; by zero zero, as other divisions of integers."""
    return x if x == 1 or x == -1 else x * 0


@LibraryFunction
def round_integer(x: Any, step: Any) -> Any:
    """An integer rounded to a multiple of ``step``, half to even."""
    below = x - x % step
    rest = x - below
    other = step - rest  # twice the rest may not fit
    if rest > other or (rest == other and below // step % 2 == 1):
        return below + step
    return below
