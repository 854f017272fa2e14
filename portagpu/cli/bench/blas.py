"""`portagpu bench blas`, which is also ``portagpu bench --set blas``."""

from __future__ import annotations

from functools import partial

import click

from portagpu.bench.routines.tasks import DTYPES, TASKS
from portagpu.bench.suites import blas as suite
from portagpu.cli.bench.common import Wanted, perform, run_options
from portagpu.cli.choices import Choice


@click.command()
@run_options
@click.option("--routine", "names", multiple=True, type=Choice(list(TASKS)), help="default: every one")
@click.option("--dtype", "dtypes", multiple=True, type=Choice(list(DTYPES)), help="default: all that it has")
@click.option(
    "--size",
    "sizes",
    multiple=True,
    type=click.IntRange(min=1),
    help="elements of vectors, rows of matrices; may be repeated; default: what the device is measured with",
)
def blas(wanted: Wanted, names: tuple[str, ...], dtypes: tuple[str, ...], sizes: tuple[int, ...]) -> None:
    """Measure BLAS routines and factorisations against SciPy, cuBLAS, cuSOLVER and CLBlast, every result verified."""
    perform(wanted, partial(suite.entries, names=names, dtypes=dtypes, sizes=sizes))
