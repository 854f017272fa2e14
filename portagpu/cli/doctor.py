"""``portagpu doctor``: every driver found, what is wrong with it and how to mend it."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.markup import escape

from portagpu.backends.diagnosis import Diagnosis, InstalledDriver, Severity, as_json
from portagpu.backends.survey import diagnose
from portagpu.cli.devices import show_below, show_devices
from portagpu.cli.output import console as new_console
from portagpu.settings import Settings

_STYLES = {Severity.NOTE: "dim", Severity.WARNING: "yellow", Severity.ERROR: "bold red"}


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
    for report in diagnosis.reports:
        if report.replaced_by is not None:
            console.print(f"  This process runs inside {report.replaced_by}, which replaces every driver.")
        else:
            _show_drivers(console, report.drivers)
    if not any(report.drivers or report.replaced_by for report in diagnosis.reports):
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
    interfaces = [report.interface for report in diagnosis.reports if report.interface is not None]
    console.print(f"\n{', '.join([*interfaces, f'cache {diagnosis.cache_dir}'])}", highlight=False)
    for report in diagnosis.reports:
        for note in report.notes:
            console.print(note, highlight=False)


def _show_drivers(console: Console, drivers: tuple[InstalledDriver, ...]) -> None:
    for driver in drivers:
        style = "green" if driver.serves else "yellow"
        path = escape(driver.path)  # in one piece at any width, to be copied
        console.print(f"  {path} [{style}]{driver.state}[/{style}]", highlight=False, soft_wrap=True)
        show_below(console, escape(driver.named_by), whole=True)
        for name, devices in driver.platforms:
            show_below(console, f"{escape(name)}: {escape(', '.join(devices)) or 'no device'}")
