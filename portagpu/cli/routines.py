"""`portagpu bench blas`, which is also ``portagpu bench --set blas``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from portagpu.bench.core_types import CoreTypes
from portagpu.bench.results import machine_facts
from portagpu.bench.routines.measure import rows
from portagpu.bench.routines.results import Row, figures, save, summary
from portagpu.bench.routines.tasks import DTYPES, TASKS
from portagpu.cli.choices import Choice
from portagpu.cli.interruption import keep_in
from portagpu.cli.options import check_writable
from portagpu.cli.output import console as new_console
from portagpu.device import DeviceRecord, DeviceType, default_device, find_device
from portagpu.settings import Settings

_PLAIN: dict[str, Any] = {"soft_wrap": True, "markup": False, "highlight": False}


@click.command()
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@click.option("--routine", "names", multiple=True, type=Choice(list(TASKS)), help="default: every one")
@click.option("--dtype", "dtypes", multiple=True, type=Choice(list(DTYPES)), help="default: all that it has")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=click.IntRange(min=1),
    help="elements of vectors, rows of matrices; may be repeated; default: what the device is measured with",
)
@click.option("--small", is_flag=True, help="sizes that show only whether it works")
@click.option(
    "--core-types/--no-core-types",
    default=True,
    show_default=True,
    help="on CPUs, also against OpenBLAS with its best core type, set by hand in child processes",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), default=None, help="result file (JSON)"
)
def blas(
    selector: str | None,
    names: tuple[str, ...],
    dtypes: tuple[str, ...],
    sizes: tuple[int, ...],
    small: bool,
    core_types: bool,
    output: Path | None,
) -> None:
    """Measure BLAS routines and factorisations against SciPy, cuBLAS, cuSOLVER and CLBlast, every result verified."""
    settings = Settings.from_environment()
    device = find_device(selector, settings) if selector else default_device(settings)
    if output is not None:
        check_writable(output)
    measure((device,), names, dtypes, sizes=sizes, small=small, core_types=core_types, output=output)


def measure(
    devices: tuple[DeviceRecord, ...],
    names: tuple[str, ...] = (),
    dtypes: tuple[str, ...] = (),
    *,
    sizes: tuple[int, ...] = (),
    small: bool = False,
    core_types: bool = True,
    output: Path | None = None,
) -> None:
    """Measure, print each row as it is found, then the table; the file is replaced after each.

    Raises `click.ClickException` where a result is wrong, at the end.
    """
    console, facts, found = new_console(), machine_facts(), []
    with console.status("measuring") as status, CoreTypes() as children:
        for device in devices:
            hand_set = children if core_types and device.device_type is DeviceType.CPU else None
            options: dict[str, Any] = {"sizes": sizes, "small": small, "core_types": hand_set}
            for row in rows(device, names or tuple(TASKS), dtypes, **options, progress=status.update):
                found.append(row)
                console.print(line(row), **_PLAIN)
                if output is not None:
                    save(output, facts, found)
                    keep_in(output)
    peers = list(dict.fromkeys(map(rival, found)))
    for of_device in dict.fromkeys((row.device, row.driver) for row in found):
        console.print(table(tuple(row for row in found if (row.device, row.driver) == of_device), peers))
    for number, peer in enumerate(peers, 1):
        console.print(f"({number}) {peer}", **_PLAIN)
    last = summary(found)
    if last:
        console.print(last, **_PLAIN)
    if output is not None:
        console.print(f"Written to {output}", soft_wrap=True)
    if any(row.problem.startswith("wrong result:") for row in found):
        raise click.ClickException("a result was wrong; see the table")


def line(row: Row) -> str:
    """A row as a line of text."""
    own, peer, ratio, _ = figures(row)
    told = row.problem or f"{own} {row.unit}, {ratio} of {peer}"
    return f"{row.routine:12} {row.dtype} {row.size:>15}: {told} ({rival(row)})"


def table(found: tuple[Row, ...], peers: list[str]) -> Table:
    """The rows of one device for a terminal; peers by their numbers in ``peers``."""
    shown = Table(
        *("routine", "dtype", "size", "rate", "peer's", "unit", "ratio", "error", "peer"),
        title=f"{found[0].device} ({found[0].driver})",
        caption="ratio: speed over the peer's; error: the largest, relative to the tolerance",
        title_justify="left",
        caption_justify="left",
    )
    for row in found:
        own, peer, ratio, error = figures(row)
        number = f"({peers.index(rival(row)) + 1}) {row.problem}".strip()
        shown.add_row(row.routine, row.dtype, row.size, own, peer, row.unit, ratio, error, number)
    return shown


def rival(row: Row) -> str:
    """The peer of a row, and where the operands were."""
    return f"{row.peer}, {row.memory}"
