"""Tables as wide as a terminal: what does not fit beside the first columns comes below them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

_GAP = 2  # blanks between columns


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Headings, and rows of as many cells, in markup. ``left``: headings of columns that are no numbers.

    ``repeated``: columns that stand at the left of every part.
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Collection[str]
    repeated: int = 1
    title: str | None = None


def print_grid(console: Console, grid: Grid) -> None:
    """A table in parts that a terminal is wide enough for; a log has no width, and gets it as a whole."""
    widths = [_width(grid, place) for place in range(len(grid.columns))]
    whole = list(range(grid.repeated, len(grid.columns)))
    parts = list(_parts(widths, whole, grid.repeated, console.width)) if console.is_terminal else [whole]
    for number, part in enumerate(parts):
        if number:
            console.print()
        table = _table(grid, [*range(grid.repeated), *part], titled=not number)
        before = console.width
        console.width = max(before, console.measure(table, options=console.options.update(width=1000)).maximum)
        console.print(table)
        console.width = before


def _width(grid: Grid, place: int) -> int:
    cells = (Text.from_markup(row[place]).cell_len for row in grid.rows)
    return max(len(grid.columns[place]), *cells) if grid.rows else len(grid.columns[place])


def _parts(widths: list[int], places: list[int], repeated: int, most: int) -> Iterator[list[int]]:
    begin = sum(widths[:repeated]) + _GAP * repeated
    part: list[int] = []
    used = begin
    for place in places:
        if part and used + widths[place] > most:
            yield part
            part, used = [], begin
        part.append(place)
        used += widths[place] + _GAP
    yield part


def _table(grid: Grid, places: list[int], *, titled: bool) -> Table:
    title = grid.title if titled else None
    table = Table(box=None, header_style="bold", pad_edge=False, title=title, title_justify="left")
    for place in places:
        name = grid.columns[place]
        table.add_column(name, justify="left" if name in grid.left else "right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*(row[place] for place in places))
    return table
