"""A run: devices and suites, cell by cell; what is measured is kept after each workload, and a run can go on later."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from portagpu.bench.conditions import Monitor, Sensors, sensors_for
from portagpu.bench.method.plan import FULL, Method
from portagpu.bench.method.rounds import FAILURES
from portagpu.bench.records.cell import Caches, Cell, Memory, Role, Status
from portagpu.bench.records.run import Run
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Entry, Options, Peers, Sizes
from portagpu.bench.running.cold_caches import flusher
from portagpu.bench.running.facts import command_line, device_facts, machine_facts, now
from portagpu.bench.running.measuring import measure, reason_of
from portagpu.device import DeviceRecord, find_device, working_devices
from portagpu.errors import PortaGPUPerformanceWarning
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

NOT_YET = "not measured yet"
"""Why a cell is open that nobody tried."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An entry of a suite on a device; ``number`` is the device's in the run."""

    number: int
    device: DeviceRecord
    entry: Entry


@dataclass(slots=True, kw_only=True)
class Progress:
    """Who is told what happens: a text, and how many workloads of how many are done."""

    tell: Callable[[str], None] = lambda text: None
    count: Callable[[int, int], None] = lambda done, total: None
    keep: Callable[[Run], None] = lambda run: None


def chosen_devices(selectors: Iterable[str], settings: Settings) -> tuple[DeviceRecord, ...]:
    """The devices that are named, or all that work. Raises `DeviceSelectionError`."""
    return tuple(find_device(one, settings) for one in selectors) or working_devices(settings)


def new_run(
    chosen: Sequence[DeviceRecord], options: Options, method: Method = FULL, *, label: str = "", command: str = ""
) -> Run:
    """A run without cells."""
    return Run(
        identity=uuid.uuid4().hex,
        started=now(),
        command=command or command_line(),
        seed=options.seed,
        method=method.facts,
        machines=(machine_facts(label),),
        devices=tuple(map(device_facts, chosen)),
    )


def perform(
    run: Run,
    jobs: Sequence[Job],
    options: Options,
    method: Method,
    settings: Settings,
    progress: Progress,
) -> Run:
    """Measure the jobs of a run that it has no cells of; returns the run with all its cells.

    ``progress.keep`` gets the run after each workload; those that are still to come stand in it as open.
    """
    done = {(cell.device, cell.workload.path) for cell in run.cells if cell.status is not Status.OPEN}
    waiting = [job for job in jobs if (job.number, job.entry.path) not in done]
    asked = {(job.number, job.entry.path) for job in waiting}
    cells = [cell for cell in run.cells if (cell.device, cell.workload.path) not in asked]
    for index, job in enumerate(waiting):
        progress.count(index, len(waiting))
        progress.tell(f"{job.entry.path} on {run.devices[job.number].name}")
        tell = partial(_told, progress.tell, job.entry.path)
        cells += [replace(cell, device=job.number) for cell in measured(job, options, method, settings, tell)]
        run = replace(run, cells=(*cells, *map(open_cell, waiting[index + 1 :])), finished="")
        progress.keep(run)
    progress.count(len(waiting), len(waiting))
    left = any(cell.status is Status.OPEN for cell in cells)  # of an earlier run that was asked for more
    run = replace(run, cells=tuple(cells), finished="" if left else run.finished or now())
    progress.keep(run)
    return run


def _told(tell: Callable[[str], None], path: str, text: str) -> None:
    tell(f"{path}: {text}")


def measured(
    job: Job, options: Options, method: Method, settings: Settings, tell: Callable[[str], None] = lambda text: None
) -> Iterator[Cell]:
    """The cells of a job, without the device's number."""
    entry, repeat = job.entry, repetition(job, options)
    if entry.obstacle:
        yield without_numbers(entry.path, entry.workload, Status.UNSUPPORTED, entry.obstacle)
        return
    sensors = sensors_for(job.device)
    with warnings.catch_warnings(), Context.for_device(job.device, settings) as context:
        warnings.simplefilter("ignore", PortaGPUPerformanceWarning)  # what is slow is measured, not told
        try:
            for case in entry.make(context):
                for cell in _of_case(case, context, sensors, options, method, tell):
                    yield replace(cell, repeat=repeat)
        except FAILURES as error:  # before there was a case: operands that do not fit
            yield without_numbers(entry.path, entry.workload, Status.FAILED, reason_of(error))


def _of_case(
    case: Case, context: Context, sensors: Sensors, options: Options, method: Method, tell: Callable[[str], None]
) -> Iterator[Cell]:
    monitor = partial(Monitor, sensors)
    yield from measure(case, method, monitor=monitor, progress=tell)
    if options.cold:
        cold = flusher(context, case.memory)
        yield from measure(case, method, monitor=monitor, caches=Caches.COLD, flush=cold, progress=tell)


def without_numbers(path: str, workload: Workload | None, status: Status, reason: str, device: int = 0) -> Cell:
    """Our cell of what has no case (yet); ``workload``: where it is known before."""
    return Cell(
        device=device,
        workload=workload or _placeholder(path),
        implementation="PortaGPU",
        role=Role.OURS,
        memory=Memory.DEVICE,
        status=status,
        reason=reason,
    )


def _placeholder(path: str) -> Workload:
    """A workload of which only the path is known."""
    suite, name, *rest = path.split("/")
    size = rest.pop() if rest else ""
    return Workload(suite=suite, name=name, arithmetic="/".join(rest), size=size, unit=Unit.MICROSECONDS)


def open_cell(job: Job) -> Cell:
    """What stands for a job that was not done yet."""
    return without_numbers(job.entry.path, job.entry.workload, Status.OPEN, NOT_YET, job.number)


def repetition(job: Job, options: Options) -> str:
    """The command that measures a job again, with what the workloads of its suite depend on."""
    told = [
        f"--sizes-of {options.sizes.value}" if options.sizes is not Sizes.OWN else "",
        "--small" if options.small else "",
        f"--seed {options.seed}" if options.seed else "",
        f"--peers {options.peers.value}" if options.peers is not Peers.VENDOR else "",
    ]
    command = f"portagpu bench all --device '{job.device.name}' --filter '{job.entry.path}'"
    return " ".join([command, *filter(None, told)])


def jobs_of(
    chosen: Iterable[DeviceRecord], entries: Callable[[DeviceRecord], Iterable[Entry]], known: Callable[[str], bool]
) -> list[Job]:
    """All jobs on these devices whose paths are wanted."""
    return [
        Job(number=number, device=device, entry=entry)
        for number, device in enumerate(chosen)
        for entry in entries(device)
        if known(entry.path)
    ]


__all__ = ["NOT_YET", "Job", "Progress", "chosen_devices", "jobs_of", "measured", "new_run", "open_cell", "perform"]
__all__ += ["repetition", "without_numbers"]
