"""The choice of parameters for a problem: tuned ones of its class, of the nearest class, shipped, the model's.
model's. Results of a tuning run, in any process, count from the next question on."""

from __future__ import annotations

import functools
import inspect
import math
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from portagpu.device import DeviceRecord
from portagpu.device.families import device_class, device_classes
from portagpu.errors import ArgumentTypeError, TuningError
from portagpu.files import user_path
from portagpu.runtime.execution.context import current_context
from portagpu.settings import Settings
from portagpu.tuning.searches.expectation import expected, modelled
from portagpu.tuning.searches.report import shown
from portagpu.tuning.store.store import Store, TaskKey, results_written
from portagpu.tuning.store.tasks import AnyDevice, device_of, problem_of, settings_of, store_path, task_of
from portagpu.tuning.tunables import problems
from portagpu.tuning.tunables.device_rates import figures_of
from portagpu.tuning.tunables.outcomes import duration
from portagpu.tuning.tunables.problems import Problem
from portagpu.tuning.tunables.roofline import Prediction
from portagpu.tuning.tunables.space import Point
from portagpu.tuning.tunables.tunable import Parameters, checked_tunable

_OUTWEIGHED = 0.9  # of the seconds that the model expects of another class's shipped result: its own choice is better
_MODELLING = 2.0  # seconds that whoever asks for the first time waits for the model's best of all points, at most
NEAR = 2.0  # octaves: results serve problems at most this far away, in each size
_REMEMBERED = 4096  # choices
_FRESH_SECONDS = 0.02
T = TypeVar("T")


class Rule(Enum):
    """What a choice rests on."""

    EXACT = "stored result of the same class"
    NEAREST = "stored result of the nearest class"
    SHIPPED = "shipped result"
    MODEL = "model"
    DEFAULT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Parameters for a problem, and why these. ``str(choice)`` is the explanation."""

    point: Point
    rule: Rule
    problem: Problem
    source: Problem | None = None  # the problem that was measured
    described: str = ""  # the same, in words
    octaves: float = 0.0  # between that and the problem, the largest over the sizes
    seconds: float | None = None  # measured for the source
    expected: Prediction | float | None = None  # of the problem, by the model
    file: Path | None = None

    def __str__(self) -> str:
        lines = [f"rule: {self.rule.value}"]
        if self.source is not None:
            away = "the same sizes" if self.octaves == 0 else f"{self.octaves:.3g} octaves away"
            measured = "" if self.seconds is None else f", {duration(self.seconds)} measured"
            lines.append(f"tuned for: {self.described or problems.text_of(self.source)} ({away}{measured})")
        if self.file is not None:
            lines.append(f"from: {self.file}")
        if isinstance(self.expected, Prediction):
            lines.append(f"model: {self.expected}")
        elif self.expected is not None:
            lines.append(f"model: {duration(self.expected)}")
        lines.append(f"parameters: {shown(self.point)}")
        return "\n".join(lines)


def shipped_file(device: DeviceRecord) -> Path:
    """The file of shipped results for a device's class."""
    words = "".join(c if c.isalnum() else " " for c in device_class(device).lower()).split()
    return shipped_folder() / f"{'-'.join(words)}.jsonl"


def shipped_folder() -> Path:
    """Where results that come with the package are; it may not exist."""
    return Path(str(resources.files("portagpu.tuning"))) / "shipped"


@functools.lru_cache(maxsize=1)
def shipped_stores() -> tuple[Store, ...]:
    """The stores that come with the package; nobody writes them."""
    return tuple(Store(path) for path in sorted(shipped_folder().glob("*.jsonl")))


class Chooser:
    """Answers from a store, the shipped ones and the model, and remembers its answers until the store changes."""

    def __init__(self, store: Store, shipped: tuple[Store, ...] | None = None) -> None:
        self._store = store
        self._shipped = shipped_stores() if shipped is None else shipped
        self._lock = threading.RLock()
        self._answers: dict[Hashable, Any] = {}
        self._known = 0  # the store's revision when the answers were made
        self._written = -1  # by this process, when the store was looked at
        self._fresh_until = 0.0

    def choose(self, tunable: Parameters, problem: Problem, device: DeviceRecord, settings: Settings) -> Choice:
        """The parameters for a problem on a device. Raises `TuningError` where the search space is empty."""
        key = (
            tunable,
            device.key,
            settings.shipped,
            tuple((name, type(value), value) for name, value in sorted(problem.items())),  # 1, 1.0 and True differ
        )  # one of the same name may have another space
        return self.remembered(key, lambda: self._choose(tunable, problem, device, settings))

    def remembered(self, key: Hashable, make: Callable[[], T]) -> T:
        """The answer to a question, from the memory if the store is as it was when ``make`` found it."""
        revision = self._refresh()
        with self._lock:
            if len(self._answers) >= _REMEMBERED:
                self._answers.clear()
            found: Any = self._answers.get(key)
        if found is None:
            found = make()
            self._refresh()
            with self._lock:
                if self._known == revision:  # else new results came while it was made
                    self._answers[key] = found
        answer: T = found
        return answer

    def generation(self) -> int:
        """A number that grows with new results: what was chosen under an older one may not hold.

        Launches ask it each time. Results of this process count at once; the file, which other processes write to, is
        looked at every few milliseconds.
        """
        now, written = time.monotonic(), results_written()
        if now < self._fresh_until and written == self._written:
            return self._known
        known = self._refresh()
        self._written, self._fresh_until = written, now + _FRESH_SECONDS  # only now, since other threads look
        return known

    def _refresh(self) -> int:
        revision = self._store.revision  # which takes the store's lock: not within this one's
        with self._lock:
            if revision > self._known:
                self._answers.clear()
                self._known = revision
            return self._known

    def _choose(self, tunable: Parameters, problem: Problem, device: DeviceRecord, settings: Settings) -> Choice:
        found = self.from_results(tunable, problem, device, settings)
        return _from_model(tunable, problem, device, settings) if found is None else found

    def from_results(
        self, tunable: Parameters, problem: Problem, device: DeviceRecord, settings: Settings
    ) -> Choice | None:
        """As `choose` where results say something of the problem, else None. Not remembered."""
        found = self._measured(tunable, problem, device, settings)
        if found is None:
            return None
        found = replace(found, expected=expected(tunable, problem, found.point, device, figures_of(device, settings)))
        own = found.rule is not Rule.SHIPPED or found.source is None or problems.same_class(found.source, problem)
        if not own and callable(tunable.default):
            modelled_choice = _from_model(tunable, problem, device, settings)
            if _seconds(modelled_choice.expected) < _OUTWEIGHED * _seconds(found.expected):
                return modelled_choice
        return found

    def _measured(
        self, tunable: Parameters, problem: Problem, device: DeviceRecord, settings: Settings
    ) -> Choice | None:
        """The nearest of the stored winners; of equally near ones, the user's own before shipped ones."""
        near: list[tuple[tuple[float, int, float], Choice, Store, TaskKey]] = []
        for rank, store, name in self._sources(device, settings):
            for task, source, octaves, point, seconds in _winners(store, tunable, problem, name):
                same = problems.same_class(source, problem)
                rule = Rule.SHIPPED if rank else Rule.EXACT if same else Rule.NEAREST
                choice = Choice(
                    point=point,
                    rule=rule,
                    problem=problem,
                    source=source,
                    described=tunable.describe_problem(source),
                    octaves=octaves,
                    seconds=seconds,
                    file=store.path,
                )
                place = (0.0 if same else round(octaves * problems.HALF_OCTAVES), rank, octaves)
                near.append((place, choice, store, task))
        if not near:
            return None
        space = tunable.space_for(problem, device)
        near.sort(key=lambda entry: entry[0])
        for _, choice, store, task in near:
            found = store.winner(task, space.is_legal)  # the fastest may be of an older space
            if found is not None:
                return replace(choice, point=found[0], seconds=found[1])
        return None

    def _sources(self, device: DeviceRecord, settings: Settings) -> Iterator[tuple[int, Store, str]]:
        yield 0, self._store, device.key
        for store in self._shipped if settings.shipped else ():
            for rank, name in enumerate(device_classes(device), 1):
                yield rank, store, name


def _winners(
    store: Store, tunable: Parameters, problem: Problem, device: str
) -> Iterator[tuple[TaskKey, Problem, float, Point, float]]:
    wanted = task_of(tunable, problem, device)
    for task, (point, seconds) in store.winners().items():
        if (task.device, task.kernel, task.kernel_version) != (wanted.device, wanted.kernel, wanted.kernel_version):
            continue
        source = problem_of(task) if task.dtype == wanted.dtype else None
        octaves = NEAR + 1 if source is None else problems.distance(source, problem, tunable.soft)
        if source is not None and octaves <= NEAR:
            yield task, source, octaves, point, seconds


def _seconds(expected_time: Prediction | float | None) -> float:
    """What the model expects; endless where it says that a point cannot run, or where there is no model."""
    if expected_time is None:
        return math.inf
    return expected_time.seconds if isinstance(expected_time, Prediction) else expected_time


def _from_model(tunable: Parameters, problem: Problem, device: DeviceRecord, settings: Settings) -> Choice:
    figures = figures_of(device, settings)
    point = tunable.default_for(problem, device)
    rule = Rule.MODEL if tunable.model is not None and (point is None or tunable.default_is_modelled) else Rule.DEFAULT
    if point is None:
        point = modelled(tunable, problem, device, figures, _MODELLING).history.ranked[0]
    says = expected(tunable, problem, point, device, figures)
    return Choice(point=point, rule=rule, problem=problem, expected=says)


_lock = threading.RLock()
_choosers: dict[Path, Chooser] = {}


def chooser_for(path: Path) -> Chooser:
    """The chooser of a store's file: one in a process, so that answers are remembered."""
    with _lock:
        found = _choosers.get(path)
        if found is None:
            found = _choosers[path] = Chooser(Store(path))
        return found


def file_of(store: Store | Path | str | None, name: str, settings: Settings) -> Path:
    """The file of a store; None is that of a tunable in the user's folder. Raises `TuningError`."""
    if store is None:
        return store_path(name, settings)
    if not isinstance(store, Store | Path | str):
        raise TuningError(f"store={store!r} is no file", hint="give the path of a file, or a Store")
    return store.path if isinstance(store, Store) else user_path(store)


def best(
    tunable: Parameters,
    problem: Problem,
    *,
    device: AnyDevice | None = None,
    store: Store | Path | str | None = None,
    settings: Settings | None = None,
) -> Choice:
    """The fastest known parameters for a problem, without measuring: ``best(...).point``; printing it explains it.

    ``device`` is as of `tune`. Results of `tune` count at once, in every process.
    Raises `TuningError`.
    """
    checked_tunable(tunable)
    record = current_context().device if device is None else device
    chosen = settings_of(settings)
    path = file_of(store, tunable.name, chosen)
    choice = chooser_for(path).choose(tunable, problems.checked(problem), device_of(record, chosen), chosen)
    return replace(choice, point=dict(choice.point))  # the caller's own: the answer is remembered


def _misfit(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
    """Why a function cannot be called with arguments, as far as its signature tells."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return str(error)
    return None


def tuned(tunable: Parameters, problem: Callable[..., Problem]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for functions that launch a tunable's kernel: they get the best parameters as their first argument.

    ``problem`` takes the function's other arguments and tells which problem they are::

        @tuning.tuned(SCALE, problem=lambda x, y: {"n": x.size, "dtype": x.dtype.name})
        def scale(point, x, y): ...

        scale(x, y)

    Raises `TuningError` for what is no tunable or no function; calls raise `ArgumentTypeError` for arguments that
    ``problem`` does not take.
    """

    checked_tunable(tunable)
    if not callable(problem):
        raise TuningError(f"problem={problem!r} is no function", hint='write problem=lambda x: {"n": x.size}')

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                wanted = problem(*args, **kwargs)
            except TypeError as error:
                text = _misfit(problem, args, kwargs)
                if text is None:
                    raise
                name = getattr(function, "__name__", "the function")
                raise ArgumentTypeError(
                    f"{name}() was called with other arguments than its problem= takes: {text}",
                    hint=f"problem= takes the arguments of {name}() without the point",
                ) from error
            return function(best(tunable, wanted).point, *args, **kwargs)

        return call

    return decorate


def export_shipped(store: Store, path: Path, device: DeviceRecord) -> int:
    """Add a device's winners to a file of shipped results, for every machine with a device of its class.

    Returns the number of winners in the file. Raises `StoreError`, and `TuningError` where the store has none.
    """
    name = device_class(device)

    def rename(task: TaskKey) -> TaskKey | None:
        if task.device != device.key:
            return None
        return TaskKey(
            device=name,
            kernel=task.kernel,
            kernel_version=task.kernel_version,
            dtype=task.dtype,
            shape_class=task.shape_class,
        )

    if not any(task.device == device.key for task in store.winners()):
        raise TuningError(f"{store.path} has no results of {device.name}", hint="tune it first: portagpu tune gemm")
    return store.export_winners(path, rename)
