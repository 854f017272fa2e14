"""`portagpu tune`: measures kernels on this machine's device and remembers the fastest."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from portagpu.blas.problem import Problem
from portagpu.blas.tuner import TunedProblem, store_path, tune_gemm
from portagpu.cli.options import time_option
from portagpu.device import DeviceRecord, DeviceType, default_device, find_device
from portagpu.settings import Settings
from portagpu.tuning import Measured, Store
from portagpu.tuning import Progress as SearchProgress


def default_sizes(device: DeviceRecord) -> tuple[int, ...]:
    """Sizes of square problems that are tuned when none are named."""
    return (1024, 2048, 4096) if device.device_type is DeviceType.GPU else (512, 1024, 2048)


@click.group()
def tune() -> None:
    """Tune kernels for a device."""


@tune.command("gemm")
@time_option("--budget", default="60s", help="time for all sizes and dtypes")
@click.option("--device", "selector", default=None, help="index, name part, vendor, gpu or cpu")
@click.option("--size", "sizes", type=click.IntRange(min=1), multiple=True, help="square size; may be repeated")
@click.option("--dtype", "dtypes", type=click.Choice(["float32", "float64"]), multiple=True, help="may be repeated")
@time_option("--trial-limit", default="20s", help="time limit of one trial")
def tune_gemm_command(
    budget: float, selector: str | None, sizes: tuple[int, ...], dtypes: tuple[str, ...], trial_limit: float
) -> None:
    """Find GEMM's fastest parameters; can be interrupted and started again at any time."""
    settings = Settings.from_environment()
    device = find_device(selector, settings) if selector else default_device(settings)
    names = dtypes or (("float32", "float64") if device.capabilities and device.capabilities.fp64 else ("float32",))
    problems = tuple(Problem(m=n, n=n, k=n, dtype=d) for d in names for n in sizes or default_sizes(device))
    console = Console()
    console.print(f"Tuning GEMM on [bold]{device.name}[/bold] for {budget:g} s")
    results = run(console, device, problems, budget, settings, trial_limit)
    console.print(table(results))
    if not any(tuned.result.winner for tuned in results):
        raise click.ClickException("no trial worked within the budget; matmul goes on with what it had")
    console.print(f"Stored in {store_path(settings)}; matmul uses the results from now on.", soft_wrap=True)


_FILE = click.Path(dir_okay=False, path_type=Path)


@tune.command("export")
@click.argument("file", type=_FILE)
def export_command(file: Path) -> None:
    """Write the tuning results to FILE, for another machine with the same devices or for safe keeping."""
    settings = Settings.from_environment()
    count = Store(store_path(settings)).export(file)
    Console().print(f"{count} results written to {file}", soft_wrap=True)


@tune.command("import")
@click.argument("file", type=_FILE)
def import_command(file: Path) -> None:
    """Add the tuning results in FILE; of two winners the faster one stays."""
    path = store_path(Settings.from_environment())
    count = Store(path).merge(file)
    Console().print(f"{count} results added to {path}", soft_wrap=True)


def run(
    console: Console,
    device: DeviceRecord,
    problems: tuple[Problem, ...],
    budget: float,
    settings: Settings,
    trial_limit: float = 20.0,
) -> tuple[TunedProblem, ...]:
    """Tune with a progress bar that shows the best speed so far."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[best]}"), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task("starting", total=budget, best="")
        done: dict[Problem, float] = {}

        def progress(problem: Problem, state: SearchProgress) -> None:
            done[problem] = state.elapsed
            best = "" if state.best is None else f"best {problem.flops / state.best / 1e9:.0f} GFLOP/s"
            last = state.outcome
            note = "" if isinstance(last, Measured) else f" ({type(last).__name__})"
            bar.update(
                task,
                completed=sum(done.values()),
                description=f"{problem.dtype} {problem.m}: trial {state.trials + state.resumed}{note}",
                best=best,
            )

        try:
            return tune_gemm(
                device, problems, budget=budget, settings=settings, trial_limit=trial_limit, progress=progress
            )
        except KeyboardInterrupt:
            console.print("Interrupted; what was measured is kept, and the next run goes on from there.")
            raise click.exceptions.Exit(130) from None


def table(results: tuple[TunedProblem, ...]) -> Table:
    """Winners and failures, a row for each problem."""
    shown = Table("dtype", "size", "trials", "failed", "GFLOP/s", "parameters")
    for tuned in results:
        winner = tuned.result.winner or {}
        parameters = " ".join(f"{k}={v}" for k, v in winner.items() if k != "kind")
        speed = "-" if tuned.gflops is None else f"{tuned.gflops:.0f}"
        shown.add_row(
            tuned.problem.dtype,
            str(tuned.problem.m),
            str(tuned.result.trials),
            str(len(tuned.result.failures)),
            speed,
            parameters,
        )
    return shown
