"""GEMM's trials: a fresh process after a fault, candidates that are planted wrong, verification of strided results."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest

from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.selection.parameters import dense
from portagpu.blas.gemm.selection.registry import default_config
from portagpu.blas.gemm.tuning import trial
from portagpu.blas.gemm.tuning.tunable import GEMM
from portagpu.blas.gemm.tuning.tuner import search_space, tune_gemm
from portagpu.blas.gemm.variants.panel.variant import PanelConfig
from portagpu.errors import TuningError
from portagpu.settings import Settings
from portagpu.tuning import CompileFailed, LaunchFailed, Measured, Spilled, Store, Worker, tune
from portagpu.tuning.tunables import outcomes, problems

pytestmark = pytest.mark.one_device(fast=True)

PROBLEM = Problem(m=80, n=80, k=80, dtype="float32")


@pytest.fixture
def settings(tmp_path):
    return Settings.from_environment({**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path)})


@pytest.mark.thorough
def test_a_fresh_process_follows_a_failed_launch(device, settings, monkeypatch):
    """After a kernel has faulted some drivers refuse everything, which must not disqualify later candidates."""
    children = []
    inner = Worker.ask

    def ask(self, request, limit):
        answer = inner(self, request, limit)
        if request["action"] in ("figures", "start", "prepare"):
            return answer
        children.append(self._child.pid)
        return outcomes.to_json(LaunchFailed("planted")) if len(children) == 1 else answer

    monkeypatch.setattr(Worker, "ask", ask)
    options = {"device": device, "budget": 300, "trials": 3, "settings": settings, "compilers": 0}
    result = tune(GEMM, dense(PROBLEM).values, **options)
    assert children[1] != children[0]
    assert len(set(children[1:])) == 1
    assert result.winner is not None
    assert result.failures[0][1] == LaunchFailed("planted")


def test_winners_are_of_the_space_and_stored(device, settings, tmp_path):
    (tuned,) = tune_gemm(device, (PROBLEM,), budget=1.5, settings=settings)
    assert search_space(PROBLEM, device.capabilities).is_legal(tuned.result.winner)
    ((task, (point, seconds)),) = Store(tmp_path / "tuning" / "gemm.jsonl").winners().items()
    assert (task.device, task.dtype) == (device.key, "float32")
    assert problems.parse(task.shape_class) == {k: v for k, v in PROBLEM.values.items() if k != "dtype"}
    assert (point, seconds) == (tuned.result.winner, tuned.result.seconds)
    assert tuned.gflops == pytest.approx(PROBLEM.flops / seconds / 1e9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_verification_passes_what_is_right(device, dtype):
    problem = Problem(m=256, n=256, k=256, dtype=dtype)
    point = registry.to_json(default_config(problem, device.capabilities))
    assert trial.verify(problem.values, point) is None


def _zero(a, b, c, stream, config, precision):
    c[...] = 0


def _add(a, b, c, stream, config, precision):
    """Uses what was in c, as a kernel with beta = 1 would."""
    c.copy_to_device((c.copy_to_host() + a.copy_to_host() @ b.copy_to_host()).astype(c.dtype))


def _lose_nan(a, b, c, stream, config, precision):
    c.copy_to_device((np.nan_to_num(a.copy_to_host()) @ b.copy_to_host()).astype(c.dtype))


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("wrong", [_zero, _add, _lose_nan])
def test_verification_and_measurement_reject_what_is_wrong(device, wrong, monkeypatch):
    monkeypatch.setattr(trial, "gemm", wrong)
    point = registry.to_json(default_config(PROBLEM, device.capabilities))
    assert trial.verify(PROBLEM.values, point).startswith("wrong result for m=")


def test_a_trial_of_a_configuration_that_does_not_fit_is_a_value(device):
    """Far more registers than any device has: whatever it comes to, it is an outcome."""
    config = registry.to_json(PanelConfig(tile_m=40, vectors_n=4, lanes=16, unroll_k=1, group_m=1, group_n=1))
    problem = Problem(m=64, n=64, k=8, dtype="float32").values
    request = {"action": "measure", "point": config, "problem": problem, "device": device.index}
    with Worker("portagpu.tuning.trials.trial", "run") as worker:
        answer = worker.ask({**request, "tunable": "portagpu.blas.gemm.tuning.tunable:GEMM"}, 120)
    assert isinstance(outcomes.from_json(answer), Measured | LaunchFailed | CompileFailed | Spilled)


def test_an_empty_list_of_problems_is_an_error(device, settings):
    with pytest.raises(TuningError, match="nothing to tune"):
        tune_gemm(device, (), budget=1.0, settings=settings)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_every_real_dtype_is_tuned_the_same_way(device, dtype, settings):
    """Trials pass their checks in every dtype that some variant of this device computes."""
    problem = Problem(m=64, n=96, k=80, dtype=dtype)
    if not registry.variants_for(problem, device.capabilities):
        pytest.skip("no variant")
    point = registry.to_json(default_config(problem, device.capabilities))
    assert trial.verify(problem.values, point) is None
    (tuned,) = tune_gemm(device, (problem,), budget=1.5, settings=settings)
    assert tuned.result.winner is not None and not tuned.result.failures


@pytest.mark.thorough
@pytest.mark.parametrize(("layout", "batch"), [("FC", 1), ("CF", 1), ("FF", 3)])
def test_orders_and_batches_are_tuned(device, layout, batch, settings):
    problem = Problem(m=64, n=96, k=80, dtype="float32", a_order=layout[0], b_order=layout[1], batch=batch)
    if not registry.variants_for(problem, device.capabilities):
        pytest.skip("no variant")
    (tuned,) = tune_gemm(device, (problem,), budget=1.5, settings=settings)
    assert tuned.result.winner is not None and not tuned.result.failures


def test_dense_arrays_know_whether_they_are_aligned():
    assert dense(PROBLEM).aligned
    assert not dense(dataclasses.replace(PROBLEM, n=81)).aligned
    assert dense(dataclasses.replace(PROBLEM, m=81)).aligned
    assert not dense(dataclasses.replace(PROBLEM, m=81, a_order="F")).aligned


def test_what_a_device_cannot_compute_is_not_tuned(device, settings):
    if device.capabilities.ptx_target >= (8, 0):
        pytest.skip("this device has TF32")
    problem = dataclasses.replace(PROBLEM, precision="tf32")
    with pytest.raises(TuningError, match="cannot compute products of float32/tf32") as caught:
        tune_gemm(device, (problem,), budget=1.0, settings=settings)
    assert "the default" in caught.value.hint
