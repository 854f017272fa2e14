"""The cells of a run that several workers fill."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from portagpu.bench.cluster.worker import Planned
from portagpu.bench.records.cell import Caches, Cell, Status
from portagpu.bench.records.run import Run
from portagpu.bench.running import session
from portagpu.bench.running.facts import now

Place = tuple[int, str]
"""A device's number in the run, and a path."""


class Board:
    """What is measured of a run, and what is open; cells stand in the order of the plan, not of their measurement."""

    def __init__(self, run: Run, planned: Sequence[Planned]) -> None:
        found = session.done(run)
        lacking = [_only(one, session.lacking(found, one.device, one.path, one.repeats)) for one in planned]
        self.waiting = [one for one in lacking if one.repeats]
        asked = {(*_place(one), caches) for one in self.waiting for caches in one.repeats}
        self._kept = [cell for cell in run.cells if session.key(cell) not in asked]
        self._cells: dict[Place, tuple[Cell, ...]] = {
            _place(one): _without_numbers(one, Status.OPEN, session.NOT_YET) for one in self.waiting
        }
        self._run = run if not self.waiting else replace(run, finished="")
        self.done = 0

    def take(self, planned: Planned, cells: Iterable[Cell]) -> None:
        """Cells that were measured."""
        self._cells[_place(planned)] = tuple(replace(cell, device=planned.device) for cell in cells)
        self.done += 1

    def fail(self, planned: Planned, reason: str) -> None:
        """A workload that ended with an error which nobody expected."""
        self.take(planned, _without_numbers(planned, Status.FAILED, reason))

    def leave(self, left: Iterable[Planned], reason: str) -> None:
        """Workloads that stay open, and why."""
        for one in left:
            self._cells[_place(one)] = _without_numbers(one, Status.OPEN, reason)

    @property
    def run(self) -> Run:
        """The run as it is now."""
        cells = (*self._kept, *(cell for found in self._cells.values() for cell in found))
        if not self._run.finished and not any(cell.status is Status.OPEN for cell in cells):
            self._run = replace(self._run, finished=now())  # the first time that this is seen
        return replace(self._run, cells=cells)


def _place(planned: Planned) -> Place:
    return planned.device, planned.path


def _only(planned: Planned, wanted: Iterable[Caches]) -> Planned:
    return replace(planned, repeats={caches: planned.repeats[caches] for caches in wanted})


def _without_numbers(planned: Planned, status: Status, reason: str) -> tuple[Cell, ...]:
    made = session.without_numbers(planned.path, planned.workload, status, reason)
    return tuple(
        replace(made, device=planned.device, caches=caches, repeat=repeat) for caches, repeat in planned.repeats.items()
    )


__all__ = ["Board"]
