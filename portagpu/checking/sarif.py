"""Results as SARIF 2.1.0, which services for continuous integration show at the lines of the Python text.

What has no line, such as that a compiler is missing for kernels of the package, is a notification of the tool: services
refuse files in which a result has no place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from portagpu.checking.records import Problem, Result
from portagpu.checking.rules import RULES
from portagpu.source import Span
from portagpu.version import __version__

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_ROOT = "SRCROOT"
_Data = dict[str, Any]


def as_sarif(results: Iterable[Result], *, complete: bool = True) -> str:
    """The text of a file: a result for each problem, one for equal ones of several targets."""
    grouped: dict[tuple[Any, ...], tuple[Problem, list[Result]]] = {}
    for result in results:
        for problem in result.problems:
            span = problem.span
            place = None if span is None else (span.filename, span.line, span.column)
            key = (problem.rule, problem.level, place, problem.message, result.subject.kernel)
            grouped.setdefault(key, (problem, []))[1].append(result)
    names = list(RULES)
    placed = [(problem, of) for problem, of in grouped.values() if problem.span is not None]
    invocation: _Data = {"executionSuccessful": complete}
    notifications = [_notification(problem, of) for problem, of in grouped.values() if problem.span is None]
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    run = {
        "tool": {
            "driver": {
                "name": "portagpu check",
                "semanticVersion": __version__,
                "rules": [
                    {"id": key, "name": rule.name, "shortDescription": {"text": rule.text}}
                    for key, rule in RULES.items()
                ],
            }
        },
        "originalUriBaseIds": {_ROOT: {"uri": Path.cwd().as_uri().rstrip("/") + "/"}},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": [_result(problem, of, names.index(problem.rule)) for problem, of in placed],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _text(problem: Problem, targets: list[str]) -> str:
    """The message, with the targets that it does not name."""
    text = problem.message if not problem.hint else f"{problem.message}\n{problem.hint}"
    unnamed = [name for name in targets if name not in text]
    return f"{', '.join(unnamed)}: {text}" if unnamed else text


def _targets(results: list[Result]) -> list[str]:
    return list(dict.fromkeys(result.target.name for result in results))


def _notification(problem: Problem, results: list[Result]) -> _Data:
    return {
        "descriptor": {"id": problem.rule},
        "level": problem.level,
        "message": {"text": _text(problem, _targets(results))},
    }


def _result(problem: Problem, results: list[Result], index: int) -> _Data:
    targets = _targets(results)
    text = _text(problem, targets)
    subject = results[0].subject
    data: _Data = {
        "ruleId": problem.rule,
        "ruleIndex": index,
        "level": problem.level,
        "message": {"text": text},
        "properties": {"targets": targets, "kernel": subject.kernel, "group": subject.group},
    }
    if problem.span is not None:
        data["locations"] = [_location(problem.span, subject.kernel)]
    if problem.related:
        data["relatedLocations"] = [
            {**_location(span), "id": number, "message": {"text": "here, too"}}
            for number, span in enumerate(problem.related)
        ]
    return data


def _location(span: Span, kernel: str | None = None) -> _Data:
    region: _Data = {"startLine": max(span.line, 1)}
    if span.end_column > span.column >= 0:
        region |= {"startColumn": span.column + 1, "endColumn": span.end_column + 1}
    if span.text:
        region["snippet"] = {"text": span.text}
    found: _Data = {"physicalLocation": {"artifactLocation": _artifact(span.filename), "region": region}}
    if kernel is not None:
        found["logicalLocations"] = [{"name": kernel, "kind": "function"}]
    return found


def _artifact(filename: str) -> _Data:
    """A file below the present folder by its way from there, another one by its whole name."""
    try:
        path = Path(filename).resolve()
        if path.is_relative_to(Path.cwd()):
            way = path.relative_to(Path.cwd()).as_posix()
            return {"uri": Path("/", way).as_uri().removeprefix("file:///"), "uriBaseId": _ROOT}
        return {"uri": path.as_uri()}
    except (OSError, ValueError):
        return {"uri": "unknown"}  # a name that no file has, such as one of a notebook's cell
