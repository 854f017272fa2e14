"""Text of others (files, drivers' names) made safe to print: the one place for terminals and Markdown."""

from __future__ import annotations

import re
import unicodedata

_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, C1 too; bidi and invisible ones; surrogates; line ends
_MARKDOWN = re.compile(r"([\\`*_\[\]#|~<>&])")  # a link needs its square brackets: round ones may stay
_SCHEME = re.compile(r"(?i)\b(https?|ftp|mailto|javascript|data|www)([:.])")  # GitHub's Markdown links bare addresses
LIMIT = 2000  # characters of one text


def visible(text: str, limit: int = LIMIT) -> str:
    """One line without characters that steer a terminal or hide: they become backslash escapes."""
    cut = text if len(text) <= limit else text[: limit - 3] + "..."
    if cut.isprintable():  # as nearly all are; it is quick to tell
        return cut
    return "".join(_escaped(c) if unicodedata.category(c) in _UNSAFE else c for c in cut)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def for_lines(text: str) -> str:
    """As `visible`, for messages of several lines, which keep their line ends."""
    return "\n".join(visible(line, limit=10**6) for line in text.split("\n"))


def for_markdown(text: str) -> str:
    """One line for a cell of a Markdown table: no cell ends in it, and nothing in it is a link, a heading or HTML."""
    return _SCHEME.sub(_broken, _MARKDOWN.sub(r"\\\1", visible(text)))


def _broken(found: re.Match[str]) -> str:
    return f"{found[1]}&#{ord(found[2])};"


__all__ = ["LIMIT", "for_lines", "for_markdown", "visible"]
