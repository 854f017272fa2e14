"""The run-off at the end of a search: its best points are measured again in turns.

A search measures each point once, at different times. On a machine whose speed varies, the fastest of many points is
the one with the most luck, and what had bad luck, such as the first point of all, is never looked at again. In turns
all of them meet the same conditions.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from portagpu.tuning.tunables.outcomes import Measured, Outcome, OutOfBounds, WrongResult
from portagpu.tuning.tunables.space import Point

SHARE = 0.15
"""Of a search's budget, at most."""

_CLOSE = 1.08  # times the best one's seconds: what may as well be the best
_MOST = 4  # points, besides the first one of the search
ROUNDS = 5


@dataclass(slots=True)
class Rival:
    """A point, what was measured of it before, and what is measured of it now."""

    point: Point
    before: Measured
    is_close: bool
    rounds: list[Outcome] = field(default_factory=list)

    def failure(self) -> Outcome | None:
        """What one of the rounds found wrong. That a child died or was late may be the machine's doing."""
        return next((outcome for outcome in self.rounds if isinstance(outcome, WrongResult | OutOfBounds)), None)

    @property
    def is_timed(self) -> bool:
        """Whether every round gave a time."""
        return bool(self.rounds) and all(isinstance(outcome, Measured) for outcome in self.rounds)

    def seconds(self) -> float:
        """The median of the rounds."""
        return statistics.median(outcome.seconds for outcome in self.rounds if isinstance(outcome, Measured))


def rivals_of(measured: Sequence[tuple[Point, Measured]], first: Point | None) -> list[Rival]:
    """The best few, which are about as fast, and the first point of the search. Fewer than two need no run-off."""
    ranked = sorted(measured, key=lambda pair: pair[1].seconds)
    close = [(point, outcome) for point, outcome in ranked if outcome.seconds <= _CLOSE * ranked[0][1].seconds]
    found = [Rival(point, outcome, True) for point, outcome in close[:_MOST]]
    if all(rival.point != first for rival in found):
        found += [Rival(point, outcome, False) for point, outcome in ranked if point == first]
    return found if len(found) > 1 else []


def run_off(
    rivals: Sequence[Rival],
    evaluate: Callable[[Point, float], Outcome],
    limit: float,
    deadline: float,
    begins: Callable[[Rival, int], None] = lambda rival, number: None,
) -> list[tuple[Point, Outcome]]:
    """Measure points in turns until the deadline (`time.monotonic`); what is known of each now.

    ``evaluate`` raises nothing: a failure is an outcome, too. It gets ``limit`` seconds, or what is left of the time:
    a point that is late then keeps what is known of it. None begins that would not be done in time, by what the others
    took. ``begins`` is told each measurement, with the number of its round, of `ROUNDS`.

    Nothing where the time does not suffice for a whole round. The seconds are those of the search's conditions, as
    other points have theirs from then: where the machine is slower or faster meanwhile, all are taken back by that.
    What it is for the point that keeps its time best is the machine's part, the rest was the other points' luck; so
    no close point gets less than what was measured of it.
    """
    longest = 0.0
    for number in range(ROUNDS):
        begin = time.monotonic()
        for rival in rivals:
            started = time.monotonic()
            left = deadline - started
            if left <= longest:
                break
            if not rival.rounds or rival.is_timed:
                begins(rival, number + 1)
                rival.rounds.append(evaluate(rival.point, min(limit, left)))
                longest = max(longest, time.monotonic() - started)
        took = time.monotonic() - begin
        if time.monotonic() + took > deadline and number + 1 < ROUNDS:
            break
    wrong = [(rival.point, failed) for rival in rivals if (failed := rival.failure()) is not None]
    if not all(rival.rounds for rival in rivals):
        return wrong
    right = [rival for rival in rivals if rival.is_timed]  # what died or was late keeps what is known of it
    drifts = [rival.seconds() / rival.before.seconds for rival in right if rival.is_close]
    drift = min(drifts, default=1.0)
    return wrong + [(rival.point, _taken_back(rival, drift)) for rival in right]


def _taken_back(rival: Rival, drift: float) -> Measured:
    every = [t for outcome in rival.rounds if isinstance(outcome, Measured) for t in outcome.repetitions]
    return Measured(rival.seconds() / drift, tuple(t / drift for t in every), rival.before.first)
