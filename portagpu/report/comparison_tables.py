"""A comparison for terminals, in Markdown and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from portagpu.escaping import for_markdown
from portagpu.report.change import Verdict
from portagpu.report.comparison import Compared, Comparison
from portagpu.report.matrix import Row
from portagpu.report.terminal_sheet import Names, Series, draw, plain
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
_SHORT = 10  # characters of an implementation or a reason; what is longer is a note below
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
    """A table of what is not SAME, what implementations and reasons are, and the counts."""
    every = [dict(zip(HEADINGS, texts, strict=True)) for texts in lines(found)]
    shown = [told for told in every if told["verdict"] != Verdict.SAME.value]
    notes: list[str] = []
    if shown:
        names = Names(
            heading="problem",
            texts=[told["problem"] for told in shown],
            groups=[told["device"] for told in shown],
            styles=[_STYLES.get(Verdict(told["verdict"]), "") for told in shown],
        )
        series = [Series(heading="verdict", texts=[told["verdict"] for told in shown], left=True)]
        series.append(Series(heading="of", texts=[_noted(told["implementation"], notes) for told in shown], left=True))
        for heading, name in (("new/old", "new / old time"), ("interval", "interval")):
            series.append(Series(heading=heading, texts=[told[name] for told in shown], needed=name != "interval"))
        series.append(Series(heading="why", texts=[_noted(told["reason"], notes) for told in shown], left=True))
        draw(console, "", names, series)
        for number_of, note in enumerate(notes, 1):
            console.print(plain(f"({number_of}) {note}"), soft_wrap=True)
    console.print(plain(summary_text(found)), soft_wrap=True)


def _noted(text: str, notes: list[str]) -> str:
    """A short text, or the number of the note that has it."""
    if len(text) <= _SHORT:
        return text
    if text not in notes:
        notes.append(text)
    return f"({notes.index(text) + 1})"


__all__ = ["HEADINGS", "json_text", "lines", "markdown", "show", "summary_text"]
