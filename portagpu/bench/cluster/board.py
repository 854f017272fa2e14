"""The cells of a run that several workers fill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from portagpu.bench.cluster.worker import Planned
from portagpu.bench.records.cell import Cell, Status
from portagpu.bench.records.run import Run
from portagpu.bench.running import session
from portagpu.bench.running.facts import now

Key = tuple[int, str]
"""A device's number in the run, and a path."""


class Board:
    """What is measured of a run, and what is open; cells stand in the order of the plan, not of their measurement."""

    def __init__(self, run: Run, planned: Sequence[Planned]) -> None:
        done = {(cell.device, cell.workload.path) for cell in run.cells if cell.status is not Status.OPEN}
        self.waiting = [one for one in planned if _key(one) not in done]
        asked = set(map(_key, self.waiting))
        self._kept = [cell for cell in run.cells if (cell.device, cell.workload.path) not in asked]
        self._cells: dict[Key, tuple[Cell, ...]] = {
            _key(one): (_without_numbers(one, Status.OPEN, session.NOT_YET),) for one in self.waiting
        }
        self._run = run if not self.waiting else replace(run, finished="")
        self.done = 0

    def take(self, planned: Planned, cells: Iterable[Cell]) -> None:
        """Cells that were measured."""
        self._cells[_key(planned)] = tuple(replace(cell, device=planned.device) for cell in cells)
        self.done += 1

    def fail(self, planned: Planned, reason: str) -> None:
        """A workload that ended with an error which nobody expected."""
        self.take(planned, [_without_numbers(planned, Status.FAILED, reason)])

    def leave(self, left: Iterable[Planned], reason: str) -> None:
        """Workloads that stay open, and why."""
        for one in left:
            self._cells[_key(one)] = (_without_numbers(one, Status.OPEN, reason),)

    @property
    def run(self) -> Run:
        """The run as it is now."""
        cells = (*self._kept, *(cell for found in self._cells.values() for cell in found))
        if not self._run.finished and not any(cell.status is Status.OPEN for cell in cells):
            self._run = replace(self._run, finished=now())  # the first time that this is seen
        return replace(self._run, cells=cells)


def _key(planned: Planned) -> Key:
    return planned.device, planned.path


def _without_numbers(planned: Planned, status: Status, reason: str) -> Cell:
    return session.without_numbers(planned.path, planned.workload, status, reason, planned.device)


__all__ = ["Board"]
