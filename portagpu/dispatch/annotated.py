"""A kernel's text with the types that its variables have."""

from __future__ import annotations

from portagpu.dispatch.overload import Key
from portagpu.frontend.source.capture import FunctionSource
from portagpu.ir.names import is_own
from portagpu.ir.nodes import Assign, For
from portagpu.ir.program import Program
from portagpu.ir.walk import all_statements


def annotated(source: FunctionSource, key: Key, program: Program) -> list[str]:
    """The lines of a function, each followed by the variables that it sets and their types."""
    found: dict[int, dict[str, str]] = {}
    for statement in all_statements(program.kernel.body):
        target = statement.target if isinstance(statement, Assign) else None
        if isinstance(statement, For):
            target = statement.counter
        if target is not None and not is_own(target.name):
            found.setdefault(statement.span.line, {})[target.name] = str(target.type)
    head = source.span(source.tree).line
    for name, kind in zip(source.parameters, key, strict=False):
        found.setdefault(head, {}).setdefault(name, str(kind))
    lines = []
    for number, text in enumerate(source.lines, source.first_line):
        lines.append(f"{number:5}  {text}")
        indent = " " * (len(text) - len(text.lstrip()))
        lines += [f"       {indent}# {name}: {kind}" for name, kind in found.get(number, {}).items()]
    return lines
