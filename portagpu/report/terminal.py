"""Tables for terminals: of one run as it ends, and of a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from portagpu.bench.records.run import Run
from portagpu.escaping import visible
from portagpu.report import published
from portagpu.report.compiled import HEADINGS, CompiledRow
from portagpu.report.matrix import Column, Matrix, Place
from portagpu.report.merging import merge
from portagpu.report.metrics import row_portability, summary
from portagpu.report.text import absent, figure_text, letter, mark, number, peak_text
from portagpu.report.views import VIEWS, View, rate_of

_STYLE: dict[str, Any] = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0), "pad_edge": False}


def show(console: Console, run: Run) -> None:
    """The cells of a run: a table for each device, its roofs, and what stands below."""
    show_devices(console, merge([run]))


def show_devices(console: Console, matrix: Matrix) -> None:
    """A table for each device: ours beside the vendor's library, the best peer and the roof."""
    notes: list[str] = []
    for column, found in enumerate(matrix.columns):
        places = [one for one in matrix.column_places(column) if one is not None]
        if places:
            console.print(_device_table(found, places, notes))
        if roofs := roofs_text(found):
            console.print(_plain(roofs), soft_wrap=True)
    for index, name in enumerate(notes, 1):
        console.print(_plain(f"({index}) {name}"), soft_wrap=True)
    for remark in published.remarks(matrix):
        console.print(_plain(remark), soft_wrap=True)


def show_view(console: Console, matrix: Matrix, view: View) -> None:
    """Problems by devices."""
    several = len(matrix.columns) > 1
    names = {column.title: letter(index) for index, column in enumerate(matrix.columns)}
    title = f"{view.title}{f', {view.unit}' if view.unit else ''}"
    table = Table(title=title, title_justify="left", **_STYLE)
    table.add_column("problem", overflow="fold", min_width=24)
    if not view.unit and not view.share:
        table.add_column("unit")
    for column in matrix.columns:
        table.add_column(names[column.title] if several else _plain(column.title), justify="right", overflow="fold")
    if several:
        table.add_column("portability", justify="right")
    for index, row in enumerate(matrix.rows):
        places = matrix.row_places(index)
        texts = [row.label, *([] if view.unit or view.share else [row.workload.unit.value])]
        texts += ["" if one is None else figure_text(view.of(one), view) + mark(one.ours) for one in places]
        if several:
            metric = row_portability(places, view)
            texts.append("-" if metric is None else f"{metric:.2f}")
        table.add_row(*map(_plain, texts))
    console.print(table)
    for column in matrix.columns if several else ():
        console.print(_plain(f"{names[column.title]}: {column.title}"), soft_wrap=True)
    if view.share and (told := published.summary_text(summary(matrix.places.values(), view), view.title)):
        console.print(_plain(told), soft_wrap=True)


def show_compiled(console: Console, rows: Sequence[CompiledRow]) -> None:
    """Kernels that were only compiled."""
    if not rows:
        return
    table = Table(title="compiled for hardware that was not there", title_justify="left")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*map(_plain, row.texts), style="" if row.ok else "bold")
    console.print(table)


def _device_table(column: Column, places: list[Place], notes: list[str]) -> Table:
    """Rates beside the library's; what is longer than a word stands in the notes below, by its number."""
    lines = [_device_line(place, notes) for place in places]
    headings = ("problem", "", "ours", "library's", "ratio", "roof", "error", "by")
    kept = [
        n for n, name in enumerate(headings) if name not in ("roof", "error") or any(one[n] != "-" for one in lines)
    ]
    table = Table(title=_plain(column.title), title_justify="left", caption_justify="left", **_STYLE)
    for heading in (headings[n] for n in kept):
        left = heading in ("problem", "", "by")
        least = 20 if heading == "problem" else None
        table.add_column(heading, min_width=least, justify="left" if left else "right", overflow="fold")
    if "error" in (headings[n] for n in kept):
        table.caption = "error: the largest, relative to the tolerance"
    for line in lines:
        table.add_row(*(_plain(line[n]) for n in kept))
    return table


def _device_line(place: Place, notes: list[str]) -> tuple[str, ...]:
    """The texts of a line; only our rate has its interval, since a terminal is narrow."""
    ours, other = place.ours, place.vendor or place.rival
    ratio = VIEWS["vendor" if place.vendor else "peer"].of(place)
    roof = VIEWS["roof"].of(place)
    error = ours.error if ours is not None else None
    told = [other.name] if other is not None else []
    told += [absent(cell) for cell in (ours, other) if cell is not None and cell.seconds is None]
    return (
        place.row.label,
        place.row.workload.unit.value,
        "-" if ours is None or ours.rate is None else figure_text(rate_of(ours), VIEWS["rate"]) + mark(ours),
        "-" if other is None or other.rate is None else number(other.rate) + mark(other),
        "-" if ratio.value is None else f"{ratio.value:.2f}",
        "-" if roof.value is None else f"{roof.value:.2f}",
        "-" if error is None else f"{error:.2g}",
        " ".join(f"({_note(text, notes)})" for text in dict.fromkeys(told)),
    )


def _note(text: str, notes: list[str]) -> int:
    """The number of a note, which is added where it is new."""
    if text not in notes:
        notes.append(text)
    return notes.index(text) + 1


def roofs_text(column: Column) -> str:
    """The measured roofs of a device in a line; "" without any."""
    peaks = [f"{name} {peak_text(rate)}" for name, rate in column.roofs.peaks.items()]
    levels = [f"{name} {number(rate / 1e9)} GB/s" for name, rate in column.roofs.bandwidths.items()]
    return f"roofs: {', '.join([*peaks, *levels])}" if peaks or levels else ""


def _plain(text: str) -> Text:
    """A text of a file: neither escape sequences nor markup."""
    return Text(visible(text))


__all__ = ["roofs_text", "show", "show_compiled", "show_devices", "show_view"]
