"""Tunes GEMM for a device."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.selection.parameters import dense, problem_from
from portagpu.blas.gemm.selection.registry import search_space
from portagpu.blas.gemm.tuning.tunable import GEMM
from portagpu.device import DeviceRecord
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning import Budget, Progress, SearchResult, Session, Store, TaskKey, session
from portagpu.tuning.searches.strategies import DEFAULT
from portagpu.tuning.store import tasks
from portagpu.tuning.tunables import problems as shapes


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
    return tasks.store_path(GEMM.name, settings)


def task_key(problem: Problem, device_key: str) -> TaskKey:
    """The store's key of a problem on a device."""
    return tasks.task_of(GEMM, problem.values, device_key)


def tune_gemm(
    device: DeviceRecord,
    problems: tuple[Problem, ...],
    *,
    budget: float,
    settings: Settings,
    trial_limit: float = 20.0,
    strategy: str = DEFAULT,
    classes: int = 0,
    compilers: int | None = None,
    progress: Callable[[Problem, Progress], None] = lambda problem, state: None,
) -> tuple[TunedProblem, ...]:
    """Tune for each problem; the budget (seconds) is shared evenly. Results are stored at once.

    With ``classes``, a part of the budget goes to timing the best few configurations on so many problems of other
    sizes around each one. ``compilers``: see `portagpu.tuning.tune`. Raises `TuningError` for a device that does not
    work or an empty list of problems.
    """
    if device.capabilities is None:
        raise TuningError(f"{device.name} does not work: {device.problem}", hint=device.remedy)
    if not problems:
        raise TuningError("there is nothing to tune", hint="name at least one size and dtype")
    for problem in problems:
        if not registry.variants_for(problem, device.capabilities):
            known = [name or "the default" for name in registry.precisions(problem, device.capabilities)]
            raise TuningError(
                f"{device.name} cannot compute products of {problem.arithmetic}",
                hint=f"precisions that it has for {problem.dtype}: {', '.join(known) or 'none'}",
            )
    results: list[TunedProblem] = []
    deadline = time.monotonic() + budget
    with Session(GEMM, device, settings, Store(store_path(settings)), trial_limit, compilers) as child:
        child.figures()  # counts for the budget
        problems = tuple(dense(p) for p in problems)
        for number, problem in enumerate(problems):
            others = _classes(problem, problems, classes)
            share = session.left_until(deadline, len(problems) - number)
            kept = session.kept_for_classes(share, others)
            result = child.search(
                problem.values,
                Budget(seconds=share - kept),
                strategy,
                seeds=tuple(r.result.winner for r in results if r.result.winner and r.problem.dtype == problem.dtype),
                progress=lambda state, p=problem: progress(p, state),  # type: ignore[misc]
            )
            results.append(TunedProblem(problem=problem, result=result))
            if others and result.winner is not None:
                child.retime(problem.values, others, kept)
    return tuple(results)


def _classes(problem: Problem, problems: Sequence[Problem], count: int) -> list[dict[str, shapes.Value]]:
    """Problems of other classes around one that are not tuned themselves."""
    around = shapes.spread(problem.values, count + len(problems)) if count else []
    around = [dense(problem_from(c)).values for c in around]
    return [c for c in around if not any(shapes.same_class(c, p.values) for p in problems)][:count]


__all__ = ["TunedProblem", "problem_from", "search_space", "store_path", "task_key", "tune_gemm"]
