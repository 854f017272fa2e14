"""Source spans and caret excerpts of the user's Python text."""

from __future__ import annotations

import ast
import linecache
import threading
from dataclasses import dataclass
from types import CodeType


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A range of one line of a user's file; ``line`` is 1-based, columns are 0-based character offsets."""

    filename: str
    line: int
    column: int
    end_column: int
    text: str

    def excerpt(self) -> str:
        """Return the source line with carets under the span, preceded by ``file:line``."""
        width = max(1, self.end_column - self.column)
        pad = "".join(ch if ch == "\t" else " " for ch in self.text[: self.column])
        return f"{self.filename}:{self.line}\n    {self.text}\n    {pad}{'^' * width}"


def line_span(filename: str, line: int) -> Span:
    """A whole line of a file, from its first character that is no blank."""
    text = linecache.getline(filename, line).rstrip("\n")
    return Span(filename=filename, line=line, column=len(text) - len(text.lstrip()), end_column=len(text), text=text)


def span_of(code: CodeType, instruction: int) -> Span:
    """The line of an instruction, as frames count them (``f_lasti``)."""
    lines = (line for first, end, line in code.co_lines() if first <= instruction < end and line is not None)
    return line_span(code.co_filename, next(lines, code.co_firstlineno))


_parsing = threading.RLock()


def parsed(text: str) -> ast.Module:
    """The syntax tree of statements. Raises `SyntaxError`."""
    with _parsing:  # threads that parse at once disturb each other's count of nested nodes (Python 3.11: SystemError)
        return ast.parse(text)


def parsed_expression(text: str) -> ast.expr:
    """The syntax tree of one expression. Raises `SyntaxError`."""
    with _parsing:
        return ast.parse(text, mode="eval").body
