"""Whether a cell became faster: a test on the distributions of its times.

The ratio of the medians, new over old, has an interval by Welch's t on its logarithm. The standard errors are those of
the bootstrap that draws whole rounds, since samples of one round lie near each other (T. Kalibera, R. Jones, "Rigorous
benchmarking in reasonable time", ISMM 2013), times sqrt(n / (n - 1)), by which a bootstrap of n rounds is too narrow
(T. Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69, 2015). A verdict needs
the whole interval on one side of the least effect: so a difference that is told is no matter of chance, and one that is
too small to matter is not told, however many samples there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from portagpu.bench.method.statistics import Samples, median, resampled_medians
from portagpu.report.student import quantile

LEAST_EFFECT = 0.02
"""Of the time: what is less may come from another layout of memory in another process."""

LEVEL = 0.99
"""Of intervals: with many cells one of a hundred would be outside of narrower ones by chance."""

_LEAST_ROUNDS = 3


class Verdict(Enum):
    """What became of a cell's speed."""

    FASTER = "FASTER"
    SLOWER = "SLOWER"
    SAME = "SAME"
    UNSURE = "UNSURE"  # the interval reaches across the least effect: too few samples, or too noisy ones
    LOST = "LOST"  # measured then; wrong, failed or not supported now
    REFUSED = "REFUSED"  # measured under different conditions
    OLD_ONLY = "ONLY IN OLD"
    NEW_ONLY = "ONLY IN NEW"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The ratio of times, new over old, its interval, and what that means."""

    verdict: Verdict
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""


def change(old: Samples, new: Samples, effect: float = LEAST_EFFECT, level: float = LEVEL) -> Change:
    """Compare the times of two measurements."""
    before, after = median(old), median(new)
    assert before is not None and after is not None  # measured cells have samples
    ratio = after / before
    rounds = [sum(1 for turn in samples if turn) for samples in (old, new)]
    if min(rounds) < _LEAST_ROUNDS:
        return Change(verdict=Verdict.UNSURE, ratio=ratio, reason=f"fewer than {_LEAST_ROUNDS} rounds")
    width = _half_width(_error(old, rounds[0], 1), _error(new, rounds[1], 2), rounds, level)
    low, high = ratio * math.exp(-width), ratio * math.exp(width)
    verdict = _verdict(low, high, 1 + effect)
    reason = f"its interval at {level:.6g} reaches across ±{effect:.2g}" if verdict is Verdict.UNSURE else ""
    return Change(verdict=verdict, ratio=ratio, low=low, high=high, reason=reason)


def _verdict(low: float, high: float, limit: float) -> Verdict:
    if low > limit:
        return Verdict.SLOWER
    if high < 1 / limit:
        return Verdict.FASTER
    return Verdict.SAME if 1 / limit <= low and high <= limit else Verdict.UNSURE


def _error(samples: Samples, rounds: int, seed: int) -> float:
    """The standard error of the logarithm of the median."""
    drawn = np.log(resampled_medians(samples, seed))
    return float(drawn.std()) * math.sqrt(rounds / (rounds - 1))


def _half_width(first: float, second: float, rounds: list[int], level: float) -> float:
    variances = first**2, second**2
    total = sum(variances)
    if total == 0:
        return 0.0
    parts = sum((one / total) ** 2 / (count - 1) for one, count in zip(variances, rounds, strict=True))
    return min(quantile((1 + level) / 2, 1 / parts) * math.sqrt(total), 700.0)  # e to the 700 is still a number


__all__ = ["LEAST_EFFECT", "LEVEL", "Change", "Verdict", "change"]
