"""Where workers' machines and devices stand in a run that may have some of them already.

Files do not tell whose a machine is, so it is known by its processor, cores and software, and a device by its name and
driver. Of several machines that are alike, any may fill what another one left open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from portagpu.bench.cluster.worker import Introduction
from portagpu.bench.records.cell import Status
from portagpu.bench.records.run import Device, Machine, Run


def machine_identity(machine: Machine) -> tuple[Any, ...]:
    """What must be the same for numbers to be those of one machine: all but its label and what memory is free."""
    return machine.system, machine.processor, machine.cores, dict(machine.software)


def device_identity(device: Device) -> tuple[str, ...]:
    """What tells a device from others of its machine; rates that a probe measured vary."""
    return device.platform, device.name, device.driver, device.version


def placed(run: Run, workers: Sequence[Introduction], label: str = "") -> tuple[Run, list[list[int]]]:
    """The run with the machines and devices of all workers, and for each worker the numbers of its devices.

    Machines that are new are called ``label`` with a number, if there is one.
    """
    free = sorted(range(len(run.machines)), key=lambda number: -_open_cells(run, number))
    numbers = []
    for worker in workers:
        wanted = machine_identity(worker.machine)
        known = next((number for number in free if machine_identity(run.machines[number]) == wanted), None)
        if known is None:
            known = len(run.machines)
            name = f"{label} {known + 1}" if label else ""
            run = replace(run, machines=(*run.machines, replace(worker.machine, label=name)))
        else:
            free.remove(known)
        run, found = _with_devices(run, known, worker.devices)
        numbers.append(found)
    return run, numbers


def _open_cells(run: Run, machine: int) -> int:
    return sum(cell.status is Status.OPEN and run.devices[cell.device].machine == machine for cell in run.cells)


def _with_devices(run: Run, machine: int, devices: Sequence[Device]) -> tuple[Run, list[int]]:
    found = []
    for device in devices:
        wanted = device_identity(device)
        own = (number for number, one in enumerate(run.devices) if one.machine == machine)
        number = next((number for number in own if device_identity(run.devices[number]) == wanted), None)
        if number is None:
            number = len(run.devices)
            run = replace(run, devices=(*run.devices, replace(device, machine=machine)))
        found.append(number)
    return run, found


__all__ = ["device_identity", "machine_identity", "placed"]
