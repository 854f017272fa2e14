"""`portagpu bench launch`."""

from __future__ import annotations

import click

from portagpu.bench.suites import launch as suite
from portagpu.cli.bench.common import Wanted, perform, run_options


@click.command()
@run_options
def launch(wanted: Wanted) -> None:
    """Measure what launches, first calls in a new process and new kernels cost, beside PyOpenCL and CuPy."""
    perform(wanted, suite.entries)
