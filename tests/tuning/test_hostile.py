"""What users' tunables, values, scripts and files do to the tuner: typed errors or stored outcomes, nothing else."""

from __future__ import annotations

import functools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from hostile_kernels import HOSTILE, LEFT
from planted_kernels import ODD, PICKY
from processes import is_running

from portagpu import tuning
from portagpu.device import find_device
from portagpu.errors import ArgumentTypeError, StoreError, TuningError
from portagpu.settings import Settings
from portagpu.tuning import LaunchFailed, Measured, SearchSpace, Store, TaskKey
from portagpu.tuning.choice import Chooser
from portagpu.tuning.searches.ranking import rank
from portagpu.tuning.searches.search import Budget, search
from portagpu.tuning.store.tasks import problem_of, task_of
from portagpu.tuning.trials.worker import Worker, WorkerDied
from portagpu.tuning.tunables import outcomes, problems
from portagpu.tuning.tunables import space as space_module
from portagpu.tuning.tunables.space import UnionSpace, candidates, point_key
from portagpu.tuning.tunables.tunable import Case, reference_of, resolve

pytestmark = pytest.mark.one_device(fast=True)

TASK = TaskKey(device="d", kernel="k", kernel_version=1, dtype="", shape_class="n=1")


@pytest.mark.thorough
def test_trials_that_leave_something_behind_harm_no_others(tmp_path):
    device = find_device(0)
    store = Store(tmp_path / "hostile.jsonl")
    options = {"device": device, "budget": 60, "strategy": "model", "store": store}
    result = tuning.tune(HOSTILE, {"n": np.int64(1000)}, **options)
    found = {point["left"]: outcome for point, outcome in store.trials(store.tasks()[0]).values()}
    assert set(found) == set(LEFT)
    assert isinstance(found["slow"], Measured), "the alarm was another trial's"
    assert isinstance(found["nothing"], Measured) and result.winner["tile"] == (8, 16)
    assert tuning.tune(HOSTILE, {"n": 1000}, **options).trials == 0
    choice = tuning.best(HOSTILE, {"n": 1000}, device=device, store=str(store.path))
    assert choice.point == result.winner
    choice.point.clear()  # it is the caller's own
    assert tuning.best(HOSTILE, {"n": 1000}, device=device, store=store).point == result.winner


_LEAVES = """
import os, subprocess, sys, time
def run(request):
    if request["do"] == "start":
        return {"pid": subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"]).pid}
    if request["do"] == "input":
        return {"read": sys.stdin.read()}
    if request["do"] == "fork":
        os.fork()
    if request["do"] == "close":
        os.closerange(3, 100)
    if request["do"] == "end":
        if os.fork():
            os._exit(3)
        time.sleep(600)
    if request["do"] == "lock":
        sum(range(10**12))
    return {"did": request["do"]}
"""


@pytest.fixture
def worker(tmp_path):
    (tmp_path / "leaves.py").write_text(_LEAVES)
    with Worker("leaves", "run", {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}) as made:
        yield made


def test_a_worker_ends_with_what_it_started_and_answers_once(worker):
    pid = worker.ask({"do": "start"}, 30)["pid"]
    assert worker.ask({"do": "fork"}, 30) == {"did": "fork"}
    assert worker.ask({"do": "input"}, 30) == {"read": ""}
    with pytest.raises(WorkerDied):
        worker.ask({"do": "close"}, 30)
    with pytest.raises(WorkerDied, match="status 3"):
        worker.ask({"do": "end"}, 30)
    with pytest.raises(TimeoutError):
        worker.ask({"do": "lock"}, 1.5)
    deadline = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_running(pid)


def test_a_child_whose_parent_is_gone_ends(worker):
    command = [*worker._command[:-1], "1"]  # init is nobody's tuner, and not this child's parent
    child = subprocess.Popen(command, stdin=subprocess.PIPE, env=worker._environment, start_new_session=True)
    assert child.wait(30) == -signal.SIGKILL
    child.stdin.close()


def test_values_of_axes_are_those_that_a_store_gives_back():
    space = SearchSpace.of(a=np.array([64, 64, 128]), b=([8, 8], (8, 8)), c=(None, True, "x"), d=(i for i in (1, 2)))
    assert [axis.values for axis in space.axes] == [(64, 128), ((8, 8),), (None, True, "x"), (1, 2)]
    assert all(type(value) is int for value in space.axes[0].values)
    for wrong in (np.float32, object(), float("nan"), {1: 2}):
        with pytest.raises(TuningError, match="JSON"):
            SearchSpace.of(a=(wrong,))
    for nothing in (3, (), "abc"):
        with pytest.raises(TuningError, match="no values"):
            SearchSpace.of(a=nothing)


def test_constraints_that_raise_are_told_and_defaults_are_no_axes():
    with pytest.raises(TuningError, match="ZeroDivisionError"):
        list(SearchSpace.of(lambda a, b: a % b == 0, a=(1, 2), b=(0, 1)))
    kept = [lambda a, step=step: a % step == 0 for step in (2, 3)]
    assert list(SearchSpace.of(*kept, a=range(1, 13))) == [{"a": 6}, {"a": 12}]


def test_of_millions_of_points_some_are_candidates():
    space = SearchSpace.of(lambda a, b: (a + b) % 2 == 0, lambda p: p["c"] != 3, **dict.fromkeys("abcdef", range(20)))
    some = candidates(space, most=1000, sampled=500)
    assert len({point_key(p) for p in some}) == len(some) == 500
    assert all(space.is_legal(p) for p in some)
    assert some == candidates(space, most=1000, sampled=500)
    assert len({p["e"] for p in some}) == 20
    both = candidates(UnionSpace((space, SearchSpace.of(z=(1, 2)))), most=1000, sampled=500)
    assert len(both) == 500 and sum("z" in p for p in both) == 2
    same = SearchSpace.of(a=(1, 2))
    assert candidates(UnionSpace((same, same))) == [{"a": 1}, {"a": 2}]
    assert list(SearchSpace.of(lambda a: a > 2, a=(1, 2)).draws(random.Random(0))) == []


def test_legal_points_that_are_rare_are_looked_for_so_long(monkeypatch):
    monkeypatch.setattr(space_module, "_MOST_LOOKS", 20_000)
    monkeypatch.setattr(space_module, "_LOOKS_OF_A_DRAW", 2_000)
    rare = SearchSpace.of(lambda p: sum(p.values()) % 97 == 5, **dict.fromkeys("abcdef", range(50)))
    some = candidates(rare)
    assert some and all(rare.is_legal(point) for point in some) and some == candidates(rare)
    assert len({point["a"] for point in some}) > 1  # not all of the corner where a walk begins
    none = SearchSpace.of(lambda p: p["a"] < 0, **dict.fromkeys("abcdef", range(50)))
    for space in (none, UnionSpace((none, none))):
        with pytest.raises(TuningError, match="no legal point was found in 40,000 values"):
            candidates(space)
    easy = SearchSpace.of(z=range(700))
    for union in (UnionSpace((easy, none)), UnionSpace((none, easy))):
        assert len(candidates(union)) == 700  # a part's search does not take from another's
    assert len(candidates(UnionSpace((rare, easy)))) > 750
    medium = SearchSpace.of(lambda p: sum(p.values()) % 5 == 0, **dict.fromkeys("abcdef", range(50)))
    found = candidates(medium, sampled=500)
    assert len(found) == 500 and sum(point["a"] == 0 for point in found) < 50
    assert candidates(SearchSpace.of(lambda a: a > 2, a=(1, 2))) == []
    with pytest.raises(TuningError, match="more than 100,000 values"):
        SearchSpace.of(a=range(10**12))


def _case(problem):
    return Case(outputs={"y": np.zeros(1)})


def _verify(problem, point):
    return None


VERIFIED = tuning.Tunable(
    name="verified",
    space=SearchSpace.of(a=(1,)),
    prepare=functools.partial(_case),
    run=functools.partial(_case),
    verify=_verify,
)


def test_mistakes_in_what_the_tuner_is_given_are_told(device, tmp_path):
    space = SearchSpace.of(a=(1,))
    for wrong, match in (
        (lambda: tuning.best(5, {"n": 1}), "int is no tunable"),
        (lambda: tuning.tune(np, {"n": 1}), "numpy is no tunable"),
        (lambda: tuning.tuned(np, problem=len), "numpy is no tunable"),
        (lambda: tuning.tuned(VERIFIED, problem=3), "problem=3 is no function"),
        (lambda: tuning.tune(VERIFIED, {"n": 1}, progress=3), "progress=3 is no function"),
        (lambda: tuning.best(VERIFIED, {"n": 1}, settings=3), "settings=3"),
        (lambda: tuning.Tunable(name=None, space=space, prepare=_case, run=_case), "name=None is no text"),
        (lambda: tuning.Tunable(name="x", space=space, prepare=5, run=_case), "prepare of x is of type int"),
        (lambda: tuning.Tunable(name="x", space=space, prepare=_case, run=None), "run of x is missing"),
        (lambda: tuning.Tunable(name="x", space=space, prepare=_case, run=_case, model=3), "model of x is of type int"),
        (lambda: Case(outputs=3), "outputs of the Case is of type int"),
        (lambda: Case(outputs={"y": np.zeros(1)}, inputs=3), "inputs of the Case is of type int"),
        (lambda: Case(outputs={"y": np.zeros(1)}, inputs={"y": 1}), "'y' is an input and an output"),
        (lambda: tuning.Recording.load(tmp_path / "none.jsonl"), "there is no file"),
    ):
        with pytest.raises(TuningError, match=match):
            wrong()


def test_a_tunable_is_found_by_any_of_its_functions():
    assert reference_of(VERIFIED).endswith(":VERIFIED")


def test_calls_that_the_function_for_the_problem_does_not_take():
    @tuning.tuned(VERIFIED, problem=lambda x, y: {"n": x + y})
    def add(point, x, y):
        return point["a"] + x + y

    assert add(1, 2) == 4
    with pytest.raises(ArgumentTypeError, match=r"add\(\) was called with other arguments .* 'y'"):
        add(1)
    with pytest.raises(TypeError, match="unsupported operand"):  # the user's own
        add(1, "2")


@pytest.mark.parametrize("proposed", [{"x": 1}, {"x": 99}, 5])
def test_a_strategy_that_repeats_itself_or_leaves_the_space_is_told(tmp_path, proposed):
    class Stubborn:
        def propose(self, history):
            return proposed

    history = rank(SearchSpace.of(x=(1, 2)), None)
    with pytest.raises(TuningError, match="the strategy proposed"):
        search(
            history,
            Stubborn(),
            lambda point, limit: Measured(1.0),
            lambda point: None,
            store=Store(tmp_path / "s.jsonl"),
            task=TASK,
            budget=Budget(seconds=60),
        )


def test_verifications_end_soon_after_the_budget(tmp_path):
    history = rank(SearchSpace.of(x=tuple(range(50))), lambda p: p["x"])
    verified = []

    def verify(point):
        verified.append(point)
        time.sleep(0.2)
        return "planted"

    store = Store(tmp_path / "s.jsonl")
    for x in range(50):
        store.add_trial(TASK, {"x": x}, Measured(1.0 + x))
    strategy = tuning.make_strategy("model")
    budget = Budget(seconds=0.1)
    search(history, strategy, None, verify, store=store, task=TASK, budget=budget, trial_limit=0.5)
    assert 1 <= len(verified) <= 4


def winner_line(**changes):
    values = {"v": 1, "type": "winner", "point": {"x": 1}, "seconds": 1e-3}
    task = {"device": "d", "kernel": "k", "kernel_version": 1, "dtype": "", "shape_class": "n=1"}
    for name, value in changes.items():
        (task if name in task else values)[name] = value
    return json.dumps({**values, "task": task}).encode()


GARBAGE = {
    "nested": b"[" * 200_000,
    "huge time": winner_line(seconds=10**400),
    "huge date": winner_line(at=10**400),
    "class no text": winner_line(shape_class=5),
    "device no text": winner_line(device=None),
    "point no mapping": winner_line(point=["x", 1]),
    "unhashable": winner_line(point={"x": {"y": 1}}),
}


@pytest.mark.parametrize("line", list(GARBAGE.values()), ids=list(GARBAGE))
def test_lines_of_garbage_cost_themselves_only(tmp_path, line):
    path = tmp_path / "s.jsonl"
    path.write_bytes(line + b"\n" + winner_line(seconds=2e-3) + b"\n")
    assert Store(path).winners() == {TASK: ({"x": 1}, 2e-3)}


@pytest.mark.parametrize("outcome", [LaunchFailed(5), tuning.TimedOut("x")])
def test_outcomes_of_other_types_are_refused(outcome):
    with pytest.raises(StoreError):
        outcomes.from_json(outcomes.to_json(outcome) | ({"reason": 5} if hasattr(outcome, "reason") else {}))


def test_long_reasons_are_cut():
    assert len(outcomes.to_json(LaunchFailed("x" * 100_000))["reason"]) == 4000


def test_a_winner_of_an_older_space_hides_no_other(device, tmp_path):
    store = Store(tmp_path / "s.jsonl")
    task = task_of(PICKY, {"n": 64}, device.key)
    store.add_winner(task, {"gone": 1}, 1e-9)
    legal = {"fault": "none", "repeat": 200}
    store.add_winner(task, legal, 1e-3)
    found = Chooser(store, ()).choose(PICKY, {"n": 64}, device, Settings.from_environment())
    assert (found.point, found.seconds) == (legal, 1e-3)
    history = rank(PICKY.space, None)
    result = search(
        history, tuning.make_strategy("model"), None, None, store=store, task=task, budget=Budget(seconds=0, trials=0)
    )
    assert result.winner == legal


@pytest.mark.parametrize(
    "problem",
    [{"mode": "fast path"}, {"mode": 'a="b c"'}, {"dtype": ""}, {"dtype": 3}, {"n": 10**400}, {"n": np.int32(5)}, {}],
)
def test_problems_survive_their_text(problem):
    values = problems.checked(problem)
    assert problem_of(task_of(PICKY, values, "d")) == values
    assert problems.distance(values, values) == 0


@pytest.mark.parametrize("problem", [5, {"a b": 1}, {"": 1}, {"n": float("nan")}, {"n": None}, {1: 1}])
def test_what_is_no_problem_is_told(problem):
    with pytest.raises(TuningError):
        problems.checked(problem)


@pytest.mark.parametrize(
    "options",
    [
        {"budget": None},
        {"trial_limit": 0},
        {"trials": -1},
        {"trials": "4"},
        {"strategy": 5},
        {"seed": "x"},
        {"classes": -1},
        {"store": "/dev/null/s.jsonl"},
        {"compilers": -1},
        {"compilers": "2"},
    ],
    ids=str,
)
def test_wrong_arguments_are_told_before_anything_runs(device, tmp_path, options):
    with pytest.raises((TuningError, StoreError)):
        tuning.tune(ODD, {"n": 64}, **{"device": device, "budget": 1, "store": tmp_path / "s.jsonl", **options})


def test_tunables_that_cannot_be_are_told():
    array = np.zeros(3)
    with pytest.raises(TuningError, match="no search space"):
        tuning.Tunable(name="a", space={"x": (1, 2)}, prepare=None, run=None)
    with pytest.raises(TuningError, match="whole number"):
        tuning.Tunable(name="a", version="1", space=SearchSpace.of(x=(1,)), prepare=None, run=None)
    with pytest.raises(TuningError, match="no output"):
        tuning.Case(outputs={"y": array}, expected={"z": array})
    with pytest.raises(TuningError, match="no array"):
        tuning.Case(outputs={"y": [1.0]})


@pytest.mark.parametrize(
    ("text", "told"),
    [("raise RuntimeError('boom')", "boom"), ("import sys; sys.exit(3)", "SystemExit"), ("def f(:", "SyntaxError")],
)
def test_a_script_that_raises_is_told(tmp_path, text, told):
    path = tmp_path / "script.py"
    path.write_text(text)
    with pytest.raises(TuningError, match=told):
        resolve(f"{path}:X")


_NO_GUARD = """
import numpy as np
from portagpu import tuning
def prepare(problem):
    return tuning.Case(outputs={"y": np.zeros(1)})
T = tuning.Tunable(name="bare", space=tuning.SearchSpace.of(a=(1, 2)), prepare=prepare, run=print)
tuning.tune(T, {"n": 1}, budget=2)
"""


def test_a_script_without_a_main_part_starts_no_chain_of_processes(tmp_path):
    path = tmp_path / "bare.py"
    path.write_text(_NO_GUARD)
    paths = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path)
    environment = {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path), "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-W", "ignore", path], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "__name__ == '__main__'" in done.stderr
