"""What all suites' commands share: options, the run with its progress bar, the file, the table at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from portagpu.bench.cluster import session as cluster
from portagpu.bench.cluster.members import connected
from portagpu.bench.cluster.places import device_identity, machine_identity
from portagpu.bench.cluster.worker import Order
from portagpu.bench.method.plan import FULL, QUICK, Method
from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import load, save
from portagpu.bench.records.run import Run
from portagpu.bench.running import session
from portagpu.bench.running.case import Entry, Options, Peers, Sizes
from portagpu.bench.running.selection import matches
from portagpu.cli.choices import Choice
from portagpu.cli.interruption import keep_in
from portagpu.cli.options import check_writable, with_options
from portagpu.cli.output import console as new_console
from portagpu.device import DeviceRecord, default_device
from portagpu.errors import StoreError
from portagpu.report import terminal
from portagpu.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])
Entries = Callable[[DeviceRecord, Options], Iterable[Entry]]
OUTPUT = Path("portagpu-bench.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the shared options say."""

    selectors: tuple[str, ...]
    filters: tuple[str, ...]
    options: Options
    method: Method
    label: str
    resume: bool
    output: Path
    scheduler: str | None = None
    limit: float = 600.0


_OPTIONS = (
    click.option("--device", "selectors", multiple=True, help="index, name part, vendor, gpu, cpu; default: all"),
    click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="PATTERN",
        help="workloads whose path has these parts, as float32/4096, or matches wildcards, as 'blas/*mv/*'",
    ),
    click.option("--quick", is_flag=True, help="fewer workloads, wider intervals, no energy"),
    click.option(
        "--sizes-of",
        "sizes_of",
        type=Choice([one.value for one in Sizes]),
        default=Sizes.OWN.value,
        show_default=True,
        help="which kind of device; devices that are to be compared need the same sizes",
    ),
    click.option("--small", is_flag=True, help="sizes that show only whether it works"),
    click.option("--cold", is_flag=True, help="also with cold caches: other data is written before each call"),
    click.option(
        "--core-types/--no-core-types",
        default=True,
        show_default=True,
        help="on CPUs, also against OpenBLAS with its best core type, set by hand in child processes",
    ),
    click.option(
        "--peers",
        type=Choice([peers.value for peers in Peers]),
        default=Peers.VENDOR.value,
        show_default=True,
        help="beside whom: the library of the device's maker; everything that is found; nobody",
    ),
    click.option(
        "--clblast-tuned",
        type=click.Path(path_type=Path, file_okay=False, exists=True),
        default=lambda: Settings.from_environment().clblast_tuned,
        show_default="what PORTAGPU_CLBLAST_TUNED names",
        help="folder with JSON files of CLBlast's tuners: with --peers all, CLBlast also with their parameters",
    ),
    click.option("--seed", type=click.IntRange(0, 2**53), default=0, show_default=True, help="of random operands"),
    click.option("--label", default="", help="what this machine is called in tables; nothing else tells whose it is"),
    click.option(
        "--dask", "scheduler", metavar="ADDRESS", help="measure the devices of the workers of this Dask scheduler"
    ),
    click.option(
        "--workload-limit",
        "limit",
        type=click.FloatRange(min=1),
        default=600.0,
        show_default=True,
        help="with --dask: seconds for a workload, after which its worker is given up",
    ),
    click.option("--resume", is_flag=True, help="go on with the run in the result file: measure what it lacks"),
    click.option(
        "-o",
        "--output",
        type=click.Path(path_type=Path, dir_okay=False),
        default=OUTPUT,
        show_default=True,
        help="result file (JSON)",
    ),
)


def run_options(command: F) -> F:
    """Add the shared options to a command, which gets a `Wanted` as ``wanted``."""

    def collect(*args: Any, **kwargs: Any) -> Any:
        shared = ("selectors", "filters", "label", "resume", "output", "scheduler", "limit")
        given = {name: kwargs.pop(name) for name in shared}
        quick = kwargs.pop("quick")
        names = ("small", "cold", "core_types", "seed", "clblast_tuned")
        peers = Peers(kwargs.pop("peers"))
        sizes = Sizes(kwargs.pop("sizes_of"))
        options = Options(quick=quick, peers=peers, sizes=sizes, **{name: kwargs.pop(name) for name in names})
        kwargs["wanted"] = Wanted(options=options, method=QUICK if quick else FULL, **given)
        return command(*args, **kwargs)

    return with_options(command, collect, _OPTIONS)


def perform(wanted: Wanted, entries: Entries) -> Run:
    """Measure, keep the file after each workload, print the table.

    Raises `click.UsageError` where nothing is left to measure, `StoreError` for a file that cannot be gone on with,
    `click.ClickException`, at the end, where a result was wrong.
    """
    check_writable(wanted.output)
    console = new_console()
    with progress_bar(console, keep=lambda now: _keep(wanted.output, now)) as progress:
        run = (_on_workers if wanted.scheduler else _here)(wanted, entries, progress, console)
    terminal.show(console, run)
    console.print(f"Written to {wanted.output}; merge files with: portagpu matrix {wanted.output} ...", soft_wrap=True)
    if any(cell.status is Status.WRONG for cell in run.cells):
        raise click.ClickException("a result was wrong; see the table")
    return run


def _here(wanted: Wanted, entries: Entries, progress: session.Progress, console: Console) -> Run:
    """Measure this machine's devices."""
    settings = Settings.from_environment()
    devices = session.chosen_devices(wanted.selectors, settings) or (default_device(settings),)  # tells why none works
    run = session.new_run(devices, wanted.options, wanted.method, label=wanted.label)
    if wanted.resume:
        run = resumed(wanted.output, run)
    jobs = session.jobs_of(
        devices, lambda device: entries(device, wanted.options), lambda path: matches(path, wanted.filters)
    )
    if not jobs:
        raise click.UsageError(f"no workload matches {', '.join(wanted.filters) or 'what is asked for'}")
    return session.perform(run, jobs, wanted.options, wanted.method, settings, progress)


def _on_workers(wanted: Wanted, entries: Entries, progress: session.Progress, console: Console) -> Run:
    """Measure the devices of Dask's workers."""
    run = replace(session.new_run((), wanted.options, wanted.method), machines=())
    if wanted.resume:
        run = resumed(wanted.output, run, any_machines=True)
    order = Order(
        selectors=wanted.selectors,
        filters=wanted.filters,
        options=wanted.options,
        method=wanted.method,
        entries=entries,
    )
    with connected(wanted.scheduler or "") as client:
        return cluster.perform(
            client,
            run,
            order,
            wanted.limit,
            progress,
            lambda text: console.print(escape(text), soft_wrap=True),
            wanted.label,
        )


@contextlib.contextmanager
def progress_bar(console: Console, keep: Callable[[Run], None] = lambda run: None) -> Iterator[session.Progress]:
    """A bar on a terminal that shows what is measured, and how much of it is done."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        yield session.Progress(
            tell=lambda text: bar.update(task, description=escape(text[:70])),
            count=lambda done, total: bar.update(task, completed=done, total=total),
            keep=keep,
        )


def _keep(path: Path, run: Run) -> None:
    save(path, run)
    keep_in(path)


def resumed(path: Path, fresh: Run, *, any_machines: bool = False) -> Run:
    """The run in a file, to be gone on with. Raises `StoreError` where it was measured in another way.

    ``any_machines``: those of the fresh run need not be those of the file.
    """
    if not path.exists():
        return fresh
    found = load(path)
    for name, fact in _SAME.items():
        is_free = (any_machines and name in ("machines", "devices")) or (name == "peers" and not found.peers)
        if not is_free and fact(found) != fact(fresh):
            raise StoreError(
                f"{path} cannot be gone on with: its {name} and those of this run differ",
                hint="measure into another file with -o, and merge both with portagpu matrix",
            )
    return replace(found, peers=fresh.peers)


_SAME: dict[str, Callable[[Run], Any]] = {
    "machines": lambda run: list(map(machine_identity, run.machines)),
    "devices": lambda run: list(map(device_identity, run.devices)),
    "method": lambda run: dict(run.method),
    "seed": lambda run: run.seed,
    "peers": lambda run: run.peers,
}
"""What must be the same where a run goes on: ours and peers' numbers are of the same turns. Old files tell no peers."""


__all__ = ["OUTPUT", "Wanted", "perform", "progress_bar", "resumed", "run_options"]
