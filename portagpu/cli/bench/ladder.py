"""`portagpu bench ladder`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from portagpu.bench.ladder import measure, results
from portagpu.bench.ladder.plot import check_plot, plot
from portagpu.bench.ladder.results import LadderResult, StepResult
from portagpu.cli.choices import Choice
from portagpu.cli.options import check_writable
from portagpu.cli.output import console as new_console
from portagpu.device import default_device, find_device
from portagpu.settings import Settings

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@click.option("--size", type=click.IntRange(min=1), default=None, help="rows and columns of the matrices")
@click.option("--dtype", type=Choice(["float32", "float64"]), default=None, help="default: float32")
@click.option(
    "--plot", "picture", type=_FILE, default=None, help="draw the shares (.png or .svg; needs portagpu[plot])"
)
@click.option("--log", "logarithmic", is_flag=True, help="with --plot: a logarithmic axis, for steps of 1% and less")
@click.option("-o", "--output", type=_FILE, default=None, help="result file (JSON)")
@click.option(
    "--compare",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="earlier result file of the device; its size and dtype are measured again, and losses end in an error",
)
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0, max=1, max_open=True),
    default=0.1,
    show_default=True,
    help="the fraction that a step may lose against --compare",
)
def ladder(
    selector: str | None,
    size: int | None,
    dtype: str | None,
    picture: Path | None,
    logarithmic: bool,
    output: Path | None,
    compare: Path | None,
    tolerance: float,
) -> None:
    """Measure the steps from a naive GEMM kernel to the shipped one, each as a share of the vendor's library."""
    settings = Settings.from_environment()
    old = results.load(compare) if compare else None
    if picture is not None:
        check_plot(picture)
    elif logarithmic:
        raise click.UsageError("--log needs --plot FILE")
    for file, option in ((output, "-o"), (picture, "--plot")):
        if file is not None:
            check_writable(file, option)
    device = find_device(selector, settings) if selector else default_device(settings)
    size = size or (old.size if old else measure.default_size(device))
    dtype = dtype or (old.dtype if old else "float32")
    if old is not None:
        results.check_comparable(old, device.name, dtype, size)
    console = new_console()
    with console.status("measuring") as status:
        found = measure.run(device, size, dtype, settings, progress=status.update)
    if output is not None:
        results.save(output, found)
    if picture is not None:
        plot(found, picture, logarithmic=logarithmic)
    console.print(table(found))
    for file in (output, picture):
        if file is not None:
            console.print(f"Written to {file}", soft_wrap=True)
    if old is not None:
        _report_losses(console, old, found, tolerance)
    if any(step.problem and "wrong result" in step.problem for step in found.steps):
        raise click.ClickException("a result was wrong; see the table")


def _report_losses(console: Console, old: LadderResult, new: LadderResult, tolerance: float) -> None:
    if old.driver != new.driver:
        console.print(f"The driver was {old.driver} then and is {new.driver} now.", soft_wrap=True)
    lost = tuple(results.losses(old, new, tolerance))
    for loss in lost:
        console.print(f"[bold]{loss.name}[/bold]: {loss.reason}", soft_wrap=True)
    if lost:
        raise click.ClickException(f"{len(lost)} step{'s' if len(lost) > 1 else ''} lost more than {tolerance:.0%}")
    console.print(f"No step lost more than {tolerance:.0%} since {old.machine.get('date', 'the earlier run')}.")


def table(result: LadderResult) -> Table:
    """The steps for a terminal."""
    shown = Table(
        "",
        "step",
        "GFLOP/s",
        "share",
        "FLOP/byte, global",
        "FLOP/byte, shared",
        "remarks",
        title=f"{result.device}, {result.dtype}, {result.size} x {result.size}",
        caption=f"share of {result.peer}: {result.peer_gflops:.4g} GFLOP/s",
    )
    for number, step in enumerate(result.steps, 1):
        shown.add_row(str(number), step.name, *_figures(result, step))
    return shown


def _figures(result: LadderResult, step: StepResult) -> tuple[str, ...]:
    share = result.share(step)
    if step.gflops is None or share is None:
        return "-", "-", "-", "-", step.problem or ""
    intensities = (step.global_intensity, step.shared_intensity)
    return (
        f"{step.gflops:.4g}",
        f"{100 * share:.3g}%",
        *("-" if value is None else f"{value:.3g}" for value in intensities),
        step.note,
    )
