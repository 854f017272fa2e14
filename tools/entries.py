"""Entries of functions and classes for the pages of the API: calls, meanings, and links between them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from enum import Enum
from types import UnionType
from typing import Any

from portagpu import blas, cuda, errors, tuning
from tools.docstrings import declaration, first_lines, markdown, signature

NOTE = (
    "This page is made from the package's docstrings: `python -m tools.documents` writes it, and a test fails when it\n"
    "is stale. `help({0})` shows the same in Python.\n"
)
PAGES: dict[str, Sequence[str]] = {
    "api-matmul.md": ("matmul", "grouped_matmul", *blas.__all__),
    "api-tuning.md": tuning.__all__,
    "api-errors.md": errors.__all__,
    "reference.md": [n for n in cuda.__all__ if inspect.isfunction(getattr(cuda, n))],
}
_PREFIXES = {
    "api-matmul.md": ("portagpu.", "portagpu.blas."),
    "api-tuning.md": ("tuning.",),
    "reference.md": ("cuda.",),
}
_WORDS = frozenset(
    {"tune", "best", "search", "replay", "close", "event", "stream", "mapped", "pinned", "jit", "detect"}
)


@functools.cache
def addresses() -> dict[str, str]:
    """Names with an entry of their own, bare and as programs write them, and where it is."""
    found: dict[str, str] = {}
    for page, names in PAGES.items():
        for name in names:
            address = f"{page}#{name.lower()}"
            found.setdefault(name, address)
            found |= {prefix + name: address for prefix in _PREFIXES.get(page, ())}
    return found


def address(page: str, own: str, name: str) -> str | None:
    """Where a name that the entry of ``own`` on a page mentions is described; None where that is here or nowhere."""
    target = addresses().get(name)
    if target is None or name == own or (name in _WORDS and not target.startswith(page)):
        return None
    return target.removeprefix(page)


def documented(value: Any) -> str:
    """A docstring of the object itself."""
    return inspect.cleandoc((value.__doc__ if inspect.isclass(value) else inspect.getdoc(value)) or "")


def entry(page: str, prefix: str, name: str, value: Any) -> Iterator[str]:
    """The parts of one function's or class's entry."""
    yield f"### {name}\n"
    if isinstance(value, UnionType):
        yield f"One of {', '.join(f'[`{c.__name__}`](#{c.__name__.lower()})' for c in value.__args__)}.\n"
        return
    if inspect.isclass(value) and issubclass(value, Enum):
        yield f"{first_lines(value)} Values: {', '.join(f'`{name}.{member.name}`' for member in value)}.\n"
        return
    if not getattr(value, "_is_protocol", False):
        yield f"```py\n{declaration(prefix + name, value)}\n```\n"
    yield markdown(documented(value), functools.partial(address, page, name))
    rows = [f"- {label}: {text}" for label, text in _members(value)] if inspect.isclass(value) else []
    if rows:
        yield "Methods and properties:\n"
        yield "\n".join(rows) + "\n"


def _members(cls: type) -> Iterator[tuple[str, str]]:
    """Documented public methods and properties that the class itself has."""
    for name, value in vars(cls).items():
        if name.startswith("_"):
            continue
        value = value.__func__ if isinstance(value, classmethod | staticmethod) else value
        if isinstance(value, property) and inspect.getdoc(value):
            yield f"`.{name}`", first_lines(value)
        elif inspect.isfunction(value) and inspect.getdoc(value):
            shown = signature(value).replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
            yield f"`.{name}{shown}`", first_lines(value)


def joined(parts: Sequence[str]) -> str:
    """Parts of a page, with an empty line between them."""
    return "\n".join(part.rstrip("\n") + "\n" for part in parts if part.strip())
