"""`portagpu bench roofs`."""

from __future__ import annotations

import click

from portagpu.bench.suites import roofs as suite
from portagpu.cli.bench.common import Wanted, perform, run_options


@click.command()
@run_options
def roofs(wanted: Wanted) -> None:
    """Measure a device's roofs: arithmetic, matrix units, memory by levels, latency, every probe verified."""
    perform(wanted, suite.entries)
