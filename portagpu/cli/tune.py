"""`portagpu tune`: measures kernels on this machine's device and remembers the fastest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from portagpu.blas.explanation import explanation
from portagpu.blas.gemm.core.problem import DTYPES, Problem
from portagpu.blas.gemm.integer_products import WHOLE, kernels_dtype
from portagpu.blas.gemm.selection.parameters import dense
from portagpu.blas.gemm.selection.registry import all_precisions
from portagpu.blas.gemm.tuning.tuner import TunedProblem, store_path, tune_gemm
from portagpu.cli.choices import DEFAULT_PRECISION, Choice
from portagpu.cli.interruption import TerminableGroup, keep_in
from portagpu.cli.options import given, refuse_options, time_option
from portagpu.cli.output import console as new_console
from portagpu.cli.shapes import OldShapes, ProductShape
from portagpu.cli.tuning_files import compact_command, export_command, import_command
from portagpu.device import DeviceRecord, DeviceType, default_device, find_device
from portagpu.errors import TuningError
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings
from portagpu.tuning import Measured, best, strategy_names
from portagpu.tuning import Progress as SearchProgress
from portagpu.tuning import tune as tune_kernel
from portagpu.tuning.console import best_of, stage_of
from portagpu.tuning.searches.report import shown, skips
from portagpu.tuning.searches.strategies import DEFAULT
from portagpu.tuning.store.tasks import store_path as kernel_store
from portagpu.tuning.tunables.outcomes import describe
from portagpu.tuning.tunables.problems import parse_words
from portagpu.tuning.tunables.tunable import resolve

_TUNED = tuple(name for name in DTYPES if not name.startswith("complex"))  # complex products are made of real ones
_LAYOUTS = ("NN", "NT", "TN", "TT")
_GOES_ON = ", and the next run goes on from there"
_device_option = click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
_explain_option = click.option(
    "--explain",
    "sizes_explained",
    type=ProductShape(),
    metavar="MxNxK",
    default=None,
    help="tell which rule chooses the kernel of a product, and which parameters; nothing is measured",
)
_layout_option = click.option(
    "--layout", type=Choice(_LAYOUTS), default="NN", help="with --explain: N row-major, T transposed; a, then b"
)

_precision_option = click.option(
    "--precision",
    type=Choice((DEFAULT_PRECISION, *filter(None, all_precisions()))),
    default=DEFAULT_PRECISION,
    callback=lambda ctx, param, value: "" if value == DEFAULT_PRECISION else value,
    help="how products are formed; default: as the dtypes say",
)


_compilers_option = click.option(
    "--compilers",
    type=click.IntRange(min=0),
    default=None,
    help="processes that compile ahead; default: for a GPU one less than cores, at most 8; none for a CPU",
)


def default_sizes(device: DeviceRecord) -> tuple[int, ...]:
    """Sizes of square problems that are tuned when none are named."""
    return (1024, 2048, 4096) if device.device_type is DeviceType.GPU else (512, 1024, 2048)


def _chosen(selector: str | None, settings: Settings) -> DeviceRecord:
    return find_device(selector, settings) if selector else default_device(settings)


class _TuneGroup(OldShapes, TerminableGroup):
    """`portagpu tune`, whose ``--explain`` takes three words, too."""


@click.group(cls=_TuneGroup, invoke_without_command=True)
@_explain_option
@click.option("--dtype", type=Choice((*DTYPES, *WHOLE)), default="float32", help="with --explain")
@_layout_option
@_precision_option
@_device_option
@click.pass_context
def tune(
    ctx: click.Context,
    sizes_explained: tuple[int, int, int] | None,
    dtype: str,
    layout: str,
    precision: str,
    selector: str | None,
) -> None:
    """Tune kernels for a device."""
    if ctx.invoked_subcommand is not None:
        refuse_options(ctx)
        return
    if sizes_explained is not None:
        explain(sizes_explained, dtype, layout, selector, precision)
        return
    if given(ctx):
        raise click.UsageError(f"{given(ctx)[0]} needs --explain MxNxK, or a command before it", ctx)
    click.echo(ctx.get_help())


def explain(sizes: tuple[int, int, int], dtype: str, layout: str, selector: str | None, precision: str = "") -> None:
    """Print which rule chooses the kernel of a product."""
    settings = Settings.from_environment()
    context = Context.for_device(_chosen(selector, settings), settings)
    m, n, k = sizes
    orders = ["F" if letter == "T" else "C" for letter in layout]
    as_read = kernels_dtype(dtype)  # of integers and bools
    problem = Problem(m=m, n=n, k=k, dtype=as_read, precision=precision, a_order=orders[0], b_order=orders[1])
    click.echo(explanation(dense(problem), context))


def refuse_beside_explain(ctx: click.Context, fitting: tuple[str, ...]) -> None:
    """Options of a search would be lost without a word."""
    others = given(ctx, but=fitting)
    if others:
        raise click.UsageError(f"--explain measures nothing: {others[0]} does not go with it", ctx)


@tune.command("gemm", cls=OldShapes)
@time_option("--budget", default="60s", help="time for all sizes and dtypes")
@_device_option
@click.option("--size", "sizes", type=click.IntRange(min=1), multiple=True, help="square size; may be repeated")
@click.option("--shape", "shapes", type=ProductShape(), multiple=True, metavar="MxNxK", help="may be repeated")
@click.option("--dtype", "dtypes", type=Choice(_TUNED), multiple=True, help="may be repeated")
@_precision_option
@click.option("--strategy", type=Choice(strategy_names()), default=DEFAULT, show_default=True)
@click.option(
    "--classes",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="time the best few on so many problems of other sizes around each one, within the budget",
)
@time_option("--trial-limit", default="20s", help="time limit of one trial")
@_compilers_option
@_explain_option
@_layout_option
@click.pass_context
def tune_gemm_command(
    ctx: click.Context,
    budget: float,
    selector: str | None,
    sizes: tuple[int, ...],
    shapes: tuple[tuple[int, int, int], ...],
    dtypes: tuple[str, ...],
    precision: str,
    strategy: str,
    classes: int,
    trial_limit: float,
    compilers: int | None,
    sizes_explained: tuple[int, int, int] | None,
    layout: str,
) -> None:
    """Find GEMM's fastest parameters; can be interrupted and started again at any time."""
    if sizes_explained is not None:
        refuse_beside_explain(ctx, ("sizes_explained", "dtypes", "layout", "precision", "selector"))
        for dtype in dict.fromkeys(dtypes or ("float32",)):
            explain(sizes_explained, dtype, layout, selector, precision)
        return
    if "--layout" in given(ctx):
        raise click.UsageError("--layout needs --explain MxNxK: the search measures row-major operands", ctx)
    settings = Settings.from_environment()
    device = _chosen(selector, settings)
    names = dtypes or (("float32", "float64") if device.capabilities and device.capabilities.fp64 else ("float32",))
    squares = sizes or (() if shapes else default_sizes(device))
    wanted = (*((n, n, n) for n in squares), *shapes)
    problems = tuple(Problem(m=m, n=n, k=k, dtype=d, precision=precision) for d in names for m, n, k in wanted)
    console = new_console()
    console.print(f"Tuning GEMM on [bold]{device.name}[/bold] for {budget:g} s")

    def search(progress: Callable[[Problem, SearchProgress], None]) -> tuple[TunedProblem, ...]:
        return tune_gemm(
            device,
            problems,
            budget=budget,
            settings=settings,
            trial_limit=trial_limit,
            strategy=strategy,
            classes=classes,
            compilers=compilers,
            progress=progress,
        )

    keep_in(store_path(settings), _GOES_ON)
    results = run(console, search, budget)
    console.print(table(results))
    for tuned in results:
        for line in [*filter(None, [tuned.result.remark]), *skips(tuned.result.failures)[:1]]:
            text = f"{tuned.problem.dtype} {_size(tuned.problem)}: {line}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)
    if not any(tuned.result.winner for tuned in results):
        raise click.ClickException("no trial worked within the budget; matmul goes on with what it had")
    console.print(f"Stored in {store_path(settings)}; matmul uses the results from now on.", soft_wrap=True)


@tune.command("kernel")
@click.argument("reference", metavar="MODULE:NAME")
@click.argument("problem", nargs=-1, metavar="NAME=VALUE...")
@time_option("--budget", default="60s", help="time of the search")
@_device_option
@click.option("--strategy", type=Choice(strategy_names()), default=DEFAULT, show_default=True)
@click.option("--classes", type=click.IntRange(min=0), default=0, help="as for gemm")
@time_option("--trial-limit", default="20s", help="time limit of one trial")
@_compilers_option
@click.option("--trials", type=click.IntRange(min=1), default=None, help="number of trials after which it ends, too")
@click.option("--explain", "only_explain", is_flag=True, help="tell what is used now; nothing is measured")
@click.pass_context
def tune_kernel_command(
    ctx: click.Context,
    /,
    reference: str,
    problem: tuple[str, ...],
    selector: str | None,
    only_explain: bool,
    **options: Any,
) -> None:
    """Tune an own kernel: portagpu tune kernel my_kernels.py:SCALE n=1048576 dtype=float32."""
    if only_explain:
        refuse_beside_explain(ctx, ("only_explain", "selector"))
    settings = Settings.from_environment()
    place, colon, name = reference.rpartition(":")
    found = f"{Path(place).resolve()}{colon}{name}" if place.endswith(".py") else reference
    tunable = replace(resolve(found), reference=found)
    device, values = _chosen(selector, settings), parse_words(problem)
    try:
        if not only_explain:
            keep_in(kernel_store(tunable.name, settings), _GOES_ON)
            result = tune_kernel(tunable, values, device=device, settings=settings, **options)
            click.echo(result)
            if result.winner is None:
                raise click.ClickException("no trial worked within the budget")
        click.echo(best(tunable, values, device=device, settings=settings))
    except TuningError as error:
        if values:
            raise
        hint = "name the problem: NAME=VALUE, such as n=1048576"
        raise TuningError(f"no NAME=VALUE was given: {error.message}", hint=hint) from error


def run(
    console: Console,
    search: Callable[[Callable[[Problem, SearchProgress], None]], tuple[TunedProblem, ...]],
    budget: float,
) -> tuple[TunedProblem, ...]:
    """Tune with a progress bar that shows the best speed so far against the model's roof, and what is skipped."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("starting", total=budget, best="")
        done: dict[Problem, float] = {}

        def progress(problem: Problem, state: SearchProgress) -> None:
            done[problem] = state.elapsed
            if not isinstance(state.outcome, Measured):
                text = f"skipped {shown(state.point)}: {describe(state.outcome)}"
                bar.console.print(text, markup=False, highlight=False, soft_wrap=True)
            bar.update(
                task,
                completed=sum(done.values()),
                description=f"{problem.dtype} {_size(problem)}: {stage_of(state)}",
                best=best_of(state, problem.flops),
            )

        return search(progress)


def _size(problem: Problem) -> str:
    square = problem.m == problem.n == problem.k
    return str(problem.m) if square else f"{problem.m} x {problem.n} x {problem.k}"


def table(results: tuple[TunedProblem, ...]) -> Table:
    """Winners and failures, a row for each problem."""
    shown_table = Table("dtype", "size", "trials", "failed", "GFLOP/s", "of the roof", "parameters")
    for tuned in results:
        winner, result = tuned.result.winner or {}, tuned.result
        parameters = " ".join(f"{k}={v}" for k, v in winner.items() if k != "kind")
        roof = f"{result.roof / result.seconds:.0%}" if result.roof and result.seconds else "-"
        speed = "-" if tuned.gflops is None else f"{tuned.gflops:.0f}"
        counts = (str(result.trials), str(len(result.failures)))
        shown_table.add_row(tuned.problem.dtype, _size(tuned.problem), *counts, speed, roof, parameters)
    return shown_table


for command in (export_command, import_command, compact_command):
    tune.add_command(command)
