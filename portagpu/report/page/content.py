"""What the page's script gets: a matrix as JSON in which texts stand once, and nothing that ends an element."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from portagpu.bench.records.cell import Cell, Role
from portagpu.escaping import visible
from portagpu.report.compiled import HEADINGS, CompiledRow
from portagpu.report.compiled_grid import Kernel, kernels, targets
from portagpu.report.matrix import Column, Matrix, Place, Row
from portagpu.report.metrics import NOT_RUN
from portagpu.report.text import absent, letter, mark, spread
from portagpu.report.views import VIEWS, Figure, View, rate_of

_LONGEST = 300  # characters of a text; the rest would be in nobody's way but the page's size
_BAD = ("wrong result", "failed", "throttled", "not verified")
_ABOUT = {
    "rate": "What each device reaches, in the problem's own unit.",
    "vendor": "Our speed over the speed of the vendor's library in the same run: 1 is as fast, 2 twice as fast.",
    "peer": "Our speed over the speed of the fastest other implementation in the same run.",
    "roof": "Our speed over what the device's own measured peak and memory rate allow for the problem.",
    "bandwidth": "Bytes that must move between the device and its memory, over the time.",
    "energy": "Energy of our kernel for 10^12 operations, where the device tells it.",
    "cold": "The first call in a process: compilation, if no cache had the program, and the call.",
}


class _Texts:
    """A table of texts, each once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {}

    def index(self, text: str) -> int:
        """Where a text stands; it is made harmless and bearable."""
        return self.known.setdefault(visible(text, _LONGEST), len(self.known))


def content(matrix: Matrix, compiled: Sequence[CompiledRow], view: View | None) -> str:
    """JSON for an element of HTML: no character of it can end the element."""
    texts = _Texts()
    cells = [_cell(place, numbers, texts) for numbers, place in sorted(matrix.places.items())]
    first = view.key if view is not None else _telling(matrix)
    data = {
        "view": list(VIEWS).index(first),
        "views": [
            {"key": v.key, "title": v.title, "unit": v.unit, "more": v.more_is_better, "share": v.share}
            | {"about": _ABOUT[v.key]}
            for v in VIEWS.values()
        ],
        "roles": [role.value for role in Role],
        "notRun": sorted(status.value for status in NOT_RUN),
        "bad": _BAD,
        "columns": [_column(number, column) for number, column in enumerate(matrix.columns)],
        "rows": [_row(row) for row in matrix.rows],
        "cells": cells,
        "compiled": _compiled(compiled, texts),
        "texts": list(texts.known),
    }
    made = json.dumps(data, separators=(",", ":"), allow_nan=False)  # ASCII: no line ends that only JSON allows
    return made.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _compiled(rows: Sequence[CompiledRow], texts: _Texts) -> dict[str, Any]:
    """Kernels by targets: what of a cell is shown, its kind, the share of the possible occupancy, and all texts."""
    found, columns = kernels(rows), targets(rows)
    numbers = {target.key: number for number, target in enumerate(columns)}
    cells = [
        [
            line,
            numbers[row.where],
            row.kind.value,
            row.share,
            *(visible(text, _LONGEST) for text in row.brief),
            [texts.index(text) for text in row.texts],
        ]
        for line, kernel in enumerate(found)
        for row in kernel.rows
    ]
    named = [{"code": one.code, "title": one.title, "compiler": one.compiler} for one in columns]
    return {
        "headings": HEADINGS,
        "targets": [{name: visible(text, _LONGEST) for name, text in one.items()} for one in named],
        "kernels": [_kernel(kernel) for kernel in found],
        "cells": cells,
    }


def _kernel(kernel: Kernel) -> dict[str, str]:
    return {name: visible(getattr(kernel, name), _LONGEST) for name in ("name", "detail", "group")}


def _telling(matrix: Matrix) -> str:
    """The view that the page begins with: a share, if a part of the cells has it that is worth while."""
    for key in ("vendor", "peer"):
        if 4 * sum(VIEWS[key].of(place).value is not None for place in matrix.places.values()) > len(matrix.places):
            return key
    return "rate"


def _column(number: int, column: Column) -> dict[str, Any]:
    rates = {"peaks": column.roofs.peaks, "bandwidths": column.roofs.levels}
    return {
        "letter": letter(number),
        "short": visible(column.short, _LONGEST),
        "title": visible(column.title, _LONGEST),
        "driver": visible(f"{column.device.platform} {column.device.driver}".strip(), 80),
        **{
            kind: [[visible(name, 60), _short(rate / 1e9)] for name, rate in found.items()]
            for kind, found in rates.items()
        },
    }


def _row(row: Row) -> dict[str, Any]:
    work = row.workload
    named = {"suite": work.suite, "name": work.name, "arithmetic": work.arithmetic, "size": work.size}
    shown = {name: visible(text, _LONGEST) for name, text in named.items()}
    label = visible(row.label, _LONGEST)
    numbers = {"flops": work.flops, "bytes": work.nbytes}
    return {**shown, "label": label, "unit": work.unit.value, "remark": row.remark, "roof": row.is_roof, **numbers}


def _cell(place: Place, numbers: tuple[int, int], texts: _Texts) -> list[Any]:
    figures = [_figure(view.of(place), texts) for view in VIEWS.values()]
    details = [[texts.index(name), texts.index(text)] for name, text in _details(place) if text]
    return [*numbers, figures, details, [_implementation(cell, texts) for cell in _in_order(place)]]


def _in_order(place: Place) -> list[Cell]:
    """Ours first, as it is the one whose figures are shown."""
    return sorted(place.cells, key=lambda cell: (cell is not place.ours, cell.seconds or float("inf")))


def _figure(figure: Figure, texts: _Texts) -> Any:
    if figure.value is None:
        return texts.index(figure.why)
    ends = [None, None] if figure.low is None or figure.high is None else [_short(figure.low), _short(figure.high)]
    made = [_short(figure.value), *ends, texts.index(figure.note) if figure.note else None]
    while made[-1] is None:
        made.pop()
    return made


def _implementation(cell: Cell, texts: _Texts) -> list[Any]:
    said = "" if cell.seconds is not None else absent(cell)
    seconds, error = (None if value is None else _short(value) for value in (cell.seconds, cell.error))
    named = [texts.index(cell.implementation), texts.index(cell.arithmetic), list(Role).index(cell.role)]
    return [*named, seconds, spread(rate_of(cell)).strip(), error, texts.index(said), int(bool(mark(cell)))]


def _details(place: Place) -> Iterator[tuple[str, str]]:
    """How our cell was measured."""
    cell = place.ours or place.cells[0]
    if cell.seconds is not None:
        count = sum(map(len, cell.samples))
        rounds = f"{len(cell.samples)} round{'s' if len(cell.samples) > 1 else ''}, {count} samples"
        yield "Method", f"{rounds}{f', until {cell.stopped}' if cell.stopped else ''}"
    yield "Operands", f"{place.row.memory.value}, {place.row.caches.value} caches"
    yield "Tuning", cell.tuning
    yield "Kernel", cell.kernel
    told = (f"{name.replace('_', ' ')} {_fact(value)}" for name, value in cell.conditions.items())
    yield "Conditions", ", ".join(told)
    yield "repeat", cell.repeat


def _fact(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "/".join(map(_fact, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _short(value: float) -> float:
    """Four digits: what is shown has three."""
    return float(f"{value:.4g}")


__all__ = ["content"]
