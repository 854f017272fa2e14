"""Tunes GEMM for a device: the search space, the model, and trials in a child process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portagpu.blas import registry
from portagpu.blas.problem import Problem
from portagpu.blas.registry import KERNEL_VERSION
from portagpu.device import DeviceRecord
from portagpu.device.capabilities import Capabilities
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning import (
    LaunchFailed,
    Outcome,
    Progress,
    SearchResult,
    SearchSpace,
    Store,
    TaskKey,
    Worker,
    outcomes,
    tune,
)
from portagpu.tuning.space import Point

_FIRST_TRIAL_LIMIT = 60.0  # seconds: the child starts, imports and compiles


@dataclass(frozen=True, slots=True, kw_only=True)
class TunedProblem:
    """The result for one problem."""

    problem: Problem
    result: SearchResult

    @property
    def gflops(self) -> float | None:
        """Speed of the winner."""
        return self.problem.flops / self.result.seconds / 1e9 if self.result.seconds else None


@cache
def store_path(settings: Settings) -> Path:
    """File of GEMM's tuning results."""
    return settings.data_dir / "tuning" / "gemm.jsonl"


def task_key(problem: Problem, device_key: str) -> TaskKey:
    """The store's key of a problem on a device."""
    return TaskKey(
        device=device_key,
        kernel="gemm",
        kernel_version=KERNEL_VERSION,
        dtype=problem.dtype,
        shape_class=problem.shape_class,
    )


def search_space(problem: Problem, caps: Capabilities) -> SearchSpace:
    """The legal configurations of the variant that the model prefers."""
    default = registry.default_config(problem, caps)
    assert default is not None
    return registry.variant_of(default).space(problem, caps)


def tune_gemm(
    device: DeviceRecord,
    problems: tuple[Problem, ...],
    *,
    budget: float,
    settings: Settings,
    trial_limit: float = 20.0,
    progress: Callable[[Problem, Progress], None] = lambda problem, state: None,
) -> tuple[TunedProblem, ...]:
    """Tune for each problem; the budget (seconds) is shared evenly. Results are stored at once.

    Raises `TuningError` for a device that does not work or an empty list of problems.
    """
    if device.capabilities is None:
        raise TuningError(f"{device.name} does not work: {device.problem}", hint=device.remedy)
    if not problems:
        raise TuningError("there is nothing to tune", hint="name at least one size and dtype")
    store = Store(store_path(settings))
    caps = device.capabilities
    results: list[TunedProblem] = []
    environment = {
        "PORTAGPU_CACHE_DIR": str(settings.cache_dir),
        "PORTAGPU_DATA_DIR": str(settings.data_dir),
        # NumPy checks results in the child; its threads go on spinning for a while and would disturb the timing
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    }
    with Worker("portagpu.blas.trial", "run", environment) as worker:
        trials = _Trials(worker, device)
        for problem in problems:
            default = registry.default_config(problem, caps)
            assert default is not None
            seeds = [registry.to_json(default)]
            seeds += [r.result.winner for r in results if r.result.winner and r.problem.dtype == problem.dtype]
            result = tune(
                search_space(problem, caps),
                lambda point, p=problem: registry.predicted_time(registry.from_json(point), p, caps),  # type: ignore[misc]
                trials.evaluator(problem),
                trials.verifier(problem),
                store=store,
                task=task_key(problem, device.key),
                budget=budget / len(problems),
                trial_limit=trial_limit,
                seeds=tuple(reversed(seeds)),
                progress=lambda state, p=problem: progress(p, state),  # type: ignore[misc]
            )
            results.append(TunedProblem(problem=problem, result=result))
    return tuple(results)


class _Trials:
    """Asks the child to measure and verify."""

    def __init__(self, worker: Worker, device: DeviceRecord) -> None:
        self._worker = worker
        self._device = device
        self._warm = False

    def evaluator(self, problem: Problem) -> Callable[[Point, float], Outcome]:
        """Measures a point for a problem."""
        shape = {"m": problem.m, "n": problem.n, "k": problem.k, "dtype": problem.dtype}

        def evaluate(point: Point, limit: float) -> Outcome:
            request = {"action": "measure", "point": point, "problem": shape, "device": self._device.index}
            limit = limit if self._warm else limit + _FIRST_TRIAL_LIMIT
            self._warm = False  # a child that is replaced starts cold
            answer = outcomes.from_json(self._worker.ask(request, limit))
            if isinstance(answer, LaunchFailed):
                # some drivers refuse everything after a kernel has faulted: the next trial gets a fresh process
                self._worker.close()
            else:
                self._warm = True
            return answer

        return evaluate

    def verifier(self, problem: Problem) -> Callable[[Point], str | None]:
        """Verifies a point before it becomes the winner."""

        def verify(point: Point) -> str | None:
            request = {"action": "verify", "point": point, "dtype": problem.dtype, "device": self._device.index}
            try:
                problem_text: str | None = self._worker.ask(request, _FIRST_TRIAL_LIMIT)["problem"]
            except Exception as error:  # whatever ends the child disqualifies the point
                self._warm = False
                return f"verification failed: {error}"
            return problem_text

        return verify


__all__ = ["TunedProblem", "search_space", "store_path", "task_key", "tune_gemm"]
