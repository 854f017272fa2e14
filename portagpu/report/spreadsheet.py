"""Comma-separated values: a line for each cell, numbers in full."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from functools import lru_cache

from portagpu.bench.method.statistics import quartiles
from portagpu.bench.records.cell import Cell, Status
from portagpu.escaping import visible
from portagpu.report.compiled import HEADINGS, NUMBERS, CompiledRow
from portagpu.report.matrix import Matrix, Place
from portagpu.report.views import VIEWS, rate_of

COLUMNS = (
    *("device", "platform", "driver", "files", "suite", "problem", "arithmetic", "size", "memory", "caches"),
    *("implementation", "role", "status", "reason", "unit", "rate", "rate_low", "rate_high"),
    *("seconds_q1", "seconds_median", "seconds_q3", "rounds", "samples", "device_seconds", "first_call_seconds"),
    *("error_over_tolerance", "flops", "bytes", "joules", "of_vendor", "of_peer", "of_roof", "repeat"),
)
_SHARES = ("vendor", "peer", "roof")


def csv_text(matrix: Matrix, compiled: Sequence[CompiledRow] = ()) -> str:
    """All cells; shares are in the lines of ours. Then kernels that were only compiled."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(COLUMNS)
    for _, place in sorted(matrix.places.items(), key=lambda item: (item[0][1], item[0][0])):
        for cell in place.cells:
            writer.writerow(_harmless(value) for value in _values(place, cell))
    for row in compiled:
        writer.writerow(_harmless(value) for value in _compiled_values(row))
    return made.getvalue()


def _compiled_values(row: CompiledRow) -> Iterator[str | None]:
    """Target, compiler, kernel, status and figures, under the headings that are nearest."""
    told = dict(zip(HEADINGS, row.texts, strict=True))
    figures = ", ".join(f"{name} {told[name]}" for name in HEADINGS if name in NUMBERS and told[name] != "-")
    found: dict[str, str] = {
        "device": told["target"],
        "platform": "compiled offline",
        "driver": told["compiler"],
        "suite": row.group,
        "problem": told["kernel"],
        "size": told["case"],
        "implementation": "PortaGPU",
        "role": "ours",
        "status": told["status"],
        "reason": figures,
    }
    yield from (found.get(name) for name in COLUMNS)


def _values(place: Place, cell: Cell) -> Iterator[str | float | None]:
    work, device = cell.workload, place.column.device
    yield from (place.column.short, device.platform, device.driver, ", ".join(place.column.files))
    yield from (work.suite, work.name, cell.arithmetic or work.arithmetic, work.size)
    yield from (cell.memory.value, cell.caches.value, cell.implementation, cell.role.value)
    yield from (cell.status.value, cell.reason, work.unit.value)
    rate = rate_of(cell)
    yield from (rate.value, rate.low, rate.high)
    yield from quartiles(cell.samples) or (None,) * 3
    measured = cell.status is Status.MEASURED  # files of other makers may have numbers of other cells, too
    yield from (len(cell.samples), sum(map(len, cell.samples)))
    yield from (cell.device_seconds, cell.first_call) if measured else (None, None)
    yield from (cell.error, work.flops, work.nbytes, cell.joules if measured else None)
    yield from (VIEWS[key].of(place).value if cell is place.ours else None for key in _SHARES)
    yield cell.repeat


def _harmless(value: str | float | None) -> str | float | None:
    """A text that no spreadsheet takes for a formula."""
    if not isinstance(value, str):
        return value
    return _text(value)


@lru_cache(maxsize=1 << 14)  # many cells have the same device, suite, memory
def _text(value: str) -> str:
    shown = visible(value)
    return f"'{shown}" if shown.lstrip().startswith(("=", "+", "-", "@")) else shown


__all__ = ["COLUMNS", "csv_text"]
