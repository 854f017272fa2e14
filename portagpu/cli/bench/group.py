"""`portagpu bench`: products of matrices by itself, and a command for each suite."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from portagpu.bench.problem_sets import EPILOGUE, ROUTINES
from portagpu.bench.running.case import Options
from portagpu.bench.suites import blas as blas_suite
from portagpu.bench.suites import gemm as gemm_suite
from portagpu.blas.gemm.core.problem import Problem
from portagpu.cli.bench.blas import blas
from portagpu.cli.bench.common import Wanted, perform, run_options
from portagpu.cli.bench.copies import copies
from portagpu.cli.bench.every_suite import every_suite
from portagpu.cli.bench.ladder import ladder
from portagpu.cli.bench.launch import launch
from portagpu.cli.bench.own_kernel import own_kernel
from portagpu.cli.bench.products import Products, product_options, routine_options
from portagpu.cli.bench.roofs import roofs
from portagpu.cli.bench.textbook import textbook
from portagpu.cli.bench.tuned import tuned
from portagpu.cli.choices import SuggestingGroup
from portagpu.cli.options import refuse_options
from portagpu.device import DeviceRecord


class _Suites(SuggestingGroup):
    """Suites by name; what names a kernel of a file is measured as such."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first argument names. Raises `click.UsageError`."""
        if args and ".py" in args[0]:
            return own_kernel.name, own_kernel, args  # whose first argument it is
        return super().resolve_command(ctx, args)


@click.group(cls=_Suites, invoke_without_command=True)
@run_options
@product_options
@click.pass_context
def bench(ctx: click.Context, wanted: Wanted, products: Products) -> None:
    """Measure devices against the libraries of their makers, every result verified, and write a JSON file.

    Without the name of a suite: products of matrices. ``portagpu bench FILE.py:KERNEL`` measures a kernel of yours.
    """
    if ctx.invoked_subcommand is not None:
        refuse_options(ctx)
        return
    _measure_products(wanted, products)


@bench.command()
@run_options
@product_options
def gemm(wanted: Wanted, products: Products) -> None:
    """Measure products of matrices, as `portagpu bench` does without the name of a suite."""
    _measure_products(wanted, products)


def _measure_products(wanted: Wanted, products: Products) -> None:
    if ROUTINES in products.sets:
        sizes, dtypes = routine_options(products)
        perform(wanted, partial(blas_suite.entries, dtypes=dtypes, sizes=sizes))
        return
    if products == Products():
        perform(wanted, gemm_suite.entries)
        return
    chosen = partial(_chosen, products, wanted.options)
    perform(wanted, partial(gemm_suite.entries, products=chosen, epilogues=EPILOGUE in products.sets))


def _chosen(products: Products, options: Options, device: DeviceRecord) -> list[Problem]:
    """What is named, and for the rest what the options ask for: a function that Dask's workers can import."""
    return products.on(device, gemm_suite.sizes_for(device, options), gemm_suite.scale_for(device, options))


bench.add_command(every_suite)
bench.add_command(own_kernel)
bench.add_command(ladder)
bench.add_command(blas)
bench.add_command(tuned)
bench.add_command(textbook)
bench.add_command(roofs)
bench.add_command(launch)
bench.add_command(copies)
