"""Shipped kernels checked: a process for each target, as many at once as there are cores."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from portagpu.backends.offline import OfflineTarget
from portagpu.backends.registry import named
from portagpu.backends.survey import find_target
from portagpu.checking.examination import Rules
from portagpu.checking.records import Note, Problem, Result, Status, Subject
from portagpu.checking.shipped.job import Found, Job, Step, checked

_WAIT_S = 5.0  # for a process to end that was told to


def check_shipped(
    targets: Iterable[OfflineTarget],
    groups: tuple[str, ...],
    rules: Rules,
    *,
    processes: int | None = None,
    tell: Callable[[Found | Step], None] = lambda found: None,
) -> list[Found]:
    """What comes of all shipped kernels of some groups.

    ``tell`` hears of each as it is known, in any order, and how far the targets are.
    """
    cores = os.cpu_count() or 1
    known = list(targets)
    ready = [t for t in known if not named(t.backend).missing_packages(t)]
    found: list[Found] = [absent(target) for target in known if target not in ready]
    many = max(min(processes or cores, len(ready)), 1)
    jobs = [Job(target.name, groups, rules, max(cores // many, 1)) for target in ready]
    for one in _results(jobs, many):
        tell(one)
        if not isinstance(one, Step):
            found.append(one)
    return in_order(found, known)


def in_order(found: Iterable[Found], targets: Iterable[OfflineTarget]) -> list[Found]:
    """By targets as they were named, else as it became known."""
    places = {target.name: place for place, target in enumerate(targets)}
    return sorted(found, key=lambda one: places[one.target.name])


def results_and_notes(found: Iterable[Found]) -> tuple[list[Result], list[Note]]:
    """What came of kernels, and where dry runs ended early: each in its order."""
    known = list(found)
    return [one for one in known if isinstance(one, Result)], [one for one in known if isinstance(one, Note)]


def absent(target: OfflineTarget) -> Result:
    """That there is no compiler for a target."""
    missing = ", ".join(named(target.backend).missing_packages(target))
    problem = Problem(rule="no-compiler", level="note", message=f"not compiled: {missing}")
    subject = Subject(kernel="*", group="*")
    return Result(subject=subject, target=target, status=Status.NOT_COMPILED, problems=(problem,))


def _results(jobs: list[Job], processes: int) -> Iterator[Found | Step]:
    if processes == 1:
        for job in jobs:
            yield from checked(job)
        return
    running: dict[Connection, tuple[Job, BaseProcess]] = {}
    waiting = list(jobs)
    try:
        while waiting or running:
            while waiting and len(running) < processes:
                job = waiting.pop(0)
                connection, process = _started(job)
                running[connection] = job, process
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                with contextlib.suppress(EOFError, ConnectionError):
                    yield ready.recv()
                    continue
                job, process = running.pop(ready)
                process.join()
                if process.exitcode:
                    yield _died(job, process.exitcode)
    finally:
        for _, process in running.values():
            process.terminate()
        for _, process in running.values():
            process.join(_WAIT_S)


def _started(job: Job) -> tuple[Connection, BaseProcess]:
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe(duplex=False)
    process = spawning.Process(target=_send, args=(job, there), daemon=True)
    process.start()
    there.close()  # the process has its own: when that is closed, there is nothing more to come
    return here, process


def _send(job: Job, results: Connection) -> None:
    """In a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends this one
    with contextlib.suppress(BrokenPipeError):  # the parent is gone, and what it had asked for is not wanted
        for found in checked(job):
            results.send(found)


def _died(job: Job, status: int) -> Result:
    """A process that ended before its time: what it had told stands, and that there is more is told."""
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    text = f"the process that compiled for {job.target} ended ({how}) before everything was compiled"
    problem = Problem(rule="unfinished", level="error", message=text, hint="run it again: what was compiled is kept")
    subject = Subject(kernel="*", group="*")
    return Result(subject=subject, target=find_target(job.target), status=Status.NOT_COMPILED, problems=(problem,))
