"""``portagpu check`` of users' kernels: all of them on all targets, in threads that wait for compilers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import click
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from portagpu.backends import registry
from portagpu.backends.offline import OfflineTarget
from portagpu.checking.advice import suggestion
from portagpu.checking.examination import Call, Rules, calls_of, examine
from portagpu.checking.records import Note, Problem, Result, Status, Subject
from portagpu.checking.shipped.job import Found, Job, Step, checked
from portagpu.checking.shipped.programs import program
from portagpu.checking.shipped.run import absent, results_and_notes
from portagpu.cli.kernel_files import Broken, Chosen
from portagpu.cli.output import console
from portagpu.dispatch.dispatcher import Dispatcher

_Job = tuple[Dispatcher, OfflineTarget, Call]


def own_results(
    found: list[Chosen | Broken], targets: tuple[OfflineTarget, ...], call: Call, rules: Rules, *, suggest: bool
) -> list[Result]:
    """What comes of kernels on targets: kernels in the order of their files, each on all targets."""
    kernels = [one.kernel for one in found if isinstance(one, Chosen)]
    _check_constants(kernels, call)

    def result_of(job: _Job) -> Result:
        kernel, target, call = job
        result = examine(kernel, target, call, rules)
        if not suggest or result.status is not Status.COMPILED:
            return result
        return replace(result, suggestion=suggestion(kernel, target, call))

    jobs: list[_Job | Result] = []
    for one in found:
        if isinstance(one, Broken):
            jobs += [_broken(one, target) for target in targets]
            continue
        calls = calls_of(one.kernel, replace(call, is_named=one.is_named), alone=len(found) == 1)
        jobs += [(one.kernel, target, each) for each in calls for target in targets]
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        done = threads.map(lambda job: job if isinstance(job, Result) else result_of(job), jobs)
        return list(_shown(done, len(jobs)))


def launched_results(
    texts: Iterable[str], targets: tuple[OfflineTarget, ...], rules: Rules
) -> tuple[list[Result], list[Note]]:
    """What comes of the kernels that programs launch on a device that runs nothing, and where they ended early."""
    cases = [program(path) for text in texts for path in _programs(text)]
    found: list[Found] = []
    for target in targets:
        if registry.named(target.backend).missing_packages(target):
            found.append(absent(target))
            continue
        job = Job(target.name, (), rules, os.cpu_count() or 1)
        found += [one for one in checked(job, cases) if not isinstance(one, Step)]
    return results_and_notes(found)


def _programs(text: str) -> list[Path]:
    path = Path(text)
    if not path.is_file():
        raise click.BadParameter(f"{text!r} is no Python file; --run is for whole files", param_hint="--run")
    return [path]


def _check_constants(kernels: list[Dispatcher], call: Call) -> None:
    """A constant that no kernel has is a slip of the command line."""
    known = {name for kernel in kernels for name in kernel.source.constexpr}
    unknown = [name for name in call.constants if name not in known]
    if kernels and unknown:
        raise click.BadParameter(
            f"no kernel has a compile-time parameter {unknown[0]}; there are {', '.join(sorted(known)) or 'none'}",
            param_hint="--constant",
        )


def _broken(one: Broken, target: OfflineTarget) -> Result:
    problem = Problem(rule="wrong-file", level="error", message=one.message, span=one.span, hint=one.hint)
    subject = Subject(kernel="", span=one.span)
    return Result(subject=subject, target=target, status=Status.REFUSED, problems=(problem,))


def _shown(done: Iterator[Result], many: int) -> Iterator[Result]:
    """On a terminal a bar, while there is something to wait for."""
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    screen = console(stderr=True)
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=many)
        for one in done:
            bar.advance(task)
            yield one
