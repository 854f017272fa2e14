"""Docstrings as Markdown, signatures as programs write them, and tables: what every made page is put together from."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

_FIELD = re.compile(r"``[^`]+``(?:(?:,| and) ``[^`]+``)*:.*")
_WIDTH = 100  # of a signature in one line

Link = Callable[[str], "str | None"]  # the address of a name's own entry, if it has one


class Named:
    """A default whose repr is the name that programs write."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


def table(header: str, rows: Sequence[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    columns = header.split(" | ")
    lines = [f"| {header} |", "|" + " --- |" * len(columns), *(f"| {' | '.join(row)} |" for row in rows)]
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Text for a cell of a table."""
    return text.replace("|", "\\|")


def parameters(value: Any, *, annotated: bool = False) -> inspect.Signature | None:
    """The signature without annotations, or without those that say nothing; None where there is none."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return None
    shown = []
    for parameter in found.parameters.values():
        if parameter.name.startswith("_"):
            continue
        default = parameter.default
        if isinstance(default, type) and default is not inspect.Parameter.empty:
            default = Named(f"np.{default.__name__}" if issubclass(default, np.generic) else default.__name__)
        elif default is not inspect.Parameter.empty and repr(default).startswith("<"):  # its address differs each time
            default = Named("...")
        kept = annotated and str(parameter.annotation) not in ("Any", "typing.Any")
        annotation = Named(str(parameter.annotation)) if kept else inspect.Parameter.empty
        if parameter.annotation is inspect.Parameter.empty:
            annotation = inspect.Parameter.empty
        shown.append(parameter.replace(annotation=annotation, default=default))
    return inspect.Signature(shown)


def signature(value: Any) -> str:
    """Parameters without annotations, in one line."""
    found = parameters(value)
    return "" if found is None else str(found)


def declaration(name: str, value: Any) -> str:
    """How a function or class is called, with types, in as many lines as it needs."""
    found = parameters(value, annotated=True)
    if found is None:
        return name
    line = f"{name}{found}"
    if len(line) <= _WIDTH:
        return line
    starred = False
    lines = []
    for parameter in found.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not starred:
            lines.append("    *,")
            starred = True
        starred |= parameter.kind is inspect.Parameter.VAR_POSITIONAL
        lines.append(f"    {parameter},")
    return "\n".join([f"{name}(", *lines, ")"])


def first_lines(value: Any) -> str:
    """A docstring as one paragraph of Markdown, for a list or a cell."""
    text = inspect.getdoc(value) or ""
    prose = text.partition("\n::\n")[0].rstrip(": \n")
    return escaped(" ".join(prose.split())).replace("``", "`")


def markdown(text: str, link: Link | None = None) -> str:
    """A docstring's text as Markdown: paragraphs, lists of fields, tables and blocks of code."""
    found: list[str] = []
    code = False
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        lines = block.split("\n")
        if code and lines[0].startswith(" "):
            shown = inspect.cleandoc("\n" + block) + "\n```"
            if found and found[-1].startswith("```"):  # an empty line inside of the code
                found[-1] = found[-1].removesuffix("```") + "\n" + shown
            else:
                found.append("```text\n" + shown)
            continue
        code = block.rstrip().endswith("::")
        if code:
            block = block.rstrip()[:-1] if block.strip() != "::" else ""
            lines = block.split("\n")
        if lines[0].startswith("===") and len(lines) > 3:
            found.append(_table(lines, link))
        elif block:
            found.append("\n".join(_inline(line, link) for line in _paragraphs(lines)))
    return "\n\n".join(found) + "\n"


def _paragraphs(lines: Sequence[str]) -> Iterator[str]:
    """Lines that are one paragraph, or a list whose items begin with fields or dashes."""
    ended = [True, *(line.endswith(".") for line in lines)]
    starts = [
        line.startswith("- ") or bool(e and _FIELD.fullmatch(line)) for e, line in zip(ended, lines, strict=False)
    ]
    listed = starts[0] and (sum(starts) > 1 or lines[0].startswith("- "))
    items: list[str] = []
    for line, start in zip(lines, starts, strict=True):
        if not items or (listed and start):
            items.append(line.strip().removeprefix("- "))
        else:
            items[-1] += " " + line.strip()
    if not listed:
        yield from items
        return
    for item in items:
        yield from (f"- {part}" for part in re.split(r"(?<=\.) (?=``\w+``: )", item))


def _inline(text: str, link: Link | None) -> str:
    """Names in single quotes become links where they have an entry."""

    def named(found: re.Match[str]) -> str:
        target = link(found[1]) if link else None
        return f"[`{found[1]}`]({target})" if target else f"`{found[1]}`"

    parts = re.split(r"(``[^`]*``)", text)
    text = "".join(p.replace("``", "`") if p.startswith("``") else re.sub(r"`([^`]+)`", named, p) for p in parts)
    return re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", text)


def _table(lines: Sequence[str], link: Link | None) -> str:
    """A simple table of reStructuredText."""
    ends = [found.span() for found in re.finditer(r"=+", lines[0])]
    starts = [start for start, _ in ends]

    def cells(line: str) -> tuple[str, ...]:
        pieces = (line[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True))
        return tuple(_inline(escaped(piece), link) for piece in pieces)

    rows = [cells(line) for line in lines[1:] if not line.startswith("===")]
    return table(" | ".join(rows[0]), rows[1:]).rstrip("\n")
