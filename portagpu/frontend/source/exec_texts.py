"""Texts given to `exec`, `eval` and `compile`, kept as long as a function made from them lives.

Python forgets them. An audit hook, set when this module is imported, sees each text as it is compiled and each code
object as it is executed. A text belongs to the code objects of the functions inside: forgotten with the last.
A text that is compiled and not executed yet belongs to nobody: the latest are kept, up to `_MOST_WAITING` characters.

Code objects compare by value, so they are looked up by identity: equal functions have texts of their own.
"""

from __future__ import annotations

import ast
import itertools
import sys
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any, TypeAlias

Text: TypeAlias = "str | ast.Module"

_MOST_WAITING = 2**24  # characters of texts that are not executed yet
_TREE_SIZE = 2**12  # characters that a statement of a waiting syntax tree counts as
_OVERHEAD = 2**8  # characters that any text counts as, beside its own
_FEW = 4  # statements of a syntax tree that is kept: programs that write programs make one function at a time


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A text that was compiled and not executed yet."""

    filename: str | None  # unknown for syntax trees
    text: Text
    names: frozenset[str]  # functions and classes of a syntax tree
    size: int


class _LastCompiled(threading.local):
    """The place of this thread's last compilation: `exec` of a text executes it from the same instruction."""

    site: tuple[int, int] | None = None
    number: int = 0


_waiting: dict[int, _Waiting] = {}  # by number, the latest last; changed under the lock
_texts: dict[int, tuple[weakref.ref[CodeType], tuple[Text, ...]]] = {}  # by identity of the code
_own: dict[int, tuple[weakref.ref[CodeType], tuple[str, int]]] = {}  # text of one function, its first line
_size = 0
_numbers = itertools.count(1)
_last = _LastCompiled()
_lock = threading.RLock()


def keep_own_text(code: CodeType, text: str, first_line: int) -> None:
    """Keep the text of a function whose file may not be at hand: it came from another process."""
    _keep(_own, code, (text, first_line))


def own_text(code: CodeType) -> tuple[str, int] | None:
    """The text of a function given to `keep_own_text`, and its first line."""
    entry = _own.get(id(code))
    return None if entry is None else entry[1]


def texts_of(code: CodeType) -> Iterator[Text]:
    """Texts that may hold a function, the likeliest first: its own, those not executed yet, those of other functions.

    The last are for copies of a code object (``function.__code__.replace``), which nothing links to a text.
    """
    with _lock:
        linked = _texts.get(id(code))
        waiting = [w.text for w in reversed(_waiting.values()) if _may_hold(w, code)]
        others = [(ref(), texts) for ref, texts in list(_texts.values())]
    seen: set[int] = set()
    copies = [t for other, texts in others if other is not None and _alike(other, code) for t in texts]
    for text in itertools.chain(() if linked is None else linked[1], waiting, copies):
        if id(text) not in seen:
            seen.add(id(text))
            yield text


def _observe(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook."""
    if event == "compile":
        _compiled(*arguments)
    elif event == "exec" and isinstance(arguments[0], CodeType):
        _executed(arguments[0])


def _compiled(text: Any, filename: Any) -> None:
    if isinstance(text, ast.Module):
        if len(text.body) <= _FEW and any(isinstance(n, ast.FunctionDef) for n in text.body):
            definitions = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
            names = frozenset(n.name for n in ast.walk(text) if isinstance(n, definitions))
            _wait(_Waiting(None, text, names, _TREE_SIZE * len(text.body)))
        return
    if not isinstance(filename, str) or not filename.startswith("<") or not isinstance(text, str | bytes):
        return
    if filename == "<unknown>":  # for `ast.parse`
        return
    try:
        decoded = text if isinstance(text, str) else text.decode()
    except UnicodeDecodeError:
        return
    if "def " in decoded or "lambda" in decoded:
        _wait(_Waiting(filename, decoded, frozenset(), len(decoded) + _OVERHEAD))


def _site() -> tuple[int, int] | None:
    """The frame and instruction that the audit hook was called from; None where no Python code runs."""
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_globals is globals():
        frame = frame.f_back
    return None if frame is None else (id(frame), frame.f_lasti)


def _wait(entry: _Waiting) -> None:
    global _size
    number = next(_numbers)
    _last.site, _last.number = _site(), number
    with _lock:
        _waiting[number] = entry
        _size += entry.size
        while _size > _MOST_WAITING and len(_waiting) > 1:
            _forget(next(iter(_waiting)))


def _forget(number: int) -> None:
    global _size
    _size -= _waiting.pop(number).size


def _executed(module: CodeType) -> None:
    if not _waiting:
        return
    functions = _functions(module)
    with _lock:
        if all(id(code) in _texts for code in functions):
            return
        if _last.number in _waiting and _last.site == _site() and _may_hold(_waiting[_last.number], module):
            numbers = [_last.number]
        else:
            numbers = [n for n, w in reversed(_waiting.items()) if _may_hold(w, module)]
        texts = tuple(_waiting[n].text for n in numbers)
        for code in functions if texts else ():
            _keep(_texts, code, texts)
        if len(numbers) == 1:
            _forget(numbers[0])


def _may_hold(entry: _Waiting, code: CodeType) -> bool:
    """Whether a text may be the one of a code object, as far as names tell; `compile` tells for certain."""
    if entry.filename is not None and entry.filename != code.co_filename:
        return False
    names = {c.co_name for c in (code, *_functions(code)) if c.co_name.isascii() and not c.co_name.startswith("<")}
    return all(name in entry.text for name in names) if isinstance(entry.text, str) else names <= entry.names


def _functions(module: CodeType) -> list[CodeType]:
    """The code objects inside one."""
    inside: list[CodeType] = []
    pending = [module]
    while pending:
        constants = [c for c in pending.pop().co_consts if isinstance(c, CodeType)]
        inside += constants
        pending += constants
    return inside


def _alike(other: CodeType, code: CodeType) -> bool:
    return (other.co_name, other.co_filename, other.co_firstlineno) == (
        code.co_name,
        code.co_filename,
        code.co_firstlineno,
    )


def _keep(table: dict[int, tuple[weakref.ref[CodeType], Any]], code: CodeType, value: Any) -> None:
    key = id(code)

    def forget(_: Any, table: Any = table, key: int = key) -> None:
        table.pop(key, None)

    table[key] = weakref.ref(code, forget), value


sys.addaudithook(_observe)
