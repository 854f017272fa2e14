"""`portagpu bench all`: every suite, or those that are named, or what a filter leaves of them."""

from __future__ import annotations

from functools import partial

import click

from portagpu.bench.suites.register import SUITES, entries_of
from portagpu.cli.bench.common import Wanted, perform, run_options
from portagpu.cli.choices import Choice


@click.command("all")
@run_options
@click.option("--suite", "names", multiple=True, type=Choice(list(SUITES)), help="may be repeated; default: every one")
def every_suite(wanted: Wanted, names: tuple[str, ...]) -> None:
    """Measure every suite: products, BLAS, textbook kernels, the device's roofs, launches and copies."""
    perform(wanted, partial(entries_of, names or tuple(SUITES)))
