"""Replay of recorded measurements to a strategy, without a device: for tests, and to compare strategies."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from portagpu.errors import TuningError
from portagpu.files import is_file
from portagpu.tuning.searches.history import History
from portagpu.tuning.searches.report import shown
from portagpu.tuning.searches.strategies import Strategy, make_strategy
from portagpu.tuning.session import seconds_of
from portagpu.tuning.store.lines import Axes
from portagpu.tuning.store.store import Record, Store, TaskKey
from portagpu.tuning.tunables.outcomes import Measured, Outcome, duration
from portagpu.tuning.tunables.space import Axis, Point, PointKey, SearchSpace, UnionSpace, point_key
from portagpu.tuning.tunables.values import plain_point, whole

_COST = 1.0  # seconds of a trial whose cost was not recorded


@dataclass(frozen=True, slots=True)
class Recording:
    """The measured points of one task: all of a space, or so many that the rest does not matter."""

    records: dict[PointKey, Record]
    axes: Axes | None = None  # of the recorded search's space

    @classmethod
    def load(cls, source: Store | Path | str, task: TaskKey | None = None) -> Recording:
        """The recording in a store; ``task`` where it has several. Raises `TuningError`."""
        store = source if isinstance(source, Store) else Store(source)
        if not is_file(store.path):
            raise TuningError(f"there is no file {store.path}", hint="give the file of a store")
        tasks = [t for t in store.tasks() if task is None or t == task]
        if len(tasks) != 1:
            found = "no trials" if not tasks else f"trials of {len(tasks)} tasks"
            raise TuningError(f"{store.path} has {found}", hint="name one of its tasks: Store(path).tasks()")
        recording = cls(store.records(tasks[0]), store.axes(tasks[0]))
        if recording.best is None:
            raise TuningError(f"{store.path} has no measured trial of {tasks[0]}")
        return recording

    @property
    def best(self) -> float | None:
        """Seconds of the fastest point."""
        outcomes = [self.records[point_key(point)].outcome for point in self._points()]
        return min((o.seconds for o in outcomes if isinstance(o, Measured)), default=None)

    def history(self) -> History:
        """What a search begins with: every point is new, in the order of the recorded predictions."""
        points = self._points()
        predicted = {key: r.predicted for key, r in self.records.items() if r.predicted is not None}
        ranked = sorted(points, key=lambda p: predicted.get(point_key(p), math.inf))
        return History(self._space(), ranked, predicted)

    def _points(self) -> list[Point]:
        """The recorded points in the space's order, as far as it is known; those of an older space are left out."""
        points = [record.point for record in self.records.values()]
        if self.axes is None:
            return points
        places = [(place, point) for point in points if (place := _place(self.axes, point)) is not None]
        return [point for _, point in sorted(places, key=lambda pair: pair[0])]

    def _space(self) -> UnionSpace:
        """The recorded search's space; where it is not known, a space for each set of axes, that of each algorithm."""
        if self.axes is not None:
            return UnionSpace(tuple(SearchSpace(axes, (self._has,)) for axes in self.axes))
        groups: dict[Any, list[Point]] = {}
        for record in self.records.values():
            groups.setdefault((tuple(record.point), record.point.get("kind")), []).append(record.point)
        return UnionSpace(tuple(self._space_of(points) for points in groups.values()))

    def _space_of(self, points: list[Point]) -> SearchSpace:
        axes = []
        for name in points[0]:
            values = tuple(dict.fromkeys(p[name] for p in points))
            axis = Axis(name, values)
            axes.append(Axis(name, tuple(sorted(values))) if axis.ordered else axis)
        return SearchSpace(tuple(axes), (self._has,))

    def _has(self, point: Point) -> bool:
        return point_key(point) in self.records


def _place(spaces: Axes, point: Point) -> tuple[int, ...] | None:
    """Where a point comes in a union of spaces, each of which varies its last axis first; None if it is in none."""
    for number, axes in enumerate(spaces):
        if len(point) == len(axes) and all(point.get(axis.name) in axis.values for axis in axes):
            return (number, *(axis.values.index(point[axis.name]) for axis in axes))
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """State after a replayed trial."""

    point: Point
    outcome: Outcome
    elapsed: float  # recorded seconds of all trials so far
    best: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """How a strategy did."""

    steps: tuple[Step, ...]
    optimum: float  # seconds of the fastest recorded point

    @property
    def winner(self) -> Point | None:
        """The fastest point that the strategy found."""
        found = [s for s in self.steps if isinstance(s.outcome, Measured) and s.outcome.seconds == self.steps[-1].best]
        return found[0].point if found else None

    def __str__(self) -> str:
        if self.winner is None:
            return f"{len(self.steps)} trials: no point worked"
        return (
            f"{len(self.steps)} trials in {duration(max(self.steps[-1].elapsed, 1e-9))}: {shown(self.winner)}, "
            f"{self.share():.0%} of the fastest recorded point's speed ({duration(self.optimum)})"
        )

    def share(self, trials: int | None = None) -> float:
        """Speed after so many trials (None: all) over the fastest recorded point's; 0.0 where nothing worked."""
        steps = self.steps if trials is None else self.steps[:trials]
        best = steps[-1].best if steps else None
        return 0.0 if best is None else self.optimum / best


def replay(strategy: str | Strategy, recorded: Recording, *, budget: int | float | str, seed: int = 0) -> Replayed:
    """Run a strategy on recorded measurements.

    ``budget``: a whole number is one of trials; a float, or a text such as ``60s``, is a time, counted by what the
    trials took when they were recorded. Raises `TuningError` for a strategy that proposes a point twice or an unknown
    one, and for a budget or strategy that makes no sense.
    """
    chosen = make_strategy(strategy, whole("seed", seed))
    history = recorded.history()
    is_count = isinstance(budget, int | np.integer)
    most = whole("budget", budget) if is_count else None
    seconds = math.inf if is_count else seconds_of(budget)
    optimum = recorded.best
    if optimum is None:
        raise TuningError("the recording has no measured trial")
    steps: list[Step] = []
    elapsed = 0.0
    best: float | None = None
    for _ in itertools.count() if most is None else range(most):
        point = chosen.propose(history) if elapsed < seconds else None
        if point is None:
            break
        point = plain_point(point, "what the strategy proposed")
        key = point_key(point)
        record = recorded.records.get(key)
        if record is None or key in history.tried:
            raise TuningError(
                f"the strategy proposed {point!r}, which is {'old' if record else 'not in the recording'}"
            )
        history.tried[key] = (point, record.outcome)
        elapsed += _COST if record.cost is None else record.cost
        if isinstance(record.outcome, Measured):
            best = record.outcome.seconds if best is None else min(best, record.outcome.seconds)
        steps.append(Step(point=point, outcome=record.outcome, elapsed=elapsed, best=best))
    return Replayed(steps=tuple(steps), optimum=optimum)
