"""Optuna's samplers as strategies.

T. Akiba et al., "Optuna: a next-generation hyperparameter optimization framework", KDD 2019. Its samplers know no
constraints between parameters that hold before a trial. What a sampler asks for is therefore moved to the nearest legal
point that is new, and the answer is told as that of the point that it asked for. Everything else that was measured, by
other strategies, by earlier searches or other processes, is added as it is. The samplers get logarithms of times: two
points are as far apart as their ratio, and failures are somewhat worse than the slowest point.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import warnings
from typing import Any

import numpy as np

from portagpu.errors import TuningError
from portagpu.tuning.searches.history import History
from portagpu.tuning.tunables.outcomes import Measured, Outcome
from portagpu.tuning.tunables.space import Axis, Point, PointKey, point_key

_LIBRARY = "optuna"
_SAMPLERS: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {  # class, arguments, further packages
    "tpe": ("TPESampler", {"multivariate": True, "n_startup_trials": 0, "constant_liar": True}, ()),
    "cmaes": ("CmaEsSampler", {"warn_independent_sampling": False}, ("cmaes",)),
    "gp": ("GPSampler", {"deterministic_objective": False}, ("torch",)),
}
_SEEDS = 1 << 32  # that NumPy takes
_FAILURE = math.log(2.0)  # how much worse than the slowest point a failure counts


def sampler_names() -> tuple[str, ...]:
    """Names of the library's samplers."""
    return tuple(_SAMPLERS)


class LibrarySampler:
    """One of Optuna's samplers over the candidates."""

    def __init__(self, name: str, seed: int = 0) -> None:
        kind, arguments, packages = _SAMPLERS[name]
        for package in (_LIBRARY, *packages):
            if importlib.util.find_spec(package) is None:
                raise TuningError(
                    f"the strategy {name!r} needs {package}, which is not installed",
                    hint=f"pip install 'portagpu[tune]' {package}" if packages else "pip install 'portagpu[tune]'",
                )
        self._optuna: Any = importlib.import_module(_LIBRARY)
        self._optuna.logging.set_verbosity(self._optuna.logging.WARNING)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what Optuna calls experimental
            sampler = getattr(self._optuna.samplers, kind)(seed=seed % _SEEDS, **arguments)
            self._study = self._optuna.create_study(direction="minimize", sampler=sampler)
        self._grid: _Grid | None = None
        self._asked: dict[PointKey, Any] = {}  # trials without an outcome
        self._reported: set[PointKey] = set()

    @staticmethod
    def is_installed() -> bool:
        """Whether the library is there."""
        return importlib.util.find_spec(_LIBRARY) is not None

    def propose(self, history: History) -> Point | None:
        """The new legal point nearest to what the sampler asks for."""
        if self._grid is None:
            self._grid = _Grid(history.space.axes, history.ranked, self._optuna)
        grid = self._grid
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._tell(history, grid)
            trial = self._study.ask(grid.distributions)
        point = grid.nearest(trial.params)
        if point is None:
            self._study.tell(trial, state=self._optuna.trial.TrialState.FAIL)
            return None
        grid.take(point_key(point))
        self._asked[point_key(point)] = trial
        return point

    def _tell(self, history: History, grid: _Grid) -> None:
        new = {key: entry for key, entry in history.tried.items() if key not in self._reported}
        slowest = max((o.seconds for _, o in history.tried.values() if isinstance(o, Measured)), default=1.0)
        for key, (point, outcome) in new.items():
            self._reported.add(key)
            value = _value(outcome, slowest)
            asked = self._asked.pop(key, None)
            if asked is not None:
                self._study.tell(asked, value)
            elif grid.take(key):
                trial = self._optuna.trial.create_trial(
                    params=grid.params(point), distributions=grid.distributions, value=value
                )
                self._study.add_trial(trial)
            grid.take(key)
        for key in [key for key in self._asked if key not in history.pending]:  # nobody tried them
            self._study.tell(self._asked.pop(key), state=self._optuna.trial.TrialState.FAIL)
            grid.give_back(key)
        for key in history.pending:  # proposed by another strategy, perhaps
            grid.take(key)


def _value(outcome: Outcome, slowest: float) -> float:
    if isinstance(outcome, Measured):
        return math.log(outcome.seconds)
    return math.log(slowest) + _FAILURE


class _Grid:
    """The candidates as rows of numbers: places of values on ordered axes, numbers of values on others."""

    def __init__(self, axes: tuple[Axis, ...], points: list[Point], optuna: Any) -> None:
        # in an order of their own, so that a replay, which knows no other, goes the way that the search went
        several = sorted((a for a in axes if len(a.values) > 1), key=lambda axis: axis.name)
        self.axes = tuple(Axis(a.name, tuple(sorted(a.values, key=None if a.ordered else repr))) for a in several)
        self._points = points
        self._index = {point_key(p): i for i, p in enumerate(points)}
        self._places = [{value: i for i, value in enumerate(a.values)} for a in self.axes]
        self._rows = np.array([self._row(p) for p in points], np.float32).reshape(len(points), len(self.axes))
        self._free = np.ones(len(points), bool)
        kinds = optuna.distributions
        self.distributions = {
            a.name: kinds.IntDistribution(0, len(a.values) - 1)
            if a.ordered
            else kinds.CategoricalDistribution(list(range(len(a.values))))
            for a in self.axes
        }

    def _row(self, point: Point) -> list[float]:
        return [places.get(point.get(a.name), math.nan) for a, places in zip(self.axes, self._places, strict=True)]

    def params(self, point: Point) -> dict[str, int]:
        """A point as the library's parameters; an axis that the point does not have counts as its first value."""
        return {a.name: 0 if math.isnan(x) else int(x) for a, x in zip(self.axes, self._row(point), strict=True)}

    def take(self, key: PointKey) -> bool:
        """Note that a point is no longer new. Returns whether it is a candidate."""
        index = self._index.get(key)
        if index is not None:
            self._free[index] = False
        return index is not None

    def give_back(self, key: PointKey) -> None:
        """A point that was not tried after all is a candidate again."""
        self._free[self._index[key]] = True

    def nearest(self, params: dict[str, int]) -> Point | None:
        """The nearest free candidate; None if there is none."""
        if not self._free.any():
            return None
        if not self.axes:
            return self._points[int(np.argmax(self._free))]
        distance = np.zeros(len(self._points), np.float32)
        for column, axis in enumerate(self.axes):
            away = np.abs(self._rows[:, column] - params[axis.name])
            if axis.ordered:
                distance += np.nan_to_num(away / (len(axis.values) - 1))
            else:  # another algorithm is farther away than any number of it
                distance += len(self.axes) * (np.nan_to_num(away) > 0)
        distance[~self._free] = np.inf
        return self._points[int(np.argmin(distance))]
