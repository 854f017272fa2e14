"""A part of a matrix: problems by words in their names, devices by a text in theirs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from portagpu.errors import SettingsError
from portagpu.report.compiled import CompiledRow
from portagpu.report.matrix import Matrix


def select(matrix: Matrix, filters: Sequence[str], devices: Sequence[str]) -> Matrix:
    """The rows that have all words of one of the filters, and the columns that have one of the texts.

    Raises `SettingsError` where nothing is left of what there is.
    """
    columns = [n for n, one in enumerate(matrix.columns) if not devices or _any(devices, one.title)]
    rows = [
        n
        for n, row in enumerate(matrix.rows)
        if (not filters or any(matches(text, row.label) for text in filters))
        and any((n, column) in matrix.places for column in columns)
    ]
    if matrix.places and not (rows and columns):
        raise SettingsError("no cell is left by --filter and --device", hint="leave one of them out")
    to_row, to_column = ({old: new for new, old in enumerate(kept)} for kept in (rows, columns))
    return replace(
        matrix,
        rows=tuple(matrix.rows[n] for n in rows),
        columns=tuple(matrix.columns[n] for n in columns),
        places={
            (to_row[row], to_column[column]): one
            for (row, column), one in matrix.places.items()
            if row in to_row and column in to_column
        },
    )


def select_compiled(rows: Sequence[CompiledRow], filters: Sequence[str], devices: Sequence[str]) -> list[CompiledRow]:
    """The rows of compiled kernels that the same options leave."""
    return [
        row
        for row in rows
        if (not devices or _any(devices, row.texts[0]))
        and (not filters or any(matches(text, " ".join((row.group, *row.texts))) for text in filters))
    ]


def matches(text: str, label: str) -> bool:
    """Whether a label has all words of a text."""
    return all(word in label.lower() for word in text.lower().split())


def _any(texts: Sequence[str], title: str) -> bool:
    return any(text.lower() in title.lower() for text in texts)


__all__ = ["matches", "select", "select_compiled"]
