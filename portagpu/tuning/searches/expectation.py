"""A model's expectations: the initial order of points, and the time that a choice should take."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

from portagpu import notices
from portagpu.device import DeviceRecord
from portagpu.errors import PortaGPUWarning, TuningError
from portagpu.tuning.searches.history import History
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.report import shown
from portagpu.tuning.tunables import problems
from portagpu.tuning.tunables.device_rates import DeviceFigures
from portagpu.tuning.tunables.problems import Problem
from portagpu.tuning.tunables.roofline import Prediction, Resources, predict
from portagpu.tuning.tunables.space import Point, point_key
from portagpu.tuning.tunables.tunable import Parameters
from portagpu.tuning.tunables.user_faults import with_place, words_of

_log = logging.getLogger(__name__)


class NoLegalPointError(TuningError):
    """A problem for which a search space has no legal point."""


@dataclass(frozen=True, slots=True)
class Modelled:
    """The legal points of a problem as the model sees them."""

    history: History
    roof: float | None


def modelled(
    tunable: Parameters,
    problem: Problem,
    device: DeviceRecord,
    figures: DeviceFigures,
    limit: float = math.inf,
) -> Modelled:
    """Rank a problem's points by the model. Raises `NoLegalPointError`, and `TuningError` for a model that raises.

    A point whose time is no time (not a number, or negative) has no prediction: it comes after those that have one.
    One warning tells of all such points. Nor have those that the model was not asked about after ``limit`` seconds.
    """
    asked = 0
    bounds: list[float] = []
    strange: list[tuple[Point, str]] = []

    def seconds(point: Point) -> float:
        nonlocal asked
        asked += 1
        found, nonsense = _said(tunable, problem, point, device, figures)
        if nonsense is not None:
            strange.append((point, nonsense))
            return math.nan
        if isinstance(found, Prediction):
            bounds.append(float(found.bound))
            return float(found.seconds)
        return math.inf if found is None else found

    history = rank(tunable.space_for(problem, device), None if tunable.model is None else seconds, limit)
    points = len(history.ranked)
    if tunable.model is not None and asked < points:
        text = "the model of %s was asked about %d of %d points for %s: all of them would take longer than %g s"
        _log.info(text, tunable.name, asked, points, problems.text_of(problem), limit)
        bounds.clear()  # of the others one may be faster
    if strange:
        point, nonsense = strange[0]
        others = f" (and the like for {len(strange) - 1} others)" if len(strange) > 1 else ""
        text = f"the model of {tunable.name} says {nonsense} for {shown(point)}{others}: that counts as no prediction"
        notices.warn(text, PortaGPUWarning)
    # what the model says cannot run is not worth a trial, unless it says that of everything
    fits = [p for p in history.ranked if history.predicted.get(point_key(p), 0.0) < math.inf]
    if fits:
        history.ranked = fits
        history.excluded = {key for key, value in history.predicted.items() if value == math.inf}
    history.predicted = {key: value for key, value in history.predicted.items() if value < math.inf}
    if not history.ranked:
        raise NoLegalPointError(
            f"no point of {tunable.name}'s search space is legal for {tunable.describe_problem(problem)}"
            f" on {device.name}",
            hint="the constraints exclude each other, or this device",
        )
    least = min(filter(_is_time, bounds), default=None)
    roof = least if tunable.roof is None else tunable.roof_for(problem, device)
    return Modelled(history, roof if roof is not None and _is_time(roof) else None)


def expected(
    tunable: Parameters, problem: Problem, point: Point, device: DeviceRecord, figures: DeviceFigures
) -> Prediction | float | None:
    """What the tunable's model says of a point: a prediction, seconds, or None: it cannot run, or that is no time."""
    return _said(tunable, problem, point, device, figures)[0]


def _said(
    tunable: Parameters, problem: Problem, point: Point, device: DeviceRecord, figures: DeviceFigures
) -> tuple[Prediction | float | None, str | None]:
    """What the model says of a point; then it is None where that makes no sense, and the second is what it said."""
    if tunable.model is None:
        return None, None
    try:
        found = tunable.model(dict(problem), dict(point), device)
        if isinstance(found, Resources):
            strange = found.nonsense()
            if strange is not None:
                return None, strange
            found = predict(found, figures)
        if found is None:
            return None, None
        says = found if isinstance(found, Prediction) else float(found)
        seconds = float(says.seconds if isinstance(says, Prediction) else says)
    except TuningError:
        raise
    except (Exception, SystemExit) as error:
        where = f"{problems.text_of(problem)} and {point}"
        text = f"the model of {tunable.name} raised {type(error).__name__} for {where}: {words_of(error)}"
        raise TuningError(
            with_place(text, error),
            hint="a model returns Resources, a Prediction, seconds, or None for what cannot run",
        ) from error
    if not seconds >= 0:
        return None, f"{seconds:g} s"
    return (says, None) if seconds < math.inf else (None, None)


def _is_time(seconds: float) -> bool:
    return 0 < seconds < math.inf
