"""Files of Linux that tell a number or a word; any may be missing, forbidden, garbage, or gone a moment later."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_MOST = 1 << 16  # bytes: what sysfs shows has a page
_NUMBER = re.compile(r"-?[0-9]{1,20}(\.[0-9]{1,20})?")


def content(path: Path) -> bytes | None:
    """The beginning of a file; None where it cannot be read."""
    try:
        if not path.is_file():  # a pipe would wait for a writer
            return None
        with path.open("rb") as file:
            return file.read(_MOST)
    except (OSError, ValueError):
        return None


def text(path: Path) -> str | None:
    """The text of a file without space around it; None where it cannot be read."""
    found = content(path)
    return None if found is None else found.decode("utf-8", "replace").strip()


def number(path: Path) -> float | None:
    """The number in a file; None where there is none."""
    found = text(path)
    return float(found) if found is not None and _NUMBER.fullmatch(found) else None


def matching(folder: Path, pattern: str) -> tuple[Path, ...]:
    """What is in a folder by a pattern, in order of the numbers in the names; nothing where it cannot be listed."""
    try:
        found = tuple(folder.glob(pattern))
    except (OSError, ValueError):
        return ()
    return tuple(sorted(found, key=lambda path: [int(part) for part in re.findall("[0-9]+", str(path))]))


def first(folders: Iterable[Path], names: Iterable[str], least: float, most: float) -> float | None:
    """The first number in a range that a file of one of these names has, in one of these folders."""
    wanted = tuple(names)
    for folder in folders:
        for name in wanted:
            value = number(folder / name)
            if value is not None and least <= value <= most:
                return value
    return None


__all__ = ["content", "first", "matching", "number", "text"]
