"""The store of trials and winners: an append-only file of JSON lines.

A line is written with one call under a file lock, so that processes do not mix their lines, and a process that dies
loses at most the line it was writing. Lines that are torn, foreign or of another version are skipped when reading.
The latest winner of a task counts.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from portagpu.errors import StoreError
from portagpu.tuning import outcomes
from portagpu.tuning.outcomes import Outcome
from portagpu.tuning.space import Point, point_key

VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskKey:
    """What a winner is the winner of."""

    device: str  # `DeviceRecord.key`
    kernel: str
    kernel_version: int
    dtype: str
    shape_class: str


@dataclass(slots=True)
class _Entries:
    trials: dict[tuple[tuple[str, Any], ...], tuple[Point, Outcome]]
    winner: tuple[Point, float] | None = None


class Store:
    """Trials and winners in one file; safe for several threads and processes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None  # inode and size that were read
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
        except OSError:
            return False
        seen = (status.st_ino, status.st_size)
        if seen == self._seen:
            return False
        with self._lock:
            same_file = self._seen is not None and self._seen[0] == seen[0] and self._seen[1] <= seen[1]
            start = self._seen[1] if same_file and self._seen is not None else 0
            if start == 0:
                self._tasks.clear()
            with self.path.open("rb") as file:
                file.seek(start)
                data = file.read()
            complete = data.rfind(b"\n") + 1
            for line in data[:complete].splitlines():
                self._read(line)
            self._seen = (seen[0], start + complete)
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
                entries.winner = (point, float(record["seconds"]))
        except (ValueError, KeyError, TypeError, StoreError):
            return

    def _append(self, record: dict[str, Any]) -> None:
        self._write([{"v": VERSION, "at": round(time.time(), 3), **record}])

    def _write(self, records: Iterable[dict[str, Any]]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = b"".join(json.dumps(r, sort_keys=True).encode() + b"\n" for r in records)
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":
                text = b"\n" + text  # another process died in the middle of its line
            os.write(handle, text)
            os.fsync(handle)
        finally:
            os.close(handle)

    def merge(self, other: Path) -> int:
        """Append another store's readable lines. Returns their number. Raises `StoreError` if it cannot be read."""
        try:
            lines = other.read_bytes().splitlines()
        except OSError as error:
            raise StoreError(f"{other} cannot be read: {error}") from error
        records = []
        for line in lines:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict) and record.get("v") == VERSION:
                records.append(record)
        if records:
            self._write(records)
        return len(records)
