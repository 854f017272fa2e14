"""``portagpu devices``: a table of what can compute here."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from portagpu.device.doctor import device_as_json
from portagpu.device.registry import DeviceRecord, default_device, devices, discover
from portagpu.errors import DeviceError
from portagpu.settings import Settings


@click.command("devices")
@click.option("--json", "as_json", is_flag=True, help="Print every capability as JSON.")
@click.option("--fresh", is_flag=True, help="Probe every device again instead of trusting the cache.")
def devices_command(*, as_json: bool, fresh: bool) -> None:
    """List the OpenCL devices of this machine and what they can do."""
    settings = Settings.from_environment()
    records = discover(settings, fresh=True) if fresh else devices(settings)
    if as_json:
        click.echo(json.dumps([device_as_json(record) for record in records], indent=2))
        return
    console = Console()
    if not records:
        console.print("No OpenCL device was found. [bold]portagpu doctor[/bold] explains why.")
        raise SystemExit(1)
    try:
        default: DeviceRecord | None = default_device(settings)
    except DeviceError as error:
        console.print(f"[red]{error.message}[/red]", highlight=False)
        default = None
    console.print(device_table(records, default))
    for record in records:
        if record.problem is not None:
            console.print(f"[red]{record.index}[/red] {record.problem}\n  remedy: {record.remedy}", highlight=False)
    if default is None:
        raise SystemExit(1)


def device_table(records: tuple[DeviceRecord, ...], default: DeviceRecord | None) -> Table:
    """One row a device; the default one is marked with an asterisk."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("", justify="right")
    table.add_column("device", overflow="fold")
    table.add_column("platform", overflow="fold")
    table.add_column("type")
    table.add_column("units", justify="right")
    table.add_column("memory", justify="right")
    table.add_column("local", justify="right")
    table.add_column("GFLOP/s f32", justify="right")
    table.add_column("can do", overflow="fold")
    for record in records:
        chosen = default is not None and record.index == default.index
        mark = f"[green]*[/green] {record.index}" if chosen else str(record.index)
        caps = record.capabilities
        cells = ["", "", "", "", "[red]does not work[/red]"]
        if caps is not None:
            cells = [
                str(caps.compute_units),
                f"{caps.global_memory / 2**30:.1f} GiB",
                f"{max(caps.local_memory_static, caps.local_memory_argument) / 2**10:.0f} KiB",
                f"{caps.measured_gflops:.3g}",
                " ".join(_abilities(record)),
            ]
        table.add_row(mark, record.name, record.platform, record.device_type.value, *cells)
    return table


def _abilities(record: DeviceRecord) -> list[str]:
    caps = record.capabilities
    if caps is None:
        return []
    names = {
        "fp64": caps.fp64,
        "fp16": caps.fp16,
        "int64-atomics": caps.int64_atomics,
        "float-atomics": caps.float_atomic_add_global,
        "subgroups": caps.subgroups,
        "shuffle": caps.subgroup_shuffle,
        "ptx": caps.inline_ptx,
        "printf": caps.printf,
    }
    return [name for name, there in names.items() if there]
