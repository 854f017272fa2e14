"""`portagpu bench tuned`: what tuning brings."""

from __future__ import annotations

from pathlib import Path

import click

from portagpu.bench.problems import shape_text
from portagpu.bench.tuned import check_kept, gains, heading, obstacle, row, summary
from portagpu.cli.bench.products import Products, product_options
from portagpu.cli.interruption import keep_in
from portagpu.cli.options import time_option
from portagpu.cli.output import console as new_console
from portagpu.device import default_device, find_device
from portagpu.settings import Settings


@click.command()
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@product_options
@time_option("--short", default="60s", help="budget of the short search, for each product")
@time_option("--long", default="5m", help="budget of the long search, for each product; the short one is its beginning")
@click.option(
    "--keep",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="file for what was measured; `portagpu tune import` takes it",
)
def tuned(selector: str | None, products: Products, short: float, long: float, keep: Path | None) -> None:
    """Measure products untuned, after a short search and after a long one, and print a Markdown table.

    The user's own tuning results are neither used nor changed.
    """
    if short > long:
        raise click.BadParameter("the short search is the beginning of the long one", param_hint="--short")
    settings = Settings.from_environment()
    device = find_device(selector, settings) if selector else default_device(settings)
    if keep is not None:
        check_kept(keep)
        keep_in(keep)
    console = new_console(stderr=True)
    problems = []
    for problem in products.on(device):
        why = obstacle(problem, device)
        if why is None:
            problems.append(problem)
        else:
            console.print(f"{problem.arithmetic} {shape_text(problem)} is left out: {why}")
    if not problems:
        raise click.UsageError("nothing is left to measure")
    click.echo(f"{device.name} ({device.platform} {device.driver_version})\n\n{heading(short, long)}")
    found = []
    with console.status("searching") as status:
        for gain in gains(device, problems, settings, short=short, long=long, keep=keep, progress=status.update):
            found.append(gain)
            click.echo(row(gain))
    click.echo("\n" + "\n".join(summary(found)))
