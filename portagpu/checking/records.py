"""Results of a check, and the file that they are written to: JSON that later versions keep reading.

::

    {
      "format": "portagpu check",         what the file is
      "version": 1,                       of this shape; fields may be added within a version, none is taken away
      "portagpu": "0.1.0",                which package made it
      "made": "2026-11-26T23:10:00+00:00",
      "require": ["no-spills"],           conditions that decided about "ok", as they were written
      "targets": [                        that were asked for
        {"name": "gfx1100", "title": "the product's name", "gpu": true,
         "compiler": {"name": "clang", "version": "19.1.7"},      null where it is not installed
         "missing": null}],                                       else what to install, or that it is too old
      "results": [                        one for each kernel, specialisation and target
        {"target": "gfx1100", "title": "the product's name",
         "compiler": {"name": "clang", "version": "19.1.7"},
         "group": "gemm",                 "kernel": the user's own; "gemm", "blas", "examples", "textbook": shipped ones
         "case": "matmul float16 4096 x 4096 x 4096",             the call that launches it; "" for the user's own
         "kernel": "tile_product",        the Python function
         "file": "kernels.py", "line": 46,                        its ``def``; null where it is not known
         "signature": "(float32[:, ::1], int32)",                 null where it could not be told
         "constants": {"n": "300"},       compile-time parameters, as Python writes them
         "block": [256, 1, 1],            null where it is not known
         "source_hash": "sha256 of the generated program",        null where there is none
         "status": "compiled",            see `Status`
         "ok": true,                      whether it passes: compiled, no spills on a GPU, requirements met; of
                                          shipped kernels also that the target lacks what one uses
         "figures": {...},                null unless compiled; see `figures_data`
         "problems": [{"rule": "spill", "level": "error", "message": "...", "hint": null,
                       "file": "kernels.py", "line": 53, "column": 13, "end_column": 17,
                       "related": [{"file": "kernels.py", "line": 50}]}],
         "remark": null,                  why a figure is missing
         "suggestion": null}],            see `portagpu.checking.advice`
      "notes": [                          calls of shipped routines that ended before they launched everything
        {"target": "gfx1100", "group": "examples", "case": "examples/scan.py", "message": "..."}],
      "complete": true,                   false while the check goes on, and where it was ended
      "summary": {"compiled": 1, "unsupported": 0, "failed": 0, "not compiled": 0}      failed: all that are not "ok"
    }

Files are absolute, or below the folder that the check ran in, with "/" between folders; columns count from 1, and the
end column is one beyond the last character. Text is data: names and compilers' messages may be anything, of 2000
characters at most.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any

from portagpu.backends.offline import CompilerVersion, OfflineFigures, OfflineTarget
from portagpu.backends.registry import named
from portagpu.source import Span
from portagpu.version import __version__

FORMAT = "portagpu check"
VERSION = 1
_LONGEST = 2000  # characters of a text
Data = dict[str, Any]


class Status(Enum):
    """How far a kernel came."""

    COMPILED = "compiled"
    UNSUPPORTED = "unsupported"  # the target lacks what the kernel uses
    REFUSED = "refused"  # the kernel's text is at fault, or the compiler refused the program
    NOT_COMPILED = "not compiled"  # there is no compiler


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is wrong, and where. ``rule``: a key of `portagpu.checking.rules.RULES`; ``level``: error, warning, note.

    ``related``: further places that it concerns.
    """

    rule: str
    level: str
    message: str
    span: Span | None = None
    hint: str | None = None
    related: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is checked: a kernel as a specialisation. ``span``: its ``def``; ``source_hash``: of the program.

    ``declared``: the one of the kernel's declared signatures that it is, as it was written.
    """

    kernel: str
    group: str = "kernel"
    case: str = ""
    span: Span | None = None
    signature: str | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    block: tuple[int, ...] | None = None
    source_hash: str | None = None
    declared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a subject on a target; see the module."""

    subject: Subject
    target: OfflineTarget
    status: Status
    figures: OfflineFigures | None = None
    problems: tuple[Problem, ...] = ()
    remark: str | None = None
    suggestion: Data | None = None

    @property
    def ok(self) -> bool:
        """Whether no problem is an error, and it compiled, or that the target lacks something was expected."""
        if any(problem.level == "error" for problem in self.problems):
            return False
        return self.status in (Status.COMPILED, Status.UNSUPPORTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What could not be looked at: a call that ended early, since nothing runs where there is no device."""

    target: OfflineTarget
    group: str
    case: str
    message: str


def hash_of(source: str) -> str:
    """The digest that stands for a generated program."""
    return hashlib.sha256(source.encode()).hexdigest()


def relative(filename: str) -> str:
    """A file as reports name it: from the present folder where it is below that."""
    try:
        return Path(filename).resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return Path(filename).as_posix()


def figures_data(figures: OfflineFigures) -> Data:
    """Figures as JSON: the fields of `OfflineFigures`, ``spills``, and ``mix`` with what follows from it.

    Bytes of loads and stores are keys, which JSON has as text.
    """
    data: Data = {**asdict(figures), "spills": figures.spills}
    mix = figures.mix
    if mix is not None:
        data["mix"] = {
            **asdict(mix),
            "loads": {str(size): times for size, times in mix.loads.items()},
            "stores": {str(size): times for size, times in mix.stores.items()},
            "matrix_unit_used": mix.matrix_unit_used,
            "widest_load_bytes": mix.widest_load_bytes,
            "widest_store_bytes": mix.widest_store_bytes,
        }
    return data


def _bounded(text: str | None) -> str | None:
    """A text of a length that readers bear."""
    return text if text is None or len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def _version(version: CompilerVersion | None) -> Data | None:
    return None if version is None else {"name": version.name, "version": version.version}


def _place(span: Span | None) -> Data:
    if span is None:
        return {"file": None, "line": None}
    return {"file": relative(span.filename), "line": span.line}


def _problem(problem: Problem) -> Data:
    span = problem.span
    columns: Data = {"column": None, "end_column": None}
    if span is not None:
        columns = {"column": span.column + 1, "end_column": max(span.end_column, span.column + 1) + 1}
    return {
        "rule": problem.rule,
        "level": problem.level,
        "message": _bounded(problem.message),
        "hint": _bounded(problem.hint),
        **_place(span),
        **columns,
        "related": [_place(one) for one in problem.related],
    }


def target_data(target: OfflineTarget) -> Data:
    """A target, and which compiler there is for it."""
    backend = named(target.backend)
    missing = backend.missing_packages(target)
    return {
        "name": target.name,
        "title": target.title,
        "gpu": target.is_gpu,
        "compiler": _version(backend.compiler_version(target)),
        "missing": " ".join(missing) or None,
    }


def result_data(result: Result, compiler: Data | None) -> Data:
    """A result as JSON."""
    subject = result.subject
    return {
        "target": result.target.name,
        "title": result.target.title,
        "compiler": compiler,
        "group": subject.group,
        "case": subject.case,
        "kernel": subject.kernel,
        **_place(subject.span),
        "signature": _bounded(subject.signature),
        "constants": {name: _bounded(text) for name, text in subject.constants.items()},
        "block": None if subject.block is None else list(subject.block),
        "source_hash": subject.source_hash,
        "status": result.status.value,
        "ok": result.ok,
        "figures": None if result.figures is None else figures_data(result.figures),
        "problems": [_problem(problem) for problem in result.problems],
        "remark": result.remark,
        "suggestion": result.suggestion,
    }


def note_data(note: Note) -> Data:
    """A note as JSON."""
    return {"target": note.target.name, "group": note.group, "case": note.case, "message": note.message}


def report_data(
    results: Iterable[Result],
    targets: Iterable[OfflineTarget],
    require: Iterable[str],
    notes: Iterable[Note] = (),
    *,
    complete: bool = True,
) -> Data:
    """A whole file's data."""
    known = list(results)
    described = [target_data(target) for target in targets]
    compilers = {one["name"]: one["compiler"] for one in described}
    absent = sum(result.status is Status.NOT_COMPILED for result in known)
    return {
        "format": FORMAT,
        "version": VERSION,
        "portagpu": __version__,
        "made": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "require": list(require),
        "targets": described,
        "results": [result_data(result, compilers.get(result.target.name)) for result in known],
        "notes": [note_data(note) for note in notes],
        "complete": complete,
        "summary": {
            "compiled": sum(result.status is Status.COMPILED for result in known),
            "unsupported": sum(result.status is Status.UNSUPPORTED for result in known),
            "failed": sum(not result.ok for result in known) - absent,
            "not compiled": absent,
        },
    }


def as_json(data: Data) -> str:
    """The text of a file."""
    return json.dumps(data, indent=2, ensure_ascii=True, allow_nan=False) + "\n"
