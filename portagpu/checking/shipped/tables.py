"""Shipped kernels for people: how many of each group compile for each target, and what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from portagpu.checking.records import Note, Result, Status
from portagpu.checking.tables import print_table, said
from portagpu.escaping import visible

_MOST_NOTES = 20


def show_shipped(console: Console, results: Iterable[Result], notes: Iterable[Note]) -> None:
    """A row for each target and group, then problems, each once, then calls that ended early."""
    known = list(results)
    print_table(console, _counts(known))
    for text, names in said(known, places=True).items():
        console.print(f"{names}: {text}", highlight=False, soft_wrap=True)
    early: dict[str, list[str]] = {}
    for note in notes:
        early.setdefault(f"{note.case}: {note.message}", []).append(note.target.name)
    for text, targets in list(early.items())[:_MOST_NOTES]:
        line = visible(f"{', '.join(targets)}: {text}")
        console.print(line, style="dim", highlight=False, markup=False, soft_wrap=True)
    if len(early) > _MOST_NOTES:
        console.print(f"and {len(early) - _MOST_NOTES} more calls that ended early", style="dim")


def _counts(results: list[Result]) -> Table:
    columns = ("compiled", "failed", "spill", "matrix unit", "16-byte loads", "full occupancy")
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in ("target", "group"):
        table.add_column(column, no_wrap=True)
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    for target, group in dict.fromkeys((r.target.name, r.subject.group) for r in results):
        of = [r for r in results if (r.target.name, r.subject.group) == (target, group)]
        if all(r.status is Status.NOT_COMPILED for r in of):
            continue
        count = Counter(word for result in of for word in _words(result))
        style = "red" if count["failed"] else "green"
        table.add_row(f"[{style}]{target}[/{style}]", group, *(str(count[column]) for column in columns))
    return table


def _words(result: Result) -> list[str]:
    """The columns that a result counts in."""
    f = result.figures
    if f is None:
        return ["failed"]
    mix = f.mix
    facts = {
        "compiled": True,
        "failed": not result.ok,
        "spill": f.spills,
        "matrix unit": mix is not None and mix.matrix_unit_used,
        "16-byte loads": mix is not None and mix.widest_load_bytes >= 16,
        "full occupancy": f.occupancy is not None and f.occupancy == f.slots,
    }
    return [word for word, is_so in facts.items() if is_so]
