"""Tuning an own kernel: planted faults, verification, dispatch, scripts run as programs, interruption."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import planted_kernels
import pytest
from planted_kernels import LAZY, ODD, PICKY, PLANTED

import portagpu
from portagpu import cuda, tuning
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning import LaunchFailed, Measured, OutOfBounds, Rule, Store, TimedOut, WrongResult
from portagpu.tuning.session import seconds_of
from portagpu.tuning.store.tasks import store_path
from portagpu.tuning.tunables.tunable import reference_of, resolve

pytestmark = pytest.mark.one_device(fast=True)

PROBLEM = {"n": 4096}


class Picker:
    """A strategy that has nothing to propose."""

    def propose(self, history):
        return None


@pytest.mark.thorough
def test_every_planted_fault_is_skipped_and_told(device, tmp_path):
    store = Store(tmp_path / "store.jsonl")
    told = []
    result = tuning.tune(
        PLANTED, PROBLEM, device=device, budget=300, trial_limit=6, strategy="model", store=store, progress=told.append
    )
    assert result.winner == {"fault": "none", "repeat": 1}
    kinds = {point["fault"]: type(outcome) for point, outcome in result.skipped}
    assert kinds == {
        "hangs": TimedOut,
        "crashes": LaunchFailed,
        "exhausts": LaunchFailed,
        "raises": LaunchFailed,
        "ends": LaunchFailed,
        "overruns": OutOfBounds,
        "underruns": OutOfBounds,
        "wrong": WrongResult,
    }
    reasons = {point["fault"]: outcome for point, outcome in result.skipped}
    assert reasons["overruns"] == OutOfBounds("target: 4 bytes after its end")
    assert reasons["underruns"] == OutOfBounds("target: 12 bytes before its start")
    assert re.fullmatch(r"MemoryError: planted \(.*planted_kernels\.py:\d+\)", reasons["exhausts"].reason)
    assert "-11" in reasons["crashes"].reason and "status 3" in reasons["ends"].reason
    assert "target[0] is 2.0, not 1.0; 4096 elements differ" in reasons["wrong"].reason
    report = str(result)
    assert "skipped: 4 LaunchFailed, 2 OutOfBounds" in report and "fault=hangs" in report
    assert "timed out under a trial limit of" in report
    assert result.trials == len(told) == len(planted_kernels.FAULTS) + 2

    # everything is remembered, and what was found serves at once
    records = store.records(store.tasks()[0]).values()
    winner = next(r for r in records if r.point == result.winner)
    assert len(winner.outcome.repetitions) >= 3 and winner.outcome.first > 0
    assert winner.predicted == 1e-6 and winner.cost > 0 and winner.at > 0 and winner.portagpu
    again = tuning.tune(PLANTED, PROBLEM, device=device, budget=60, trial_limit=6, strategy="model", store=store)
    assert (again.trials, again.winner, again.resumed) == (0, result.winner, result.trials)
    choice = tuning.best(PLANTED, {"n": 4300}, device=device, store=store)
    assert (choice.point, choice.rule) == (result.winner, Rule.EXACT)


def test_verification_of_winners(device, tmp_path):
    store = Store(tmp_path / "store.jsonl")
    result = tuning.tune(PICKY, PROBLEM, device=device, budget=300, store=store)
    assert result.winner == {"fault": "none", "repeat": 100}
    assert result.skipped == (({"fault": "none", "repeat": 1}, WrongResult("planted")),)
    assert tuning.tune(ODD, PROBLEM, device=device, budget=300, store=store).winner["repeat"] == 1


@pytest.mark.in_turn(2)
@pytest.mark.parametrize("on_device", [False, True], ids=["array", "device array"])
def test_no_point_profits_from_what_another_left_in_scratch_memory(device, tmp_path, on_device):
    store, problem = Store(tmp_path / "store.jsonl"), {"n": 100, "on_device": on_device}
    result = tuning.tune(LAZY, problem, device=device, budget=60, strategy="model", store=store)
    assert result.winner == {"lazy": False}
    assert [(point, type(outcome)) for point, outcome in result.skipped] == [({"lazy": True}, WrongResult)]


@pytest.mark.thorough
def test_a_script_is_tuned_as_a_program(device, tmp_path):
    """`python script.py`: the child finds the tunable of `__main__`; the console says what was skipped."""
    root = str(Path(portagpu.__file__).parents[1])
    environment = {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path), "PORTAGPU_DEVICE": str(device.index)}
    environment["PYTHONPATH"] = os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, planted_kernels.__file__], env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert "winner: fault=none repeat=1" in done.stdout
    assert "skipped fault=overruns repeat=1: writes out of bounds: target: 4 bytes after its end" in done.stderr
    assert "skipped fault=hangs repeat=1: timed out" in done.stderr
    assert (tmp_path / "tuning" / "planted.jsonl").exists()


_ENDLESS = """
from portagpu import tuning
from planted_kernels import PLANTED
tuning.tune(PLANTED, {"n": 4096}, budget="600s", trial_limit="300s", strategy="random", seed=SEED)
"""


def test_ctrl_c_keeps_what_was_measured(device, tmp_path):
    folder = str(Path(planted_kernels.__file__).parent)
    environment = {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path), "PORTAGPU_DEVICE": str(device.index)}
    environment["PYTHONPATH"] = os.pathsep.join([folder, *filter(None, sys.path)])
    child = subprocess.Popen(
        [sys.executable, "-c", _ENDLESS.replace("SEED", "3")], env=environment, stderr=subprocess.PIPE, text=True
    )
    store = Store(tmp_path / "tuning" / "planted.jsonl")
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not store.winners():
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert any(isinstance(o, Measured) for _, o in store.trials(store.tasks()[0]).values())


def test_the_decorator_uses_what_was_found(device, tmp_path, monkeypatch):
    monkeypatch.setenv("PORTAGPU_DATA_DIR", str(tmp_path))
    seen = []

    @tuning.tuned(PICKY, problem=lambda x: {"n": x.size})
    def launch(point, x):
        seen.append(point)
        return x

    x = cuda.to_device(planted_kernels.np.zeros(4096, "f4"))
    assert launch(x) is x
    found = tuning.tune(PICKY, PROBLEM, device=device, budget=60)
    launch(x)
    assert seen == [{"fault": "none", "repeat": 1}, found.winner]  # the first legal point, then the winner


@pytest.mark.thorough
def test_best_few_are_timed_for_other_classes(device, tmp_path):
    store = Store(tmp_path / "store.jsonl")
    tuning.tune(PICKY, PROBLEM, device=device, budget=60, store=store, classes=3)
    tuned = {task.shape_class for task in store.winners()}
    assert len(tuned) == 4 and "n=4096" in tuned
    choice = tuning.best(PICKY, {"n": 2048}, device=device, store=store)
    assert choice.rule is Rule.EXACT and choice.octaves == 0


def test_references():
    assert reference_of(PLANTED) == "planted_kernels:PLANTED"
    assert resolve("planted_kernels:PLANTED") is PLANTED
    path = planted_kernels.__file__
    assert resolve(f"{path}:PICKY").name == "picky"
    with pytest.raises(TuningError, match="is no tunable"):
        resolve("planted_kernels:BLOCK")
    space = tuning.SearchSpace.of(x=(1, 2))
    hidden = tuning.Tunable(name="hidden", space=space, prepare=planted_kernels.prepare, run=planted_kernels.run)
    with pytest.raises(TuningError, match="no variable of the module"):
        reference_of(hidden)


@pytest.mark.parametrize("budget", ["soon", -1, float("nan"), None, np.complex64(1), 10**400, Fraction(-1, 2)])
def test_budgets_that_make_no_sense(device, budget):
    with pytest.raises(TuningError, match="is no time"):
        tuning.tune(PICKY, PROBLEM, device=device, budget=budget)


@pytest.mark.parametrize(
    "value", [np.int64(60), np.float32(60), np.float16(60), Fraction(60), 60, "60s", "1m"], ids=repr
)
def test_times(value):
    assert seconds_of(value) == 60


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"classes": None}, "classes=None are neither problems nor a number of them"),
        ({"classes": -1}, "classes=-1 are neither"),
        ({"classes": {"n": 1}}, "neither problems"),
        ({"classes": ["n"]}, "'n' is no problem"),
        ({"trials": 1.5}, "trials=1.5 is no whole number"),
        ({"seed": "1"}, "seed='1' is no whole number"),
        ({"compilers": np.float32(1)}, r"compilers=np.float32\(1.0\) is no whole number"),
        ({"strategy": Picker}, "Picker is a class(?s:.*)Picker\\(\\)"),
        ({"strategy": 3}, "3 is no strategy"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(device, tmp_path, options, told):
    with pytest.raises(TuningError, match=told):
        tuning.tune(PICKY, PROBLEM, device=device, budget=60, store=tmp_path / "store.jsonl", **options)


def test_numbers_of_numpy_and_devices_of_cuda(device, tmp_path):
    chosen = cuda.gpus[[one.record for one in cuda.gpus].index(device)]
    counts = {name: np.int64(1) for name in ("trials", "seed", "classes")}
    store = str(tmp_path / "store.jsonl")
    options = {"budget": np.float32(60), "compilers": np.int8(0), "trial_limit": np.int64(20), "store": store}
    assert tuning.tune(PICKY, PROBLEM, device=chosen, strategy="random", **options, **counts).trials == 1
    assert {task.device for task in Store(store).tasks()} == {device.key}
    assert tuning.best(PICKY, PROBLEM, device=chosen, store=store).point
    with cuda.select_device(device):
        assert tuning.best(PICKY, PROBLEM, device=cuda.get_current_device(), store=store).point


@pytest.mark.parametrize("reference", ["no_such_file.py:SCALE", "no_such_module:SCALE", "SCALE", ""])
def test_references_to_nothing_get_our_error(reference):
    with pytest.raises(TuningError):
        resolve(reference)


@pytest.mark.parametrize("name", ["", "../elsewhere", "a/b", ".hidden"])
def test_names_that_are_no_file_names_are_refused(name):
    with pytest.raises(TuningError, match="cannot name a tunable"):
        store_path(name, Settings.from_environment({}))
