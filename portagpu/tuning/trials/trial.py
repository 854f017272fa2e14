"""One trial of a tunable, in the tuner's child process, which may die of it."""

from __future__ import annotations

import math
import numbers
import re
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from portagpu.errors import (
    BuildError,
    DeviceLostError,
    DriverError,
    KernelError,
    LaunchConfigError,
    PortaGPUError,
    TuningError,
)
from portagpu.runtime.arrays.array import DeviceNDArray
from portagpu.runtime.execution.context import Context, select_device
from portagpu.runtime.programs.build import remarks_of
from portagpu.runtime.replay.replay import recorded
from portagpu.settings import Settings
from portagpu.tuning.trials.guard_zones import Guarded, guarded
from portagpu.tuning.tunables import outcomes
from portagpu.tuning.tunables.comparison import difference
from portagpu.tuning.tunables.device_rates import figures_of
from portagpu.tuning.tunables.outcomes import (
    CompileFailed,
    LaunchFailed,
    Measured,
    Outcome,
    OutOfBounds,
    Spilled,
    WrongResult,
)
from portagpu.tuning.tunables.problems import Problem, text_of
from portagpu.tuning.tunables.space import Point
from portagpu.tuning.tunables.tunable import Case, Tunable, resolve
from portagpu.tuning.tunables.user_faults import CheckFault, fault, finding
from portagpu.tuning.tunables.values import read_point

_REPEAT_SECONDS = 0.12
_MIN_REPEATS = 3
_MAX_REPEATS = 25
_HOPELESS = 3.0  # times the best so far: one repetition is enough to know that
_WARM_SECONDS = 0.2  # for which the first candidate of a process runs before it is timed: clocks rise
_SHORTEST = 2e-4  # seconds of one measurement: shorter runs are repeated within it
_SPILLS = re.compile(r"(\d+) bytes spill stores")
_REFUSED = (BuildError, KernelError, LaunchConfigError)


class Bench:
    """The arguments of one problem on one device."""

    def __init__(self, tunable: Tunable, problem: Problem, context: Context) -> None:
        self.tunable, self.context = tunable, context
        self.case: Case = tunable.prepare(dict(problem))
        if not isinstance(self.case, Case):
            raise TuningError(f"prepare of {tunable.name} returned {type(self.case).__name__}", hint="return a Case")
        self.guards: dict[str, Guarded] = {}
        self.data: dict[str, Any] = {}
        for name, value in {**self.case.inputs, **self.case.outputs}.items():
            if isinstance(value, np.ndarray):
                self.guards[name] = guarded(np.asarray(value), context)
                value = self.guards[name].array
            self.data[name] = value
        self.refills = all(name in self.guards or _is_constant(value) for name, value in self.case.inputs.items())
        self.used = False  # whether a kernel ran on these arrays
        self.waited = 0.0  # seconds for the device in `run_once`: it ran then, which while compiling is not known

    def refill(self) -> None:
        """Fill the arrays anew, inputs too: what one candidate left in scratch memory may make another's results right
        that leaves out to write it."""
        if self.used:  # else they are as they were made
            for name, host in {**self.case.inputs, **self.case.outputs}.items():
                if name in self.guards:
                    self.guards[name].array.copy_to_device(np.asarray(host))
        self.context.default_stream.synchronize()

    def run_once(self, point: Point) -> None:
        """Run and wait."""
        self.used = True
        self.run(point)
        enqueued = time.perf_counter()
        self.context.default_stream.synchronize()
        self.waited = time.perf_counter() - enqueued

    def run(self, point: Point) -> None:
        """The tunable's run; it may change what it is given."""
        self.tunable.run(dict(self.data), dict(point))

    def damage(self) -> str | None:
        """Which array was overrun."""
        for name, guard in self.guards.items():
            found = guard.damage()
            if found is not None:
                return f"{name}: {found}"
        return None

    def wrong(self) -> str | None:
        """What is wrong with the results."""
        results = {name: self.guards[name].array.copy_to_host() for name in self.case.outputs}
        if self.tunable.check is not None:
            return finding("check", self.tunable.check, self.case, results, launches=False)
        try:
            return compare(results, self.case)
        except Exception as error:  # NumPy cannot compare what prepare expects: every point would be wrong
            what = f"the results of {self.tunable.name} cannot be compared with what is expected"
            raise fault(what, error, hint="compare them in a check of your own: check(case, results)") from error

    def release(self) -> None:
        """Give the memory back."""
        for guard in self.guards.values():
            guard.release()


def _is_constant(value: object) -> bool:
    """Whether a candidate cannot change an input that is no NumPy array."""
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    return value is None or isinstance(value, numbers.Number | str | bytes | np.generic | np.dtype | type)


_tunables: dict[str, Tunable] = {}
_benches: dict[tuple[str, str, int], Bench] = {}
_warm: set[int] = set()  # keys of the contexts whose devices have run for a while


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Answer the tuner: ``start`` (open the device, load the tunable), the device's ``figures``, ``prepare`` a problem,
    ``measure`` (``spoilt``: prepare and try again) or ``verify`` a point; or tell a ``fault`` that no point has."""
    try:
        return _answer(request)
    except CheckFault as found:
        return {"fault": found.values}


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    context = context_of(request)
    if request["action"] == "figures":
        figures = figures_of(context.device, Settings.from_environment(), measure_now=True)
        return {"measured": figures.measured}
    reference = str(request["tunable"])
    tunable = tunable_of(reference)
    if request["action"] == "start":
        return {}
    if "point" in request:
        request["point"] = read_point(request["point"])
    if request["action"] == "prepare":
        _bench(tunable, reference, request["problem"], context)
        return {}
    if request["action"] == "verify":
        return {"problem": _verify(tunable, reference, request, context)}
    best = float(request.get("best") or math.inf)
    outcome = _trial(tunable, reference, request["problem"], request["point"], context, best)
    return {"spoilt": True} if outcome is None else outcomes.to_json(outcome)


def context_of(request: dict[str, Any]) -> Context:
    """The device that a request names, made current; its compiler tells about registers where it can."""
    context = select_device(str(request["device"]))
    context.remarks = context.backend.spill_remarks(context.capabilities)
    return context


def tunable_of(reference: str) -> Tunable:
    """A tunable by its name, which is looked up once."""
    found = _tunables.get(reference)
    if found is None:
        found = _tunables[reference] = resolve(reference)
    return found


def _trial(
    tunable: Tunable, reference: str, problem: Problem, point: Point, context: Context, best: float
) -> Outcome | None:
    """What comes of a point; None where that is known only with new arguments."""
    bench, fresh = _bench(tunable, reference, problem, context)
    outcome = _measure(bench, point, best)
    if not isinstance(outcome, Measured | CompileFailed | Spilled):
        _forget(reference, problem, context)
    if fresh:
        return outcome
    # an earlier candidate may have spoilt what cannot be filled anew, or left there what this one lacks
    leads = isinstance(outcome, Measured) and outcome.seconds < best and not bench.refills
    if leads:
        _forget(reference, problem, context)
    return None if leads or isinstance(outcome, WrongResult) else outcome


def _bench(tunable: Tunable, reference: str, problem: Problem, context: Context) -> tuple[Bench, bool]:
    key = (reference, text_of(problem), context.key)
    found = _benches.get(key)
    if found is None:
        for known in list(_benches):  # one problem at a time: its arrays may fill the memory
            _benches.pop(known).release()
        found = _benches[key] = Bench(tunable, problem, context)
    return found, not found.used


def _forget(reference: str, problem: Problem, context: Context) -> None:
    found = _benches.pop((reference, text_of(problem), context.key), None)
    if found is not None:
        found.release()


def _checked(bench: Bench, point: Point) -> Outcome | float:
    """Run once and look at everything but the time; the seconds of this first run, which compiles, if all is well."""
    before = set(bench.context.programs)
    bench.refill()
    started = time.perf_counter()
    try:
        bench.run_once(point)
    except _REFUSED as error:
        return CompileFailed(error.message)
    except PortaGPUError as error:
        return LaunchFailed(error.message)
    first = time.perf_counter() - started
    damage = bench.damage()
    if damage is not None:
        return OutOfBounds(damage)
    limit = bench.tunable.spill_limit
    if limit is not None:
        spilled = max((spilled_bytes(bench.context, k) for k in set(bench.context.programs) - before), default=0)
        if spilled > limit:
            return Spilled(spilled, limit)
    wrong = bench.wrong()
    return first if wrong is None else WrongResult(wrong)


def _measure(bench: Bench, point: Point, best: float) -> Outcome:
    first = _checked(bench, point)
    if not isinstance(first, float):
        return first
    launch = _repeatable(bench, point)
    if bench.context.key not in _warm:  # else what comes first, often the default, would look slower than it is
        if bench.waited < _WARM_SECONDS:
            warm_up(launch, bench.context, _WARM_SECONDS - bench.waited)
        _warm.add(bench.context.key)
    times = repetitions(launch, bench.context, _HOPELESS * best)
    damage = bench.damage()
    if damage is not None:
        return OutOfBounds(damage)
    return Measured(statistics.median(times), tuple(times), first)


def _repeatable(bench: Bench, point: Point) -> Callable[[], None]:
    """What a repetition does: a run, or its launches alone."""

    def run() -> None:
        bench.run(point)

    if not bench.tunable.launches_only:
        return run
    arrays = [value for value in bench.data.values() if isinstance(value, DeviceNDArray)]
    replay = recorded(run, arrays)
    if replay is None:
        return run

    def again() -> None:
        if not replay.launch(None):
            run()

    return again


def warm_up(launch: Callable[[], None], context: Context, seconds: float) -> None:
    """Run what ``launch`` enqueues for a while, once in any case."""
    end = time.perf_counter() + seconds
    while True:
        launch()
        context.default_stream.synchronize()
        if time.perf_counter() >= end:
            return


def repetitions(launch: Any, context: Context, hopeless: float = math.inf) -> list[float]:
    """Seconds of each repetition of what ``launch`` enqueues; compilation is over. What takes longer than ``hopeless``
    is not repeated."""
    stream = context.default_stream

    def timed(count: int) -> float:
        started = time.perf_counter()
        for _ in range(count):
            launch()
        stream.synchronize()
        return (time.perf_counter() - started) / count

    single = timed(1)
    if single > max(hopeless, 10 * _SHORTEST):
        return [single]
    count = max(1, min(1000, math.ceil(_SHORTEST / max(single, 1e-7))))
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < _MIN_REPEATS or (time.perf_counter() - begin < _REPEAT_SECONDS and len(times) < _MAX_REPEATS):
        times.append(timed(count))
    return times


def _verify(tunable: Tunable, reference: str, request: dict[str, Any], context: Context) -> str | None:
    problem, point = request["problem"], request["point"]
    if tunable.verify is not None:
        found = finding("verify", tunable.verify, dict(problem), dict(point), launches=True)
        if found is not None:
            return found
    for other in tunable.verify_on:
        bench = _bench_to_verify(tunable, other, context)
        try:
            first = _checked(bench, point)
        finally:
            bench.release()
        if not isinstance(first, float):
            return f"for {text_of(other)}: {outcomes.describe(first)}"
    return None


def _bench_to_verify(tunable: Tunable, problem: Problem, context: Context) -> Bench:
    """The arguments of a problem of ``verify_on``. Raises `CheckFault` where they cannot be made: no fault of the
    point, unless the device died of its launches."""
    try:
        return Bench(tunable, problem, context)
    except (DeviceLostError, DriverError):
        raise
    except (Exception, SystemExit) as error:
        what = f"the arguments of {tunable.name} for {text_of(problem)}, a problem of verify_on, cannot be made"
        raise fault(what, error, hint=f"call its prepare({dict(problem)!r}) and see") from error


def compare(results: Mapping[str, np.ndarray[Any, Any]], case: Case) -> str | None:
    """The built-in check: None where every output is as expected within the case's tolerances."""
    for name, expected in (case.expected or {}).items():
        wrong = difference(name, results[name], expected, case.rtol, case.atol)
        if wrong is not None:
            return wrong
    return None


def spilled_bytes(context: Context, key: str) -> int:
    """Bytes of registers that a thread of a built program keeps in memory, as far as the compiler said."""
    program = context.programs.get(key)
    return 0 if program is None else spills_in(remarks_of(program) or "")


def spills_in(log: str) -> int:
    """The largest number of bytes that a compiler's log says are spilled by a thread; 0 where it says nothing."""
    return max((int(number) for number in _SPILLS.findall(log)), default=0)


__all__ = [
    "Bench",
    "compare",
    "context_of",
    "repetitions",
    "run",
    "spilled_bytes",
    "spills_in",
    "tunable_of",
    "warm_up",
]
