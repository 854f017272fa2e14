"""Search strategies: in which order points are tried.

A strategy proposes the next point, given everything that was tried. What it proposes is legal and new, because it
chooses among the candidates that the history offers; illegal points are never measured. Where candidates are compiled
ahead, it is asked for several points before the first one's outcome is known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from portagpu.errors import TuningError, did_you_mean
from portagpu.tuning.searches.history import History
from portagpu.tuning.searches.optuna_strategies import LibrarySampler, sampler_names
from portagpu.tuning.tunables.space import Point

MODEL_FIRST = 16
RANDOM_NEXT = 4


class Strategy(Protocol):
    """Proposes what to try next."""

    def propose(self, history: History) -> Point | None:
        """A legal point that is new; None when there is nothing left, or nothing that is worth it.

        Some points of ``history.pending`` may be waiting for their outcomes: after None it is asked again for as long
        as there are such points.
        """


class ModelOrder:
    """The model's order."""

    def propose(self, history: History) -> Point | None:
        """The model's best among the rest."""
        return history.next_ranked()


class RandomOrder:
    """Points at random."""

    def __init__(self, seed: int = 0) -> None:
        self._generator = random.Random(seed)
        self._order: list[Point] | None = None

    def propose(self, history: History) -> Point | None:
        """A point at random among the rest."""
        if self._order is None:
            self._order = list(history.ranked)
            self._generator.shuffle(self._order)
        while self._order:
            point = self._order.pop()
            if history.is_new(point):
                return point
        return None


class Neighbours:
    """Neighbours of the best point, then of the second best and so on; then the model's order."""

    _LOOK_AT = 8

    def propose(self, history: History) -> Point | None:
        """The nearest new neighbour of the fastest points."""
        for rank, (point, _) in enumerate(history.by_speed()):
            if rank >= self._LOOK_AT:
                break
            found = history.first_new(history.space.neighbours(point))
            if found is not None:
                return found
        return history.next_ranked()


class Given:
    """Only these points, such as the best ones of another problem."""

    def __init__(self, points: Iterable[Point]) -> None:
        self._points = list(points)

    def propose(self, history: History) -> Point | None:
        """The next of the points that is legal here."""
        return next((p for p in self._points if history.is_new(p) and history.space.is_legal(p)), None)


class Staged:
    """The model's best, a few at random, then another strategy, which has learnt from these.

    Without a model all of the beginning is at random.
    """

    def __init__(self, then: Strategy, seed: int = 0, first: int = MODEL_FIRST, at_random: int = RANDOM_NEXT) -> None:
        self._then, self._random = then, RandomOrder(seed)
        self._first, self._at_random = first, at_random

    def propose(self, history: History) -> Point | None:
        """The next point of the stage that the search is in."""
        if not history.predicted:
            self._at_random, self._first = self._at_random + self._first, 0
        head = history.first_new(history.ranked[: self._first])
        if head is not None:
            return head
        if self._at_random > 0:
            self._at_random -= 1
            point = self._random.propose(history)
            if point is not None:
                return point
        return self._then.propose(history)


Make = Callable[[int], Strategy]
DEFAULT = "default"
_OWN: dict[str, Make] = {
    "model": lambda seed: ModelOrder(),
    "random": RandomOrder,
    "neighbours": lambda seed: Staged(Neighbours(), seed),
}


def strategy_names() -> tuple[str, ...]:
    """Names that `make_strategy` knows; those of the library come with ``pip install 'portagpu[tune]'``."""
    return (DEFAULT, *_OWN, *sampler_names())


def make_strategy(strategy: str | Strategy, seed: int = 0) -> Strategy:
    """A strategy by name, or the given one.

    ``model``, ``random``; ``neighbours`` (the model's best 16, 4 at random, then neighbours of the best); the library's
    samplers, with the same beginning: ``tpe`` (tree-structured Parzen estimators), ``cmaes``, ``gp`` (Gaussian
    processes); ``default``: tpe, or neighbours where the library is not installed. Raises `TuningError`.
    """
    if not isinstance(strategy, str):
        given: Any = strategy  # whatever a user gave
        if isinstance(given, type) and hasattr(given, "propose"):
            raise TuningError(f"{given.__name__} is a class", hint=f"make a strategy of it: {given.__name__}()")
        if not callable(getattr(given, "propose", None)):
            raise TuningError(f"{given!r} is no strategy", hint=f"choose among {', '.join(strategy_names())}")
        return strategy
    if strategy == DEFAULT:
        strategy = "tpe" if LibrarySampler.is_installed() else "neighbours"
    if strategy in _OWN:
        return _OWN[strategy](seed)
    if strategy in sampler_names():
        return Staged(LibrarySampler(strategy, seed), seed)
    hint = f"{did_you_mean(strategy, strategy_names())}choose among {', '.join(strategy_names())}"
    raise TuningError(f"there is no strategy {strategy!r}", hint=hint)
