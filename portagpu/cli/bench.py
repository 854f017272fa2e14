"""`portagpu bench`, with `portagpu bench ladder`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from portagpu.bench import gemm
from portagpu.bench.cells import Cell
from portagpu.bench.core_types import CoreTypes
from portagpu.bench.results import Results, machine_facts, save
from portagpu.bench.tables import UNSTEADY, marked_speed, worst_text
from portagpu.blas.gemm.core.problem import Problem
from portagpu.cli.choices import SuggestingGroup
from portagpu.cli.interruption import keep_in
from portagpu.cli.ladder import ladder
from portagpu.cli.options import check_writable, refuse_options
from portagpu.cli.output import console as new_console
from portagpu.cli.products import ROUTINES, Products, product_options, routine_options
from portagpu.cli.routines import blas
from portagpu.cli.routines import measure as measure_routines
from portagpu.cli.textbook import textbook
from portagpu.cli.tuned import tuned
from portagpu.device import DeviceRecord, DeviceType, default_device, find_device, working_devices
from portagpu.settings import Settings

_PLAIN: dict[str, Any] = {"soft_wrap": True, "markup": False, "highlight": False}


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@click.option("--device", "selectors", multiple=True, help="index, name part, vendor, gpu or cpu; default: every one")
@product_options
@click.option(
    "--core-types/--no-core-types",
    default=True,
    show_default=True,
    help="on CPUs, also against OpenBLAS with its best core type, set by hand in child processes",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("portagpu-bench.json"),
    show_default=True,
    help="result file (JSON)",
)
@click.pass_context
def bench(ctx: click.Context, selectors: tuple[str, ...], products: Products, core_types: bool, output: Path) -> None:
    """Measure GEMM against the vendor's library, every result verified, and write a JSON file."""
    if ctx.invoked_subcommand is not None:
        refuse_options(ctx)
        return
    settings = Settings.from_environment()
    chosen = tuple(find_device(s, settings) for s in selectors) or working_devices(settings)
    devices = chosen or (default_device(settings),)  # which tells why none works
    check_writable(output)
    if ROUTINES in products.sets:
        sizes, dtypes = routine_options(products)
        measure_routines(devices, dtypes=dtypes, sizes=sizes, core_types=core_types, output=output)
        return
    console = new_console()
    facts = machine_facts()

    def keep(cells: tuple[Cell, ...]) -> None:  # after each, so that little is lost when the command is ended
        save(output, Results(machine=facts, cells=cells))
        keep_in(output)

    cells = measure(console, devices, products.on, settings, core_types=core_types, keep=keep)
    show(console, cells)
    console.print(f"Written to {output}; merge files with: portagpu matrix {output} ...", soft_wrap=True)
    if any(c.problem and "wrong result" in c.problem for c in cells):
        raise click.ClickException("a result was wrong; see the table")


bench.add_command(ladder)
bench.add_command(blas)
bench.add_command(tuned)
bench.add_command(textbook)


def measure(
    console: Console,
    devices: tuple[DeviceRecord, ...],
    products: Callable[[DeviceRecord], Iterable[Problem]],
    settings: Settings,
    *,
    core_types: bool = False,
    keep: Callable[[tuple[Cell, ...]], None] = lambda cells: None,
) -> tuple[Cell, ...]:
    """Measure with a status line; ``products`` tells what on which device, ``keep`` gets all cells after each."""
    cells: list[Cell] = []
    with console.status("measuring") as status, CoreTypes() as found:
        for device in devices:
            hand_set = found if core_types and device.device_type is DeviceType.CPU else None
            for cell in gemm.cells(device, products(device), settings, status.update, hand_set):
                cells.append(cell)
                keep(tuple(cells))
    return tuple(cells)


def show(console: Console, cells: tuple[Cell, ...]) -> None:
    """A table for each device, the libraries that its numbers stand for, and the worst cell."""
    peers = list(dict.fromkeys(cell.peer for cell in cells))
    for device in dict.fromkeys((cell.device, cell.driver) for cell in cells):
        console.print(table(tuple(c for c in cells if (c.device, c.driver) == device), peers))
    for number, peer in enumerate(peers, 1):
        console.print(f"({number}) {peer}", **_PLAIN)
    last = worst_text(cells)
    if last:
        console.print(last, **_PLAIN)


def table(cells: tuple[Cell, ...], peers: list[str]) -> Table:
    """The cells of one device for a terminal; libraries by their numbers in ``peers``."""
    title = f"{cells[0].device} ({cells[0].driver}), {', '.join(dict.fromkeys(c.memory for c in cells))}"
    columns = ("arithmetic", "m x n x k", "GFLOP/s", "library's", "ratio", "error", "library")
    caption = "error: the largest, relative to the tolerance"
    if any(cell.unsteady or cell.peer_unsteady for cell in cells):
        caption += f"\n{UNSTEADY}"
    shown = Table(*columns, title=title, caption=caption, title_justify="left", caption_justify="left")
    for cell in cells:
        library = f"({peers.index(cell.peer) + 1}) {cell.problem or cell.peer_arithmetic}"
        shown.add_row(
            cell.arithmetic,
            cell.shape,
            marked_speed(cell.gflops, cell.unsteady),
            marked_speed(cell.peer_gflops, cell.peer_unsteady),
            "-" if cell.ratio is None else f"{cell.ratio:.2f}",
            "-" if cell.error is None else f"{cell.error:.2g}",
            library.strip(),
        )
    return shown
