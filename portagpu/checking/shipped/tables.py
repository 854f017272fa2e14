"""Shipped kernels for people: how many of each group compile for each target, and what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console

from portagpu.checking.grids import Grid, print_grid
from portagpu.checking.overview import summary
from portagpu.checking.records import Note, Result, Status
from portagpu.checking.tables import print_said
from portagpu.escaping import visible

_MOST_NOTES = 20


def show_shipped(console: Console, results: Iterable[Result], notes: Iterable[Note]) -> None:
    """A row for each target and group, then problems, each once, then calls that ended early."""
    known = list(results)
    print_grid(console, _counts(known))
    console.print(_LEGEND, style="dim", highlight=False)
    early: dict[str, list[str]] = {}
    for note in notes:
        early.setdefault(f"{note.case}: {note.message}", []).append(note.target.name)
    for text, targets in list(early.items())[:_MOST_NOTES]:
        line = visible(f"{', '.join(targets)}: {text}")
        console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    if len(early) > _MOST_NOTES:
        console.print(f"and {len(early) - _MOST_NOTES} more calls that ended early", style="dim")
    print_said(console, known, places=True)
    console.print(summary(known, len(known), "programs"), style="bold", highlight=False)


_NAMES = ("target", "group")
_COLUMNS = ("compiled", "unsupported", "failed", "spill", "matrix", "16 B", "full")
_LEGEND = "matrix: programs with instructions of matrix units; 16 B: with such loads; full: with full occupancy"


def _counts(results: list[Result]) -> Grid:
    rows = []
    for target, group in dict.fromkeys((r.target.name, r.subject.group) for r in results):
        of = [r for r in results if (r.target.name, r.subject.group) == (target, group)]
        if all(r.status is Status.NOT_COMPILED for r in of):
            continue
        count = Counter(word for result in of for word in _words(result))
        style = "red" if count["failed"] else "green"
        rows.append([f"[{style}]{target}[/{style}]", group, *(str(count[column]) for column in _COLUMNS)])
    return Grid(columns=(*_NAMES, *_COLUMNS), rows=rows, left=_NAMES, repeated=2)


def _words(result: Result) -> list[str]:
    """The columns that a result counts in."""
    f = result.figures
    if f is None:
        return ["unsupported" if result.ok else "failed"]
    mix = f.mix
    facts = {
        "compiled": True,
        "failed": not result.ok,
        "spill": f.spills,
        "matrix": mix is not None and mix.matrix_unit_used,
        "16 B": mix is not None and mix.widest_load_bytes >= 16,
        "full": f.occupancy is not None and f.occupancy == f.slots,
    }
    return [word for word, is_so in facts.items() if is_so]
