"""How results are compared: each check tells the largest error relative to what is allowed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Check = Callable[[Array, Array, int], float]
"""``check(found, expected, n)``, n the operands' elements: at most 1 for a right result."""

_ROUNDINGS = 256.0  # of a sum: what an element goes through, and more than pairwise sums of NumPy and CuPy need
_ON_BORDERS = 1e-5  # of elements that rounding may put on the other side of a comparison
_DEVIATIONS = 6.0  # standard errors: once in 500 million draws


def exact(found: Array, expected: Array, n: int) -> float:
    """The same elements."""
    return 0.0 if np.array_equal(found, expected) else math.inf


def close(found: Array, expected: Array, n: int) -> float:
    """Within the roundings of a sum, relative to the largest element."""
    if found.shape != expected.shape:
        return math.inf
    scale = float(np.abs(expected).max(initial=0.0))
    error = float(np.abs(found.astype(np.float64) - expected).max(initial=0.0))
    return error / (_ROUNDINGS * _unit(found) * scale)


def running(found: Array, expected: Array, n: int) -> float:
    """Within the roundings of a sum from the first to the last element, which are random in their signs."""
    return close(found, expected, n) * _ROUNDINGS / (_ROUNDINGS + 4 * math.sqrt(n))


def nearly(found: Array, expected: Array, n: int) -> float:
    """Equal, but for a few elements on a border; of numbers the sum of differences counts."""
    if found.shape != expected.shape:
        return math.inf
    apart = float(np.abs(found.astype(np.float64) - expected.astype(np.float64)).sum())
    return apart / max(1.0, _ON_BORDERS * n)


def normal(found: Array, expected: Array, n: int) -> float:
    """Numbers of the standard normal distribution: their mean, variance and share within one deviation."""
    wide = found.astype(np.float64).ravel()
    if wide.size != n or not np.isfinite(wide).all():
        return math.inf
    share = math.erf(math.sqrt(0.5))
    errors = (
        wide.mean() * math.sqrt(n),
        (np.square(wide).mean() - 1) * math.sqrt(n / 2),
        (np.mean(np.abs(wide) < 1) - share) * math.sqrt(n / (share * (1 - share))),
    )
    return float(np.abs(errors).max()) / _DEVIATIONS


def _unit(found: Array) -> float:
    return float(np.finfo(found.dtype).eps) / 2 if found.dtype.kind == "f" else 0.5


__all__ = ["Check", "close", "exact", "nearly", "normal", "running"]
