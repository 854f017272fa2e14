"""A comparison for terminals, in Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from portagpu.escaping import for_markdown, visible
from portagpu.report.change import Verdict
from portagpu.report.comparison import Compared, Comparison
from portagpu.report.matrix import Row
from portagpu.report.text import number
from portagpu.report.views import rate_of

HEADINGS = (
    "verdict",
    "problem",
    "implementation",
    "device",
    "unit",
    "old",
    "new",
    "new / old time",
    "interval",
    "reason",
)
_SHOWN = ("verdict", "problem", "implementation", "new / old time", "interval", "reason")
_ORDER = (*(Verdict.SLOWER, Verdict.LOST, Verdict.FASTER, Verdict.UNSURE, Verdict.REFUSED, Verdict.SAME), *Verdict)
_STYLES = {
    Verdict.SLOWER: "bold red",
    Verdict.LOST: "bold red",
    Verdict.FASTER: "bold green",
    Verdict.REFUSED: "yellow",
}


def lines(found: Comparison) -> Iterator[tuple[str, ...]]:
    """The texts of each cell, what needs looking at first; whoever prints them escapes them."""
    for cell in sorted(found.cells, key=lambda cell: _ORDER.index(cell.change.verdict)):
        yield _line(cell)


def _line(one: Compared) -> tuple[str, ...]:
    work, changed = one.cell.workload, one.change
    rates = (None if cell is None else rate_of(cell).value for cell in (one.old, one.new))
    known = changed.low is not None and changed.high is not None
    return (
        changed.verdict.value,
        Row(workload=work, memory=one.cell.memory, caches=one.cell.caches).label,
        one.cell.name,
        one.device,
        work.unit.value,
        *("-" if rate is None else number(rate) for rate in rates),
        "-" if changed.ratio is None else f"{changed.ratio:.3f}",
        f"{changed.low:.3f} to {changed.high:.3f}" if known else "-",
        changed.reason,
    )


def summary_text(found: Comparison) -> str:
    """How many cells there are of each verdict, and by which test."""
    counts = ", ".join(f"{found.counts[v]} {v.value}" for v in dict.fromkeys(_ORDER) if found.counts[v])
    test = f"the interval at {found.level:.6g} of the ratio of medians lies beyond ±{found.effect:.2g}"
    return f"{counts}. SLOWER and FASTER: {test}"


def markdown(found: Comparison) -> str:
    """A table of all cells."""
    right = ("old", "new", "new / old time", "interval")
    rows = [HEADINGS, tuple("---:" if name in right else "---" for name in HEADINGS)]
    made = [_row(rows[0]), _row(rows[1]), *(_row(map(for_markdown, texts)) for texts in lines(found))]
    return "\n".join([*made, "", for_markdown(summary_text(found))]) + "\n"


def _row(texts: Any) -> str:
    return f"| {' | '.join(texts)} |"


def json_text(found: Comparison) -> str:
    """All cells, for programs: numbers in full, texts as they are."""
    cells = [
        {
            "verdict": one.change.verdict.value,
            "problem": one.cell.workload.path,
            "memory": one.cell.memory.value,
            "caches": one.cell.caches.value,
            "implementation": one.cell.name,
            "role": one.cell.role.value,
            "device": one.device,
            "old_seconds": one.old.seconds if one.old is not None else None,
            "new_seconds": one.new.seconds if one.new is not None else None,
            "ratio": one.change.ratio,
            "low": one.change.low,
            "high": one.change.high,
            "reason": one.change.reason,
        }
        for one in found.cells
    ]
    counts = {verdict.value: count for verdict, count in found.counts.items()}
    head = {"kind": "benchmark comparison", "schema": 1, "effect": found.effect, "level": found.level}
    return json.dumps({**head, "counts": counts, "fails": found.fails, "cells": cells}, indent=1) + "\n"


def show(console: Console, found: Comparison) -> None:
    """A table of what is not SAME, and the counts."""
    table = Table(title_justify="left")
    for name in _SHOWN:
        table.add_column(name, overflow="fold")
    shown = [texts for texts in lines(found) if texts[0] != Verdict.SAME.value]
    for texts in shown:
        told = dict(zip(HEADINGS, texts, strict=True))
        style = _STYLES.get(Verdict(told["verdict"]), "")
        cells = [Text(visible(told[name])) for name in _SHOWN[1:]]
        table.add_row(Text(told["verdict"], style=style), *cells)
    if shown:
        console.print(table)
    console.print(Text(visible(summary_text(found))), soft_wrap=True)


__all__ = ["HEADINGS", "json_text", "lines", "markdown", "show", "summary_text"]
