"""`portagpu bench copies`."""

from __future__ import annotations

import click

from portagpu.bench.suites import copies as suite
from portagpu.cli.bench.common import Wanted, perform, run_options


@click.command()
@run_options
def copies(wanted: Wanted) -> None:
    """Measure copies between host and device, pageable and pinned, and streams that hide them behind kernels."""
    perform(wanted, suite.entries)
