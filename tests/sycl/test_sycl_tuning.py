"""Tuning of SYCL devices: results under keys of their own, which products then use, and measured rates."""

from __future__ import annotations

import dataclasses
import os

import numpy as np
import pytest
from sycl_devices import WORKING, needs_sycl

import portagpu
from portagpu import cuda
from portagpu.backends import registry
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection.parameters import dense
from portagpu.blas.gemm.selection.registry import from_json, variant_of
from portagpu.blas.gemm.tuning.tunable import GEMM
from portagpu.blas.gemm.tuning.tuner import store_path, tune_gemm
from portagpu.settings import Settings
from portagpu.tuning import Store
from portagpu.tuning.choice import Rule, best

pytestmark = needs_sycl
DEVICES = WORKING
PROBLEM = Problem(m=96, n=80, k=64, dtype="float32")


@pytest.fixture
def settings(tmp_path, monkeypatch):
    """Results in a folder of their own, also those that products look for."""
    found = Settings.from_environment({**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path)})
    context = cuda.current_context()
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, data_dir=found.data_dir))
    return found


def test_results_have_keys_of_their_own_and_are_used(device, settings, monkeypatch):
    (tuned,) = tune_gemm(device, (PROBLEM,), budget=2.0, settings=settings)
    assert tuned.result.winner is not None and not tuned.result.failures
    (task,) = Store(store_path(settings)).winners()
    assert task.device == device.key and task.device.startswith("sycl:")
    values = dense(PROBLEM).values
    choice = best(GEMM, values, device=device, settings=settings)
    assert choice.rule is Rule.EXACT and choice.point == tuned.result.winner
    others = dataclasses.replace(device, backend="opencl")  # the same driver's device through the other back end
    assert best(GEMM, values, device=others, settings=settings).rule is not Rule.EXACT
    config, used = from_json(tuned.result.winner), []
    variant = type(variant_of(config))
    run = variant.run
    monkeypatch.setattr(variant, "run", lambda self, config, product: used.append(config) or run(self, config, product))
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-8, 8, shape).astype(np.float32) for shape in ((96, 64), (64, 80)))
    found = portagpu.matmul(cuda.to_device(a), cuda.to_device(b))
    assert used == [config]
    np.testing.assert_array_equal(found.copy_to_host(), a @ b)


def test_rates(device):
    rates = registry.backend_of(device).measure(device)
    assert rates is not None
    assert 1e8 < rates.float32 < 1e16 and (rates.float64 > 1e7) == device.capabilities.fp64
    assert 1e7 < rates.dram < 1e14 and rates.cache > 1e7 and 0 < rates.launch < 1
