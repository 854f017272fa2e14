"""The bootstrap of a median by drawing whole rounds, fast enough for reports of many thousand cells.

What is drawn depends on the number of rounds alone, so that cells share it; how many of the drawn samples are at most
one of them is a product of two small matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np

Samples = tuple[tuple[float, ...], ...]
"""Seconds of a call, by rounds."""

DRAWS = 2000
_MOST_ROUNDS, _MOST_SAMPLES = 128, 4096  # of a cell; more tell hardly more, and a file of others may have 10^10
_AT_ONCE = 1 << 21  # numbers of a matrix that is made


def resampled_medians(samples: Samples, seed: int) -> np.ndarray:
    """Medians of `DRAWS` drawings of whole rounds: the same for the same samples and seed.

    Neighbours of very many rounds are taken together, and of very many samples evenly spaced ones stand for all.
    """
    rounds = _bearable([np.asarray(turn, np.float64) for turn in samples if turn])
    seconds = np.concatenate(rounds)
    order = np.argsort(seconds, kind="stable")
    homes = np.repeat(np.arange(len(rounds)), [len(turn) for turn in rounds])[order]
    members = np.cumsum(homes[:, None] == np.arange(len(rounds)), axis=0, dtype=np.float32)  # of each round, up to one
    parts = [_medians(seconds[order], members, drawn) for drawn in _parts(_drawn(len(rounds), seed), len(seconds))]
    return np.concatenate(parts)


def _medians(ordered: np.ndarray, members: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    upto = members @ drawn  # how many drawn samples are at most the one of a row; whole numbers that float32 holds
    total = upto[-1]
    first, second = np.floor((total + 1) / 2), np.floor(total / 2) + 1
    low = _count(upto < first)
    high = low if np.array_equal(first, second) else _count(upto < second)
    found: np.ndarray = (ordered[low] + ordered[high]) / 2
    return found


def _count(below: np.ndarray) -> np.ndarray:
    """How many are true in each column: sums of bytes take a tenth of the time of those of longer numbers."""
    found: np.ndarray = below.view(np.uint8).sum(axis=0, dtype=np.uint8 if len(below) < 256 else np.uint16)
    return found


@lru_cache(maxsize=64)
def _drawn(rounds: int, seed: int) -> np.ndarray:
    """How often each round is drawn, shape (rounds, `DRAWS`)."""
    chosen = np.random.default_rng(seed).integers(rounds, size=(DRAWS, rounds))
    flat = (chosen + rounds * np.arange(DRAWS)[:, None]).ravel()
    times = np.bincount(flat, minlength=DRAWS * rounds).reshape(DRAWS, rounds)
    return np.ascontiguousarray(times.T, dtype=np.float32)


def _parts(drawn: np.ndarray, samples: int) -> Iterator[np.ndarray]:
    step = max(1, _AT_ONCE // samples)
    yield from (drawn[:, begin : begin + step] for begin in range(0, drawn.shape[1], step))


def _bearable(rounds: list[np.ndarray]) -> list[np.ndarray]:
    if len(rounds) > _MOST_ROUNDS:
        ends = np.linspace(0, len(rounds), _MOST_ROUNDS + 1).astype(int)
        rounds = [np.concatenate(rounds[begin:end]) for begin, end in pairwise(ends)]
    total = sum(map(len, rounds))
    if total <= _MOST_SAMPLES:
        return rounds
    return [_thinned(turn, max(1, round(len(turn) * _MOST_SAMPLES / total))) for turn in rounds]


def _thinned(turn: np.ndarray, count: int) -> np.ndarray:
    """Order statistics in the middle of equal shares."""
    places = ((np.arange(count) + 0.5) * len(turn) / count).astype(int)
    found: np.ndarray = np.sort(turn)[places]
    return found


__all__ = ["DRAWS", "Samples", "resampled_medians"]
