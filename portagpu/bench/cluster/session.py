"""A run on Dask's workers: one workload at a time on each machine, kept after each.

Dask would send the work of a worker that died to where it still fits, and wait for one that is stopped. Here a worker
that dies or hangs leaves what it has not measured open, and the others go on.
"""

from __future__ import annotations

import contextlib
import queue
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from portagpu.bench.cluster import worker
from portagpu.bench.cluster.board import Board
from portagpu.bench.cluster.members import Member, Say, addresses, members, submit
from portagpu.bench.cluster.places import placed
from portagpu.bench.cluster.worker import Order, Planned
from portagpu.bench.records.run import Run
from portagpu.bench.running.measuring import reason_of
from portagpu.bench.running.session import Progress
from portagpu.errors import WorkersError

_LOOK_SECONDS = 0.5  # between two looks at who is there
_FETCH_SECONDS = 30.0  # for cells that are measured
_OF_DASK = ("distributed", "asyncio", "concurrent")  # whose errors tell of workers that are gone
_DIED, _HUNG = "its worker died", "its worker hung"


@dataclass(slots=True)
class _Lane:
    """A worker and what it has to do: pairs of a workload as the worker knows it and as the run does."""

    member: Member
    waiting: deque[tuple[Planned, Planned]] = field(default_factory=deque)
    future: Any = None
    since: float = 0.0

    @property
    def left(self) -> list[Planned]:
        """What it has not measured, the current workload first."""
        return [planned for _, planned in self.waiting]


def perform(client: Any, run: Run, order: Order, limit: float, progress: Progress, say: Say, label: str = "") -> Run:
    """Measure on the scheduler's workers what a run has no cells of; returns the run with all its cells.

    ``limit``: seconds for a workload, after which its worker is given up. ``say`` is told of workers that are not used
    or lost, by their addresses; files tell none. Raises `WorkersError` without a worker or a workload, and where the
    scheduler is gone, after what was measured is kept.
    """
    found = members(client, order, limit, say)
    run, numbers = placed(run, [member.introduction for member in found], label)
    plans = [
        [(one, replace(one, device=own[one.device])) for one in member.introduction.planned]
        for member, own in zip(found, numbers, strict=True)
    ]
    board = Board(run, [planned for plan in plans for _, planned in plan])
    if not any(plans):
        raise WorkersError(f"no workload matches {', '.join(order.filters) or 'what is asked for'}")
    waiting = {(one.device, one.path): one for one in board.waiting}
    lanes = [_Lane(member, deque(_left(plan, waiting))) for member, plan in zip(found, plans, strict=True)]
    _Crew(client, lanes, board, order, limit, progress, say).work()
    progress.keep(board.run)
    return board.run


def _left(
    plan: Iterable[tuple[Planned, Planned]], waiting: Mapping[tuple[int, str], Planned]
) -> Iterator[tuple[Planned, Planned]]:
    """Of a worker's workloads those that wait, with the caches that the run lacks."""
    for own, planned in plan:
        one = waiting.get((planned.device, planned.path))
        if one is not None:
            yield replace(own, repeats=one.repeats), one


class _Crew:
    """The workers while they measure."""

    def __init__(
        self,
        client: Any,
        lanes: Sequence[_Lane],
        board: Board,
        order: Order,
        limit: float,
        progress: Progress,
        say: Say,
    ) -> None:
        self._client, self._lanes, self._board, self._order = client, lanes, board, order
        self._limit, self._progress, self._say = limit, progress, say
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._total = len(board.waiting)

    def work(self) -> None:
        """Until nothing is left, or nobody. Raises `WorkersError` without a scheduler."""
        self._progress.count(0, self._total)
        try:
            for lane in self._lanes:
                self._next(lane)
            while any(lane.future is not None for lane in self._lanes):
                self._look()
        except OSError as error:  # the connection to the scheduler
            for lane in self._lanes:
                self._board.leave(lane.left, "the scheduler was lost")
            self._keep()
            raise WorkersError(
                f"Dask's scheduler is lost: {reason_of(error)}", hint="what is measured is kept; go on with --resume"
            ) from error
        finally:
            for lane in self._lanes:
                if lane.future is not None:
                    lane.future.cancel(force=True)

    def _look(self) -> None:
        """Wait for a moment, or until a workload ends; see who is done, gone or late."""
        with contextlib.suppress(queue.Empty):
            self._ended.get(timeout=_LOOK_SECONDS)
        there = addresses(self._client)
        for lane in self._lanes:
            if lane.future is None:
                continue
            if lane.future.done():
                self._finish(lane)
            elif lane.member.address not in there:
                self._lose(lane, "died", _DIED)
            elif time.monotonic() - lane.since > self._limit:
                self._lose(lane, f"hangs: {lane.left[0].path} did not end within {self._limit:g} s", _HUNG)

    def _next(self, lane: _Lane) -> None:
        lane.future = None
        if lane.waiting:
            own, _ = lane.waiting[0]
            lane.since = time.monotonic()
            lane.future = submit(
                self._client, lane.member.address, worker.measured, lane.member.process, self._order, own
            )
            lane.future.add_done_callback(lambda _: self._ended.put(None))

    def _finish(self, lane: _Lane) -> None:
        """Take what a workload came to; a worker may die before it has handed it over."""
        planned = lane.left[0]
        try:
            self._board.take(planned, lane.future.result(timeout=_FETCH_SECONDS))
        except Exception as error:  # Dask's errors of lost workers, and faults of a workload
            lost = _lost(lane.future.status, error)
            if lost:
                self._lose(lane, *lost)
                return
            self._board.fail(planned, reason_of(error))
        lane.waiting.popleft()
        self._progress.tell(f"{planned.path} is done by {lane.member.address}")
        self._keep()
        self._next(lane)

    def _lose(self, lane: _Lane, what: str, reason: str) -> None:
        left = lane.left
        self._say(f"worker {lane.member.address} {what}; {len(left)} workloads stay open, for a run with --resume")
        lane.future.cancel(force=True)
        lane.future = None
        self._board.leave(left, reason)
        lane.waiting.clear()
        self._keep()

    def _keep(self) -> None:
        self._progress.count(self._board.done, self._total)
        self._progress.keep(self._board.run)


def _lost(status: str, error: Exception) -> tuple[str, str] | None:
    """What became of a worker by the error of its future, and the file's reason; None: the error is its work's."""
    if isinstance(error, worker.WorkerReplacedError):
        return "died, and another one has its address", _DIED
    if type(error).__module__.startswith(_OF_DASK):
        return f"died: {type(error).__name__}", _DIED
    if status != "error":  # it was measured, and could not be fetched
        return "hangs: its results do not arrive", _HUNG
    return None


__all__ = ["perform"]
