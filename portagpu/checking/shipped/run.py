"""Shipped kernels checked: a process for each target, in which threads wait for compilers while cases are dry-run."""

from __future__ import annotations

import linecache
import math
import multiprocessing
import os
import queue
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from portagpu.backends.offline import OfflineTarget
from portagpu.backends.registry import find_target, named
from portagpu.backends.source import KernelSource
from portagpu.checking.examination import Rules, definition, examined, signature_text
from portagpu.checking.records import Note, Problem, Result, Status, Subject, hash_of
from portagpu.checking.shipped.collections import cases_of
from portagpu.checking.shipped.launches import Case, CaseEnded, Launched, launched
from portagpu.dispatch.offline import OfflineKernel, compiled_source
from portagpu.errors import LaunchConfigError, UnsupportedError
from portagpu.ir.types import ConstantType
from portagpu.package_stamp import FOLDER
from portagpu.source import Span

_POLL_S = 0.2
Found = Result | Note


@dataclass(frozen=True, slots=True)
class Job:
    """What one process does: groups of kernels for a target."""

    target: str
    groups: tuple[str, ...]
    rules: Rules
    threads: int


def check_shipped(
    targets: Iterable[OfflineTarget],
    groups: tuple[str, ...],
    rules: Rules,
    *,
    processes: int | None = None,
    tell: Callable[[Found], None] = lambda found: None,
) -> list[Found]:
    """What comes of all shipped kernels of some groups. ``tell`` hears of each as it is known, in any order."""
    cores = os.cpu_count() or 1
    known = list(targets)
    ready = [t for t in known if not named(t.backend).missing_packages(t)]
    found: list[Found] = [_absent(target) for target in known if target not in ready]
    many = max(min(processes or cores, len(ready)), 1)
    jobs = [Job(target.name, groups, rules, max(cores // many, 1)) for target in ready]
    for one in _told(jobs, many):
        tell(one)
        found.append(one)
    order = {target.name: place for place, target in enumerate(known)}
    return sorted(found, key=lambda one: order[one.target.name])


def _absent(target: OfflineTarget) -> Result:
    missing = ", ".join(named(target.backend).missing_packages(target))
    problem = Problem(rule="no-compiler", level="note", message=f"not compiled: {missing}")
    subject = Subject(kernel="*", group="*")
    return Result(subject=subject, target=target, status=Status.NOT_COMPILED, problems=(problem,))


def _told(jobs: list[Job], processes: int) -> Iterator[Found]:
    if processes == 1:
        for job in jobs:
            yield from checked(job)
        return
    spawning = multiprocessing.get_context("spawn")
    with spawning.Manager() as manager:
        told = manager.Queue()
        with ProcessPoolExecutor(processes, mp_context=spawning) as pool:
            open_jobs = {pool.submit(_send, job, told) for job in jobs}
            while open_jobs:
                done, open_jobs = wait(open_jobs, timeout=_POLL_S)
                yield from _taken(told)
                for future in done:
                    future.result()
            yield from _taken(told)


def _taken(told: Any) -> Iterator[Found]:
    while True:
        try:
            yield told.get_nowait()
        except queue.Empty:
            return


def _send(job: Job, told: Any) -> None:
    """In a process of its own."""
    for found in checked(job):
        told.put(found)


def checked(job: Job, cases: Iterable[Case] | None = None) -> Iterator[Found]:
    """What comes of a job's kernels, or of those of other ``cases``; in the order in which it is known."""
    target = find_target(job.target)
    with ThreadPoolExecutor(job.threads) as threads:
        waiting: list[Future[Result]] = []
        for one in launched(target, cases_of(job.groups, target) if cases is None else cases):
            if isinstance(one, CaseEnded):
                yield _ended(one, target)
            else:
                waiting.append(threads.submit(_result, one, target, job.rules))
            while waiting and (waiting[0].done() or len(waiting) > 4 * job.threads):
                yield waiting.pop(0).result()
        for future in waiting:
            yield future.result()


def _result(one: Launched, target: OfflineTarget, rules: Rules) -> Result:
    """A program compiled as it was launched."""
    overload, source = one.overload, one.overload.kernel_source
    subject = Subject(
        kernel=source.python_name or source.name,
        group=one.group,
        case=one.case,
        span=definition(one.kernel),
        signature=signature_text(overload.signature),
        constants={
            name: repr(t.value)
            for name, t in zip(one.kernel.source.parameters, overload.signature, strict=True)
            if isinstance(t, ConstantType) and t.value is not None
        },
        block=one.block,
        source_hash=hash_of(source.source),
    )

    def compiled() -> OfflineKernel:
        return _compiled(source, one, target)

    return examined(compiled, subject, target, rules)


def _compiled(source: KernelSource, one: Launched, target: OfflineTarget) -> OfflineKernel:
    threads = None if one.block is None else math.prod(one.block)
    options = one.overload.build_options
    return compiled_source(target, source, options, one.overload.signature, threads, name=source.python_name)


def _ended(one: CaseEnded, target: OfflineTarget) -> Found:
    """A case that the target cannot run is a result; one that wanted results of what nobody computed is a note."""
    error = one.error
    if not isinstance(error, LaunchConfigError | UnsupportedError):
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Note(target=target, group=one.group, case=one.case, message=f"ended early in the dry run: {text}")
    span = error.span or _place(error)
    text = f"{one.case}: {error.message}"
    problem = Problem(rule="missing-feature", level="error", message=text, span=span, hint=error.hint)
    subject = Subject(kernel="", group=one.group, case=one.case, span=span)
    return Result(subject=subject, target=target, status=Status.UNSUPPORTED, problems=(problem,))


def _place(error: Exception) -> Span | None:
    """The line of a program, outside the package, that an error came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(FOLDER)]
    if not frames:
        return None
    text = linecache.getline(frames[-1].filename, frames[-1].lineno or 0).rstrip("\n")
    begin = len(text) - len(text.lstrip())
    return Span(
        filename=frames[-1].filename, line=frames[-1].lineno or 1, column=begin, end_column=len(text), text=text
    )
