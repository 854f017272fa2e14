"""The search survives planted hangs, crashes and wrong results, finds the right winner, and resumes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portagpu.tuning import (
    Axis,
    Budget,
    CompileFailed,
    LaunchFailed,
    Measured,
    SearchSpace,
    Store,
    TaskKey,
    TimedOut,
    Worker,
    WrongResult,
    make_strategy,
)
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.search import search
from portagpu.tuning.tunables import outcomes

pytestmark = pytest.mark.one_device(fast=True)

TASK = TaskKey(device="d", kernel="planted", kernel_version=1, dtype="float32", shape_class="1x1x1")
SPACE = SearchSpace((Axis("x", tuple(range(1, 13))),))
HERE = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}


def run_search(evaluate, verify, store, budget=60.0, **options):
    history = rank(SPACE, lambda p: p["x"])
    strategy = make_strategy("neighbours")
    return search(history, strategy, evaluate, verify, store=store, task=TASK, budget=Budget(seconds=budget), **options)


def search_in_child(store, worker, budget=60.0):
    def evaluate(point, limit):
        return outcomes.from_json(worker.ask({"point": point}, limit))

    def verify(point):
        return worker.ask({"point": point, "action": "verify"}, 30)["problem"]

    return run_search(evaluate, verify, store, budget, trial_limit=4.0)


@pytest.mark.thorough
def test_planted_failures_are_values(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    with Worker("planted", "run", HERE) as worker:
        worker.ask({"point": {"x": 1}}, 60)  # the child has started
        result = search_in_child(store, worker)
    assert result.winner == {"x": 7}
    assert store.winner(TASK)[0] == {"x": 7}
    kinds = {p["x"]: type(o) for p, o in result.failures}
    assert kinds == {
        3: TimedOut,
        4: LaunchFailed,
        5: LaunchFailed,
        6: WrongResult,
        8: WrongResult,
        9: CompileFailed,
    }
    outcomes_by_x = {p["x"]: o for p, o in store.trials(TASK).values()}
    assert isinstance(outcomes_by_x[4], LaunchFailed)  # with the line that raised
    assert re.fullmatch(r"ValueError: planted reason \(.*planted\.py:\d+\)", outcomes_by_x[4].reason)
    assert outcomes_by_x[8] == WrongResult("planted")  # fast, but a winner only after verification
    assert isinstance(outcomes_by_x[7], Measured)
    assert set(outcomes_by_x) == set(range(1, 13))

    with Worker("planted", "run", HERE) as worker:
        again = search_in_child(store, worker)
    assert again.trials == 0  # everything is remembered, failures too
    assert again.winner == {"x": 7}


def test_a_winner_that_was_measured_but_not_verified_is_verified_on_resume(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    for x in range(1, 13):
        store.add_trial(TASK, {"x": x}, Measured(0.05 if x == 8 else 0.1 + abs(x - 7) / 100))
    with Worker("planted", "run", HERE) as worker:
        result = search_in_child(store, worker)
    assert (result.trials, result.winner) == (0, {"x": 7})
    assert isinstance(store.trials(TASK)[(("x", 8),)][1], WrongResult)


def test_searches_share_what_they_measure(tmp_path):
    """A second search on the same store, in the middle of the first one's: nothing is measured twice."""
    path = tmp_path / "store.jsonl"
    measured = []

    def evaluate(name, inner):
        def call(point, limit):
            measured.append((name, point["x"]))
            if inner and len(measured) == 3:
                run("second", False)
            return Measured(0.1 + abs(point["x"] - 7) / 100)

        return call

    def run(name, inner):
        call = evaluate(name, inner)
        return run_search(call, lambda p: None, Store(path))

    result = run("first", True)
    assert result.winner == {"x": 7}
    counts = [x for _, x in measured]
    assert sorted({*counts}) == list(range(1, 13))
    assert len(counts) == 13  # only the point under way when the second search began is measured twice
    assert Store(path).winner(TASK) == ({"x": 7}, 0.1)


def test_points_of_an_older_space_are_passed_over(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    store.add_trial(TASK, {"x": 99}, Measured(0.001))

    def evaluate(point, limit):
        return Measured(point["x"])

    result = run_search(evaluate, lambda p: None, store, 9.0)
    assert result.winner == {"x": 1}


def test_zero_budget_measures_nothing(tmp_path):
    with Worker("planted", "run", HERE) as worker:
        result = search_in_child(Store(tmp_path / "s.jsonl"), worker, budget=0.0)
    assert result.trials == 0 and result.winner is None


_TUNE = """
import sys
from pathlib import Path
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.tuning.tuner import tune_gemm
from portagpu.device import find_device
from portagpu.settings import Settings
problems = (Problem(m=96, n=96, k=96, dtype="float32"),)
device, settings = find_device(int(sys.argv[1])), Settings.from_environment()
result = tune_gemm(device, problems, budget=float(sys.argv[2]), settings=settings)
print(result[0].result.trials, result[0].result.winner is not None)
"""


@pytest.fixture
def environment(tmp_path):
    return {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path)}


def start(device, seconds, environment):
    command = [sys.executable, "-W", "ignore", "-c", _TUNE, str(device.index), str(seconds)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.thorough
def test_killed_in_the_middle_it_resumes(device, environment, tmp_path):
    store = Store(tmp_path / "tuning" / "gemm.jsonl")
    child = start(device, 120, environment)
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not any(True for _ in store.winners()):
        time.sleep(0.2)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    before = store.path.read_bytes()
    assert store.winners(), "a verified winner is stored as soon as there is one"
    with store.path.open("ab") as file:
        file.write(b'{"v": 1, "type": "tri')  # as if it had died while writing
    second = start(device, 2, environment)
    output, _ = second.communicate(timeout=120)
    assert output.split()[1] == "True"
    assert store.path.read_bytes().startswith(before)
    known = store.trials(next(iter(store.winners())))
    assert len(known) > before.count(b'"trial"') - 1


@pytest.mark.thorough
def test_two_processes_tune_at_once(device, environment, tmp_path):
    children = [start(device, 2, environment) for _ in range(2)]
    for child in children:
        output, _ = child.communicate(timeout=180)
        assert output.split()[1] == "True"
    store = Store(tmp_path / "tuning" / "gemm.jsonl")
    lines = store.path.read_bytes().splitlines()
    assert all(line.startswith(b"{") and line.endswith(b"}") for line in lines)
    assert len(store.winners()) == 1


def _needs_two_seconds(point, limit):
    if limit < 2:
        raise TimeoutError
    return Measured(0.1 * point["x"])


def test_what_timed_out_is_tried_again_under_a_larger_limit(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    first = run_search(_needs_two_seconds, lambda p: None, store, trial_limit=1.0)
    assert first.winner is None and first.trials == 12 and "no point worked" in str(first)
    store.add_trial(TASK, {"x": 12}, WrongResult("planted"))
    again = run_search(_needs_two_seconds, lambda p: None, store, trial_limit=1.0)
    assert again.trials == 0 and again.resumed == 12
    assert "not tried again (11 TimedOut, 1 WrongResult)" in str(again)
    assert "under a trial limit of more than 1 s" in str(again)
    longer = run_search(_needs_two_seconds, lambda p: None, store, trial_limit=3.0)
    assert (longer.winner, longer.trials, longer.resumed) == ({"x": 1}, 11, 1)


def test_a_verification_that_is_late_says_nothing_of_the_results(tmp_path):
    store = Store(tmp_path / "store.jsonl")

    def verify(late):
        def call(point):
            if late and point["x"] == 1:
                raise TimeoutError
            return None

        return call

    result = run_search(_needs_two_seconds, verify(True), store, trial_limit=2.0)
    assert result.winner == {"x": 2} and ({"x": 1}, TimedOut(2.0)) in result.failures
    assert store.trials(TASK)[(("x", 1),)][1] == TimedOut(2.0)
    assert run_search(_needs_two_seconds, verify(False), store, trial_limit=2.0).winner == {"x": 2}
    assert run_search(_needs_two_seconds, verify(False), store, trial_limit=4.0).winner == {"x": 1}


def test_a_search_of_one_trial_says_that_nothing_else_was_tried(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    history = rank(SPACE, None)
    options = {"store": store, "task": TASK, "trial_limit": 3.0}
    for trials, said in ((1, True), (2, False)):
        budget = Budget(seconds=60, trials=trials)
        result = search(history, make_strategy("model"), _needs_two_seconds, lambda p: None, budget=budget, **options)
        assert ("nothing else was tried" in str(result)) == said
        assert str(result).startswith("1 trial in " if said else "2 trials in ")
