"""The search: a strategy proposes, trials are stored at once, each new best is verified; under a budget."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from portagpu.errors import TuningError
from portagpu.tuning.searches import run_off
from portagpu.tuning.searches.compile_ahead import Ahead
from portagpu.tuning.searches.history import History
from portagpu.tuning.searches.report import SearchResult
from portagpu.tuning.searches.strategies import Strategy
from portagpu.tuning.store.store import Store, TaskKey
from portagpu.tuning.trials.worker import WorkerDied
from portagpu.tuning.tunables.outcomes import LaunchFailed, Measured, Outcome, TimedOut, WrongResult
from portagpu.tuning.tunables.space import Point, axes_of, point_key
from portagpu.tuning.tunables.values import plain_point

_MUCH_FASTER = 0.7  # than the winner: worth a verification at once
_VERIFYING_SHARE = 0.15  # of the time so far that verifications may take, otherwise
_SHORTER = 0.99  # of a trial's limit: what timed out under less is tried again
_IMPROVEMENT = 0.99  # a new winner must be at least this much faster, so that noise does not cause verifications

Evaluate = Callable[[Point, float], Outcome]  # (point, limit in seconds)
Verify = Callable[[Point], str | None]  # None, or what is wrong; TimeoutError where it takes too long


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """State of a search after a trial, or before a measurement of the run-off (``point`` is measured again then, and
    ``outcome`` is what is known of it)."""

    trials: int
    resumed: int  # trials that an earlier search left in the store
    elapsed: float
    best: float | None  # seconds
    point: Point
    outcome: Outcome
    roof: float | None = None  # seconds that the model says no candidate can beat
    run_off: tuple[int, int] | None = None  # number of the run-off's round, and how many there are at most

    @property
    def share(self) -> float | None:
        """Best so far as a share of the model's roof."""
        return self.roof / self.best if self.roof and self.best else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """When a search ends: whichever comes first."""

    seconds: float
    trials: int | None = None


def search(
    history: History,
    strategy: Strategy,
    evaluate: Evaluate,
    verify: Verify,
    *,
    store: Store,
    task: TaskKey,
    budget: Budget,
    trial_limit: float = 20.0,
    seeds: tuple[Point, ...] = (),
    roof: float | None = None,
    ahead: Ahead | None = None,
    progress: Callable[[Progress], None] = lambda state: None,
) -> SearchResult:
    """Search within a budget; trials are stored at once, each new best one is verified, then stored as winner.

    Points that the store already has for the task, from an earlier search or another process's, are not measured
    again, but the best few at the end (`portagpu.tuning.searches.run_off`), unless the budget counts trials. ``seeds``
    come before what the strategy proposes. The last trial may end up to ``trial_limit`` after the budget. ``ahead`` has
    candidates compiled while others are measured: then they are measured in the order in which they are proposed as far
    as they are compiled. Raises `TuningError` for a strategy that proposes a point that is illegal or was tried.
    """
    search = _Search(history, strategy, evaluate, verify, store, task, seeds, roof, ahead)
    return search.run(budget, trial_limit, progress)


class _Search:
    def __init__(
        self,
        history: History,
        strategy: Strategy,
        evaluate: Evaluate,
        verify: Verify,
        store: Store,
        task: TaskKey,
        seeds: tuple[Point, ...],
        roof: float | None,
        ahead: Ahead | None,
    ) -> None:
        self._history, self._strategy = history, strategy
        self._evaluate, self._verify = evaluate, verify
        self._store, self._task = store, task
        self._seeds = [s for s in seeds if history.space.is_legal(s)]
        self._roof = roof
        self._ahead = ahead
        self._failures: list[tuple[Point, Outcome]] = []
        self._known_failures: tuple[Outcome, ...] = ()
        self._axes = axes_of(history.space)  # until they are stored, with the first trial
        self._verifying = 0.0  # seconds so far
        self._limit = 0.0  # of a trial
        self._started, self._deadline = 0.0, math.inf

    def run(self, budget: Budget, limit: float, progress: Callable[[Progress], None]) -> SearchResult:
        try:
            return self._run(budget, limit, progress)
        finally:
            if self._ahead is not None:  # also where a check raised: the next problem's search has the compilers
                self._ahead.close(self._history)

    def _run(self, budget: Budget, limit: float, progress: Callable[[Progress], None]) -> SearchResult:
        started = time.monotonic()
        self._limit, self._started, self._deadline = limit, started, started + budget.seconds
        self._learn()
        resumed = len(self._history.tried)
        self._known_failures = tuple(o for _, o in self._history.tried.values() if not isinstance(o, Measured))
        count = 0
        kept = run_off.SHARE if budget.trials is None else 0.0
        seconds = (1 - kept) * budget.seconds
        # on a machine where all is cold the start alone may take a short budget: one trial is made in any case
        while (time.monotonic() - started < seconds or count == resumed == 0 < seconds) and (
            budget.trials is None or count < budget.trials
        ):
            begin = time.monotonic()
            point = self._next(None if budget.trials is None else budget.trials - count, started + seconds)
            if point is None:
                break
            waited = time.monotonic() - begin if self._ahead is not None else 0.0
            outcome = self._try(point, limit, waited)
            count += 1
            if not isinstance(outcome, Measured):
                self._failures.append((point, outcome))
            if isinstance(outcome, Measured) or self._ahead is not None:
                self._verify_due(time.monotonic() - started)
            progress(self._state(count, resumed, point, outcome))
            self._learn()
        if self._ahead is not None:
            self._ahead.drop(self._history)
        if kept and count and time.monotonic() < self._deadline:

            def begins(rival: run_off.Rival, number: int) -> None:
                state = self._state(count, resumed, rival.point, rival.before)
                progress(replace(state, run_off=(number, run_off.ROUNDS)))

            self._run_off(begins)
        self._promote()  # what was put off, and trials of a search that died before it verified its best
        return replace(self._result(), trials=count, resumed=resumed, elapsed=time.monotonic() - started)

    def _state(self, trials: int, resumed: int, point: Point, outcome: Outcome) -> Progress:
        winner = self._store.winner(self._task, self._history.space.is_legal)
        return Progress(
            trials=trials,
            resumed=resumed,
            elapsed=time.monotonic() - self._started,
            best=winner[1] if winner else None,
            point=point,
            outcome=outcome,
            roof=self._roof,
        )

    def _next(self, most: int | None, deadline: float) -> Point | None:
        """What to try next; None when there is nothing left, or at the deadline."""
        if self._ahead is None:
            return self._proposed()
        return self._ahead.next(self._history, self._proposed, most, deadline)

    def _proposed(self) -> Point | None:
        point = self._history.first_new(self._seeds)
        if point is not None:
            return point
        point = self._strategy.propose(self._history)
        if point is None:
            return None
        point = plain_point(point, "what the strategy proposed")
        if point_key(point) in self._history.pending:  # by a strategy that looks at outcomes only: it has to wait
            return None
        if not (self._history.space.is_legal(point) and self._history.is_new(point)):
            raise TuningError(
                f"the strategy proposed {point!r}, which is {'old' if not self._history.is_new(point) else 'illegal'}",
                hint="ask history.is_new(point) and history.space.is_legal(point) first; return None at the end",
            )
        return point

    def _try(self, point: Point, limit: float, waited: float) -> Outcome:
        started = time.monotonic() - waited
        outcome = self._outcome(point, limit)
        if self._axes is not None:  # for replays: what comes next depends on the order of axes and values
            self._store.add_axes(self._task, self._axes)
            self._axes = None
        self._store.add_trial(
            self._task,
            point,
            outcome,
            predicted=self._history.predicted.get(point_key(point)),
            cost=time.monotonic() - started,
        )
        self._history.tried[point_key(point)] = (point, outcome)
        self._history.pending.pop(point_key(point), None)
        return outcome

    def _outcome(self, point: Point, limit: float) -> Outcome:
        """What comes of a trial, also where the child is late or dies."""
        try:
            return self._evaluate(point, limit)
        except TimeoutError:
            return TimedOut(limit)
        except WorkerDied as error:
            return LaunchFailed(str(error))

    def _learn(self) -> None:
        """Take over what the store has: earlier trials, other processes' and what verification found wrong.

        What timed out under a shorter limit than this search's is not known: it may work."""
        tried = self._history.tried
        for key, (point, outcome) in self._store.trials(self._task).items():
            if isinstance(outcome, TimedOut) and outcome.limit < _SHORTER * self._limit:
                continue
            if key in tried or self._history.space.is_legal(point):  # a store may hold points of an older space
                tried[key] = (point, outcome)

    def _run_off(self, begins: Callable[[run_off.Rival, int], None]) -> None:
        """Measure the best few again, in turns; new seconds take the place of the old ones."""
        self._learn()
        measured = [(p, o) for p, o in self._history.tried.values() if isinstance(o, Measured)]
        rivals = run_off.rivals_of(measured, self._seeds[0] if self._seeds else None)
        if self._ahead is not None:
            close = [rival.point for rival in rivals if rival.is_close]
            self._ahead.verify([point for point in close if not self._store.is_verified(self._task, point)])
        end = min(self._deadline, time.monotonic() + run_off.SHARE * (self._deadline - self._started))
        costs = {key: record.cost for key, record in self._store.records(self._task).items()}
        for point, outcome in run_off.run_off(rivals, self._outcome, self._limit, end, begins):
            key = point_key(point)
            predicted = self._history.predicted.get(key)
            self._store.add_trial(self._task, point, outcome, predicted=predicted, cost=costs.get(key))
            self._history.tried[key] = (point, outcome)
            if not isinstance(outcome, Measured):
                self._failures.append((point, outcome))
            elif self._store.is_verified(self._task, point):
                self._store.add_winner(self._task, point, outcome.seconds)

    def _due(self, elapsed: float) -> tuple[Point, float] | None:
        """What to verify now: it may take as long as several trials, so that it gets a share of the time only.

        The first winner is wanted at once, and one that is much faster than the stored one. What is compiled ahead is
        verified when its programs are there; others are measured meanwhile, and may have become the best.
        """
        self._learn()
        winner, found = self._store.winner(self._task, self._history.space.is_legal), self._history.best()
        if found is None or not self._beats(found, winner):
            return None
        if self._ahead is not None:
            compiled = self._ahead.verifiable(found[0])
            found = None if compiled is None else self._history.measured(compiled)
            if found is None or not self._beats(found, winner):
                return None
        if winner is None or found[1] < _MUCH_FASTER * winner[1]:
            return found
        return found if self._verifying <= _VERIFYING_SHARE * elapsed else None

    @staticmethod
    def _beats(found: tuple[Point, float], winner: tuple[Point, float] | None) -> bool:
        return winner is None or found[1] <= winner[1] * _IMPROVEMENT

    def _verify_due(self, elapsed: float) -> None:
        found = self._due(elapsed)
        if found is not None and self._ahead is None:
            self._promote()
        elif found is not None:
            self._passes(found)

    def _promote(self) -> None:
        """Verify and store the best point if it beats the winner; points that fail are wrong from now on.

        After the budget there is one verification in any case, and more for as long as a trial may take.
        """
        first = True
        while first or time.monotonic() < self._deadline + self._limit:
            first = False
            self._learn()
            found, winner = self._history.best(), self._store.winner(self._task, self._history.space.is_legal)
            if found is None or not self._beats(found, winner):
                return
            if self._ahead is not None:
                self._ahead.wait_for_verification(found[0], self._limit)
            if self._passes(found):
                return

    def _passes(self, found: tuple[Point, float]) -> bool:
        """Verify a point, and store what comes of it."""
        started = time.monotonic()
        try:
            problem = self._verify(found[0])
            failure: Outcome | None = None if problem is None else WrongResult(problem)
        except TimeoutError:  # says nothing of the results
            failure = TimedOut(self._limit, round(time.monotonic() - started, 1))
        finally:
            self._verifying += time.monotonic() - started
        if failure is None:
            self._store.add_winner(self._task, *found)
            return True
        self._failures.append((found[0], failure))
        self._store.add_trial(self._task, *self._failures[-1])
        self._history.tried[point_key(found[0])] = self._failures[-1]
        return False

    def _result(self) -> SearchResult:
        winner = self._store.winner(self._task, self._history.space.is_legal)
        return SearchResult(
            winner=winner[0] if winner else None,
            seconds=winner[1] if winner else None,
            trials=0,
            failures=tuple(self._failures),
            known_failures=self._known_failures,
            predicted=self._history.predicted.get(point_key(winner[0])) if winner else None,
            roof=self._roof,
        )
