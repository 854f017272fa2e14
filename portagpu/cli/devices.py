"""``portagpu devices``: what can compute here."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from portagpu.cli.output import console as new_console
from portagpu.device.as_json import device_as_json
from portagpu.device.record import DeviceRecord
from portagpu.device.registry import all_devices, default_device, discover_all
from portagpu.errors import DeviceError
from portagpu.settings import Settings

_INDENT = 5  # of a paragraph's further lines


@click.command("devices")
@click.option("--json", "as_json", is_flag=True, help="Print every capability as JSON.")
@click.option(
    "--fresh", is_flag=True, help="Probe every device again instead of trusting the cache, and number them anew."
)
def devices_command(*, as_json: bool, fresh: bool) -> None:
    """List the devices of this machine, those of all back ends, and what they can do."""
    settings = Settings.from_environment()
    records = discover_all(settings, renumber=True) if fresh else all_devices(settings)
    if as_json:
        click.echo(json.dumps([device_as_json(record) for record in records], indent=2))
        return
    console = new_console()
    if not records:
        console.print("No device was found. [bold]portagpu doctor[/bold] explains why.")
        raise SystemExit(1)
    try:
        default: DeviceRecord | None = default_device(settings)
    except DeviceError as error:
        console.print(f"[red]{error.message}[/red]", highlight=False)
        default = None
    show_devices(console, records, default)
    for record in records:
        if record.problem is not None:
            console.print(f"[red]{record.label}[/red] {record.problem}\n  remedy: {record.remedy}", highlight=False)
    if default is None:
        raise SystemExit(1)


def show_devices(console: Console, records: tuple[DeviceRecord, ...], default: DeviceRecord | None) -> None:
    """A paragraph a device, whose lines end between words at any width; the default one is marked with an asterisk."""
    for record in records:
        mark = "*" if default is not None and record.selector == default.selector else " "
        head = f"[green]{mark}[/green] [bold]{record.label}[/bold]  {escape(record.name)}"
        console.print(f"{head} ({escape(record.platform)})", highlight=False, soft_wrap=True)
        caps = record.capabilities
        if caps is None:
            show_below(console, f"{record.device_type.value}, [red]does not work[/red]")
            continue
        local = max(caps.local_memory_static, caps.local_memory_argument) / 2**10
        show_below(
            console,
            f"{record.device_type.value}, {caps.compute_units} units, {caps.global_memory / 2**30:.1f} GiB of memory,"
            f" {local:.0f} KiB local, {caps.measured_gflops:.3g} GFLOP/s in float32",
        )
        show_below(console, f"can do: {' '.join(_abilities(record))}")


def show_below(console: Console, text: str, *, whole: bool = False) -> None:
    """A further line of a paragraph; ``whole``: a path, which stays in one piece at any width, to be copied."""
    if whole:
        console.print(" " * _INDENT + text, highlight=False, soft_wrap=True)
    else:
        console.print(Padding(text, (0, 0, 0, _INDENT), expand=False), highlight=False)


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
