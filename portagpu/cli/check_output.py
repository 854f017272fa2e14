"""Where results of ``portagpu check`` go: a table, JSON or SARIF, on the terminal or in a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from portagpu.backends.offline import OfflineTarget
from portagpu.checking.records import Note, Result, Status, as_json, figures_data, report_data
from portagpu.checking.sarif import as_sarif
from portagpu.cli.output import console
from portagpu.files import write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """The form that was asked for; ``place``: a file, or None for the terminal, which else shows the table as well."""

    form: str
    place: Path | None
    targets: tuple[OfflineTarget, ...]
    require: tuple[str, ...]

    def put(self, results: list[Result], show: Callable[[Console], None], notes: Iterable[Note] = ()) -> None:
        """Write results. ``show``: prints the table."""
        if self.form == "table" or self.place is not None:
            show(console())
        if self.form == "table":
            if self.place is not None:
                self._write(_text(show))
            return
        text = self._report(results, notes, complete=True)
        if self.place is None:
            click.echo(text, nl=False)
        else:
            self._write(text)

    def keep(self, results: list[Result], notes: Iterable[Note]) -> None:
        """Write what is finished of a check that goes on, where it is written to a file that programs read."""
        if self.place is not None and self.form != "table":
            self._write(self._report(results, notes, complete=False))

    def _report(self, results: list[Result], notes: Iterable[Note], *, complete: bool) -> str:
        if self.form == "sarif":
            return as_sarif(results, complete=complete)
        return as_json(report_data(results, self.targets, self.require, notes, complete=complete))

    def _write(self, text: str) -> None:
        assert self.place is not None
        write_atomically(self.place, text.encode())


def _text(show: Callable[[Console], None]) -> str:
    """What is shown, without colours."""
    quiet = Console(no_color=True, force_terminal=False)
    with quiet.capture() as captured:
        show(quiet)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def as_before(result: Result) -> dict[str, Any]:
    """What ``--json`` prints for a target, as versions did that had no ``--format``."""
    if result.figures is None:
        texts = [p.message if p.span is None else f"{p.message}\n  at {p.span.excerpt()}" for p in result.problems]
        return {"error": "\n".join(texts), "missing_compiler": result.status is Status.NOT_COMPILED}
    return {**figures_data(result.figures), "remark": result.remark}
