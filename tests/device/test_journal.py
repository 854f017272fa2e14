"""The journal of a process that may die."""

from __future__ import annotations

from pathlib import Path

import pytest

from portagpu.backends.journal import Journal


def test_an_answer_is_asked_for_once(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    assert Journal(path).trial("fp64", lambda: True, False) is True
    again = Journal(path)
    assert again.trial("fp64", lambda: False, False) is True
    assert again.answers == {"fp64": True} and again.crashed == frozenset()


def test_a_trial_without_an_end_counts_as_crashed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    Journal(path).trial("first", lambda: 7, 0)
    with path.open("a") as file:
        file.write('{"begin": "second"}\n')
    journal = Journal(path)
    assert journal.crashed == {"second"}
    assert journal.trial("second", lambda: True, False) is False
    assert journal.trial("first", lambda: 0, 0) == 7


def test_an_exception_leaves_the_trial_open(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    def fail() -> bool:
        raise RuntimeError("the context is gone")

    journal = Journal(path)
    with pytest.raises(RuntimeError):
        journal.trial("fatal", fail, False)
    assert Journal(path).crashed == {"fatal"}


def test_half_a_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"begin": "a"}\n{"end": "a", "answer": 3}\n{"begin": "b"}\n{"end": "b", "ans')
    journal = Journal(path)
    assert journal.crashed == {"b"} and journal.answers == {"a": 3}


def test_an_answer_of_another_kind_is_not_believed(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_text('{"begin": "a"}\n{"end": "a", "answer": "text"}\n')
    assert Journal(path).trial("a", lambda: 5, 0) == 0
