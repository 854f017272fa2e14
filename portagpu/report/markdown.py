"""Markdown: the published table, or one view of the matrix."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from portagpu.escaping import for_markdown
from portagpu.report import published
from portagpu.report.compiled import HEADINGS, NUMBERS, CompiledRow
from portagpu.report.matrix import Matrix
from portagpu.report.metrics import row_portability, summary
from portagpu.report.text import figure_text, mark
from portagpu.report.views import View


def published_table(matrix: Matrix) -> str:
    """A line for each device and problem, and remarks."""
    return _document(
        published.HEADINGS,
        [name in published.NUMBERS for name in published.HEADINGS],
        published.lines(matrix),
        published.remarks(matrix),
    )


def view_table(matrix: Matrix, view: View) -> str:
    """Problems by devices, with what a view shows, and our performance portability in each."""
    several = len(matrix.columns) > 1
    headings = ("problem", *([] if view.unit or view.share else ["unit"]), *(one.title for one in matrix.columns))
    lines = []
    for number, row in enumerate(matrix.rows):
        places = matrix.row_places(number)
        unit = [] if view.unit or view.share else [row.workload.unit.value]
        texts = ["" if one is None else f"{figure_text(view.of(one), view)}{mark(one.ours)}" for one in places]
        metric = row_portability(places, view) if several else None
        lines.append((row.label, *unit, *texts, *([("-" if metric is None else f"{metric:.2f}")] if several else [])))
    headings = (*headings, *(["portability"] if several else []))
    told = published.summary_text(summary(matrix.places.values(), view), view.title) if view.share else ""
    title = f"{view.title}{f' in {view.unit}' if view.unit else ''}"
    return _document(headings, [n > 0 for n in range(len(headings))], lines, [title, *([told] if told else [])])


def compiled_table(rows: Sequence[CompiledRow]) -> str:
    """Kernels that were compiled for hardware that is not there, below another table; "" without any."""
    if not rows:
        return ""
    title = (
        f"{len(rows)} kernel{'s' if len(rows) > 1 else ''} compiled for hardware that was not there; nothing was run:"
    )
    right = [name in NUMBERS for name in HEADINGS]
    return f"\n{title}\n\n{_document(HEADINGS, right, [row.texts for row in rows], [])}"


def _document(
    headings: Iterable[str], right: Iterable[bool], lines: Iterable[tuple[str, ...]], remarks: Iterable[str]
) -> str:
    made = [_line(map(for_markdown, headings)), _line("---:" if one else "---" for one in right)]
    made += [_line(map(for_markdown, texts)) for texts in lines]
    return "\n".join([*made, *(part for remark in remarks for part in ("", for_markdown(remark)))]) + "\n"


def _line(texts: Iterable[str]) -> str:
    return f"| {' | '.join(texts)} |"


__all__ = ["published_table", "view_table"]
