"""The search survives planted hangs, crashes and wrong results, finds the right winner, and resumes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from portagpu.tuning import (
    Axis,
    CompileFailed,
    LaunchFailed,
    Measured,
    SearchSpace,
    Store,
    TaskKey,
    TimedOut,
    Worker,
    WrongResult,
    outcomes,
    tune,
)

TASK = TaskKey(device="d", kernel="planted", kernel_version=1, dtype="float32", shape_class="1x1x1")
SPACE = SearchSpace((Axis("x", tuple(range(1, 13))),))
HERE = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])}


def search(store, worker, budget=60.0):
    def evaluate(point, limit):
        return outcomes.from_json(worker.ask({"point": point}, limit))

    def verify(point):
        return worker.ask({"point": point, "action": "verify"}, 30)["problem"]

    return tune(SPACE, lambda p: p["x"], evaluate, verify, store=store, task=TASK, budget=budget, trial_limit=4.0)


def test_planted_failures_are_values(tmp_path):
    store = Store(tmp_path / "store.jsonl")
    with Worker("planted", "run", HERE) as worker:
        worker.ask({"point": {"x": 1}}, 60)  # the child has started
        result = search(store, worker)
    assert result.winner == {"x": 7}
    assert store.winner(TASK)[0] == {"x": 7}
    kinds = {p["x"]: type(o) for p, o in result.failures}
    assert kinds == {3: TimedOut, 5: LaunchFailed, 6: WrongResult, 9: CompileFailed}
    assert isinstance(store.trials(TASK)[(("x", 8),)][1], Measured)

    with Worker("planted", "run", HERE) as worker:
        again = search(store, worker)
    assert again.trials == 0  # everything is remembered, failures too
    assert again.winner == {"x": 7}


def test_zero_budget_measures_nothing(tmp_path):
    with Worker("planted", "run", HERE) as worker:
        result = search(Store(tmp_path / "s.jsonl"), worker, budget=0.0)
    assert result.trials == 0 and result.winner is None


_TUNE = """
import sys
from pathlib import Path
from portagpu.blas.problem import Problem
from portagpu.blas.tuner import tune_gemm
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
    second = start(device, 4, environment)
    output, _ = second.communicate(timeout=120)
    assert output.split()[1] == "True"
    assert store.path.read_bytes().startswith(before)
    known = store.trials(next(iter(store.winners())))
    assert len(known) > before.count(b'"trial"') - 1


def test_two_processes_tune_at_once(device, environment, tmp_path):
    children = [start(device, 4, environment) for _ in range(2)]
    for child in children:
        output, _ = child.communicate(timeout=180)
        assert output.split()[1] == "True"
    store = Store(tmp_path / "tuning" / "gemm.jsonl")
    lines = store.path.read_bytes().splitlines()
    assert all(line.startswith(b"{") and line.endswith(b"}") for line in lines)
    assert len(store.winners()) == 1
