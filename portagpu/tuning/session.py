"""A tuning session: the child that measures, those that compile, searches over one problem or several."""

from __future__ import annotations

import logging
import math
import numbers
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from portagpu.device import DeviceRecord
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning.choice import Chooser
from portagpu.tuning.searches.compile_ahead import Ahead
from portagpu.tuning.searches.expectation import NoLegalPointError, modelled
from portagpu.tuning.searches.report import SearchResult, shown
from portagpu.tuning.searches.search import Budget, Progress, search
from portagpu.tuning.searches.strategies import DEFAULT, Given, Strategy, make_strategy
from portagpu.tuning.store.store import Store
from portagpu.tuning.store.tasks import task_of
from portagpu.tuning.trials import compilers
from portagpu.tuning.trials.compilers import START_LIMIT, Compilers
from portagpu.tuning.trials.worker import Worker, WorkerDied
from portagpu.tuning.tunables import outcomes, problems
from portagpu.tuning.tunables.device_rates import DeviceFigures, figures_of, look_again
from portagpu.tuning.tunables.outcomes import CompileFailed, LaunchFailed, Measured, Outcome, OutOfBounds, Spilled
from portagpu.tuning.tunables.problems import Problem
from portagpu.tuning.tunables.space import Point
from portagpu.tuning.tunables.tunable import Tunable, reference_of
from portagpu.tuning.tunables.user_faults import raised

_KEPT_FOR_CLASSES = 0.3  # share of the budget
_BEST_FEW = 4
_MODELLING = 0.25  # share of a search's time in which the model is asked
_LEAST_MODELLING = 0.2  # seconds: the one trial of a budget that a cold start took is that of a point worth it
_LEAST_SECONDS = 1e-3  # of a search: for one trial, where the model took the budget
_LEAST_PREPARING = START_LIMIT  # right results by NumPy may take longer than a trial
_VERIFYING = 3.0  # trials that `verify` may take as long as
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_log = logging.getLogger(__name__)


def seconds_of(value: float | str) -> float:
    """A time: seconds, or a text such as ``60s``, ``2m`` or ``1h``. Raises `TuningError`."""
    if isinstance(value, str):
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|)", value.strip())
        number = float(found.group(1)) * _UNITS[found.group(2)] if found else math.nan
    else:
        given: Any = value  # whatever a user gave
        try:
            number = float(given) if isinstance(given, numbers.Real) else math.nan
        except OverflowError:
            number = math.inf
    if not (math.isfinite(number) and number >= 0):
        raise TuningError(f"{value!r} is no time", hint="write 60, '60s', '2m' or '1h'")
    return number


@dataclass(slots=True)
class Session:
    """A tunable, a device, a store, and the child processes in which trials run; a context manager.

    ``compilers``: how many processes compile ahead of the one that measures; None: see `compilers.count_for`.
    """

    tunable: Tunable
    device: DeviceRecord
    settings: Settings
    store: Store
    trial_limit: float = 20.0
    compilers: int | None = None
    _worker: Worker | None = None
    _compilers: Compilers | None = None
    _closing: ExitStack = field(default_factory=ExitStack)
    _reference: str = ""
    _warm: bool = False
    _prepared: str = ""  # the problem whose arguments the child has
    _figures: DeviceFigures | None = field(default=None)

    def __enter__(self) -> Session:
        self._reference = reference_of(self.tunable)
        count = compilers.count_for(self.device, self.compilers, self.settings)
        self.store.check_writable()
        # the child finds what this process finds, and nothing else
        path = [str(Path(entry).resolve()) for entry in sys.path]
        environment = {
            **self._closing.enter_context(compilers.environment_for(count)),
            "PORTAGPU_CACHE_DIR": str(self.settings.cache_dir),
            "PORTAGPU_DATA_DIR": str(self.settings.data_dir),
            "PORTAGPU_DISK_CACHE": str(int(self.settings.disk_cache)),
            "PYTHONPATH": os.pathsep.join(path),
        }
        self._worker = Worker("portagpu.tuning.trials.trial", "run", environment)
        self._closing.callback(self._worker.close)
        if count:
            start = {"action": "start", "device": self.device.selector}
            self._compilers = Compilers(count, environment, start, self.trial_limit)
            self._closing.callback(self._compilers.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.close()

    def figures(self) -> DeviceFigures:
        """The device's figures, measured in the child if nobody did before."""
        if self._figures is None:
            found = figures_of(self.device, self.settings)
            if not found.measured:
                try:
                    self._ask({"action": "figures"}, START_LIMIT)
                    look_again()
                    found = figures_of(self.device, self.settings)
                except (TimeoutError, WorkerDied) as error:
                    _log.warning("the rates of %s could not be measured: %s", self.device.name, error)
            self._figures = found
        return self._figures

    def search(
        self,
        problem: Problem,
        budget: Budget,
        strategy: str | Strategy = DEFAULT,
        *,
        seeds: tuple[Point, ...] = (),
        seed: int = 0,
        progress: Callable[[Progress], None] = lambda state: None,
    ) -> SearchResult:
        """Search the points of one problem; first what it gets without the search, then the tunable's default.

        The model has a quarter of the budget at most: points that it was not asked about come after the others.
        """
        started = time.monotonic()
        figures = self.figures()
        ahead = self._ahead(problem) if budget.seconds > 0 and budget.trials != 0 else None
        begun = time.monotonic()
        limit = max(_LEAST_MODELLING, _MODELLING * (budget.seconds - (begun - started)))
        found = modelled(self.tunable, problem, self.device, figures, limit)
        modelling = 0.0 if self.tunable.model is None else time.monotonic() - begun
        before = time.monotonic() - started
        if budget.seconds > 0:  # the model's part counts
            budget = replace(budget, seconds=max(budget.seconds - before, min(budget.seconds, _LEAST_SECONDS)))
        used = Chooser(self.store).from_results(self.tunable, problem, self.device, self.settings)
        default = self.tunable.default_for(problem, self.device)
        result = search(
            found.history,
            make_strategy(strategy, seed),
            lambda point, limit: self._measure(problem, point, limit),
            lambda point: self._verify(problem, point),
            store=self.store,
            task=task_of(self.tunable, problem, self.device.key),
            budget=budget,
            trial_limit=self.trial_limit,
            seeds=(*([used.point] if used else []), *([default] if default else []), *seeds),
            roof=found.roof,
            ahead=ahead,
            progress=lambda state: progress(replace(state, elapsed=before + state.elapsed)),
        )
        return replace(result, elapsed=time.monotonic() - started, modelling=modelling)

    def _ahead(self, problem: Problem) -> Ahead | None:
        if self._compilers is None:
            return None
        request: dict[str, object] = {
            "tunable": self._reference,
            "device": self.device.selector,
            "problem": dict(problem),
        }
        return Ahead(self._compilers, request, verifies=self._checks > 0)

    @property
    def _checks(self) -> float:
        """How many trials a verification may take as long as."""
        return _VERIFYING * (self.tunable.verify is not None) + len(self.tunable.verify_on)

    def retime(
        self,
        problem: Problem,
        classes: Sequence[Problem],
        seconds: float,
        progress: Callable[[Progress], None] = lambda state: None,
    ) -> list[tuple[Problem, SearchResult]]:
        """Time the best few points of a problem for problems of other classes too, so that each gets its winner.
        Problems for which no point is legal are left out, and those for which there is no time left."""
        records = self.store.trials(task_of(self.tunable, problem, self.device.key)).values()
        measured = sorted((o.seconds, i, p) for i, (p, o) in enumerate(records) if isinstance(o, outcomes.Measured))
        few = [point for _, _, point in measured[:_BEST_FEW]]
        results: list[tuple[Problem, SearchResult]] = []
        for number, other in enumerate(classes):
            if seconds <= 0:
                _log.info("no time is left for %d problems of other classes", len(classes) - number)
                break
            share = Budget(seconds=seconds / (len(classes) - number))
            try:
                result = self.search(other, share, Given(few), progress=progress)
            except NoLegalPointError as error:
                _log.info("%s: %s", problems.text_of(other), error)
                continue
            seconds = max(0.0, seconds - result.elapsed)
            results.append((other, result))
        return results

    def _ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        assert self._worker is not None, "a session is entered before it is used"
        answer = self._worker.ask({"tunable": self._reference, "device": self.device.selector, **request}, limit)
        if "fault" in answer:  # a check that cannot tell right from wrong says nothing of any point
            raise raised(answer["fault"], self.tunable.name, shown(request["point"]))
        return answer

    def _measure(self, problem: Problem, point: Point, limit: float) -> Outcome:
        fresh, started = not self._warm, time.monotonic()
        try:
            return self._measure_once(problem, point, limit)
        except WorkerDied as error:
            # what an earlier candidate damaged or left behind may have ended the child, or somebody killed it
            blameless = not fresh or error.status == -signal.SIGKILL
            if not blameless or time.monotonic() - started > limit / 2:
                raise
        return self._measure_once(problem, point, limit / 2)

    def _measure_once(self, problem: Problem, point: Point, limit: float) -> Outcome:
        text = problems.text_of(problem)
        if not self._warm or self._prepared != text:  # neither a child's start nor `prepare` is the candidate's fault
            self._prepare(problem)
        self._warm, self._prepared = False, ""  # a child that is replaced starts cold
        winner = self.store.winner(task_of(self.tunable, problem, self.device.key))
        best = winner[1] if winner else None
        request = {"action": "measure", "problem": dict(problem), "point": point, "best": best}
        values = self._ask(request, limit)
        if "spoilt" in values:  # it runs once more, as long as it may
            self._prepare(problem)
            values = self._ask(request, limit)
        answer = outcomes.from_json(values)
        if isinstance(answer, LaunchFailed | OutOfBounds) and self._worker is not None:
            # some drivers refuse everything after a kernel has faulted: the next trial gets a fresh process
            self._worker.close()
        else:
            self._warm = True
            # after any other outcome the next candidate gets new arguments
            self._prepared = text if isinstance(answer, Measured | CompileFailed | Spilled) else ""
        return answer

    def _prepare(self, problem: Problem) -> None:
        """Have the child make the arguments. Its start, with the import of the tunable's module, has a limit of its
        own; the tunable's ``prepare`` has a trial's, or as long as a start."""
        limit = max(self.trial_limit, _LEAST_PREPARING)
        name, text = self.tunable.name, problems.text_of(problem)
        try:
            self._start(name)
            self._ask({"action": "prepare", "problem": dict(problem)}, limit)
        except TimeoutError as error:
            raise TuningError(
                f"prepare of {name} did not return for {text} within {limit:g} s",
                hint=f"call its prepare({dict(problem)!r}) and see; where it needs long, raise trial_limit"
                f" (--trial-limit) beyond {limit:g} s",
            ) from error
        except WorkerDied as error:
            raise TuningError(
                f"the arguments of {name} for {text} cannot be made: {error}",
                hint=f"call its prepare({dict(problem)!r}) and see",
            ) from error

    def _start(self, name: str) -> None:
        try:
            self._ask({"action": "start"}, START_LIMIT)
        except TimeoutError as error:
            raise TuningError(
                f"the process that measures {name} was not ready within {START_LIMIT:g} s",
                hint="it imports the tunable's module and opens the device",
            ) from error

    def _verify(self, problem: Problem, point: Point) -> str | None:
        if not self._checks:
            return None
        if not self._warm:
            self._prepare(problem)
        self._warm = False
        try:
            request = {"action": "verify", "problem": dict(problem), "point": point}
            wrong: str | None = self._ask(request, self._checks * self.trial_limit)["problem"]
        except WorkerDied as error:  # whatever ends the child disqualifies the point, but for being late
            return f"verification failed: {error}"
        if wrong is not None and self._worker is not None:
            self._worker.close()  # what it wrote, and where, is not known
        self._warm = wrong is None
        return wrong


def left_until(deadline: float, searches: int = 1) -> float:
    """Seconds for each of so many searches until a time of `time.monotonic`. A cold start may have taken all of a short
    budget: then as much as one trial in each needs, which is made in any case."""
    return max(_LEAST_SECONDS, (deadline - time.monotonic()) / searches)


def kept_for_classes(seconds: float, classes: Sequence[Problem]) -> float:
    """Seconds of a budget that are for timing the best few points on other classes."""
    return seconds * _KEPT_FOR_CLASSES if classes else 0.0
