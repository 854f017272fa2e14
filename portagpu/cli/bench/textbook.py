"""`portagpu bench textbook`."""

from __future__ import annotations

from functools import partial

import click

from portagpu.bench.suites import textbook as suite
from portagpu.cli.bench.common import Wanted, perform, run_options
from portagpu.cli.choices import Choice


@click.command()
@run_options
@click.option("--kernel", "names", multiple=True, type=Choice(list(suite.TASKS)), help="default: every one")
def textbook(wanted: Wanted, names: tuple[str, ...]) -> None:
    """Measure textbook kernels against the same text in CUDA C (CuPy's RawKernel), every result verified."""
    perform(wanted, partial(suite.entries, names=names))
