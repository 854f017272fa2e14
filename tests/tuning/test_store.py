"""The store: append-only, shared by processes, tolerant of torn lines."""

from __future__ import annotations

import json
import multiprocessing
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from portagpu.errors import StoreError
from portagpu.settings import Settings
from portagpu.tuning import LaunchFailed, Measured, Store, TaskKey, TimedOut, WrongResult
from portagpu.tuning.choice import chooser_for, file_of
from portagpu.tuning.tunables.space import point_key

TASK = TaskKey(device="d", kernel="k", kernel_version=1, dtype="float32", shape_class="8x8x8")


def test_the_latest_line_counts_when_the_clock_is_set_back(tmp_path, monkeypatch):
    store, clock = Store(tmp_path / "store.jsonl"), [2e9]
    monkeypatch.setattr("portagpu.tuning.store.store.time.time", lambda: clock[0])
    store.add_winner(TASK, {"x": 1}, 0.5)
    clock[0] = 1e9
    store.add_winner(TASK, {"x": 1}, 0.7)
    assert Store(store.path).winner(TASK) == ({"x": 1}, 0.7)
    store.add_trial(TASK, {"x": 1}, WrongResult("planted"))
    assert Store(store.path).winner(TASK) is None
    store.add_winner(TASK, {"x": 1}, 0.6)
    assert store.winner(TASK) == Store(store.path).winner(TASK) == ({"x": 1}, 0.6)
    store.add_winner(TASK, {"x": 2}, 0.1)  # a wrong stamp is that of its point alone
    other = Store(tmp_path / "other.jsonl")
    clock[0] += 60
    other.add_trial(TASK, {"x": 2}, WrongResult("planted"))
    store.merge(other.path)
    assert store.winner(TASK) == ({"x": 1}, 0.6)


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


def test_paths_may_be_texts(tmp_path, monkeypatch):
    """And their ``~`` is the home folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    store = Store("~/one.jsonl")
    store.add_winner(TASK, {"x": 1}, 0.5)
    assert store.path == tmp_path / "one.jsonl" and store.export("~/two.jsonl") == 1
    assert Store(str(tmp_path / "three.jsonl")).merge("~/two.jsonl") == 1
    assert store.export_winners("~/four.jsonl", lambda task: task) == 1
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.jsonl" for name in ("one", "two", "three", "four")}
    found = file_of("~/one.jsonl", "k", Settings.from_environment())
    assert found == store.path and chooser_for(found) is chooser_for(store.path)
    settings = Settings.from_environment({"PORTAGPU_DATA_DIR": "~/data", "PORTAGPU_CACHE_DIR": "~/cache"})
    assert (settings.data_dir, settings.cache_dir) == (tmp_path / "data", tmp_path / "cache")
    assert Store("~nobody-of-this-name/x").path == Path("~nobody-of-this-name/x")
    for odd in (3, None, b"x"):
        with pytest.raises(StoreError, match="is no file"):
            Store(odd)
        with pytest.raises(StoreError, match="is no file"):
            store.merge(odd)


def test_a_file_that_replaces_another_is_read_from_its_start(tmp_path):
    """Also where the file system gives it the number of the one before."""
    path = tmp_path / "store.jsonl"
    reader = Store(path)
    for generation in range(1, 6):
        path.unlink(missing_ok=True)
        writer = Store(path)
        tasks = [replace(TASK, shape_class=f"n={10**generation + n}") for n in range(generation)]
        for task in tasks:
            writer.add_winner(task, {"x": 1}, 1.0)
        assert set(reader.winners()) == set(tasks)
    path.unlink()
    assert not reader.winners()


def test_one_kernel_of_a_file_is_merged(tmp_path):
    both, one = Store(tmp_path / "both.jsonl"), Store(tmp_path / "one.jsonl")
    for kernel in ("k", "other"):
        both.add_winner(replace(TASK, kernel=kernel), {"x": 1}, 1.0)
    assert one.merge(both.path, "k") == 1
    assert {task.kernel for task in one.tasks()} == {"k"}


def test_whoever_could_read_results_can_after_compaction(tmp_path):
    path, link, exported = tmp_path / "real.jsonl", tmp_path / "link.jsonl", tmp_path / "exported.jsonl"
    link.symlink_to(path)
    store = Store(link)
    for _ in range(2):
        store.add_winner(TASK, {"x": 1}, 1.0)
    path.chmod(0o664)
    before, after = store.compact()
    assert after < before and link.is_symlink() and path.stat().st_size == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o664
    store.export(exported)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(exported.stat().st_mode) == 0o666 & ~mask


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


def test_the_fastest_winner_counts_in_any_order(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    store.add_winner(TASK, {"x": 1}, 0.1)
    store.add_winner(TASK, {"x": 2}, 0.3)  # another process, which did not know of the first
    assert store.winner(TASK) == ({"x": 1}, 0.1)


def test_torn_end_is_looked_at_once(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    store.add_winner(TASK, {"x": 1}, 0.5)
    with store.path.open("ab") as file:
        file.write(b'{"v": 1, "ty')
    assert store.refresh()
    assert not store.refresh()  # every product asks, so nothing may be read again while nothing changes
    assert store.winner(TASK) == ({"x": 1}, 0.5)


def test_a_deleted_store_is_forgotten(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    store.add_winner(TASK, {"x": 1}, 0.5)
    assert store.winner(TASK) is not None
    store.path.unlink()
    assert store.winner(TASK) is None


@pytest.mark.parametrize("seconds", ["NaN", "Infinity", "0", "-1", '"fast"', "null", "true", "[]"])
def test_times_that_make_no_sense_are_skipped(tmp_path, seconds):
    store = Store(tmp_path / "store.jsonl")
    store.add_trial(TASK, {"x": 1}, Measured(0.5))
    store.add_winner(TASK, {"x": 1}, 0.5)
    store.path.write_text(store.path.read_text().replace("0.5", seconds))
    assert Store(store.path).trials(TASK) == {}
    assert Store(store.path).winner(TASK) is None


def test_a_folder_that_cannot_be_written_is_a_store_error(tmp_path):
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "store.jsonl")
    with pytest.raises(StoreError, match="cannot be written"):
        store.add_winner(TASK, {"x": 1}, 0.5)
    full = Store(tmp_path / "full.jsonl")
    full.add_trial(TASK, {"x": 1}, Measured(1.0))
    with pytest.raises(StoreError, match="cannot be written"):
        full.export(tmp_path / "file" / "export.jsonl")


def test_merge_and_export(tmp_path):
    here, there = Store(tmp_path / "a.jsonl"), Store(tmp_path / "b.jsonl")
    there.add_trial(TASK, {"x": 4}, Measured(0.2))
    there.add_trial(TASK, {"x": 5}, TimedOut(2.0))
    there.add_winner(TASK, {"x": 4}, 0.2)
    here.add_winner(TASK, {"x": 1}, 0.3)
    assert here.merge(there.path) == 3
    assert here.winner(TASK) == ({"x": 4}, 0.2)
    assert here.merge(there.path) == 0  # nothing new
    assert here.export(tmp_path / "c.jsonl") == 4
    copy = Store(tmp_path / "c.jsonl")
    assert (copy.trials(TASK), copy.winner(TASK)) == (here.trials(TASK), here.winner(TASK))
    with pytest.raises(StoreError, match="cannot be read"):
        here.merge(tmp_path / "missing.jsonl")
    (tmp_path / "foreign").write_bytes(b"\xff\x00 no store")
    with pytest.raises(StoreError, match="no tuning results"):
        here.merge(tmp_path / "foreign")


def copied(store, way, path):
    """What a store's copy holds: the rewritten file itself, or one at a path."""
    kept = Store(store.path if way == "compact" else path)
    if way == "compact":
        store.compact()
    elif way == "export":
        store.export(kept.path)
    else:
        kept.merge(store.path)
        assert kept.merge(store.path) == 0
    return kept


@pytest.mark.parametrize("way", ["compact", "export", "merge"])
def test_copies_keep_the_next_best_and_every_failure(tmp_path, way):
    """Where the winner fails later, the next one serves; what failed is not tried again."""
    store = Store(tmp_path / "k.jsonl")
    for x in range(1, 6):
        store.add_trial(TASK, {"x": x}, Measured(1.0 / x))
        store.add_winner(TASK, {"x": x}, 1.0 / x)
    failures = {8: WrongResult("c is wrong"), 9: TimedOut(2.0)}
    for x, outcome in failures.items():
        store.add_trial(TASK, {"x": x}, outcome)
    kept = copied(store, way, tmp_path / "kept.jsonl")
    tried = {point["x"]: outcome for point, outcome in kept.trials(TASK).values()}
    assert {x: tried[x] for x in failures} == failures
    assert len(tried) == 7
    served = []
    while (winner := kept.winner(TASK)) is not None:
        served.append(winner[0]["x"])
        kept.add_trial(TASK, winner[0], WrongResult("fails now"))
    assert served == [5, 4, 3, 2, 1]


@pytest.mark.parametrize("way", ["compact", "export", "merge"])
def test_copies_keep_the_winner_in_use_of_a_space_that_was_narrowed(tmp_path, way):
    store = Store(tmp_path / "k.jsonl")
    for x in range(1, 6):
        store.add_winner(TASK, {"x": x}, 1.0 / x)
    kept = copied(store, way, tmp_path / "kept.jsonl")
    assert kept.winner(TASK, lambda point: point["x"] <= 2) == ({"x": 2}, 0.5)


def test_nothing_is_not_exported(tmp_path):
    with pytest.raises(StoreError, match="no results to export"):
        Store(tmp_path / "none.jsonl").export(tmp_path / "folder" / "out.jsonl")
    assert not (tmp_path / "folder").exists()


NEWER = (
    b'{"v": 2, "type": "trial", "task": {"device":  "d"}, "point": {"x": 1}}',
    b'{"v": 1, "type": "remark", "text": "of a later version"}',
)


def test_lines_of_other_versions_survive_a_compaction_as_they_are(tmp_path):
    path = tmp_path / "store.jsonl"
    path.write_bytes(NEWER[0] + b"\nnot json\n" + NEWER[1] + b"\n")
    Store(path).compact()
    assert path.read_bytes().splitlines() == [*NEWER]
    store = Store(path)
    with pytest.raises(StoreError, match="no results to export, but 2 lines of another version"):
        store.export(tmp_path / "export.jsonl")
    for _ in range(2):
        store.add_trial(TASK, {"x": 1}, Measured(0.5))
    store.compact()
    assert path.read_bytes().splitlines()[:2] == [*NEWER]
    assert len(path.read_bytes().splitlines()) == 3
    assert store.export(path) == 1  # onto itself
    assert path.read_bytes().splitlines()[:2] == [*NEWER]


def test_a_file_of_which_nothing_would_be_left_is_not_compacted(tmp_path):
    path = tmp_path / "store.jsonl"
    path.write_text("somebody's notes\n")
    with pytest.raises(StoreError, match="has no tuning results"):
        Store(path).compact()
    assert path.read_text() == "somebody's notes\n"


def test_a_folder_that_cannot_be_made_is_no_matter_of_room(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError) as raised:
        Store(tmp_path / "file" / "tuning" / "gemm.jsonl").check_writable()
    assert "make room" not in raised.value.hint and "cannot be made" in raised.value.hint


def test_a_last_line_without_its_end_survives_a_compaction(tmp_path):
    path = tmp_path / "store.jsonl"
    store = Store(path)
    store.add_trial(TASK, {"x": 1}, Measured(0.5))
    own = path.read_bytes()
    for last in (NEWER[1], own.replace(b"0.5", b"0.25").rstrip()):
        path.write_bytes(own + last)
        Store(path).compact()
        assert path.read_bytes().count(b"\n") == 1 + (last == NEWER[1])
        assert last in path.read_bytes() and path.read_bytes().endswith(b"\n")


def test_an_export_of_nothing_leaves_no_file(tmp_path):
    path = tmp_path / "store.jsonl"
    with pytest.raises(StoreError, match="no results to export"):
        Store(path).export(path)
    assert not path.exists()
