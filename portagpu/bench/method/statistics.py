"""Statistics of samples that come in rounds.

A round is one turn of an implementation; samples of one round lie near each other, for clocks, caches and other
programs were the same. So uncertainty is that between rounds: intervals come from a bootstrap that draws whole rounds
(as for the levels of an experiment in T. Kalibera, R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
"""

from __future__ import annotations

import math
import statistics

import numpy as np

Samples = tuple[tuple[float, ...], ...]
"""Seconds of a call, by rounds."""

CONFIDENCE = 0.95
"""Of intervals."""

STEADY = 0.1
"""Of the median: quartiles that lie further apart tell of a disturbed machine."""

_DRAWS = 2000
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


def resampled_medians(samples: Samples, generator: np.random.Generator, draws: int = _DRAWS) -> np.ndarray:
    """Medians of so many drawings of whole rounds, shape (draws,)."""
    rounds = [turn for turn in samples if turn]
    seconds = np.concatenate([np.asarray(turn, np.float64) for turn in rounds])
    homes = np.repeat(np.arange(len(rounds)), [len(turn) for turn in rounds])
    order = np.argsort(seconds, kind="stable")
    chosen = generator.integers(len(rounds), size=(draws, len(rounds)))
    flat = (chosen + len(rounds) * np.arange(draws)[:, None]).ravel()
    times = np.bincount(flat, minlength=draws * len(rounds)).reshape(draws, -1).astype(np.int32)  # a round was drawn
    upto = np.cumsum(times[:, homes[order]], axis=1)  # how many drawn samples are at most the one of a column
    total = upto[:, -1:]
    low, high = ((upto >= number).argmax(axis=1) for number in ((total + 1) // 2, total // 2 + 1))
    found: np.ndarray = (seconds[order][low] + seconds[order][high]) / 2
    return found


def interval(samples: Samples) -> tuple[float, float] | None:
    """The median's interval at `CONFIDENCE`; None with fewer than three rounds, which tell nothing of it."""
    if sum(1 for turn in samples if turn) < 3:
        return None
    found = resampled_medians(samples, np.random.default_rng(_SEED))
    low, high = np.quantile(found, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def relative_error(samples: Samples) -> float | None:
    """The standard error of the mean of the rounds' medians, relative to it; None with fewer than three rounds."""
    medians = [statistics.median(turn) for turn in samples if turn]
    if len(medians) < 3:
        return None
    return statistics.stdev(medians) / math.sqrt(len(medians)) / statistics.fmean(medians)


__all__ = ["CONFIDENCE", "STEADY", "Samples", "all_of", "interval", "median", "quartiles", "relative_error"]
__all__ += ["resampled_medians", "varies"]
