"""Tables for terminals: of one run as it ends, and of a matrix."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from portagpu.bench.records.run import Run
from portagpu.report import published
from portagpu.report.matrix import Column, Matrix, Place, Row
from portagpu.report.merging import merge
from portagpu.report.metrics import row_portability, summary
from portagpu.report.terminal_sheet import Names, Series, draw, draw_folded, plain
from portagpu.report.text import absent, figure_text, letter, mark, number, peak_text
from portagpu.report.views import VIEWS, View, rate_of

_OPTIONAL = ("roof", "error")
_LONG = 14  # characters of what stands in place of a figure


def show(console: Console, run: Run) -> None:
    """The cells of a run: a table for each device, its roofs, and what stands below."""
    show_devices(console, merge([run]))


def show_devices(console: Console, matrix: Matrix) -> None:
    """A table for each device: ours beside the vendor's library, the best peer and the roof."""
    notes: list[str] = []
    for column, found in enumerate(matrix.columns):
        places = [one for one in matrix.column_places(column) if one is not None]
        if places:
            _device_table(console, found, places, notes)
        if roofs := roofs_text(found):
            console.print(plain(roofs), soft_wrap=True)
    _print_notes(console, notes)
    for remark in published.remarks(matrix):
        console.print(plain(remark), soft_wrap=True)


def show_view(console: Console, matrix: Matrix, view: View) -> None:
    """Problems by devices, in as many tables as the devices take."""
    several = len(matrix.columns) > 1
    notes: list[str] = []
    series = []
    for index, column in enumerate(matrix.columns):
        places = matrix.column_places(index)
        texts = ["" if one is None else _figure(one, view, notes) for one in places]
        series.append(Series(heading=letter(index) if several else "", texts=texts))
        if not several:
            console.print(plain(column.title), soft_wrap=True)
    if several:
        metrics = [row_portability(matrix.row_places(row), view) for row in range(len(matrix.rows))]
        texts = ["-" if metric is None else f"{metric:.2f}" for metric in metrics]
        series.append(Series(heading="P", texts=texts))
    names = Names(
        heading="problem",
        texts=[row.workload.path for row in matrix.rows],
        groups=_groups(matrix.rows, unit=not view.unit and not view.share),
    )
    draw_folded(console, f"{view.title}{f', {view.unit}' if view.unit else ''}", names, series)
    if several:
        console.print(plain("P: our performance portability, the harmonic mean of efficiencies"), soft_wrap=True)
    for index, column in enumerate(matrix.columns if several else ()):
        console.print(plain(f"{letter(index)}: {column.title}"), soft_wrap=True)
    _print_notes(console, notes)
    if view.share and (told := published.summary_text(summary(matrix.places.values(), view), view.title)):
        console.print(plain(told), soft_wrap=True)


def _figure(place: Place, view: View, notes: list[str]) -> str:
    """A figure; what stands in its place is a number of the notes where it is long."""
    figure = view.of(place)
    text = f"{figure_text(figure, view)}{mark(place.ours)}"
    return f"({_note(text, notes)})" if figure.value is None and len(text) > _LONG else text


def _groups(rows: Sequence[Row], *, unit: bool) -> list[str]:
    """What lines of a suite have in common: the suite, the unit, and what is not as for most."""
    found = [", ".join((row.workload.suite, *([row.remark] if row.remark else []))) for row in rows]
    return [f"{told}: {row.workload.unit.value}" for told, row in zip(found, rows, strict=True)] if unit else found


def _device_table(console: Console, column: Column, places: list[Place], notes: list[str]) -> None:
    """Rates beside the library's; what is longer than a word stands in the notes below, by its number."""
    lines = [_device_line(place, notes) for place in places]
    headings = ("ours", "library's", "ratio", "by", "roof", "error")
    series = [
        Series(heading=name, texts=[line[n] for line in lines], left=name == "by", needed=name not in _OPTIONAL)
        for n, name in enumerate(headings)
        if name not in _OPTIONAL or any(line[n] != "-" for line in lines)
    ]
    names = Names(
        heading="problem",
        texts=[place.row.workload.path for place in places],
        groups=_groups([place.row for place in places], unit=True),
    )
    draw(console, column.title, names, series)
    if any(one.heading == "error" for one in series):
        console.print("error: the largest, relative to the tolerance", style="dim italic")


def _device_line(place: Place, notes: list[str]) -> tuple[str, ...]:
    """The texts of a line; only our rate has its interval, since a terminal is narrow."""
    ours, other = place.ours, place.vendor or place.rival
    ratio = VIEWS["vendor" if place.vendor else "peer"].of(place)
    roof = VIEWS["roof"].of(place)
    error = ours.error if ours is not None else None
    told = [other.name] if other is not None else []
    told += [absent(cell) for cell in (ours, other) if cell is not None and cell.seconds is None]
    return (
        "-" if ours is None or ours.rate is None else figure_text(rate_of(ours), VIEWS["rate"]) + mark(ours),
        "-" if other is None or other.rate is None else number(other.rate) + mark(other),
        "-" if ratio.value is None else f"{ratio.value:.2f}",
        " ".join(f"({_note(text, notes)})" for text in dict.fromkeys(told)),
        "-" if roof.value is None else f"{roof.value:.2f}",
        "-" if error is None else f"{error:.2g}",
    )


def _print_notes(console: Console, notes: list[str]) -> None:
    for index, text in enumerate(notes, 1):
        console.print(plain(f"({index}) {text}"), soft_wrap=True)


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


__all__ = ["roofs_text", "show", "show_devices", "show_view"]
