"""`portagpu bench`, with `portagpu bench ladder`, and `portagpu matrix`."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from portagpu.bench import gemm
from portagpu.bench.cells import Cell
from portagpu.bench.results import Results, load, machine_facts, markdown, save
from portagpu.cli.ladder import ladder
from portagpu.cli.options import check_writable
from portagpu.device import DeviceRecord, find_device, working_devices
from portagpu.settings import Settings


@click.group(invoke_without_command=True)
@click.option("--device", "selectors", multiple=True, help="index, name part, vendor, gpu or cpu; default: every one")
@click.option("--size", "sizes", type=click.IntRange(min=1), multiple=True, help="may be repeated")
@click.option("--dtype", "dtypes", type=click.Choice(["float32", "float64"]), multiple=True, help="may be repeated")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("portagpu-bench.json"),
    show_default=True,
    help="result file (JSON)",
)
@click.pass_context
def bench(
    ctx: click.Context, selectors: tuple[str, ...], sizes: tuple[int, ...], dtypes: tuple[str, ...], output: Path
) -> None:
    """Measure GEMM against the vendor's library, every result verified, and write a JSON file."""
    if ctx.invoked_subcommand is not None:
        _refuse_options(ctx)
        return
    settings = Settings.from_environment()
    devices = tuple(find_device(s, settings) for s in selectors) or working_devices(settings)
    check_writable(output)
    console = Console()
    cells = measure(console, devices, sizes, dtypes or ("float32", "float64"), settings)
    save(output, Results(machine=machine_facts(), cells=cells))
    console.print(table(cells))
    console.print(f"Written to {output}; merge files with: portagpu matrix {output} ...", soft_wrap=True)
    if any(c.problem and "wrong result" in c.problem for c in cells):
        raise click.ClickException("a result was wrong; see the table")


def _refuse_options(ctx: click.Context) -> None:
    """Options before the name of a subcommand would be lost without a word."""
    for name in ctx.params:
        if ctx.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"write options behind {ctx.invoked_subcommand!r}, not before it", ctx)


bench.add_command(ladder)


def measure(
    console: Console,
    devices: tuple[DeviceRecord, ...],
    sizes: tuple[int, ...],
    dtypes: tuple[str, ...],
    settings: Settings,
) -> tuple[Cell, ...]:
    """Measure with a status line."""
    cells: list[Cell] = []
    with console.status("measuring") as status:
        for device in devices:
            cells += gemm.cells(device, sizes or gemm.default_sizes(device), dtypes, settings, status.update)
    return tuple(cells)


def table(cells: tuple[Cell, ...]) -> Table:
    """The cells for a terminal."""
    shown = Table("device", "dtype", "size", "PortaGPU GFLOP/s", "vendor library GFLOP/s", "ratio", "vendor library")
    for cell in cells:
        if cell.gflops is None or cell.peer_gflops is None or cell.ratio is None:
            shown.add_row(cell.device, cell.dtype, str(cell.size), "-", "-", "-", cell.problem or "")
            continue
        shown.add_row(
            cell.device,
            cell.dtype,
            str(cell.size),
            f"{cell.gflops:.0f}",
            f"{cell.peer_gflops:.0f}",
            f"{cell.ratio:.2f}",
            cell.peer,
        )
    return shown


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=None, help="file for the table"
)
def matrix(files: tuple[Path, ...], output: Path | None) -> None:
    """Merge result files of several machines into one Markdown table."""
    text = markdown(load(f) for f in files)
    if output is None:
        click.echo(text, nl=False)
    else:
        check_writable(output)
        output.write_text(text, encoding="utf-8")
