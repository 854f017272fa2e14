"""Source text of functions that are in no file: ``python -c``, ``exec``, notebooks.

Python forgets the text given to `exec`. From the import of this module on, texts that hold a ``def`` are kept as they
are compiled (the last `_KEPT`), and small syntax trees. A function's text is the one that compiles to its very code.
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
import threading
import weakref
from collections import deque
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

from portagpu.source import parsed

_KEPT, _LONGEST = 512, 2**20  # texts, characters of one
_MOST_TRIES = 8  # of a function's end: closing brackets of its head may stand below its ``def``
_FEW = 4  # statements of a syntax tree that is kept: programs that write programs make one function at a time
_texts: deque[tuple[str, str]] = deque(maxlen=_KEPT)  # (filename, text), the latest last
_trees: deque[ast.Module] = deque(maxlen=_KEPT)
_lock = threading.RLock()
_told: weakref.WeakKeyDictionary[CodeType, tuple[str, int]] = weakref.WeakKeyDictionary()  # text, its first line
_FUTURE = functools.reduce(operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))


def _remember(event: str, arguments: tuple[Any, ...]) -> None:
    if event != "compile":
        return
    text, filename = arguments
    if isinstance(text, ast.Module):
        if len(text.body) <= _FEW and any(isinstance(n, ast.FunctionDef) for n in text.body):
            with _lock:
                _trees.append(text)
        return
    if not isinstance(filename, str) or not filename.startswith("<") or not isinstance(text, str | bytes):
        return
    if len(text) > _LONGEST or (b"def " if isinstance(text, bytes) else "def ") not in text:  # type: ignore[operator]
        return
    try:
        decoded = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError:
        return
    with _lock:
        _texts.append((filename, decoded))


sys.addaudithook(_remember)


def remember(code: CodeType, text: str, first_line: int) -> None:
    """Keep the text of a function whose file may not be at hand: it came from another process."""
    _told[code] = text, first_line


def source_lines(function: FunctionType) -> tuple[list[str], int, ast.Module | None]:
    """A function's lines, the number of the first, and their tree if it is known.

    Raises `OSError` where they cannot be found.
    """
    code = function.__code__
    if code in _told:
        text, first = _told[code]
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
    for text in _candidates(code.co_filename):
        if _holds(text, code):
            return text.splitlines(keepends=True)
    return []


def _unparsed(code: CodeType) -> list[str] | None:
    """The text of a function that was compiled from a syntax tree."""
    with _lock:
        trees = [*reversed(_trees)]
    for tree in trees:
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _holds(tree, code):
                return ast.unparse(node).splitlines(keepends=True)
    return None


def _candidates(filename: str) -> list[str]:
    with _lock:
        found = [text for name, text in reversed(_texts) if name == filename]
    if filename == "<stdin>":
        found.append(_standard_input())
    if filename == "<string>" and "-c" in sys.orig_argv[:-1]:
        found.append(sys.orig_argv[sys.orig_argv.index("-c") + 1])
    cached = linecache.getlines(filename)
    return [*found, "".join(cached)] if cached else found


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


def _holds(text: str | ast.Module, code: CodeType) -> bool:
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
