"""Statistics of samples that come in rounds.

A round is one turn of an implementation; samples of one round lie near each other, for clocks, caches and other
programs were the same. So uncertainty is that between rounds: intervals come from a bootstrap that draws whole rounds
(as for the levels of an experiment in T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
"""

from __future__ import annotations

import math
import statistics

import numpy as np

from portagpu.bench.method.bootstrap import Samples, resampled_medians

CONFIDENCE = 0.95
"""Of intervals."""

STEADY = 0.1
"""Of the median: quartiles that lie further apart tell of a disturbed machine."""

_SEED = 24  # the same samples have the same interval


def all_of(samples: Samples) -> list[float]:
    """The samples of all rounds."""
    return [seconds for turn in samples for seconds in turn]


def median(samples: Samples) -> float | None:
    """The median of all samples; None without any."""
    seconds = all_of(samples)
    return statistics.median(seconds) if seconds else None


def quartiles(samples: Samples) -> tuple[float, float, float] | None:
    """First quartile, median and third quartile; None without samples."""
    seconds = all_of(samples)
    if len(seconds) < 2:
        return (seconds[0], seconds[0], seconds[0]) if seconds else None
    first, middle, third = statistics.quantiles(seconds, n=4, method="inclusive")
    return first, middle, third


def varies(samples: Samples) -> bool:
    """Whether the samples vary so much that the median says little: see `STEADY`."""
    found = quartiles(samples)
    return found is not None and found[2] - found[0] > STEADY * found[1]


def interval(samples: Samples) -> tuple[float, float] | None:
    """The median's interval at `CONFIDENCE`; None with fewer than three rounds, which tell nothing of it."""
    if sum(1 for turn in samples if turn) < 3:
        return None
    return middle(resampled_medians(samples, _SEED))


def middle(values: np.ndarray) -> tuple[float, float]:
    """Between which the share `CONFIDENCE` of some values lies: quantiles as NumPy's, which takes ten times as long."""
    ordered = np.sort(values)
    low, high = (_quantile(ordered, share) for share in ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2))
    return low, high


def _quantile(ordered: np.ndarray, share: float) -> float:
    place = share * (len(ordered) - 1)
    below = min(int(place), len(ordered) - 2)
    return float(ordered[below] + (place - below) * (ordered[below + 1] - ordered[below]))


def relative_error(samples: Samples) -> float | None:
    """The standard error of the mean of the rounds' medians, relative to it; None with fewer than three rounds."""
    medians = [statistics.median(turn) for turn in samples if turn]
    if len(medians) < 3:
        return None
    return statistics.stdev(medians) / math.sqrt(len(medians)) / statistics.fmean(medians)


__all__ = ["CONFIDENCE", "STEADY", "Samples", "all_of", "interval", "median", "middle", "quartiles"]
__all__ += ["relative_error", "resampled_medians", "varies"]
