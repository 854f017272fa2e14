"""The search: the model's best first, a few at random, then the neighbours of the best; under a time budget."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from portagpu.tuning.outcomes import LaunchFailed, Measured, Outcome, TimedOut, WrongResult
from portagpu.tuning.space import Point, SearchSpace, point_key
from portagpu.tuning.store import Store, TaskKey
from portagpu.tuning.worker import WorkerDied

_MODEL_FIRST = 16
_RANDOM = 4
_IMPROVEMENT = 0.99  # a new winner must be at least this much faster, so that noise does not cause verifications

Evaluate = Callable[[Point, float], Outcome]  # (point, limit in seconds)
Verify = Callable[[Point], str | None]  # None, or what is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """State of a search after a trial."""

    trials: int
    resumed: int  # trials that an earlier search left in the store
    elapsed: float
    best: float | None  # seconds
    point: Point
    outcome: Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """What a search found."""

    winner: Point | None
    seconds: float | None
    trials: int
    failures: tuple[tuple[Point, Outcome], ...]


def tune(
    space: SearchSpace,
    predict: Callable[[Point], float],
    evaluate: Evaluate,
    verify: Verify,
    *,
    store: Store,
    task: TaskKey,
    budget: float,
    trial_limit: float = 20.0,
    seeds: tuple[Point, ...] = (),
    progress: Callable[[Progress], None] = lambda state: None,
) -> SearchResult:
    """Search for ``budget`` seconds; trials are stored at once, each new best one is verified, then stored as winner.

    Points that the store already has for the task, from an earlier search or another process's, are not measured
    again. ``predict`` orders the first points (smaller is better); ``seeds`` come before them. The last trial may end
    up to ``trial_limit`` after the budget.
    """
    started = time.monotonic()
    resumed = len(store.trials(task))
    failures: list[tuple[Point, Outcome]] = []

    def best() -> tuple[Point, float] | None:
        measured = [
            (p, o.seconds)
            for p, o in store.trials(task).values()
            if isinstance(o, Measured) and space.is_legal(p)  # a store may hold points of an older space
        ]
        return min(measured, key=lambda item: item[1], default=None)

    def promote() -> None:
        """Verify and store the best point if it beats the winner; points that fail are wrong from now on."""
        while True:
            found, winner = best(), store.winner(task)
            if found is None or (winner is not None and found[1] > winner[1] * _IMPROVEMENT):
                return
            problem = verify(found[0])
            if problem is None:
                store.add_winner(task, *found)
                return
            failures.append((found[0], WrongResult(problem)))
            store.add_trial(task, *failures[-1])

    count = 0
    for point in _order(space, predict, seeds, best, task):
        if time.monotonic() - started >= budget:
            break
        if point_key(point) in store.trials(task):
            continue
        outcome = _attempt(evaluate, point, trial_limit)
        store.add_trial(task, point, outcome)
        count += 1
        if isinstance(outcome, Measured):
            promote()
        else:
            failures.append((point, outcome))
        winner = store.winner(task)
        progress(
            Progress(
                trials=count,
                resumed=resumed,
                elapsed=time.monotonic() - started,
                best=winner[1] if winner else None,
                point=point,
                outcome=outcome,
            )
        )
    promote()  # trials of a search that died before it verified its best
    winner = store.winner(task)
    return SearchResult(
        winner=winner[0] if winner else None,
        seconds=winner[1] if winner else None,
        trials=count,
        failures=tuple(failures),
    )


def _attempt(evaluate: Evaluate, point: Point, limit: float) -> Outcome:
    try:
        return evaluate(point, limit)
    except TimeoutError:
        return TimedOut(limit)
    except WorkerDied as error:
        return LaunchFailed(str(error))


def _order(
    space: SearchSpace,
    predict: Callable[[Point], float],
    seeds: tuple[Point, ...],
    best: Callable[[], tuple[Point, float] | None],
    task: TaskKey,
) -> Iterator[Point]:
    """Points in the order of trying; after the first ones, neighbours of the best so far, then the model's order."""
    generator = random.Random(str(task))
    yield from (s for s in seeds if space.is_legal(s))
    ranked = sorted(space, key=predict)
    yield from ranked[:_MODEL_FIRST]
    yield from generator.sample(ranked, min(_RANDOM, len(ranked)))
    tried: set[object] = set()
    while True:
        found = best()
        fresh = None
        if found is not None:
            fresh = next((n for n in space.neighbours(found[0]) if point_key(n) not in tried), None)
        if fresh is None:
            fresh = next((p for p in ranked if point_key(p) not in tried), None)
        if fresh is None:
            return
        tried.add(point_key(fresh))
        yield fresh
