"""The store of trials and winners: an append-only file of JSON lines.

A line is written with one call under a file lock, so that processes do not mix their lines, and a process that dies
loses at most the line it was writing. Lines that are torn, foreign or of another version are skipped when reading;
those of other versions stay when the file is rewritten.
The fastest winner of a task counts, so that tuning in two processes at once, or merging stores, never replaces a winner
by another, slower point. Of one point the latest line counts: its time may have been luck, and what fails later is no
winner.
"""

from __future__ import annotations

import json
import logging
import math
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from portagpu.errors import StoreError
from portagpu.tuning.store.file import MOST_BYTES, is_same, locked, path_of, reading, replaced, seen, unwritable
from portagpu.tuning.store.lines import (
    AXES,
    Axes,
    Record,
    TaskKey,
    axes_line,
    axes_of,
    encoded,
    is_foreign,
    record_of,
    timed,
    trial_line,
    winner_line,
)
from portagpu.tuning.tunables import outcomes
from portagpu.tuning.tunables.outcomes import Outcome
from portagpu.tuning.tunables.space import Point, PointKey, point_key
from portagpu.version import __version__

_LATER = 0.001  # seconds: what lines tell apart
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Entries:
    trials: dict[PointKey, Record] = field(default_factory=dict)
    verified: dict[PointKey, Record] = field(default_factory=dict)  # points that are or were winners
    axes: Axes | None = None  # of the latest search's space

    def fails(self, key: PointKey, since: float) -> bool:
        """Whether a point failed at a time or later."""
        trial = self.trials.get(key)
        return trial is not None and not isinstance(trial.outcome, outcomes.Measured) and trial.at >= since

    def takes(self, key: PointKey, winner: Record) -> bool:
        """Whether a winner's line says something new: of a point that was measured or failed later it does not."""
        known = self.verified.get(key)
        if self.fails(key, winner.at):
            return False
        return known is None or (winner.at, -timed(winner)[1]) > (known.at, -timed(known)[1])

    @property
    def winner(self) -> Record | None:
        """The fastest winner."""
        return min(self.verified.copy().values(), key=lambda record: timed(record)[1], default=None)


class _Written:
    """How often this process has written to any store."""

    count = 0


def results_written() -> int:
    """A number that grows whenever this process has written to a store: cheaper to ask for than a file's size."""
    return _Written.count


class Store:
    """Trials and winners in one file; safe for several threads and processes.

    Raises `StoreError` for what is no path; in one, ``~`` is the home folder.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = path_of(path)
        self._lock = threading.RLock()
        self._seen: tuple[int, int] | None = None  # inode and size at the last look
        self._held: weakref.finalize[..., Any] | None = None  # closes the file that was read
        self._read_to = 0  # bytes up to the last complete line
        self._tasks: dict[TaskKey, _Entries] = {}
        self._foreign: list[bytes] = []  # lines of other versions
        self._revision, self._reading = 0, False

    @property
    def revision(self) -> int:
        """A number that grows with what is known, whoever wrote it."""
        self.refresh()
        return self._revision

    def add_trial(
        self,
        task: TaskKey,
        point: Point,
        outcome: Outcome,
        *,
        predicted: float | None = None,
        cost: float | None = None,
    ) -> None:
        """Append a trial. ``predicted``: the model's seconds; ``cost``: seconds that the trial took in all."""
        at = max(time.time(), self._latest(task, point))
        record = Record(point=point, outcome=outcome, at=at, portagpu=__version__, predicted=predicted, cost=cost)
        self._write([trial_line(task, record)])

    def add_winner(self, task: TaskKey, point: Point, seconds: float) -> None:
        """Append a verified winner."""
        at = max(time.time(), self._latest(task, point) + _LATER)
        record = Record(point=point, outcome=outcomes.Measured(seconds), at=at, portagpu=__version__)
        self._write([winner_line(task, record)])

    def _latest(self, task: TaskKey, point: Point) -> float:
        """The time of a point's latest line. A new one is later, whatever the clock says, which may have been set back:
        of one point the latest line counts."""
        self.refresh()
        key = point_key(point)
        with self._lock:
            entries = self._tasks.get(task, _Entries())
            known = (entries.trials.get(key), entries.verified.get(key))
            return max((record.at for record in known if record is not None), default=0.0)

    def add_axes(self, task: TaskKey, axes: Axes) -> None:
        """Note the axes that a search's points are of, in the space's order, if the store does not have them yet."""
        if self.axes(task) != axes:
            self._write([axes_line(task, axes)])

    def axes(self, task: TaskKey) -> Axes | None:
        """The axes of a task's latest search; None where they are not known."""
        self.refresh()
        with self._lock:
            entries = self._tasks.get(task)
            return None if entries is None else entries.axes

    def trials(self, task: TaskKey) -> dict[PointKey, tuple[Point, Outcome]]:
        """Trials of a task by `point_key`."""
        return {key: (r.point, r.outcome) for key, r in self.records(task).items()}

    def records(self, task: TaskKey) -> dict[PointKey, Record]:
        """Trials of a task with all that is known of them, by `point_key`, in the order of measuring."""
        self.refresh()
        with self._lock:
            return dict(self._tasks[task].trials) if task in self._tasks else {}

    def winner(self, task: TaskKey, legal: Callable[[Point], bool] = lambda point: True) -> tuple[Point, float] | None:
        """The task's winner and its seconds, or None. ``legal`` leaves out those of an older space."""
        self.refresh()
        with self._lock:
            entries = self._tasks.get(task)
            known = sorted(map(timed, entries.verified.copy().values()), key=lambda pair: pair[1]) if entries else []
        return next((pair for pair in known if legal(pair[0])), None)

    def is_verified(self, task: TaskKey, point: Point) -> bool:
        """Whether a point is or was a winner."""
        self.refresh()
        with self._lock:
            entries = self._tasks.get(task)
            return entries is not None and point_key(point) in entries.verified

    def winners(self) -> dict[TaskKey, tuple[Point, float]]:
        """All winners."""
        self.refresh()
        with self._lock:
            return {t: timed(e.winner) for t, e in self._tasks.copy().items() if e.winner is not None}

    def tasks(self) -> tuple[TaskKey, ...]:
        """Every task that something is known of."""
        self.refresh()
        with self._lock:
            return tuple(self._tasks)

    def refresh(self) -> bool:
        """Read what was written since the last look. Returns whether there was anything new."""
        try:
            now = seen(self.path.stat())
        except OSError:
            now = None
        if now == self._seen:
            return False
        with self._lock:
            if self._reading:  # by this thread: a collection inside runs code that asks for results
                return False
            self._reading = True
            try:
                self._read_new(now)
            finally:
                self._reading = False
        return True

    def _read_new(self, now: tuple[int, int] | None) -> None:
        try:
            with reading(self.path) as handle, os.fdopen(handle, "rb", closefd=False) as file:
                now = seen(os.fstat(handle))
                if self._seen is None or self._seen[0] != now[0] or now[1] < self._read_to:
                    self._forget()
                    # as long as it is open, no other file gets its inode
                    self._held = weakref.finalize(self, os.close, os.dup(handle))
                file.seek(self._read_to)
                data = file.read(MOST_BYTES)
        except OSError as error:  # a store that cannot be read is like none: kernels run untuned
            self._forget()
            data = b""
            if now is not None:
                _log.warning("%s cannot be read: %s", self.path, error)
        complete = data.rfind(b"\n") + 1
        for line in data[:complete].splitlines():
            self._read(line)
        self._read_to += complete
        self._revision += 1
        self._seen = now

    def _forget(self) -> None:
        if self._held is not None:
            self._held()
        self._held = None
        self._tasks.clear()
        self._foreign.clear()
        self._read_to = 0

    def _read(self, line: bytes) -> None:
        try:
            values = json.loads(line)
            if is_foreign(values):
                self._foreign.append(line)
                return
            task = TaskKey(**values["task"])
            if not all(isinstance(text, str) for text in (task.device, task.kernel, task.dtype, task.shape_class)):
                return
            if values["type"] == AXES:
                axes = axes_of(values)
                self._tasks.setdefault(task, _Entries()).axes = axes
                return
            record = record_of(values)
            key = point_key(record.point)
            hash((task, key))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, StoreError):
            return  # whatever a file may hold
        entries = self._tasks.setdefault(task, _Entries())
        if values["type"] == "trial":
            entries.trials[key] = record
            verified = entries.verified.get(key)
            if verified is not None and entries.fails(key, verified.at):
                del entries.verified[key]  # what worked once and fails now is no winner
        elif entries.takes(key, record):
            entries.verified[key] = record

    def _write(self, lines: Iterable[dict[str, Any]]) -> None:
        """Append lines. Raises `StoreError` where the file cannot be written."""
        text = b"".join(map(encoded, lines))
        try:
            with locked(self.path) as handle:
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    text = b"\n" + text  # another process died in the middle of its line
                while text:  # a full disk or a signal can cut a write short
                    text = text[os.write(handle, text) :]
                os.fsync(handle)
        except OSError as error:
            raise unwritable(self.path, error) from error
        finally:
            _Written.count += 1

    def check_writable(self) -> None:
        """Make the file if there is none. Raises `StoreError` where it cannot be written: before hours of measuring."""
        self._write([])

    def merge(self, other: Path | str, kernel: str | None = None) -> int:
        """Append what another store has, of one ``kernel`` or of all, and this one lacks. Returns how many results.
        Raises `StoreError`."""
        theirs = Store(other)
        try:
            with reading(theirs.path):
                pass
        except OSError as error:
            hint = "name a file that `portagpu tune export` has written"
            raise StoreError(f"{theirs.path} cannot be read: {error}", hint=hint) from error
        theirs.refresh()
        if not theirs._tasks:
            raise StoreError(
                f"{theirs.path} has no tuning results of this version", hint="export them with this version"
            )
        self.refresh()
        lines: list[dict[str, Any]] = []
        for task, entries in theirs._tasks.items():
            if kernel is not None and task.kernel != kernel:
                continue
            with self._lock:
                ours = self._tasks.get(task, _Entries())
                new = _Entries({k: r for k, r in entries.trials.items() if _is_new(ours.trials.get(k), r)})
                least = math.inf if ours.winner is None else timed(ours.winner)[1]
                for key, record in entries.verified.items():
                    # a point that is a winner here keeps its time, unless the other one makes it the fastest
                    wanted = key not in ours.verified or timed(record)[1] < least
                    if wanted and ours.takes(key, record):
                        new.verified[key] = record
                new.axes = entries.axes if ours.axes is None else None
            lines += _lines(task, new)
        if lines:
            self._write(lines)
        return _results(lines)

    def export(self, path: Path | str) -> int:
        """Write all trials, failures too, and all winners to a new store: where the fastest one fails later, or is not
        in the space any more, the next one serves.

        Returns the number of results. Raises `StoreError`.
        """
        target = path_of(path)
        if is_same(target, self.path) and self.path.exists():
            self.compact()
        lines = self._all_lines()
        if not lines:
            others = f", but {len(self._foreign)} lines of another version of PortaGPU" * bool(self._foreign)
            hint = (
                "export them with that version" if others else "tune first: portagpu tune gemm, or portagpu tune kernel"
            )
            raise StoreError(f"{self.path} has no results to export{others}", hint=hint)
        if not is_same(target, self.path):
            replaced(target, map(encoded, lines))
        return _results(lines)

    def _foreign_lines(self) -> list[bytes]:
        with self._lock:
            return [line + b"\n" for line in self._foreign]

    def _all_lines(self) -> list[dict[str, Any]]:
        self.refresh()
        with self._lock:
            return [line for task, entries in self._tasks.copy().items() for line in _lines(task, entries)]

    def export_winners(self, path: Path | str, rename: Callable[[TaskKey], TaskKey | None]) -> int:
        """Write winners only, under other tasks: ``rename`` maps a task, None leaves it out; what the file already has
        stays unless it is slower. Returns the number of winners in the file. Raises `StoreError`."""
        kept = Store(path)
        kept.refresh()
        best = {task: e.winner for task, e in kept._tasks.copy().items() if e.winner is not None}
        self.refresh()
        with self._lock:
            found = [(rename(task), e.winner) for task, e in self._tasks.copy().items() if e.winner is not None]
        for task, winner in found:
            if task is not None and (task not in best or timed(winner)[1] < timed(best[task])[1]):
                best[task] = winner
        lines = [encoded(winner_line(task, record)) for task, record in best.items()]
        replaced(kept.path, kept._foreign_lines() + sorted(lines))
        return len(lines)

    def compact(self) -> tuple[int, int]:
        """Rewrite the file with what `export` writes, behind other versions' lines, which stay as they are.

        Returns bytes before and after. Raises `StoreError`, also for a file of which nothing would be left.
        """
        try:
            with locked(self.path) as handle:  # who waits for the lock finds another file, and opens that
                before = os.fstat(handle).st_size
                if before and os.pread(handle, 1, before - 1) != b"\n":
                    os.write(handle, b"\n")  # nobody is about to write the rest of the last line
                lines = [encoded(line) for line in self._all_lines()]
                lines = self._foreign_lines() + lines
                if before and not lines:
                    raise StoreError(f"{self.path} has no tuning results", hint="remove it, if nobody needs it")
                replaced(self.path, lines)
                return before, self.path.stat().st_size
        except OSError as error:
            raise unwritable(self.path, error) from error


def _is_new(ours: Record | None, theirs: Record) -> bool:
    """Whether a trial of another store says something new: also that a point fails which once did not."""
    failed = not isinstance(theirs.outcome, outcomes.Measured)
    return ours is None or (failed and isinstance(ours.outcome, outcomes.Measured) and theirs.at > ours.at)


def _lines(task: TaskKey, entries: _Entries) -> list[dict[str, Any]]:
    axes = [] if entries.axes is None else [axes_line(task, entries.axes)]
    trials = [trial_line(task, record) for record in entries.trials.copy().values()]
    return axes + trials + [winner_line(task, record) for record in entries.verified.copy().values()]


def _results(lines: list[dict[str, Any]]) -> int:
    """How many of the lines are results."""
    return sum(line["type"] != AXES for line in lines)


__all__ = ["Record", "Store", "TaskKey", "results_written"]
