"""Runs of several files as one matrix.

Devices are the same where name, platform, driver and the machine's facts agree. If two files then have different
numbers of the same cell, nobody can tell a repeated run from one on a twin of the machine: each file gets a column of
its own. Else their cells make one column. A file that is given twice, or an earlier state of one that was resumed,
adds nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from portagpu.bench.records.cell import Cell, Role, Status
from portagpu.bench.records.run import Run
from portagpu.report.matrix import Column, Matrix, Place, Row, place
from portagpu.report.roofs import roofs
from portagpu.report.titles import Origin, short_titles

Key = tuple[Any, ...]


@dataclass(slots=True)
class _Part:
    """The cells of one device in one run, by what they are of; ``files`` that the run was read from."""

    run: Run
    device: int
    files: list[str]
    cells: dict[Key, Cell] = field(default_factory=dict)

    def contradicts(self, other: _Part) -> bool:
        """Whether both have different numbers of one cell. Roofs may: the better one counts."""
        common = self.cells.keys() & other.cells.keys()
        return any(_differ(self.cells[key], other.cells[key]) for key in common)

    def take(self, other: _Part) -> None:
        """Add the cells of another state of the run."""
        self.files += [name for name in other.files if name not in self.files]
        for key, cell in other.cells.items():
            if key not in self.cells or self.cells[key].status is Status.OPEN:
                self.cells[key] = cell


def merge(runs: Sequence[Run], files: Sequence[str] | None = None) -> Matrix:
    """The matrix of some runs. ``files``: what their files are called."""
    names = [""] * len(runs) if files is None else [*files]
    groups: dict[Key, list[_Part]] = {}
    notes: list[str] = []
    for run, name in zip(runs, names, strict=True):
        for identity, part in _parts(run, name, notes):
            _add(groups.setdefault(identity, []), part)
    together = [parts for group in groups.values() for parts in _columns(group, notes)]
    origins = [Origin(device=parts[0].run.devices[parts[0].device], **_origin(parts)) for parts in together]
    columns = [
        Column(
            short=title,
            device=origin.device,
            machine=origin.machine,
            files=origin.files,
            roofs=roofs(cell for part in parts for cell in part.cells.values() if cell.role is Role.ROOF),
        )
        for title, origin, parts in zip(short_titles(origins), origins, together, strict=True)
    ]
    return _matrix(columns, together, notes, runs)


def _parts(run: Run, name: str, notes: list[str]) -> Iterator[tuple[Key, _Part]]:
    """What a run has of each device, with the device's identity: twins are told apart by their order.

    Of cells that a file has twice the last one counts, which is noted where they differ.
    """
    twins: Counter[Key] = Counter()
    parts = []
    for number, device in enumerate(run.devices):
        machine = run.machines[device.machine]
        facts = (machine.label, machine.system, machine.processor, machine.cores, machine.memory_bytes)
        identity = (device.name, device.platform, device.driver, *facts)
        twins[identity] += 1
        parts.append(((*identity, twins[identity]), _Part(run, number, [name])))
    for cell in run.cells:
        cells, key, made = parts[cell.device][1].cells, _key(cell), replace(cell, device=0)
        if key in cells and made.status is Status.OPEN:
            continue
        if key in cells and _differ(cells[key], made):
            notes.append(
                f"{name or 'a file'} has {made.name} of {made.workload.path} more than once: the last one is shown"
            )
        cells[key] = made
    yield from ((identity, part) for identity, part in parts if part.cells)


def _key(cell: Cell) -> Key:
    work = cell.workload
    problem = (work.suite, work.name, work.arithmetic, work.size, work.unit)
    return (*problem, cell.role, cell.implementation, cell.arithmetic, cell.memory, cell.caches)


def _differ(one: Cell, other: Cell) -> bool:
    return one.role is not Role.ROOF and Status.OPEN not in (one.status, other.status) and one != other


def _add(group: list[_Part], part: _Part) -> None:
    for known in group:
        same = (known.run.identity, known.run.started) == (part.run.identity, part.run.started)
        if same and not known.contradicts(part):
            known.take(part)
            return
    group.append(part)


def _columns(group: list[_Part], notes: list[str]) -> list[list[_Part]]:
    """Parts of one device that make a column: all, or each alone where some contradict each other."""
    pairs = ((one, other) for number, one in enumerate(group) for other in group[:number])
    if not any(one.contradicts(other) for one, other in pairs):
        return [group]
    device = group[0].run.devices[group[0].device]
    notes.append(f"{device.title}: {len(group)} files have different numbers of the same cells, so each has a column")
    return [[part] for part in group]


def _origin(parts: list[_Part]) -> dict[str, Any]:
    run = parts[0].run
    files = tuple(dict.fromkeys(name for part in parts for name in part.files if name))
    return {"machine": run.machines[run.devices[parts[0].device].machine], "files": files}


def _matrix(columns: list[Column], together: list[list[_Part]], notes: list[str], runs: Iterable[Run]) -> Matrix:
    found: dict[Key, list[tuple[int, list[Cell]]]] = {}
    rows: dict[Key, Row] = {}
    for number, parts in enumerate(together):
        for part in parts:
            for key, cells in _by_problem(part).items():
                rows.setdefault(key, Row(workload=cells[0].workload, memory=cells[0].memory, caches=cells[0].caches))
                found.setdefault(key, []).append((number, cells))
    ordered = sorted(found, key=lambda key: _order(rows[key]))
    places: dict[tuple[int, int], Place] = {}
    for row, key in enumerate(ordered):
        for number, cells in found[key]:
            made = place(rows[key], columns[number], tuple(cells))
            known = places.get((row, number))
            if known is not None and not rows[key].is_roof:
                notes.append(f"{rows[key].label} on {columns[number].title}: two runs have cells; one's are shown")
            if known is None or _worth(made) > _worth(known):
                places[row, number] = made
    return Matrix(
        rows=tuple(rows[key] for key in ordered),
        columns=tuple(columns),
        places=places,
        notes=tuple(dict.fromkeys(notes)),
        commands=tuple(dict.fromkeys(run.command for run in runs if run.command)),
    )


def _by_problem(part: _Part) -> dict[Key, list[Cell]]:
    made: dict[Key, list[Cell]] = {}
    for cell in part.cells.values():
        work = cell.workload
        problem = (work.suite, work.name, work.arithmetic, work.size, work.unit)
        made.setdefault((*problem, cell.memory, cell.caches), []).append(cell)
    return made


def _worth(made: Place) -> int:
    """How much a place shows."""
    return sum(cell is not None and cell.status is Status.MEASURED for cell in (made.ours, made.vendor, made.rival))


def _order(row: Row) -> tuple[Any, ...]:
    work = row.workload
    amount = work.flops or work.nbytes or 0.0
    natural = [(int(part[:18]), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", work.size)]
    return (work.suite, work.name, work.arithmetic, row.memory.value, row.caches.value, amount, natural)


__all__ = ["merge"]
