"""A run: devices and suites, cell by cell; what is measured is kept after each workload, and a run can go on later."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from portagpu.bench.conditions import Monitor, Sensors, sensors_for
from portagpu.bench.method.plan import FULL, Method
from portagpu.bench.method.rounds import FAILURES
from portagpu.bench.records.cell import Caches, Cell, Memory, Role, Status
from portagpu.bench.records.run import Run
from portagpu.bench.records.workload import Unit, Workload
from portagpu.bench.running.case import Case, Entry, Options
from portagpu.bench.running.cold_caches import flusher
from portagpu.bench.running.facts import command_line, device_facts, machine_facts, now
from portagpu.bench.running.measuring import fault_of, measure, reason_of
from portagpu.bench.running.repeat import repetition
from portagpu.device import DeviceRecord, find_device, working_devices
from portagpu.errors import PortaGPUPerformanceWarning
from portagpu.runtime.execution.context import Context
from portagpu.settings import Settings

NOT_YET = "not measured yet"
"""Why a cell is open that nobody tried."""


Key = tuple[int, str, Caches]
"""What is measured at once: a device's number in the run, a path, and what the caches hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An entry of a suite on a device; ``number`` is the device's in the run."""

    number: int
    device: DeviceRecord
    entry: Entry

    def repeat(self, options: Options, caches: Caches) -> str:
        """The command that measures it again."""
        return repetition(self.device, self.entry, options, caches)


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
        peers=options.beside,
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
    found = done(run)
    waiting = [
        (job, left) for job in jobs if (left := lacking(found, job.number, job.entry.path, job.entry.wanted(options)))
    ]
    asked = {(job.number, job.entry.path, caches) for job, left in waiting for caches in left}
    cells = [cell for cell in run.cells if key(cell) not in asked]
    still_open = [[open_cell(job, options, caches) for caches in left] for job, left in waiting]
    for index, (job, left) in enumerate(waiting):
        progress.count(index, len(waiting))
        progress.tell(f"{job.entry.path} on {run.devices[job.number].name}")
        tell = partial(_told, progress.tell, job.entry.path)
        measured_now = measured(job, options, method, settings, tell, left)
        cells += [replace(cell, device=job.number) for cell in measured_now]
        run = replace(run, cells=(*cells, *chain(*still_open[index + 1 :])), finished="")
        progress.keep(run)
    progress.count(len(waiting), len(waiting))
    has_open = any(cell.status is Status.OPEN for cell in cells)  # of an earlier run that was asked for more
    run = replace(run, cells=tuple(cells), finished="" if has_open else run.finished or now())
    progress.keep(run)
    return run


def _told(tell: Callable[[str], None], path: str, text: str) -> None:
    tell(f"{path}: {text}")


def key(cell: Cell) -> Key:
    """What a cell belongs to."""
    return cell.device, cell.workload.path, cell.caches


def done(run: Run) -> set[Key]:
    """What a run has cells of that are not open."""
    return {key(cell) for cell in run.cells if cell.status is not Status.OPEN}


def lacking(found: Container[Key], number: int, path: str, wanted: Iterable[Caches]) -> tuple[Caches, ...]:
    """With which of the wanted caches a workload is not among what was found."""
    return tuple(caches for caches in wanted if (number, path, caches) not in found)


def measured(
    job: Job,
    options: Options,
    method: Method,
    settings: Settings,
    tell: Callable[[str], None] = lambda text: None,
    only: tuple[Caches, ...] | None = None,
) -> Iterator[Cell]:
    """The cells of a job, without the device's number; ``only``: with these caches, not all that options ask for."""
    wanted = job.entry.wanted(options) if only is None else only
    repeats = {caches: job.repeat(options, caches) for caches in wanted}
    for cell in _cells(job, wanted, options, method, settings, tell):
        yield replace(cell, repeat=repeats[cell.caches])


def _cells(
    job: Job,
    wanted: tuple[Caches, ...],
    options: Options,
    method: Method,
    settings: Settings,
    tell: Callable[[str], None],
) -> Iterator[Cell]:
    entry = job.entry
    if entry.obstacle:
        yield from _none(entry, wanted, Status.UNSUPPORTED, entry.obstacle)
        return
    sensors = sensors_for(job.device)
    with warnings.catch_warnings(), Context.for_device(job.device, settings) as context:
        warnings.simplefilter("ignore", PortaGPUPerformanceWarning)  # what is slow is measured, not told
        try:
            for case in entry.make(context):
                for caches in wanted:
                    yield from _of_case(case, caches, context, sensors, method, tell)
        except FAILURES as error:  # before there was a case: operands that do not fit
            yield from _none(entry, wanted, Status.FAILED, reason_of(error))
        except Exception as error:  # a fault, of a user's function or ours: the workloads after it are measured
            yield from _none(entry, wanted, Status.FAILED, fault_of(error))


def _of_case(
    case: Case, caches: Caches, context: Context, sensors: Sensors, method: Method, tell: Callable[[str], None]
) -> Iterator[Cell]:
    flush = flusher(context, case.memory) if caches is Caches.COLD else None
    yield from measure(case, method, monitor=partial(Monitor, sensors), caches=caches, flush=flush, progress=tell)


def _none(entry: Entry, wanted: Iterable[Caches], status: Status, reason: str) -> Iterator[Cell]:
    for caches in wanted:
        yield replace(without_numbers(entry.path, entry.workload, status, reason), caches=caches)


def without_numbers(path: str, workload: Workload | None, status: Status, reason: str) -> Cell:
    """Our cell of what has no case (yet); ``workload``: where it is known before."""
    return Cell(
        device=0,
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


def open_cell(job: Job, options: Options, caches: Caches = Caches.HOT) -> Cell:
    """What stands for a job that was not done yet."""
    made = without_numbers(job.entry.path, job.entry.workload, Status.OPEN, NOT_YET)
    return replace(made, device=job.number, caches=caches, repeat=job.repeat(options, caches))


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


__all__ = ["NOT_YET", "Job", "Key", "Progress", "chosen_devices", "done", "jobs_of", "key", "lacking", "measured"]
__all__ += ["new_run", "open_cell", "perform", "without_numbers"]
