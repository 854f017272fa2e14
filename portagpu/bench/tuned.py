"""Gains of tuning: a product untuned, after a short search and after a long one, in one run.

For each product a search runs under the short budget, with results in a folder of its own, and goes on until the long
budget ends. Each begins with its start and ends with its run-off. Then the products are computed as users
compute them (`portagpu.matmul` on device arrays), in turns, medians of several rounds: by a context without results of
tuning, by one with the short search's and by one with the long search's. Where results for such a device come with the
package, they are what an untuned product uses; the model's choice is measured beside them.
"""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from portagpu.bench.method.rounds import play
from portagpu.bench.method.statistics import median
from portagpu.bench.method.turns import BackToBack, Call
from portagpu.bench.peers.products import Matrix
from portagpu.bench.problems import missing, shape_text
from portagpu.bench.product_check import checker
from portagpu.bench.products import own_call
from portagpu.bench.records.cell import Memory
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection.choice import explain
from portagpu.blas.gemm.selection.parameters import dense
from portagpu.blas.gemm.tuning.trial import operand
from portagpu.blas.gemm.tuning.tunable import GEMM
from portagpu.device import DeviceRecord
from portagpu.errors import StoreError, TuningError
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings
from portagpu.tuning import Budget, Progress, Session, Store
from portagpu.tuning.choice import Rule
from portagpu.tuning.session import left_until
from portagpu.tuning.store.tasks import store_path, task_of

ENOUGH_UNTUNED, ENOUGH_SHORT = 0.85, 0.96
_MODEL = "model"
_UNTUNED, _SHORT, _LONG = "untuned", "short", "long"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """One product; speeds in GFLOP/s, medians."""

    problem: Problem
    untuned: float
    short: float
    long: float
    rule: str  # what chose the untuned parameters
    model: float | None = None  # of the model's choice, where shipped results come before it
    trials: tuple[int, int] = (0, 0)  # in the short search and in the long one
    error: float = 0.0  # the largest of all, relative to the tolerance

    @property
    def untuned_share(self) -> float:
        """Of the long search's speed."""
        return self.untuned / self.long

    @property
    def short_share(self) -> float:
        """Of the long search's speed."""
        return self.short / self.long


def gains(
    device: DeviceRecord,
    problems: Sequence[Problem],
    settings: Settings,
    *,
    short: float = 60.0,
    long: float = 300.0,
    keep: Path | None = None,
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Gain]:
    """Measure products, each with a search of ``long`` seconds; ``short`` seconds of it count as the short one.

    ``keep``: a file to which all trials and winners are added, for `portagpu tune import`. The user's own results are
    neither used nor changed. Raises `TuningError` for complex operands, whose products are made of real ones, for what
    the device cannot compute, and where no trial worked or a result was wrong; `StoreError`, as `check_kept`.
    """
    if keep is not None:
        check_kept(keep)
    if any(problem.is_complex for problem in problems):
        raise TuningError("complex products are made of real ones", hint="tune those: float32 or float64")
    obstacles = [(p, why) for p in problems if (why := obstacle(p, device)) is not None]
    if obstacles:
        problem, why = obstacles[0]
        raise TuningError(f"{problem.arithmetic} {shape_text(problem)}: {why}", hint="name others: --dtype float32")
    for problem in map(dense, problems):
        with tempfile.TemporaryDirectory(prefix="portagpu-tuned-") as folder:
            states = {name: replace(settings, data_dir=Path(folder, name)) for name in (_UNTUNED, _SHORT, _LONG)}
            try:
                trials = _search(device, problem, states, short, long, progress)
            finally:  # also what an interrupted search has measured
                if keep is not None:
                    _keep(keep, states)
            progress(f"{problem.arithmetic} {shape_text(problem)}: measuring")
            yield _measured(device, problem, states, trials)


def _keep(path: Path, states: dict[str, Settings]) -> None:
    """Add what the searches measured, if anything, to a file."""
    measured = store_path(GEMM.name, states[_LONG])
    if Store(measured).tasks():
        Store(path).merge(measured)


def check_kept(path: Path) -> None:
    """Raise `StoreError` where results cannot be added to a file: before the searches for them."""
    store = Store(path)
    if store.path.exists() and store.path.stat().st_size and not store.tasks():
        raise StoreError(
            f"{path} is no file of tuning results", hint="name another one, or none that exists: --keep FILE"
        )
    try:
        store.check_writable()
    except StoreError as error:
        raise StoreError(error.message, hint="name another file: --keep FILE") from error


def obstacle(problem: Problem, device: DeviceRecord) -> str | None:
    """Why a device cannot compute a product; None if it can."""
    return f"{device.name} does not work" if device.capabilities is None else missing(problem, device.capabilities)


def _search(
    device: DeviceRecord,
    problem: Problem,
    states: dict[str, Settings],
    short: float,
    long: float,
    progress: Callable[[str], None],
) -> tuple[int, int]:
    """Search; store what was best after each budget. Returns the number of trials at both ends."""
    store = Store(store_path(GEMM.name, states[_LONG]))
    task = task_of(GEMM, problem.values, device.key)
    begin = time.monotonic()
    before = 0

    def watch(state: Progress) -> None:
        elapsed = time.monotonic() - begin
        best = "-" if state.best is None else f"{problem.flops / state.best / 1e9:.0f} GFLOP/s"
        progress(
            f"{problem.arithmetic} {shape_text(problem)}: trial {before + state.trials},"
            f" {elapsed:.0f} of {long:.0f} s, {best}"
        )

    with Session(GEMM, device, states[_LONG], store) as session:
        session.figures()  # counts for the budget
        first = session.search(problem.values, Budget(seconds=left_until(begin + short)), progress=watch)
        known, before = store.winner(task), first.trials
        rest = begin + long - time.monotonic()
        result = session.search(problem.values, Budget(seconds=rest), progress=watch) if rest > 0 else first
    if result.winner is None:
        raise TuningError(
            f"no trial of {problem.arithmetic} {shape_text(problem)} worked within {long:g} s", hint="raise the budget"
        )
    if known is not None:  # else the short search ended without a result, and nothing changes
        Store(store_path(GEMM.name, states[_SHORT])).add_winner(task, *known)
    return before, before + (result.trials if rest > 0 else 0)


def _measured(device: DeviceRecord, problem: Problem, states: dict[str, Settings], trials: tuple[int, int]) -> Gain:
    contexts = {name: _context(device, settings) for name, settings in states.items()}
    try:
        rule = explain(problem, contexts[_UNTUNED]).rule
        if rule is Rule.SHIPPED:
            contexts[_MODEL] = _context(device, replace(states[_UNTUNED], shipped=False))
        generator = np.random.default_rng(problem.m + problem.n + problem.k)
        a = operand(generator, problem, problem.m, problem.k, "C")
        b = operand(generator, problem, problem.k, problem.n, "C")
        calls: dict[str, Call] = {}
        for name, context in contexts.items():
            with context:
                calls[name] = own_call(context, problem, a, b, Memory.DEVICE)
        check = checker(problem, a, b)
        error = max(check(_result(call)) for call in calls.values())
        if not error <= 1.0:
            raise TuningError(
                f"a result of {problem.arithmetic} {shape_text(problem)} is wrong: {error:.3g} tolerances"
            )
        speeds = _speeds(problem, calls)
    finally:
        for context in contexts.values():
            context.close()
    return Gain(
        problem=problem,
        untuned=speeds[_UNTUNED],
        short=speeds[_SHORT],
        long=speeds[_LONG],
        model=speeds.get(_MODEL),
        rule=rule.value,
        trials=trials,
        error=error,
    )


def _speeds(problem: Problem, calls: dict[str, Call]) -> dict[str, float]:
    """GFLOP/s of each, measured in turns. Raises what a call raised."""
    found = {}
    for name, timed in zip(calls, play([BackToBack(call) for call in calls.values()]), strict=True):
        if timed.failure is not None:
            raise timed.failure
        found[name] = problem.flops / (median(timed.samples) or math.inf) / 1e9
    return found


def _context(device: DeviceRecord, settings: Settings) -> Context:
    return Context(device, None, settings)


def _result(call: Call) -> Matrix:
    call.product()
    assert call.fetch is not None
    found: Matrix = call.fetch()
    return found


def heading(short: float, long: float) -> str:
    """The first lines of a Markdown table of gains."""
    return (
        f"| arithmetic | m x n x k | untuned GFLOP/s | {short:g} s | {long:g} s | untuned / {long:g} s |"
        f" {short:g} s / {long:g} s | trials | untuned by |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |"
    )


def speed(gflops: float) -> str:
    """GFLOP/s for people."""
    return f"{gflops:.0f}" if gflops >= 100 else f"{gflops:.3g}"


def row(gain: Gain) -> str:
    """A line of the table."""
    by = gain.rule if gain.model is None else f"{gain.rule}; the model's choice: {gain.model / gain.long:.2f}"
    return (
        f"| {gain.problem.arithmetic} | {shape_text(gain.problem)} | {speed(gain.untuned)} | {speed(gain.short)} |"
        f" {speed(gain.long)} | {gain.untuned_share:.2f} | {gain.short_share:.2f} |"
        f" {gain.trials[0]}, {gain.trials[1]} | {by} |"
    )


def summary(found: Sequence[Gain]) -> list[str]:
    """The worst shares, against what they are to reach."""
    first = min(found, key=lambda gain: gain.untuned_share)
    second = min(found, key=lambda gain: gain.short_share)
    return [
        _worst("untuned", first, first.untuned_share, ENOUGH_UNTUNED),
        _worst("a short search", second, second.short_share, ENOUGH_SHORT),
    ]


def _worst(what: str, gain: Gain, share: float, enough: float) -> str:
    name = f"{gain.problem.arithmetic} {shape_text(gain.problem)}"
    return f"{what}: at worst {share:.0%} of a long search ({name}); wanted: {enough:.0%}"


__all__ = ["Gain", "check_kept", "gains", "heading", "row", "summary"]
