"""What runs in Dask's workers: they tell what they are and have, and measure one workload at a time.

`greeting` is all that a worker of another version must have, and what it returns are plain values; everything else is
sent only where both versions are the same.
"""

from __future__ import annotations

import platform
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from portagpu.bench.method.plan import Method
from portagpu.bench.records.cell import Caches, Cell
from portagpu.bench.records.run import Device, Machine
from portagpu.bench.records.workload import Workload
from portagpu.bench.running import session
from portagpu.bench.running.case import Entry, Options
from portagpu.bench.running.facts import device_facts, machine_facts
from portagpu.bench.running.measuring import reason_of
from portagpu.bench.running.repeat import repetition
from portagpu.bench.running.selection import matches
from portagpu.device import DeviceRecord
from portagpu.errors import PortaGPUError
from portagpu.settings import Settings
from portagpu.version import __version__

PROCESS = uuid.uuid4().hex
"""Tells this process from one that took its place behind the same address."""


class WorkerReplacedError(RuntimeError):
    """The worker process that had introduced itself is gone, and another one has its address."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is asked for. ``entries``: a function that workers can import, with values; see `functools.partial`."""

    selectors: tuple[str, ...]
    filters: tuple[str, ...]
    options: Options
    method: Method
    entries: Callable[[DeviceRecord, Options], Iterable[Entry]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A workload on a device, which is a number in its worker's list (in `Introduction`) or in the run.

    ``repeats``: for each kind of caches with which it is measured, the command that does it again.
    """

    device: int
    path: str
    workload: Workload | None = None  # where it is known before
    repeats: Mapping[Caches, str] = field(default_factory=lambda: {Caches.HOT: ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Introduction:
    """A worker's machine, devices and what is to be measured on them; ``problem``: why there are none."""

    machine: Machine
    devices: tuple[Device, ...] = ()
    planned: tuple[Planned, ...] = ()
    problem: str = ""


def greeting() -> dict[str, str]:
    """Version, machine and process; the machine's name is compared, and kept nowhere."""
    return {"version": __version__, "machine": _machine(), "process": PROCESS}


def _machine() -> str:
    """The running kernel's identity, which containers on it share; a network's name for the machine without one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return platform.node()


def introduction(order: Order) -> Introduction:
    """The devices that are meant by an order, each probed, and their workloads."""
    machine = machine_facts()
    try:
        chosen = _chosen(order)
    except PortaGPUError as error:
        return Introduction(machine=machine, problem=reason_of(error))
    planned = [
        Planned(
            device=number,
            path=entry.path,
            workload=entry.workload,
            repeats={
                caches: repetition(device, entry, order.options, caches) for caches in entry.wanted(order.options)
            },
        )
        for number, device in enumerate(chosen)
        for entry in order.entries(device, order.options)
        if matches(entry.path, order.filters)
    ]
    return Introduction(
        machine=machine,
        devices=tuple(map(device_facts, chosen)),
        planned=tuple(planned),
        problem="" if chosen else "no device works there",
    )


def measured(process: str, order: Order, planned: Planned) -> tuple[Cell, ...]:
    """A workload's cells, without the device's number in the run. Raises `WorkerReplacedError`."""
    if process != PROCESS:
        raise WorkerReplacedError
    device = _chosen(order)[planned.device]
    entry = next(entry for entry in order.entries(device, order.options) if entry.path == planned.path)
    job = session.Job(number=planned.device, device=device, entry=entry)
    settings = Settings.from_environment()
    return tuple(session.measured(job, order.options, order.method, settings, only=tuple(planned.repeats)))


def _chosen(order: Order) -> tuple[DeviceRecord, ...]:
    return session.chosen_devices(order.selectors, Settings.from_environment())


__all__ = ["PROCESS", "Introduction", "Order", "Planned", "WorkerReplacedError", "greeting", "introduction", "measured"]
