"""Quantiles of Student's t distribution, with a fraction of a degree of freedom as Welch's test has."""

from __future__ import annotations

import math
import statistics

import numpy as np

_WEIGHTS = np.r_[1, np.tile([4, 2], 199), 4, 1] / 3  # Simpson's rule
_PLACES = np.linspace(0, 1, _WEIGHTS.size)


def quantile(probability: float, freedom: float) -> float:
    """The value that a t-distributed variable is below with a probability from 0.5 to below 1.

    Found by bisection of the distribution's integral, which with t = sqrt(freedom) tan(angle) is one of a power of a
    cosine over a bounded interval.
    """
    if freedom > 1e6:
        return statistics.NormalDist().inv_cdf(probability)
    share = (2 * probability - 1) * _integral(math.pi / 2, freedom)
    low, high = 0.0, math.pi / 2
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if _integral(middle, freedom) < share else (low, middle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def _integral(angle: float, freedom: float) -> float:
    """Of cos(x)^(freedom - 1) from 0 to an angle."""
    cosines = np.maximum(np.cos(angle * _PLACES), 0.0)
    return float(angle / (_WEIGHTS.size - 1) * (_WEIGHTS * cosines ** (freedom - 1)).sum())


__all__ = ["quantile"]
