"""Plots as files: bars, roofline, cascade. Needs Matplotlib (`pip install 'portagpu[plot]'`)."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from portagpu.errors import SettingsError
from portagpu.escaping import visible
from portagpu.report.matrix import Column, Matrix, Place
from portagpu.report.metrics import cascades
from portagpu.report.text import number, peak_text
from portagpu.report.views import VIEWS, View

FORMATS = (".png", ".svg")
_COLOURS = ("#0b5fb0", "#d55e00", "#18794e", "#8f2a8c", "#9a7b00", "#4d5a6b")
_MARKERS = ("o", "s", "^", "D", "X", "v")
_MOST_BARS = 400
_APART = 2.0  # between rates of memory that both have a line
_FIXED = {"Date": None}  # the same data make the same file


def check_plot(path: Path) -> None:
    """Before the work starts: raises `SettingsError` without Matplotlib, or for a file of another format."""
    if path.suffix.lower() not in FORMATS:
        raise SettingsError(f"{path} is no kind of plot", hint="name a file that ends in .png or .svg")
    if importlib.util.find_spec("matplotlib") is None:
        raise SettingsError("plots need Matplotlib", hint="pip install 'portagpu[plot]'")


def draw(matrix: Matrix, kind: str, view: View, form: str, title: str = "") -> bytes:
    """A plot as a file of a format. Raises `SettingsError` where there is nothing to draw, or too much."""
    from matplotlib import rc_context  # slow to import, and optional
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "portagpu", "font.size": 10, "axes.titlesize": 11}):
        figure = Figure(layout="constrained")
        PLOTS[kind](figure, matrix, view)
        if title:
            figure.suptitle(_text(title, 120))
        picture = io.BytesIO()
        figure.savefig(picture, format=form, dpi=150, metadata=_FIXED if form == "svg" else None)
    return picture.getvalue()


def _bars(figure: Any, matrix: Matrix, view: View) -> None:
    """A group of bars for each problem, a bar for each device, with intervals."""
    rows = [
        (row, [None if one is None else view.of(one) for one in matrix.row_places(number)])
        for number, row in enumerate(matrix.rows)
    ]
    rows = [(row, found) for row, found in rows if any(one is not None and one.value is not None for one in found)]
    count = len(rows) * len(matrix.columns)
    _check(count, f"no cell has a {view.title.lower()}", _MOST_BARS)
    units = {row.workload.unit for row, _ in rows}
    if not view.unit and not view.share and len(units) > 1:
        raise SettingsError(
            "rates of several units make no plot", hint="choose problems by --filter, or a share by --view"
        )
    width = 0.8 / len(matrix.columns)
    figure.set_size_inches(9.5, 1.8 + 0.16 * count + 0.12 * len(rows) + 0.22 * len(matrix.columns))
    axes = figure.add_subplot()
    for column, found in enumerate(matrix.columns):
        figures = [figures[column] for _, figures in rows]
        values = [0.0 if one is None or one.value is None else one.value for one in figures]
        places = [number + (column - (len(matrix.columns) - 1) / 2) * width for number in range(len(rows))]
        ends = [_ends(one) for one in figures]
        style = {"color": _COLOURS[column % 6], "edgecolor": "white", "hatch": ("", "//", "..")[column // 6 % 3]}
        axes.barh(places, values, 0.92 * width, xerr=list(zip(*ends, strict=True)), label=_short(found.title), **style)
        for place, one in zip(places, figures, strict=True):
            if one is not None and one.value is None:
                axes.text(0, place, f" {_text(one.why, 40)}", va="center", fontsize=7, color="#444444")
    if view.share:
        axes.axvline(1, color="#222222", linewidth=1, linestyle="--")
    axes.set_yticks(range(len(rows)), [_text(row.label, 60) for row, _ in rows], fontsize=8)
    axes.invert_yaxis()
    unit = view.unit or ("" if view.share else next(iter(units)).value)
    axes.set_xlabel(f"{view.title}{f', {unit}' if unit else ''}")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower left", frameon=False, fontsize=8)


def _ends(figure: Any) -> tuple[float, float]:
    if figure is None or figure.value is None or figure.low is None:
        return 0.0, 0.0
    return figure.value - figure.low, figure.high - figure.value


def _roofline(figure: Any, matrix: Matrix, view: View) -> None:
    """For each device its roofs, and each of our kernels by its intensity."""
    found = [(column, _points(matrix, index)) for index, column in enumerate(matrix.columns)]
    found = [(column, points) for column, points in found if points]
    _check(len(found), "no kernel has a time, and known operations and bytes", 24)
    across = min(2, len(found))
    down = math.ceil(len(found) / across)
    figure.set_size_inches(7.2 * across, 4.9 * down)
    suites = list(dict.fromkeys(row.workload.suite for row in matrix.rows))
    for place, (column, points) in enumerate(found, 1):
        _one_roofline(figure.add_subplot(down, across, place), column, points, suites)


def _points(matrix: Matrix, column: int) -> list[tuple[Place, float, float]]:
    made = []
    for one in matrix.column_places(column):
        if one is not None and not one.row.is_roof and one.ours is not None and one.ours.seconds is not None:
            work = one.row.workload
            if work.intensity is not None and work.flops is not None:
                made.append((one, work.intensity, work.flops / one.ours.seconds / 1e9))
    return made


def _one_roofline(axes: Any, column: Column, points: list[tuple[Place, float, float]], suites: list[str]) -> None:
    memory = column.roofs.memory
    ridges = [rate / memory for rate in column.roofs.peaks.values()] if memory else []
    intensities = [*(x for _, x, _ in points), *ridges]
    left, right = min(intensities) / 2, 4 * max(intensities)
    top = max([rate / 1e9 for rate in column.roofs.peaks.values()] + [y for *_, y in points])
    _draw_peaks(axes, column, left, right)
    for name, rate in apart(column.roofs.levels):
        line = {"color": "#222222", "linewidth": 1.5} if name == "copy" else {"color": "#666666", "linestyle": "--"}
        end = min(right, top / (rate / 1e9))
        if end > left:
            axes.plot([left, end], [left * rate / 1e9, end * rate / 1e9], **line)
            place = left * (end / left) ** 0.08
            label = f"{'memory' if name == 'copy' else _text(name, 40)} {number(rate / 1e9)} GB/s"
            style = {"fontsize": 7, "rotation_mode": "anchor", "transform_rotates_text": True, "clip_on": True}
            style |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.6}}
            angle = math.degrees(math.atan(rate / 1e9))  # of the line in numbers, which the axes turn to the shown one
            axes.text(place, place * 1.3 * rate / 1e9, label, rotation=angle, **style)
    for index, suite in enumerate(suites):
        mine = [(x, y) for one, x, y in points if one.row.workload.suite == suite]
        if mine:
            style = {"color": _COLOURS[index % 6], "marker": _MARKERS[index % 6], "edgecolors": "white", "zorder": 3}
            axes.scatter(*zip(*mine, strict=True), s=34, label=_text(suite, 40), **style)
    axes.set(xscale="log", yscale="log", xlim=(left, right), xlabel="arithmetic intensity, FLOP/byte", ylabel="GFLOP/s")
    axes.set_ylim(min(y for *_, y in points) / 2, top * 2.5)
    axes.set_title(_short(column.title))
    axes.grid(color="#e4e8ee", linewidth=0.7)
    axes.legend(frameon=False, fontsize=8, loc="lower right")


def apart(levels: Mapping[str, float]) -> list[tuple[str, float]]:
    """The memory, the fastest level, and those between that are far enough from others for a label."""
    order = sorted(levels.items(), key=lambda item: (item[0] != "copy", -item[1]))
    kept: list[tuple[str, float]] = []
    for name, rate in order:
        if all(max(rate, other) > _APART * min(rate, other) for _, other in kept):
            kept.append((name, rate))
    return kept


def _draw_peaks(axes: Any, column: Column, left: float, right: float) -> None:
    """Lines of compute roofs; those within a line of text of each other have one label."""
    memory = column.roofs.memory
    peaks = sorted(column.roofs.peaks.items(), key=lambda item: item[1])
    told: list[str] = []
    for place, (name, rate) in enumerate(peaks):
        axes.plot(
            [max(left, rate / memory) if memory else left, right], [rate / 1e9] * 2, color="#222222", linewidth=1.5
        )
        told.append(_text(name, 40))
        if place + 1 == len(peaks) or peaks[place + 1][1] > 1.25 * rate:
            label = f"{', '.join(told)} {peak_text(rate)}"
            axes.text(right, rate / 1e9 * 1.04, label, ha="right", va="bottom", fontsize=7)
            told = []


def _cascade(figure: Any, matrix: Matrix, view: View) -> None:
    """Efficiencies by falling value, and the metric of the first devices."""
    found = cascades(matrix)[:6]
    _check(len(found) if len(matrix.columns) > 1 else 0, "it takes two devices, and problems that each of them has", 6)
    figure.set_size_inches(8.5, 5.4)
    axes = figure.add_subplot()
    count = range(1, len(matrix.columns) + 1)
    for index, one in enumerate(found):
        label = f"{_short(one.implementation)}: {one.portabilities[-1]:.2f} ({one.problems} problems)"
        axes.plot(count, one.efficiencies, color=_COLOURS[index], marker=_MARKERS[index], label=label)
        axes.plot(count, one.portabilities, color=_COLOURS[index], linestyle=":")
    axes.set(
        xlabel="devices, by falling efficiency of each", ylabel="efficiency; dotted: the metric", ylim=(-0.03, 1.05)
    )
    axes.set_xticks(count)
    axes.grid(axis="y", color="#e4e8ee")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside lower left", frameon=False, fontsize=8, ncols=1)


def _check(count: int, nothing: str, most: int) -> None:
    if not count:
        raise SettingsError(f"there is nothing to draw: {nothing}", hint="choose another --view or --plot")
    if count > most:
        found = f"the plot would have {count} parts, and more than {most} cannot be read"
        raise SettingsError(found, hint="choose problems by --filter or devices by --device")


def _short(text: str) -> str:
    return _text(text, 60)


def _text(text: str, limit: int) -> str:
    """A text of others in which nothing is a formula; Matplotlib leaves out labels that begin with "_"."""
    shown = visible(text, limit).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown


PLOTS: dict[str, Callable[[Any, Matrix, View], None]] = {"bars": _bars, "roofline": _roofline, "cascade": _cascade}
"""Kinds of plots by their names on the command line."""

DEFAULT_VIEW = VIEWS["vendor"]

__all__ = ["DEFAULT_VIEW", "FORMATS", "PLOTS", "check_plot", "draw"]
