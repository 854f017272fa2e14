"""``portagpu doctor``: every driver found, what is wrong with it and how to mend it."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.markup import escape

from portagpu.backends.opencl.doctor import Diagnosis, Severity, as_json, diagnose
from portagpu.backends.opencl.drivers.records import DriverRecord, DriverState
from portagpu.cli.devices import show_below, show_devices
from portagpu.cli.output import console as new_console
from portagpu.settings import Settings

_STYLES = {Severity.NOTE: "dim", Severity.WARNING: "yellow", Severity.ERROR: "bold red"}
_SERVING = (DriverState.REGISTERED, DriverState.ADDED)


@click.command("doctor")
@click.option("--json", "to_json", is_flag=True, help="Print the diagnosis as JSON.")
@click.option("--cached", is_flag=True, help="Trust the cache instead of loading and probing everything again.")
def doctor_command(*, to_json: bool, cached: bool) -> None:
    """Explain every OpenCL driver and device of this machine. Exit status 1 if PortaGPU cannot run as asked."""
    diagnosis = diagnose(Settings.from_environment(), fresh=not cached)
    if to_json:
        click.echo(json.dumps(as_json(diagnosis), indent=2))
    else:
        show(diagnosis, new_console())
    if not diagnosis.healthy:
        raise SystemExit(1)


def show(diagnosis: Diagnosis, console: Console) -> None:
    """Print drivers, devices and findings."""
    console.print("[bold]Drivers[/bold]")
    if diagnosis.simulator:
        console.print("  This process runs inside a simulator, which replaces every driver.")
    elif diagnosis.drivers:
        _show_drivers(console, diagnosis.drivers)
    else:
        console.print("  none found")
    console.print("\n[bold]Devices[/bold] (* is used by default)")
    if diagnosis.devices:
        show_devices(console, diagnosis.devices, diagnosis.default)
    else:
        console.print("  none found")
    console.print("\n[bold]Findings[/bold]")
    for finding in diagnosis.findings:
        style = _STYLES[finding.severity]
        console.print(
            f"[{style}]{finding.severity.value}[/{style}] {escape(finding.subject)}", highlight=False, soft_wrap=True
        )
        show_below(console, escape(finding.problem))
        if finding.remedy:
            show_below(console, f"[bold]remedy:[/bold] {escape(finding.remedy)}")
    if not diagnosis.findings:
        console.print("  nothing is wrong")
    console.print(f"\nPyOpenCL {diagnosis.pyopencl_version}, cache {diagnosis.cache_dir}", highlight=False)
    if diagnosis.vendors_folder is not None:
        console.print(f"OCL_ICD_VENDORS={diagnosis.vendors_folder} (set for this process)", highlight=False)


def _show_drivers(console: Console, drivers: tuple[DriverRecord, ...]) -> None:
    for driver in drivers:
        style = "green" if driver.state in _SERVING else "yellow"
        path = escape(driver.path or driver.library)  # in one piece at any width, to be copied
        console.print(f"  {path} [{style}]{driver.state.value}[/{style}]", highlight=False, soft_wrap=True)
        show_below(console, escape(driver.icd_file or driver.source.value), whole=True)
        for platform in driver.platforms:
            show_below(console, f"{escape(platform.name)}: {escape(', '.join(platform.devices)) or 'no device'}")
