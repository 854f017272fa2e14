"""The store: append-only, shared by processes, tolerant of torn lines."""

from __future__ import annotations

import json
import multiprocessing

import pytest

from portagpu.errors import StoreError
from portagpu.tuning import LaunchFailed, Measured, Store, TaskKey, TimedOut
from portagpu.tuning.space import point_key

TASK = TaskKey(device="d", kernel="k", kernel_version=1, dtype="float32", shape_class="8x8x8")


def test_trials_and_winners_survive(tmp_path):
    path = tmp_path / "store.jsonl"
    store = Store(path)
    store.add_trial(TASK, {"x": 1}, Measured(0.5))
    store.add_trial(TASK, {"x": 2}, TimedOut(3.0))
    store.add_winner(TASK, {"x": 1}, 0.5)
    fresh = Store(path)
    assert fresh.trials(TASK)[point_key({"x": 2})] == ({"x": 2}, TimedOut(3.0))
    assert fresh.winner(TASK) == ({"x": 1}, 0.5)
    store.add_winner(TASK, {"x": 3}, 0.1)
    assert fresh.winner(TASK) == ({"x": 3}, 0.1)  # seen at once by a store that was read before


def test_torn_and_foreign_lines_are_skipped(tmp_path):
    path = tmp_path / "store.jsonl"
    store = Store(path)
    store.add_trial(TASK, {"x": 1}, Measured(0.5))
    with path.open("ab") as file:
        file.write(b'{"v": 99, "type": "trial"}\nnot json\n{"v": 1, "type": "trial", "task": {"device": "d"')
    assert len(Store(path).trials(TASK)) == 1
    store.add_trial(TASK, {"x": 2}, LaunchFailed("died"))
    assert len(Store(path).trials(TASK)) == 2
    assert len(store.trials(TASK)) == 2


def _append(path, worker, count):
    store = Store(path)
    for n in range(count):
        store.add_trial(TASK, {"worker": worker, "n": n, "padding": "x" * 300}, Measured(1.0))


def test_two_processes_append_at_once(tmp_path):
    path = tmp_path / "store.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append, args=(path, w, 60)) for w in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = path.read_bytes().splitlines()
    assert len(lines) == 120
    assert all(json.loads(line)["v"] == 1 for line in lines)
    assert len(Store(path).trials(TASK)) == 120


def test_replaced_file_is_read_anew(tmp_path):
    path = tmp_path / "store.jsonl"
    store = Store(path)
    store.add_winner(TASK, {"x": 1}, 0.5)
    assert store.winner(TASK) is not None
    other = Store(tmp_path / "other.jsonl")
    other.add_winner(TASK, {"x": 9}, 0.4)
    other.path.replace(path)
    assert store.winner(TASK) == ({"x": 9}, 0.4)


def test_merge(tmp_path):
    here, there = Store(tmp_path / "a.jsonl"), Store(tmp_path / "b.jsonl")
    there.add_winner(TASK, {"x": 4}, 0.2)
    assert here.merge(there.path) == 1
    assert here.winner(TASK) == ({"x": 4}, 0.2)
    with pytest.raises(StoreError):
        here.merge(tmp_path / "missing.jsonl")
