"""The store of trials and winners: an append-only file of JSON lines.

A line is written with one call under a file lock, so that processes do not mix their lines, and a process that dies
loses at most the line it was writing. Lines that are torn, foreign or of another version are skipped when reading.
The fastest winner of a task counts, whatever the order of the lines, so that tuning in two processes at once, or
merging stores, never replaces a winner by a slower one.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from portagpu.errors import StoreError
from portagpu.files import write_atomically
from portagpu.tuning import outcomes
from portagpu.tuning.outcomes import Outcome
from portagpu.tuning.space import Point, point_key

VERSION = 1
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKey:
    """What a winner is the winner of."""

    device: str  # `DeviceRecord.key`
    kernel: str
    kernel_version: int
    dtype: str
    shape_class: str  # problems whose times can be compared


@dataclass(slots=True)
class _Entries:
    trials: dict[tuple[tuple[str, Any], ...], tuple[Point, Outcome]]
    winner: tuple[Point, float] | None = None


class Store:
    """Trials and winners in one file; safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None  # inode and size at the last look
        self._read_to = 0  # bytes up to the last complete line
        self._tasks: dict[TaskKey, _Entries] = {}

    def add_trial(self, task: TaskKey, point: Point, outcome: Outcome) -> None:
        """Append a trial."""
        self._append({"type": "trial", "task": asdict(task), "point": point, "outcome": outcomes.to_json(outcome)})

    def add_winner(self, task: TaskKey, point: Point, seconds: float) -> None:
        """Append a verified winner."""
        self._append({"type": "winner", "task": asdict(task), "point": point, "seconds": seconds})

    def trials(self, task: TaskKey) -> dict[tuple[tuple[str, Any], ...], tuple[Point, Outcome]]:
        """Trials of a task by `point_key`."""
        self.refresh()
        with self._lock:
            entries = self._tasks.get(task)
            return dict(entries.trials) if entries else {}

    def winner(self, task: TaskKey) -> tuple[Point, float] | None:
        """The task's winner and its seconds, or None."""
        self.refresh()
        with self._lock:
            entries = self._tasks.get(task)
            return entries.winner if entries else None

    def winners(self) -> dict[TaskKey, tuple[Point, float]]:
        """All winners."""
        self.refresh()
        with self._lock:
            return {t: e.winner for t, e in self._tasks.items() if e.winner is not None}

    def refresh(self) -> bool:
        """Read what was written since the last look. Returns whether there was anything new."""
        try:
            status = self.path.stat()
            seen = (status.st_ino, status.st_size)
        except OSError:
            seen = None
        if seen == self._seen:
            return False
        with self._lock:
            if seen is None or self._seen is None or self._seen[0] != seen[0] or seen[1] < self._read_to:
                self._tasks.clear()
                self._read_to = 0
            self._seen = seen
            try:
                with self.path.open("rb") as file:
                    file.seek(self._read_to)
                    data = file.read()
            except OSError as error:  # a store that cannot be read is like none: kernels run untuned
                _log.warning("%s cannot be read: %s", self.path, error)
                return True
            complete = data.rfind(b"\n") + 1
            for line in data[:complete].splitlines():
                self._read(line)
            self._read_to += complete
        return True

    def _read(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            if record["v"] != VERSION:
                return
            task = TaskKey(**record["task"])
            point = dict(record["point"])
            entries = self._tasks.setdefault(task, _Entries({}))
            if record["type"] == "trial":
                entries.trials[point_key(point)] = (point, outcomes.from_json(record["outcome"]))
            elif record["type"] == "winner":
                seconds = outcomes.checked_seconds(record["seconds"])
                if entries.winner is None or seconds <= entries.winner[1]:
                    entries.winner = (point, seconds)
        except (ValueError, KeyError, TypeError, StoreError):
            return

    def _append(self, record: dict[str, Any]) -> None:
        self._write([{"v": VERSION, "at": round(time.time(), 3), **record}])

    def _write(self, records: Iterable[dict[str, Any]]) -> None:
        """Append lines. Raises `StoreError` where the file cannot be written."""
        text = b"".join(_line(r) for r in records)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX)
                size = os.fstat(handle).st_size
                if size and os.pread(handle, 1, size - 1) != b"\n":
                    text = b"\n" + text  # another process died in the middle of its line
                while text:  # a full disk or a signal can cut a write short
                    text = text[os.write(handle, text) :]
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            hint = "make room or set PORTAGPU_DATA_DIR to a folder that can be written"
            raise StoreError(f"{self.path} cannot be written: {error}", hint=hint) from error

    def merge(self, other: Path) -> int:
        """Append what another store has and this one lacks. Returns the number of lines. Raises `StoreError`."""
        try:
            other.open("rb").close()
        except OSError as error:
            raise StoreError(f"{other} cannot be read: {error}") from error
        theirs = Store(other)
        theirs.refresh()
        if not theirs._tasks:
            raise StoreError(f"{other} has no tuning results of this version", hint="export them with this version")
        self.refresh()
        records: list[dict[str, Any]] = []
        for task, entries in theirs._tasks.items():
            with self._lock:
                ours = self._tasks.get(task, _Entries({}))
                new = _Entries({k: v for k, v in entries.trials.items() if k not in ours.trials})
                beaten = ours.winner is None or (entries.winner is not None and entries.winner[1] < ours.winner[1])
            new.winner = entries.winner if beaten else None
            records += _records(task, new)
        if records:
            self._write(records)
        return len(records)

    def export(self, path: Path) -> int:
        """Write all trials and winners, each once, to a new store. Returns the number of lines. Raises `StoreError`."""
        self.refresh()
        with self._lock:
            lines = [_line(r) for task, entries in self._tasks.items() for r in _records(task, entries)]
        try:
            write_atomically(path, b"".join(lines))
        except OSError as error:
            raise StoreError(f"{path} cannot be written: {error}") from error
        return len(lines)


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record, sort_keys=True).encode() + b"\n"


def _records(task: TaskKey, entries: _Entries) -> list[dict[str, Any]]:
    start = {"v": VERSION, "task": asdict(task)}
    found: list[dict[str, Any]] = [
        {**start, "type": "trial", "point": point, "outcome": outcomes.to_json(outcome)}
        for point, outcome in entries.trials.values()
    ]
    if entries.winner is not None:
        found.append({**start, "type": "winner", "point": entries.winner[0], "seconds": entries.winner[1]})
    return found
