"""The table as it is published: a line for each device and problem, ours beside the vendor's library."""

from __future__ import annotations

from collections.abc import Iterator

from portagpu.bench.records.cell import Cell, Role
from portagpu.report.matrix import Matrix, Place
from portagpu.report.metrics import Summary, cascades, common_rows, summary
from portagpu.report.text import UNSTEADY, absent, figure_text, mark, number
from portagpu.report.views import VIEWS, rate_of

HEADINGS = (
    "device",
    "problem",
    "arithmetic",
    "size",
    "unit",
    "PortaGPU",
    "vendor library",
    "ratio",
    "error",
    "library",
)
NUMBERS = frozenset({"size", "PortaGPU", "vendor library", "ratio", "error"})
_RATE, _VENDOR, _PEER, _ROOF = (VIEWS[key] for key in ("rate", "vendor", "peer", "roof"))


def lines(matrix: Matrix) -> Iterator[tuple[str, ...]]:
    """The texts of each place's line, as they are: whoever prints them escapes them. Devices one after the other."""
    for column in range(len(matrix.columns)):
        for found in matrix.column_places(column):
            if found is not None:
                yield (found.column.title, *line(found))


def line(place: Place) -> tuple[str, ...]:
    """The texts of one place but for the device: those of `HEADINGS`."""
    work, other = place.row.workload, place.vendor or place.rival
    ratio = (_VENDOR if place.vendor else _PEER).of(place)
    error = place.ours.error if place.ours is not None else None
    return (
        f"{work.suite} {work.name}",
        work.arithmetic,
        work.size,
        work.unit.value,
        _shown(place.ours),
        _shown(other),
        "-" if ratio.value is None else figure_text(ratio, _VENDOR),
        "-" if error is None else f"{error:.2g}",
        _remark(place),
    )


def _shown(cell: Cell | None) -> str:
    if cell is None or cell.seconds is None:
        return "-"
    return f"{figure_text(rate_of(cell), _RATE)}{mark(cell)}"


def _remark(place: Place) -> str:
    """Which library it was, where operands were, and why numbers are missing."""
    other = place.vendor or place.rival
    cells = (("PortaGPU", place.ours), (other.name if other else "", other))
    missing = [f"{name}: {absent(cell)}" for name, cell in cells if cell is not None and cell.seconds is None]
    told = [] if other is None or other.seconds is None else [other.name]
    return "; ".join([*missing, ", ".join([*told, *([place.row.remark] if place.row.remark else [])])]).strip("; ")


def remarks(matrix: Matrix) -> list[str]:
    """What stands below a table: marks, means, the worst cell, portability, notes."""
    places = list(matrix.places.values())
    marked = any(mark(cell) for one in places for cell in (one.ours, one.vendor or one.rival))
    shares = [text for view in (_VENDOR, _PEER, _ROOF) if (text := summary_text(summary(places, view), view.title))]
    return [*([UNSTEADY] if marked else []), *shares, *_portability(matrix), *matrix.notes]


def summary_text(found: Summary, title: str) -> str:
    """Mean and worst case in a sentence; "" where a view has no figures."""
    if found.mean is None or found.where is None or found.worst is None or found.worst.value is None:
        return ""
    against = f" of {found.worst.note}" if found.worst.note and not found.worst.note.startswith("limited") else ""
    where = f"{found.where.row.label} on {found.where.column.title}: {found.worst.value:.2f}{against}"
    cells = f"{found.counted} cell{'s' if found.counted > 1 else ''}"
    return f"{title}: geometric mean {found.mean:.2f} of {cells}; worst: {where}"


def _portability(matrix: Matrix) -> Iterator[str]:
    if len(matrix.columns) < 2:
        return
    rows = len(common_rows(matrix))
    for found in [one for one in cascades(matrix)[:1] if one.role is Role.OURS] if rows else ():
        yield (
            f"Performance portability of {found.implementation}: {found.portabilities[-1]:.2f} on {len(found.devices)} "
            f"devices, over {number(rows)} problem{'s' if rows > 1 else ''} that all of them have; "
            "efficiencies are against the fastest on each device"
        )


__all__ = ["HEADINGS", "NUMBERS", "line", "lines", "remarks", "summary_text"]
