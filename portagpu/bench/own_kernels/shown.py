"""Results of `portagpu.benchmark` for people: a line, some lines for a terminal, a table for a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

from portagpu.bench.method.statistics import interval, varies
from portagpu.bench.records.cell import Cell
from portagpu.escaping import visible

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (0.0, "ns"))
_HEADINGS = ("", "time of a call", "95% interval", "relative", "GB/s", "GFLOP/s", "result")


def time_text(seconds: float) -> str:
    """A time with its unit: ``12.3 us``."""
    least, unit = next((least, unit) for least, unit in _UNITS if seconds >= least)
    return f"{seconds / (least or 1e-9):.4g} {unit}"


def lines(title: str, name: str, cells: Sequence[Cell], *, verified: bool) -> str:
    """A title, and a table with a line for each cell; ``name``: that of the first one."""
    rows = [_HEADINGS, *_rows(name, cells, verified=verified)]
    filled = [column for column in range(len(_HEADINGS)) if any(row[column] for row in rows[1:])]
    widths = {column: max(len(row[column]) for row in rows) for column in filled}
    last = filled[-1]
    table = ("  ".join(row[n] if n == last else row[n].ljust(widths[n]) for n in filled).rstrip() for row in rows)
    return "\n".join([visible(title), *table])


def table(title: str, name: str, cells: Sequence[Cell], *, verified: bool) -> str:
    """The same as HTML, without styles of its own: notebooks have theirs, light and dark."""
    rows = list(_rows(name, cells, verified=verified))
    filled = [column for column in range(len(_HEADINGS)) if any(row[column] for row in rows)]
    parts = ["<table>", f"<caption>{html.escape(visible(title))}</caption>", "<thead><tr>"]
    parts += [f'<th scope="col">{html.escape(_HEADINGS[column])}</th>' for column in filled]
    parts += ["</tr></thead>", "<tbody>"]
    for row in rows:
        first, *rest = (html.escape(row[column]) for column in filled)
        parts.append(f'<tr><th scope="row">{first}</th>{"".join(f"<td>{text}</td>" for text in rest)}</tr>')
    return "\n".join([*parts, "</tbody>", "</table>"])


def _rows(name: str, cells: Sequence[Cell], *, verified: bool) -> Iterator[tuple[str, ...]]:
    first = cells[0]
    for cell in cells:
        label = visible(name if cell is first else cell.name)
        yield (label, *_numbers(cell, first), _result(cell, verified=verified))


def _numbers(cell: Cell, first: Cell) -> Iterator[str]:
    if cell.seconds is None:
        yield from ("",) * 5
        return
    found = interval(cell.samples)
    yield f"{time_text(cell.seconds)}{' ~' if varies(cell.samples) else ''}"
    yield "" if found is None else f"{time_text(found[0])} to {time_text(found[1])}"
    yield "" if cell is first or first.seconds is None else f"{cell.seconds / first.seconds:.2f}"
    for work in (cell.workload.nbytes, cell.workload.flops):
        yield f"{work / cell.seconds / 1e9:.4g}" if work else ""


def _result(cell: Cell, *, verified: bool) -> str:
    if cell.seconds is None:
        return visible(f"{cell.status.value}: {cell.reason}", limit=200)
    if not verified:
        return "not verified"
    return f"right, error {cell.error or 0.0:.2g} of the tolerance"


__all__ = ["lines", "table", "time_text"]
