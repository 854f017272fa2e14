"""`portagpu bench textbook`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from portagpu.bench.results import machine_facts
from portagpu.bench.textbook.measure import TASKS, rows
from portagpu.bench.textbook.results import Row, figures, save, summary
from portagpu.cli.choices import Choice
from portagpu.cli.interruption import keep_in
from portagpu.cli.options import check_writable
from portagpu.cli.output import console as new_console
from portagpu.device import default_device, find_device
from portagpu.settings import Settings


@click.command()
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@click.option("--kernel", "names", multiple=True, type=Choice(list(TASKS)), help="default: every one")
@click.option("--small", is_flag=True, help="sizes that show only whether it works")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=None, help="result file (JSON)"
)
def textbook(selector: str | None, names: tuple[str, ...], small: bool, output: Path | None) -> None:
    """Measure textbook kernels against the same text in CUDA C (CuPy's RawKernel), every result verified."""
    settings = Settings.from_environment()
    device = find_device(selector, settings) if selector else default_device(settings)
    if output is not None:
        check_writable(output)
    console, facts, found = new_console(), machine_facts(), []
    with console.status("measuring") as status:
        for row in rows(device, names or TASKS, small=small, progress=status.update):
            found.append(row)
            if output is not None:
                save(output, facts, found)
                keep_in(output)
    console.print(table(tuple(found)))
    last = summary(found)
    if last:
        console.print(last, soft_wrap=True, markup=False, highlight=False)
    if output is not None:
        console.print(f"Written to {output}", soft_wrap=True)
    if any("wrong result" in row.problem for row in found):
        raise click.ClickException("a result was wrong; see the table")


def table(found: tuple[Row, ...]) -> Table:
    """The rows of one device for a terminal."""
    title = f"{found[0].device} ({found[0].driver}) beside {found[0].peer}"
    shown = Table(
        *("kernel", "size", "us", "peer's us", "ratio", "error", "remarks"),
        title=title,
        caption="ratio: time over the peer's; error: the largest, relative to the tolerance",
        title_justify="left",
        caption_justify="left",
    )
    for row in found:
        shown.add_row(row.kernel, row.size, *figures(row), row.problem)
    return shown
