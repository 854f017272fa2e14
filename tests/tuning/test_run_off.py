"""The best few points of a search are measured again in turns, so that luck does not choose."""

from __future__ import annotations

import io
import itertools
import time

import pytest
from rich.console import Console

from portagpu.tuning import Axis, Budget, Measured, SearchSpace, Store, TaskKey, TimedOut, WrongResult, make_strategy
from portagpu.tuning.console import Bar
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.run_off import ROUNDS, rivals_of, run_off
from portagpu.tuning.searches.search import search

TASK = TaskKey(device="d", kernel="k", kernel_version=1, dtype="float32", shape_class="1x1x1")
SPACE = SearchSpace((Axis("x", tuple(range(1, 9))),))


def found_by(tmp_path, times, verify=lambda point: None, progress=lambda state: None, **budget):
    """A search in which point x takes ``times[x]`` one after the other, the last one from then on."""
    calls = {x: itertools.chain(seconds, itertools.repeat(seconds[-1])) for x, seconds in times.items()}
    store = Store(tmp_path / "k.jsonl")
    asked = []

    def evaluate(point, limit):
        asked.append(point["x"])
        value = next(calls[point["x"]])
        if isinstance(value, Exception):
            raise value
        return value if isinstance(value, WrongResult) else Measured(value, (value,) * 3)

    history = rank(SPACE, lambda point: point["x"])
    chosen = {"seconds": 3.0, **budget}
    seeds = ({"x": 1},)
    result = search(
        *(history, make_strategy("model"), evaluate, verify),
        store=store,
        task=TASK,
        budget=Budget(**chosen),
        seeds=seeds,
        progress=progress,
    )
    return result, store, asked


def slow(*but):
    return {x: (9.0,) for x in range(1, 9) if x not in but}


def test_luck_does_not_win(tmp_path):
    result, store, asked = found_by(tmp_path, {3: (1.0, 2.0), 5: (1.05, 1.05), **slow(3, 5)})
    assert result.winner == {"x": 5}
    assert store.winner(TASK)[0] == {"x": 5}
    assert asked.count(3) == asked.count(5) > 1
    assert asked.count(7) == 1
    assert result.trials == 8


def test_the_first_point_gets_a_second_look(tmp_path):
    result, _, _ = found_by(tmp_path, {1: (3.0, 1.0), 4: (2.0, 2.0), **slow(1, 4)})
    assert result.winner == {"x": 1}
    assert result.seconds == pytest.approx(1.0)


def test_a_slower_machine_changes_nothing(tmp_path):
    """All rivals take longer in the run-off; what is no rival keeps its time, and must not win by that."""
    result, store, _ = found_by(tmp_path, {2: (1.2,), 3: (1.0, 1.5), 5: (1.05, 1.6), **slow(2, 3, 5)})
    assert result.winner == {"x": 3}
    assert store.winner(TASK)[1] == pytest.approx(1.0, rel=0.05)


def test_ctrl_c_in_the_run_off_begins_nothing_new(tmp_path):
    """Points that wait for their verification get it in the next search."""
    verified = []

    def interrupted(state):
        if state.run_off is not None:
            verified.append("interrupted")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        times = {1: (1.0,), 3: (0.98,), 5: (0.97,), **slow(1, 3, 5)}
        found_by(tmp_path, times, lambda point: verified.append(point["x"]), interrupted)
    assert verified[-1] == "interrupted" and verified.count("interrupted") == 1


def test_one_point_that_is_disturbed_makes_no_other_faster(tmp_path):
    result, _, _ = found_by(tmp_path, {3: (1.0, 3.0), 5: (1.05,), **slow(3, 5)})
    assert result.winner == {"x": 5}
    assert result.seconds == pytest.approx(1.05)


def test_what_fails_in_the_run_off_is_out(tmp_path):
    result, store, _ = found_by(tmp_path, {3: (1.0, WrongResult("c is wrong")), 5: (1.05,), **slow(3, 5)})
    assert result.winner == {"x": 5}
    assert any(point == {"x": 3} for point, _ in result.failures)
    assert isinstance(next(o for p, o in store.trials(TASK).values() if p == {"x": 3}), WrongResult)


def test_a_late_child_disqualifies_nothing(tmp_path):
    def late(point, limit):
        return TimedOut(limit)

    rivals = rivals_of([({"x": 1}, Measured(1.0)), ({"x": 2}, Measured(1.01))], None)
    assert run_off(rivals, late, 1.0, time.monotonic() + 10) == []


def test_a_late_child_in_the_run_off_of_a_search(tmp_path):
    """Half of the best are late when they are measured again: they keep their times, and their cost."""
    result, store, _ = found_by(tmp_path, {3: (1.0, TimeoutError()), 5: (1.05,), **slow(3, 5)})
    assert result.winner == {"x": 3} and not result.failures
    assert all(record.cost is not None for record in store.records(TASK).values())


def test_a_failure_that_is_known_outlives_an_older_winner(tmp_path):
    """Importing results from before a point failed does not bring it back."""
    old, new = Store(tmp_path / "old.jsonl"), Store(tmp_path / "new.jsonl")
    old.add_trial(TASK, {"x": 3}, Measured(1.0))
    old.add_winner(TASK, {"x": 3}, 1.0)
    new.merge(old.path)
    assert new.winner(TASK) == ({"x": 3}, 1.0)
    new.add_trial(TASK, {"x": 3}, WrongResult("c is wrong"))
    assert new.winner(TASK) is None
    new.merge(old.path)
    assert new.winner(TASK) is None
    assert new.merge(old.path) == 0
    assert old.merge(new.path) == 1  # the failure
    assert old.winner(TASK) is None


def test_the_winner_of_the_run_off_is_verified(tmp_path):
    wrong = lambda point: "not for this one" if point["x"] == 5 else None  # noqa: E731
    result, _, _ = found_by(tmp_path, {3: (1.0, 2.0), 5: (1.05, 1.05), **slow(3, 5)}, wrong)
    assert result.winner == {"x": 3}


def test_a_budget_of_trials_is_kept(tmp_path):
    _, _, asked = found_by(tmp_path, {3: (1.0,), 5: (1.01,), **slow(3, 5)}, trials=8)
    assert len(asked) == 8


def test_without_time_for_a_round_nothing_changes():
    rivals = rivals_of([({"x": 1}, Measured(1.0)), ({"x": 2}, Measured(1.01))], None)
    late = time.monotonic() - 1
    assert run_off(rivals, lambda point, limit: Measured(5.0), 1.0, late) == []


def test_progress_tells_of_the_run_off(tmp_path):
    """Each measurement is told before it begins; the bar says so."""
    states = []
    found_by(tmp_path, {3: (1.0, 2.0), 5: (1.05, 1.05), **slow(3, 5)}, progress=states.append)
    trials, again = [s for s in states if s.run_off is None], [s for s in states if s.run_off is not None]
    assert states == trials + again and len(trials) == 8
    assert {state.run_off for state in again} == {(number, ROUNDS) for number in range(1, ROUNDS + 1)}
    assert [state.point["x"] for state in again if state.run_off[0] == 2] == [3, 5, 1]
    assert all(state.trials == 8 and state.best == 1.0 for state in again)
    text = io.StringIO()
    with Bar("k", 3.0, Console(file=text, width=120, force_terminal=True)) as bar:
        for state in again:
            bar(state)
    assert f"k: run-off {ROUNDS} of {ROUNDS}" in text.getvalue() and "skipped" not in text.getvalue()


def test_the_run_off_stays_within_its_time(tmp_path):
    """What hangs is given up at the end of the run-off's time, not after a whole trial's."""
    limits = []

    def late(point, limit):
        limits.append(limit)
        return TimedOut(limit)

    rivals = rivals_of([({"x": 1}, Measured(1.0)), ({"x": 2}, Measured(1.01))], None)
    assert run_off(rivals, late, 1000.0, time.monotonic() + 10) == []
    assert len(limits) == 2 and max(limits) <= 10


def test_the_run_off_begins_nothing_that_would_be_late(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])

    def evaluate(point, limit):
        now[0] += 4.0
        return Measured(1.0)

    rivals = rivals_of([({"x": x}, Measured(1.0)) for x in range(3)], None)
    assert run_off(rivals, evaluate, 1000.0, 11.0) == []
    assert now == [8.0]


def test_one_point_needs_no_run_off():
    assert rivals_of([({"x": 1}, Measured(1.0)), ({"x": 2}, Measured(2.0))], {"x": 1}) == []
    assert rivals_of([], None) == []
