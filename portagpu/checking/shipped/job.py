"""What one process does: kernels of a target are compiled by threads, which wait for compilers, while cases run dry."""

from __future__ import annotations

import math
import traceback
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from portagpu.backends.offline import OfflineTarget
from portagpu.backends.source import KernelSource
from portagpu.backends.survey import find_target
from portagpu.checking.examination import Rules, definition, examined, signature_text
from portagpu.checking.records import Note, Problem, Result, Status, Subject, hash_of
from portagpu.checking.shipped import programs
from portagpu.checking.shipped.collections import cases_of
from portagpu.checking.shipped.launches import Case, CaseEnded, Launched, launched
from portagpu.dispatch.offline import OfflineKernel, compiled_source
from portagpu.errors import LaunchConfigError, UnsupportedError
from portagpu.ir.types import ConstantType
from portagpu.package_stamp import FOLDER
from portagpu.source import Span, line_span
from portagpu.tuning.tunables.user_faults import blamed


@dataclass(frozen=True, slots=True)
class Job:
    """What one process does: groups of kernels for a target."""

    target: str
    groups: tuple[str, ...]
    rules: Rules
    threads: int


@dataclass(frozen=True, slots=True)
class Step:
    """How far a target is: calls that were made on the dry device, of how many."""

    target: str
    done: int
    total: int


Found = Result | Note


def checked(job: Job, cases: Iterable[Case] | None = None) -> Iterator[Found | Step]:
    """What comes of a job's kernels, or of those of other ``cases``; in the order in which it is known."""
    target = find_target(job.target)
    known = list(cases_of(job.groups, target) if cases is None else cases)
    numbers, made, told = count(1), 0, 0

    def done() -> None:
        nonlocal made
        made = next(numbers)

    with ThreadPoolExecutor(job.threads) as threads:
        waiting: list[Future[Result]] = []
        yield Step(target.name, 0, len(known))
        for one in launched(target, known, done=done):
            if isinstance(one, CaseEnded):
                yield _ended(one, target, job.rules)
            else:
                waiting.append(threads.submit(_result, one, target, job.rules))
            while waiting and (waiting[0].done() or len(waiting) > 4 * job.threads):
                yield waiting.pop(0).result()
            if made > told:
                told = made
                yield Step(target.name, made, len(known))
        for future in waiting:
            yield future.result()
        yield Step(target.name, len(known), len(known))


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
    subject = replace(subject, declared=_told_apart(subject))

    def compiled() -> OfflineKernel:
        return _compiled(source, one, target)

    return examined(compiled, subject, target, rules)


def _told_apart(subject: Subject) -> str:
    """What tells launches of a kernel apart: types, constants, blocks."""
    parts = [subject.signature or "", *(f"{name}={value:.30}" for name, value in subject.constants.items())]
    return " ".join([*parts, "x".join(map(str, subject.block or ()))]).rstrip()


def _compiled(source: KernelSource, one: Launched, target: OfflineTarget) -> OfflineKernel:
    threads = None if one.block is None else math.prod(one.block)
    options = one.overload.build_options
    return compiled_source(target, source, options, one.overload.signature, threads, name=source.python_name)


def _ended(one: CaseEnded, target: OfflineTarget, rules: Rules) -> Found:
    """A case that the target cannot run is a result; one that wanted results of what nobody computed is a note.

    Programs name their blocks; routines choose theirs, so a block that is too large is their fault.
    """
    error = one.error
    if not isinstance(error, LaunchConfigError | UnsupportedError):
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Note(
            target=target, group=one.group, case=one.case, message=f"ended early in the dry run: {text}{_line(error)}"
        )
    span = error.span or _place(error)
    text = f"{one.case}: {error.message}"
    is_ours = isinstance(error, LaunchConfigError) and one.group not in (programs.EXAMPLES, programs.TEXTBOOK)
    level = "error" if is_ours or rules.lacking_fails else "note"
    problem = Problem(rule="missing-feature", level=level, message=text, span=span, hint=error.hint)
    subject = Subject(kernel="", group=one.group, case=one.case, span=span)
    return Result(subject=subject, target=target, status=Status.UNSUPPORTED, problems=(problem,))


def _line(error: Exception) -> str:
    """The program's line that raised, for the end of a message; that of wrong Python is in its error."""
    if isinstance(error, SyntaxError | UnicodeError):
        return ""
    span = getattr(error, "span", None)
    place = (span.filename, span.line) if isinstance(span, Span) else blamed(error)
    return "" if place is None else f" ({Path(place[0]).name}:{place[1]})"


def _place(error: Exception) -> Span | None:
    """The line of a program, outside the package, that an error came from."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if not f.filename.startswith(FOLDER)]
    if not frames:
        return None
    return line_span(frames[-1].filename, frames[-1].lineno or 1)
