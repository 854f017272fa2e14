"""Lengths of transforms: their factors, how they are cut into parts, and tables of roots of unity."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

LARGEST_PRIME = 61
"""Lengths with larger prime factors are computed as convolutions."""

_RADICES = (8, 4, 2, 7, 5, 3)


@lru_cache(1024)
def largest_prime(n: int) -> int:
    """The largest prime factor."""
    found, p = 1, 2
    while p * p <= n:
        while n % p == 0:
            found, n = p, n // p
        p += 1
    return max(found, n)


@lru_cache(1024)
def radices(n: int) -> tuple[int, ...]:
    """Factors of a length as steps take them, the largest powers of two first."""
    found: list[int] = []
    twos = (n & -n).bit_length() - 1
    if twos % 3 == 1 and twos > 1:  # 4 * 4 rather than 8 * 2
        found, n = [4, 4], n // 16
    for radix in _RADICES:
        while n % radix == 0:
            found.append(radix)
            n //= radix
    p = 11
    while n > 1:
        while n % p == 0:
            found.append(p)
            n //= p
        p += 2
    return tuple(found)


@lru_cache(1024)
def split(n: int, longest: int) -> tuple[int, int]:
    """Two factors of a length, both near its root if they may be that long; the first one at most ``longest``."""
    best = 1
    for first in range(math.isqrt(n), 0, -1):
        if n % first == 0:
            best = first
            break
    if n // best <= longest:
        return n // best, best
    return max(d for d in range(1, longest + 1) if n % d == 0), n // max(d for d in range(1, longest + 1) if n % d == 0)


@lru_cache(256)
def smooth_from(n: int) -> int:
    """A length of at least n that is quick: a power of two, or three quarters of one, or five eighths."""
    power = 1 << (n - 1).bit_length()
    return min(c for c in (power, power // 4 * 3, power // 8 * 5) if c >= n)


def roots(n: int, turns: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """``exp(-2 pi i k / n)`` for whole numbers k, each right to the last place or two."""
    k = np.asarray(turns, np.int64) % n
    # from the nearest eighth of the circle, so that angles are small and exact
    eighth = (8 * k + n // 2) // n
    angle = (8 * k - eighth * n).astype(np.longdouble) * (np.longdouble(2) * _PI / (8 * n))
    c, s = np.cos(angle), np.sin(angle)
    at = (np.sqrt(np.longdouble(0.5)), np.sqrt(np.longdouble(0.5)))
    cos8 = np.array([1, at[0], 0, -at[0], -1, -at[0], 0, at[0], 1], np.longdouble)[eighth]
    sin8 = np.array([0, at[0], 1, at[0], 0, -at[0], -1, -at[0], 0], np.longdouble)[eighth]
    found = np.empty(k.shape, dtype)
    found.real = c * cos8 - s * sin8
    found.imag = -(s * cos8 + c * sin8)
    return found


_PI = np.arctan2(np.longdouble(0), np.longdouble(-1))
