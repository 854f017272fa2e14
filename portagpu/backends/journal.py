"""What a probing process writes down while it works, so that its successor knows which trial crashed it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

Answer = TypeVar("Answer", bool, int, float, str)


class Journal:
    """Trials by name, a line of JSON when one begins and one when it ends.

    A trial that began and never ended took its process down: when the journal is opened again, it counts as failed.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers: dict[str, object] = {}
        self._crashed: set[str] = set()
        for entry in _entries(path):
            if "begin" in entry:
                self._crashed.add(str(entry["begin"]))
            elif "end" in entry:
                self._crashed.discard(str(entry["end"]))
                self._answers[str(entry["end"])] = entry.get("answer")

    @property
    def answers(self) -> Mapping[str, object]:
        """Answers of the trials that ended."""
        return dict(self._answers)

    @property
    def crashed(self) -> frozenset[str]:
        """Trials that began and never ended."""
        return frozenset(self._crashed)

    def trial(self, name: str, attempt: Callable[[], Answer], otherwise: Answer) -> Answer:
        """The answer of ``attempt()``, made at most once ever; ``otherwise`` where it took an earlier process down."""
        if name in self._crashed:
            return otherwise
        if name in self._answers:
            known = self._answers[name]
            return known if isinstance(known, type(otherwise)) else otherwise
        self._write({"begin": name})
        answer = attempt()
        self._answers[name] = answer
        self._write({"end": name, "answer": answer})
        return answer

    def _write(self, entry: Mapping[str, object]) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())


def _entries(path: Path) -> list[dict[str, object]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    entries = []
    for line in lines:
        try:
            entry = json.loads(line)
        except ValueError:
            continue  # the line that was being written when the process died
        if isinstance(entry, dict):
            entries.append(entry)
    return entries
