"""`tune`: the search for a tunable's fastest parameters, in one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from portagpu.errors import TuningError
from portagpu.runtime.execution.context import chosen_device
from portagpu.settings import Settings
from portagpu.tuning.choice import file_of
from portagpu.tuning.console import Bar, on_terminal
from portagpu.tuning.searches.report import SearchResult
from portagpu.tuning.searches.search import Budget, Progress
from portagpu.tuning.searches.strategies import DEFAULT, Strategy
from portagpu.tuning.session import Session, kept_for_classes, left_until, seconds_of
from portagpu.tuning.store.store import Store
from portagpu.tuning.store.tasks import AnyDevice, device_of, settings_of
from portagpu.tuning.trials.worker import is_child
from portagpu.tuning.tunables import problems
from portagpu.tuning.tunables.problems import Problem
from portagpu.tuning.tunables.tunable import Tunable, checked_tunable
from portagpu.tuning.tunables.values import whole


def tune(
    tunable: Tunable,
    problem: Problem,
    *,
    device: AnyDevice | None = None,
    budget: float | str = "60s",
    trials: int | None = None,
    strategy: str | Strategy = DEFAULT,
    seed: int = 0,
    store: Store | Path | str | None = None,
    trial_limit: float | str = "20s",
    classes: Sequence[Problem] | int = (),
    compilers: int | None = None,
    progress: Callable[[Progress], None] | None = None,
    show: bool | None = None,
    settings: Settings | None = None,
) -> SearchResult:
    """Find a tunable's fastest parameters for a problem; `best` uses them from the next call on.

    ``device``: one of `cuda.gpus`, a record, an index or part of a name; None is the current one, as for `best`.
    ``budget`` is a time, the children's start and the model's included; ``trials`` also ends the search. It is exceeded
    by what is under way at its end, a trial or a verification, each as long as ``trial_limit`` lets it be; one trial is
    made in any case. The model gets a quarter of it: points that it was not asked about come after the others.
    ``strategy``: a name (see `make_strategy`) or an object with ``propose``.
    ``store``: file of results; by default one of the tunable's name in the user's data folder. What it has is not
    measured again, so that an interrupted search goes on where it was. ``trial_limit``: time after which a trial counts
    as hung and its process is killed. ``classes``: problems (or how many around this one) for which the best few
    points are timed as well, within the same budget. ``compilers``: processes that compile candidates while another one
    measures; None: for a GPU one less than there are cores, at most 8, and none for a CPU. ``show``: a progress bar and
    what is skipped, on the standard error stream; None: if that is a terminal.

    Raises `TuningError`, `StoreError`, `DeviceSelectionError`. KeyboardInterrupt ends the child process and comes
    through; what was measured is kept.
    """
    if is_child():
        raise TuningError(
            "tune() was called while a trial's process ran the script",
            hint="put the script's main part under: if __name__ == '__main__':",
        )
    checked_tunable(tunable, Tunable)
    if progress is not None and not callable(progress):
        raise TuningError(f"progress={progress!r} is no function", hint="it is called with a Progress after each trial")
    limit = seconds_of(trial_limit)
    if limit <= 0:
        raise TuningError(f"trial_limit={trial_limit!r}: a trial needs time", hint="write '20s'")
    seed, trials = whole("seed", seed), None if trials is None else whole("trials", trials)
    chosen = settings_of(settings)
    record = device_of(chosen_device() if device is None else device, chosen)
    wanted = problems.checked(problem)
    others = _further(classes, wanted)
    seconds = seconds_of(budget)
    kept = kept_for_classes(seconds, others)
    results = store if isinstance(store, Store) else Store(file_of(store, tunable.name, chosen))
    bar = Bar(tunable.name, seconds) if (on_terminal() if show is None else show) else None

    def report(state: Progress) -> None:
        if progress is not None:
            progress(state)
        if bar is not None:
            bar(replace(state, elapsed=seconds - (deadline - time.monotonic())))  # of all searches, with the start

    session = Session(tunable, record, chosen, results, limit, compilers)
    deadline = time.monotonic() + seconds
    with session, bar or nullcontext():
        if seconds > 0:
            session.figures()  # counts for the budget
        budgeted = Budget(seconds=left_until(deadline - kept) if seconds > 0 else 0.0, trials=trials)
        result = session.search(wanted, budgeted, strategy, seed=seed, progress=report)
        if others:
            session.retime(wanted, others, max(kept, deadline - time.monotonic()), report)
    return result


def _further(classes: Sequence[Problem] | int, problem: Problem) -> list[dict[str, problems.Value]]:
    """The problems that are given, or so many around one. Raises `TuningError`."""
    given: Any = classes  # whatever a user gave
    if isinstance(given, Iterable) and not isinstance(given, Mapping | str):
        return [*map(problems.checked, given)]
    try:
        return problems.spread(problem, count=whole("classes", given))
    except TuningError as error:
        hint = "write classes=4, or name problems: classes=[{'n': 1024}]"
        raise TuningError(f"classes={given!r} are neither problems nor a number of them", hint=hint) from error
