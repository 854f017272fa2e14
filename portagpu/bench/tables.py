"""The table of result files: for terminals, in Markdown, HTML and CSV."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from portagpu.bench.cells import Cell, quartiles, worst
from portagpu.bench.results import Results
from portagpu.escaping import for_markdown, visible

HEADINGS = (
    *("device", "arithmetic", "m x n x k", "PortaGPU GFLOP/s", "vendor library GFLOP/s", "ratio", "error / tolerance"),
    "vendor library",
)
_NUMBERS = HEADINGS[2:7]
_COLUMNS = (
    *("device", "driver", "arithmetic", "shape", "memory", "library", "gflops", "library_gflops", "ratio"),
    *("error_over_tolerance", "seconds_q1", "seconds_median", "seconds_q3"),
    *("library_seconds_q1", "library_seconds_median", "library_seconds_q3", "problem"),
)


def speed(gflops: float | None) -> str:
    """GFLOP/s for people; "-" where there is none."""
    if gflops is None:
        return "-"
    return f"{gflops:.0f}" if gflops >= 100 else f"{gflops:.3g}"


UNSTEADY = "~: the times' quartiles lie more than 10% of their median apart"


def marked_speed(gflops: float | None, unsteady: bool) -> str:
    """As `speed`, with a mark where the times behind it varied."""
    return f"{speed(gflops)}~" if unsteady and gflops is not None else speed(gflops)


def worst_text(cells: tuple[Cell, ...]) -> str | None:
    """The cell with the smallest ratio, in words; None if no cell has one."""
    cell = worst(cells)
    if cell is None:
        return None
    return f"worst of {len(cells)}: {cell.arithmetic} {cell.shape} on {cell.device}: {cell.ratio:.2f} of {cell.rival}"


def markdown(results: Iterable[Results], files: Iterable[str] | None = None) -> str:
    """One table of all cells (device, dtypes, sizes, PortaGPU, vendor library, ratio, error), and the worst of them.

    ``files``: what the results' files are called; devices of one name and driver in several are named with them.
    """
    cells = ordered(results, files)
    lines = [_line(HEADINGS), _line("---:" if name in _NUMBERS else "---" for name in HEADINGS)]
    lines += [_line(map(for_markdown, row(cell))) for cell in cells]
    notes = [for_markdown(note) for note in remarks(cells)]
    return "\n".join([*lines, *(part for note in notes for part in ("", note))]) + "\n"


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


def csv_text(results: Iterable[Results], files: Iterable[str] | None = None) -> str:
    """The same cells as comma-separated values, numbers in full, quartiles in seconds beside them."""
    made = io.StringIO()
    writer = csv.writer(made, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for cell in ordered(results, files):
        own, peer = quartiles(cell.samples) or (), quartiles(cell.peer_samples) or ()
        texts = (cell.device, cell.driver, cell.arithmetic, cell.shape, cell.memory, cell.rival)
        numbers = (cell.gflops, cell.peer_gflops, cell.ratio, cell.error)
        spread = (*own, *[None] * (3 - len(own)), *peer, *[None] * (3 - len(peer)))
        writer.writerow([*map(_harmless, texts), *numbers, *spread, _harmless(cell.problem or "")])
    return made.getvalue()


def _harmless(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    shown = visible(text)
    return f"'{shown}" if shown.lstrip().startswith(("=", "+", "-", "@")) else shown


def html_text(results: Iterable[Results], files: Iterable[str] | None = None) -> str:
    """The same table as a page of HTML."""
    cells = ordered(results, files)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in HEADINGS)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{html.escape(visible(text))}</td>' for text in row(cell))}</tr>" for cell in cells
    )
    notes = "\n".join(f"<p>{html.escape(visible(note))}</p>" for note in remarks(cells))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Products</title></head><body>\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>\n{notes}\n</body></html>\n"
    )


FORMATS: dict[str, Callable[[Iterable[Results], Iterable[str] | None], str]] = {
    "": markdown,
    ".md": markdown,
    ".markdown": markdown,
    ".csv": csv_text,
    ".html": html_text,
    ".htm": html_text,
}


def row(cell: Cell) -> tuple[str, ...]:
    """A cell's texts, as they are."""
    return (
        f"{cell.device} ({cell.driver})",
        cell.arithmetic,
        cell.shape,
        marked_speed(cell.gflops, cell.unsteady),
        marked_speed(cell.peer_gflops, cell.peer_unsteady),
        "-" if cell.ratio is None else f"{cell.ratio:.2f}",
        "-" if cell.error is None else f"{cell.error:.2g}",
        f"{cell.rival}, {cell.memory}" if cell.problem is None else cell.problem,
    )


def remarks(cells: tuple[Cell, ...]) -> list[str]:
    """What stands below a table."""
    last = worst_text(cells)
    marked = any(cell.unsteady or cell.peer_unsteady for cell in cells)
    return [*([UNSTEADY] if marked else []), *([last] if last else [])]


def ordered(results: Iterable[Results], files: Iterable[str] | None) -> tuple[Cell, ...]:
    """All cells in the order of a table."""
    return tuple(sorted(_told_apart([*results], files), key=_order))


def _told_apart(results: Sequence[Results], files: Iterable[str] | None) -> Iterator[Cell]:
    """All cells, with the file in the device's name where several files have one of that name."""
    names = [""] * len(results) if files is None else [*files]
    homes: dict[tuple[str, str], set[str]] = {}
    for found, name in zip(results, names, strict=True):
        for cell in found.cells:
            homes.setdefault((cell.device, cell.driver), set()).add(name)
    for found, name in zip(results, names, strict=True):
        for cell in found.cells:
            several = len(homes[cell.device, cell.driver]) > 1
            yield replace(cell, device=f"{cell.device} of {name}") if several else cell


def _order(cell: Cell) -> tuple[Any, ...]:
    work = cell.m * cell.n * cell.k
    best = ", best core type" in cell.peer  # beside the peer that it belongs to
    return (
        cell.device,
        cell.driver,
        cell.memory,
        cell.dtype,
        cell.precision,
        cell.out,
        cell.batch,
        work,
        best,
        cell.peer,
    )
