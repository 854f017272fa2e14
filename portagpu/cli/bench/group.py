"""`portagpu bench`: products of matrices by itself, and a command for each suite."""

from __future__ import annotations

import click

from portagpu.bench.suites import blas as blas_suite
from portagpu.bench.suites import gemm as gemm_suite
from portagpu.cli.bench.blas import blas
from portagpu.cli.bench.common import Wanted, perform, run_options
from portagpu.cli.bench.every_suite import every_suite
from portagpu.cli.bench.ladder import ladder
from portagpu.cli.bench.products import ROUTINES, Products, product_options, routine_options
from portagpu.cli.bench.textbook import textbook
from portagpu.cli.bench.tuned import tuned
from portagpu.cli.choices import SuggestingGroup
from portagpu.cli.options import refuse_options


@click.group(cls=SuggestingGroup, invoke_without_command=True)
@run_options
@product_options
@click.pass_context
def bench(ctx: click.Context, wanted: Wanted, products: Products) -> None:
    """Measure devices against the libraries of their makers, every result verified, and write a JSON file.

    Without the name of a suite: products of matrices.
    """
    if ctx.invoked_subcommand is not None:
        refuse_options(ctx)
        return
    if ROUTINES in products.sets:
        sizes, dtypes = routine_options(products)
        perform(wanted, lambda device, options: blas_suite.entries(device, options, (), dtypes, sizes))
        return
    chosen = products.on if products != Products() else None
    perform(wanted, lambda device, options: gemm_suite.entries(device, options, chosen))


bench.add_command(every_suite)
bench.add_command(ladder)
bench.add_command(blas)
bench.add_command(tuned)
bench.add_command(textbook)
