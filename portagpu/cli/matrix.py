"""`portagpu matrix`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from portagpu.bench.records.files import load
from portagpu.cli.choices import Choice
from portagpu.cli.options import check_writable, given
from portagpu.cli.output import console as new_console
from portagpu.files import write_atomically
from portagpu.report import comparison_tables, markdown, plots, terminal
from portagpu.report.change import LEAST_EFFECT, LEVEL
from portagpu.report.comparison import compare
from portagpu.report.compiled import CompiledRow
from portagpu.report.matrix import Matrix
from portagpu.report.page import html_text
from portagpu.report.reading import load_all
from portagpu.report.selection import select, select_compiled
from portagpu.report.spreadsheet import csv_text
from portagpu.report.terminal_compiled import show_compiled
from portagpu.report.views import VIEWS, View

_FILE = click.Path(path_type=Path, dir_okay=False)
_EXISTING = click.Path(path_type=Path, exists=True, dir_okay=False)
_KINDS = (".md", ".csv", ".html", ".svg", ".png")
_ALIKE = {".markdown": ".md", ".htm": ".html", "": ".md"}


@click.command()
@click.argument("files", nargs=-1, type=_EXISTING)
@click.option("-o", "--output", type=_FILE, default=None, help="file to write: .md, .csv, .html, .svg or .png")
@click.option("--view", "key", type=Choice(list(VIEWS)), default=None, help="what to show of each cell")
@click.option(
    "--plot",
    "drawing",
    type=Choice(list(plots.PLOTS)),
    default="bars",
    show_default=True,
    help="what an .svg or .png shows (needs portagpu[plot])",
)
@click.option("--filter", "words", multiple=True, help="problems with all of these words in their names; repeatable")
@click.option("--device", "devices", multiple=True, help="devices with this text in their names; repeatable")
@click.option("--title", default="", help="of a page or plot")
@click.option("--compare", "pair", nargs=2, type=_EXISTING, default=None, metavar="OLD NEW", help="compare two files")
@click.option(
    "--effect",
    type=click.FloatRange(min=0, max=10),
    default=LEAST_EFFECT,
    show_default=True,
    help="with --compare: what a time may change by, as a fraction",
)
@click.option(
    "--level",
    type=click.FloatRange(min=0.5, max=0.999999),
    default=LEVEL,
    show_default=True,
    help="with --compare: of the intervals that must lie beyond the effect",
)
def matrix(
    files: tuple[Path, ...],
    output: Path | None,
    key: str | None,
    drawing: str,
    words: tuple[str, ...],
    devices: tuple[str, ...],
    title: str,
    pair: tuple[Path, Path] | None,
    effect: float,
    level: float,
) -> None:
    """Merge result files of several machines: tables, plots, a page; or compare two.

    With --compare the status is 1 if a cell of ours is SLOWER, or LOST: it was measured, and fails now.
    """
    inputs = (*files, *(pair or ()))
    if output is not None and output.exists() and any(output.samefile(file) for file in inputs):
        raise click.BadParameter(f"{output} is one of the result files", param_hint="-o")
    if pair is not None:
        if files:
            raise click.UsageError("--compare takes two files, and there are others")
        _compare(pair, output, effect, level)
        return
    if not files:
        raise click.UsageError("name one or more result files")
    for option in ("--effect", "--level"):
        if option in given(click.get_current_context()):
            raise click.UsageError(f"{option} needs --compare")
    kind = _kind(output, _KINDS)
    if output is not None:
        if kind in (".svg", ".png"):
            plots.check_plot(output)
        check_writable(output)
    loaded, rows = load_all(files)
    compiled = select_compiled(rows, words, devices)
    found = select(loaded, words, devices)
    view = VIEWS[key] if key else None
    if output is None:
        _show(found, compiled, view)
    else:
        write_atomically(output, _made(kind, found, compiled, view, drawing, title))


def _show(found: Matrix, compiled: Sequence[CompiledRow], view: View | None) -> None:
    console = new_console()
    if not found.places and not compiled:
        console.print("no cell is in the files: nothing was measured yet", markup=False)
        return
    if view is None:
        terminal.show_devices(console, found)
    else:
        terminal.show_view(console, found, view)
    show_compiled(console, compiled)


def _made(
    kind: str, found: Matrix, compiled: Sequence[CompiledRow], view: View | None, drawing: str, title: str
) -> bytes:
    """The content of a file of a kind."""
    if kind in (".svg", ".png"):
        return plots.draw(found, drawing, view or plots.DEFAULT_VIEW, kind[1:], title)
    if kind == ".html":
        text = html_text(found, compiled, view, title)
    elif kind == ".csv":
        text = csv_text(found, compiled)
    else:
        text = markdown.published_table(found) if view is None else markdown.view_table(found, view)
        text += markdown.compiled_table(compiled)
    return text.encode()


def _compare(pair: tuple[Path, Path], output: Path | None, effect: float, level: float) -> None:
    kind = _kind(output, (".md", ".json"))
    if output is not None:
        check_writable(output)
    found = compare(load(pair[0]), load(pair[1]), effect, level)
    if output is not None:
        form = comparison_tables.json_text if kind == ".json" else comparison_tables.markdown
        write_atomically(output, form(found).encode())
    comparison_tables.show(new_console(), found)
    if found.fails:
        raise click.exceptions.Exit(1)


def _kind(output: Path | None, known: tuple[str, ...]) -> str:
    suffix = "" if output is None else output.suffix.lower()
    kind = _ALIKE.get(suffix, suffix)
    if kind not in known:
        names = ", ".join(known)
        raise click.BadParameter(
            f"{output} is no kind of table; name a file that ends in one of {names}", param_hint="-o"
        )
    return kind
