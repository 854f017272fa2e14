"""Source text of functions that are in no file: ``python -c``, ``exec``, notebooks.

`portagpu.frontend.source.exec_texts` keeps the texts given to `exec`. A function's text is the one that compiles to its
code.
"""

from __future__ import annotations
import __future__

import ast
import functools
import inspect
import linecache
import operator
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType

from portagpu.frontend.source.exec_texts import Text, own_text, texts_of
from portagpu.source import parsed

_LONGEST = 2**20  # characters of a program that is read from standard input
_MOST_TRIES = 8  # of a function's end: closing brackets of its head may stand below its ``def``
_FUTURE = functools.reduce(operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))


def source_lines(function: FunctionType) -> tuple[list[str], int, ast.Module | None]:
    """A function's lines, the number of the first, and their tree if it is known.

    Raises `OSError` where they cannot be found.
    """
    code = function.__code__
    own = own_text(code)
    if own is not None:
        text, first = own
        return text.splitlines(keepends=True), first, None
    wraps = hasattr(function, "__wrapped__")  # functools.wraps: inspect would show the function around which it is
    try:
        everything, start = inspect.findsource(code if wraps else function)
        lines, tree = _block(everything[start:])
        return lines, start + 1, tree
    except (OSError, TypeError) as error:
        lines = whole_text(code)
        if lines:
            lines, tree = _block(lines[code.co_firstlineno - 1 :])
            return lines, code.co_firstlineno, tree
        found = _unparsed(code)
        if found is None:
            raise OSError(str(error)) from error
        return found, 1, None


def _block(lines: list[str]) -> tuple[list[str], ast.Module | None]:
    """The lines of the function that begins with the first one, and their tree.

    `inspect.getblock` reads token by token. A function ends before the first line that is indented no more than its
    ``def``, unless a string or bracket goes on there: then what is before it has no syntax.
    """
    base, started, tries = _indent(lines[0]), False, 0
    for end in range(1, len(lines) + 1):
        head = lines[end - 1].lstrip()
        started = started or head.startswith(("def ", "async "))
        goes_on = end < len(lines) and (not lines[end].strip() or _indent(lines[end]) > base)
        if goes_on or not started or (end < len(lines) and lines[end].lstrip().startswith("#")):
            continue
        last = end
        while not lines[last - 1].strip() or (lines[last - 1].lstrip()[0] == "#" and _indent(lines[last - 1]) <= base):
            last -= 1
        try:
            return lines[:last], parsed(textwrap.dedent("".join(lines[:last])))
        except SyntaxError:
            tries += 1
        if tries == _MOST_TRIES:
            break
    return inspect.getblock(lines), None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def whole_text(code: CodeType) -> list[str]:
    """Lines of the text, given to exec or the interpreter, that compiles to some code; empty where none is known."""
    for text in _candidates(code):
        if _holds(text, code):
            return text.splitlines(keepends=True)
    return []


def _unparsed(code: CodeType) -> list[str] | None:
    """The text of a function that was compiled from a syntax tree."""
    for tree in texts_of(code):
        if not isinstance(tree, ast.Module):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _holds(tree, code):
                return ast.unparse(node).splitlines(keepends=True)
    return None


def _candidates(code: CodeType) -> Iterator[str]:
    """Texts that may hold a function, the likeliest first."""
    yield from (text for text in texts_of(code) if isinstance(text, str))
    if code.co_filename == "<stdin>":
        yield _standard_input()
    if code.co_filename == "<string>" and "-c" in sys.orig_argv[:-1]:
        yield sys.orig_argv[sys.orig_argv.index("-c") + 1]
    yield "".join(linecache.getlines(code.co_filename))


@functools.cache
def _standard_input() -> str:
    """The program of ``python < file``; empty for a pipe, which has been read and tells nothing any more."""
    try:
        with Path("/dev/stdin").open(
            encoding="utf-8"
        ) as opened:  # anew: the position of Python's own stays where it is
            return opened.read(_LONGEST) if opened.seekable() else ""
    except (OSError, ValueError):
        return ""


def _holds(text: Text, code: CodeType) -> bool:
    """Whether a text compiles to some code that equals a function's."""
    try:
        module = compile(text, code.co_filename, "exec", flags=code.co_flags & _FUTURE, dont_inherit=True)
    except (SyntaxError, ValueError, TypeError):
        return False
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current == code:
            return True
        waiting += [c for c in current.co_consts if isinstance(c, CodeType)]
    return False
