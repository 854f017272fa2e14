"""Functions of users' tunables that raise or return nonsense: told with the line that is to blame."""

from __future__ import annotations

from dataclasses import replace

import pytest

from portagpu import cuda, tuning
from portagpu.errors import TuningError
from portagpu.tuning.outcomes import LaunchFailed
from portagpu.tuning.tunable import resolve

SCRIPT = """
import numpy as np
from portagpu import cuda, tuning

@cuda.jit
def twice_kernel(x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = 2 * x[i]

def prepare(problem):
    x = np.arange(problem["n"], dtype=np.float32)
    return tuning.Case(inputs={"x": x}, outputs={"y": np.zeros_like(x)}, expected={"y": (2 * x).tolist()})

def run(data, point):
    twice_kernel[-(-data["x"].size // point["block"]), point["block"]](data["x"], data["y"])

def broken(*arguments):
    return {}["here"]  # the line to blame

def nothing(*arguments):
    return None

def check(case, results):
    return broken(case)

def needs(first, second):
    pass

SPACE = tuning.SearchSpace.of(block=(32, 64))
PLAIN = dict(name="mistaken", space=SPACE, prepare=prepare, run=run)
GOOD = tuning.Tunable(**PLAIN)
SPACE_RAISES = tuning.Tunable(**{**PLAIN, "space": broken})
SPACE_IS_NONE = tuning.Tunable(**{**PLAIN, "space": nothing})
DEFAULT_RAISES = tuning.Tunable(**PLAIN, default=broken)
PREPARE_RAISES = tuning.Tunable(**{**PLAIN, "prepare": broken})
CHECK_RAISES = tuning.Tunable(**PLAIN, check=check)
"""
LINE = next(number for number, line in enumerate(SCRIPT.splitlines(), 1) if "to blame" in line)


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "mistaken.py"
    path.write_text(SCRIPT)
    return path


def tunable(script, name):
    reference = f"{script}:{name}"
    return replace(resolve(reference), reference=reference)


@pytest.mark.parametrize("name", ["SPACE_RAISES", "DEFAULT_RAISES", "PREPARE_RAISES"])
def test_what_raises_is_told_with_its_line(device, script, tmp_path, name):
    mistaken, store = tunable(script, name), tmp_path / "store.jsonl"
    with pytest.raises(TuningError, match=f"KeyError.*'here'.*mistaken.py:{LINE}"):
        tuning.tune(mistaken, {"n": 100}, device=device, budget=20, store=store)
    if name != "PREPARE_RAISES":
        with pytest.raises(TuningError, match=f"KeyError.*'here'.*mistaken.py:{LINE}"):
            tuning.best(mistaken, {"n": 100}, device=device, store=store)


def test_a_space_that_is_none(device, script, tmp_path):
    with pytest.raises(TuningError, match="the space of mistaken is a NoneType for n=100"):
        tuning.best(tunable(script, "SPACE_IS_NONE"), {"n": 100}, device=device, store=tmp_path / "store.jsonl")


def test_a_check_that_raises_is_told_with_its_line(device, script, tmp_path):
    checked = tunable(script, "CHECK_RAISES")
    result = tuning.tune(checked, {"n": 100}, device=device, budget=20, trials=1, store=tmp_path / "store.jsonl")
    assert result.winner is None
    [(_, outcome)] = result.failures
    assert isinstance(outcome, LaunchFailed) and outcome.reason.endswith(f"mistaken.py:{LINE})")


def test_a_function_that_makes_no_tunable_is_told(script):
    with pytest.raises(TuningError, match=r"mistaken.py:needs cannot be loaded.*missing 2 required"):
        resolve(f"{script}:needs")


def test_without_a_device_both_mean_the_current_one(device, script, tmp_path):
    """And what is expected may be lists."""
    good, store = tunable(script, "GOOD"), tmp_path / "store.jsonl"
    with cuda.select_device(device):
        result = tuning.tune(good, {"n": 100}, budget=20, trials=2, store=store)
        choice = tuning.best(good, {"n": 100}, store=store)
    assert result.winner == choice.point and choice.rule is tuning.Rule.EXACT
    assert {task.device for task in tuning.Store(store).tasks()} == {device.key}


def test_a_store_that_is_no_file(device, script):
    for call in (tuning.tune, tuning.best):
        with pytest.raises(TuningError, match="store=3 is no file"):
            call(tunable(script, "GOOD"), {"n": 100}, device=device, store=3)
