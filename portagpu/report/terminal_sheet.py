"""Tables that a terminal of any width shows: names wrap where they may, numbers never do.

Columns that have no room stand in further tables below, or are left out, which is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from portagpu.escaping import visible

_STYLE: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), "pad_edge": False, "title_justify": "left"}
_LEAST, _MOST = 20, 64  # cells of the column of names
_BETWEEN = 2  # cells between columns
_EDGE = 2  # what a table has at its left and right
_BREAKS = re.compile(r"(?<=[/_, ])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """A column beside the names. ``needed``: it is never left out; ``left``: its texts begin below each other."""

    heading: str
    texts: Sequence[str]
    left: bool = False
    needed: bool = True

    @property
    def width(self) -> int:
        """Of its longest text, and what is between columns."""
        return max((cell_len(visible(text)) for text in (self.heading, *self.texts)), default=0) + _BETWEEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The first column. ``groups``: what several lines have in common, or "", for each line; ``styles``: Rich's."""

    heading: str
    texts: Sequence[str]
    groups: Sequence[str] = ()
    styles: Sequence[str] = ()

    @property
    def order(self) -> list[int]:
        """The lines, those of a group together, else as they come."""
        if not self.groups:
            return list(range(len(self.texts)))
        first = {group: number for number, group in reversed([*enumerate(self.groups)])}
        return sorted(range(len(self.texts)), key=lambda number: first[self.groups[number]])

    def width(self, room: int) -> int:
        """Of the column, where there is so much room."""
        longest = max((cell_len(visible(text)) for text in (self.heading, *self.texts, *self.groups)), default=0)
        return max(min(longest, room, _MOST), min(longest, _LEAST))


def draw(console: Console, title: str, names: Names, series: Sequence[Series]) -> None:
    """One table; columns that are not needed are left out where there is no room, the last ones first."""
    kept, room = [*series], console.width - _EDGE
    dropped: list[str] = []
    while _LEAST + sum(one.width for one in kept) > room:
        free = [one for one in kept if not one.needed]
        if not free:
            break
        kept.remove(free[-1])
        dropped.append(free[-1].heading)
    console.print(_table(title, names, kept, room))
    if dropped:
        console.print(plain(f"no room for: {', '.join(dropped)}; a wider terminal or -o FILE.md has it"))


def draw_folded(console: Console, title: str, names: Names, series: Sequence[Series]) -> None:
    """As many tables as it takes to show all columns, each with the names."""
    parts = list(_folds(series, console.width - _EDGE - names.width(console.width // 3)))
    for number, part in enumerate(parts, 1):
        of = f"{title} ({number} of {len(parts)})" if len(parts) > 1 else title
        console.print(_table(of, names, part, console.width - _EDGE))


def _folds(series: Sequence[Series], room: int) -> Iterator[list[Series]]:
    part: list[Series] = []
    for one in series:
        if part and sum(other.width for other in part) + one.width > room:
            yield part
            part = []
        part.append(one)
    yield part


def _table(title: str, names: Names, series: Sequence[Series], room: int) -> Table:
    width = names.width(room - sum(one.width for one in series))
    table = Table(title=plain(title) if title else None, **_STYLE)
    table.add_column(names.heading, no_wrap=True)
    for one in series:
        justify: Any = "left" if one.left else "right"
        table.add_column(plain(one.heading), justify=justify, no_wrap=True)
    group = ""
    for number in names.order:
        name = names.texts[number]
        if names.groups and names.groups[number] != group:
            group = names.groups[number]
            table.add_row(plain("\n".join(wrapped(group, width))), style="bold")
        table.add_row(
            plain("\n".join(wrapped(name, width))),
            *(plain(one.texts[number]) for one in series),
            style=_style(names, number),
        )
    return table


def _style(names: Names, number: int) -> str:
    return names.styles[number] if names.styles else ""


def wrapped(text: str, width: int) -> list[str]:
    """Lines of a text, which end where its parts do; a part that is longer than a line is cut."""
    lines = [""]
    for part in _BREAKS.split(visible(text)):
        rest = part
        if lines[-1] and cell_len(lines[-1] + rest.rstrip()) > width:
            lines.append("")
        while cell_len(rest.rstrip()) > width:
            cut = max(1, _fitting(rest, width))
            lines[-1:] = [rest[:cut], ""]
            rest = rest[cut:]
        lines[-1] += rest
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _fitting(text: str, width: int) -> int:
    """How many characters of a text have room: some take two cells."""
    count = 0
    while count < len(text) and cell_len(text[: count + 1]) <= width:
        count += 1
    return count


def plain(text: str) -> Text:
    """A text of a file: neither escape sequences nor markup."""
    return Text("\n".join(map(visible, text.split("\n"))))


__all__ = ["Names", "Series", "draw", "draw_folded", "plain", "wrapped"]
