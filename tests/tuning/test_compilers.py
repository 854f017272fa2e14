"""Candidates that are compiled ahead: the same outcomes, whatever becomes of the processes that compile."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import planted_kernels
import pytest
from own_contexts import native_context
from planted_kernels import ODD, PICKY, PLANTED
from processes import is_running

from portagpu import tuning
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection import registry
from portagpu.blas.gemm.tuning import trial
from portagpu.blas.gemm.tuning.tunable import GEMM
from portagpu.blas.gemm.tuning.tuner import tune_gemm
from portagpu.device import DeviceType
from portagpu.device.families import trial_environment
from portagpu.runtime.execution.context import Context
from portagpu.runtime.programs.build import build
from portagpu.settings import Settings
from portagpu.tuning import LaunchFailed, Measured, OutOfBounds, Store, TimedOut, WrongResult
from portagpu.tuning.trials import compilers, compiling
from portagpu.tuning.trials.compilers import Compilers
from portagpu.tuning.trials.trial import Bench, spilled_bytes
from portagpu.tuning.tunables.space import candidates

pytestmark = pytest.mark.one_device(fast=True)

PROBLEM = {"n": 4096}


@pytest.mark.thorough
def test_outcomes_are_those_of_a_search_without(device, tmp_path):
    """Points that hang, crash or raise do so in the processes that compile them, too."""
    store = Store(tmp_path / "store.jsonl")
    options = {"device": device, "trial_limit": 6, "strategy": "model", "store": store, "compilers": 2}
    result = tuning.tune(PLANTED, PROBLEM, budget=300, **options)
    assert result.winner == {"fault": "none", "repeat": 1}
    assert {point["fault"]: type(outcome) for point, outcome in result.skipped} == {
        "hangs": TimedOut,
        "crashes": LaunchFailed,
        "exhausts": LaunchFailed,
        "raises": LaunchFailed,
        "ends": LaunchFailed,
        "overruns": OutOfBounds,
        "underruns": OutOfBounds,
        "wrong": WrongResult,
    }
    records = store.records(store.tasks()[0])
    assert result.trials == len(records) == len(planted_kernels.FAULTS) + 2
    assert store.winner(store.tasks()[0])[0] == result.winner
    assert tuning.tune(PLANTED, PROBLEM, budget=60, **options).trials == 0


@pytest.mark.thorough
def test_winners_are_verified(device, tmp_path):
    options = {"device": device, "budget": 300, "compilers": 1}  # seconds, of which it needs a few
    result = tuning.tune(PICKY, PROBLEM, store=tmp_path / "picky.jsonl", **options)
    assert result.winner == {"fault": "none", "repeat": 100}
    assert result.skipped == (({"fault": "none", "repeat": 1}, WrongResult("planted")),)
    assert tuning.tune(ODD, PROBLEM, store=tmp_path / "odd.jsonl", **options).winner["repeat"] == 1


@pytest.mark.thorough
def test_the_number_of_trials_is_kept(device, tmp_path):
    store = Store(tmp_path / "store.jsonl")
    result = tuning.tune(PICKY, PROBLEM, device=device, budget=60, trials=2, store=store, compilers=3)
    assert result.trials == len(store.trials(store.tasks()[0])) == 2


@pytest.mark.thorough
def test_gemm_is_tuned(device, tmp_path):
    settings = Settings.from_environment({**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path)})
    problem = Problem(m=80, n=80, k=80, dtype="float32")
    (tuned,) = tune_gemm(device, (problem,), budget=3.0, settings=settings, compilers=1)
    assert tuned.result.winner is not None


@pytest.fixture
def contexts(device, tmp_path):
    """Two contexts with caches of their own; the first one only builds."""
    made = []
    for name in ("builds", "runs"):
        settings = dataclasses.replace(Settings.from_environment(), cache_dir=tmp_path / name, binaries=True)
        made.append(Context(device, native_context(device), settings))
    made[0].only_builds = True
    yield made
    for context in made:
        context.close()


PROBLEMS = [
    Problem(m=80, n=96, k=64, dtype="float32"),
    Problem(m=32, n=48, k=64, dtype="float64", batch=3, a_order="F", b_order="F"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: f"{p.dtype}-{p.m}-{p.n}-{p.batch}")
def test_what_is_only_built_is_what_runs(device, contexts, problem):
    if not registry.variants_for(problem, device.capabilities):
        pytest.skip("no variant")
    builds, runs = contexts
    space = GEMM.space_for(problem.values, device)
    uploads = set()
    kinds = {point["kind"]: point for point in candidates(space)}
    for point in [*kinds.values(), registry.to_json(registry.default_config(problem, device.capabilities))]:
        with builds:
            GEMM.run(compiling._arguments(GEMM, problem.values, builds), point)
        with runs:
            before = set(runs.programs)
            bench = Bench(GEMM, problem.values, runs)
            uploads |= set(runs.programs) - before
            bench.run_once(point)
            bench.release()
    assert set(runs.programs) - uploads <= set(builds.programs) <= set(runs.programs)
    kept = {file.stem for file in (builds.settings.cache_dir / "programs").iterdir()}
    assert kept == set(builds.programs)  # with the names under which the other context looks for them
    with builds:
        assert trial.verify(problem.values, point) is None
    with runs:
        assert trial.verify(problem.values, point) is None
    assert set(runs.programs) - uploads <= set(builds.programs)


@pytest.mark.opencl
def test_spills_are_known_of_cached_binaries(contexts):
    builds = contexts[0]
    if builds.capabilities.max_registers_option:
        pytest.skip("this driver's compiler keeps warnings to itself")
    source = "#warning 300 bytes spill stores\n__kernel void probe(__global int* x) { x[0] = 1; }"
    for context in contexts:
        context.remarks, context.settings = ("-D REMARKS",), builds.settings
        build(context, source, ())
        (key,) = context.programs
        assert spilled_bytes(context, key) == 300
    assert len(list((builds.settings.cache_dir / "programs").iterdir())) == 1


@pytest.fixture
def started(device):
    made = []

    def start(count, limit=20.0, index=device.index):
        path = os.pathsep.join([str(Path(planted_kernels.__file__).parent), *sys.path])
        environment = {**trial_environment(), "PYTHONPATH": path}
        made.append(Compilers(count, environment, {"action": "start", "device": index}, limit))
        return made[-1]

    yield start
    for each in made:
        each.close()


def request(device, fault, tunable="PLANTED"):
    point = {"fault": fault, "repeat": 1}
    common = {"tunable": f"planted_kernels:{tunable}", "device": device.index, "problem": PROBLEM}
    return {**common, "action": "measure", "point": point}


@pytest.mark.thorough
def test_what_hangs_or_dies_is_done_and_another_child_takes_over(device, started):
    pool = started(1, limit=3.0)
    asked = [pool.ask(request(device, fault)) for fault in ("hangs", "crashes", "raises", "none")]
    urgent = pool.ask(request(device, "ends"), urgent=True)
    pool.wait([urgent], 60)
    assert urgent.is_done and not asked[-1].is_done
    for each in asked:
        pool.wait([each], 60)
        assert each.is_done
    dropped, other = pool.ask(request(device, "hangs")), pool.ask(request(device, "none"))
    pool.drop([other])
    pool.close()
    assert not other.is_done
    assert not any(thread.is_alive() for thread in pool._threads)
    assert not any(w._child is not None for w in pool._workers), dropped


@pytest.mark.thorough
def test_arguments_may_take_longer_than_a_compilation(device, started, caplog):
    caplog.set_level("INFO", "portagpu.tuning.trials.compilers")
    pool = started(1, limit=3.0)
    asked = pool.ask(request(device, "none", "SLOWLY_PREPARED"))
    pool.wait([asked], 120)
    assert asked.is_done and not caplog.records


def test_where_no_child_starts_nobody_waits(device, started):
    pool = started(2, index=999)
    asked = pool.ask(request(device, "none"))
    pool.wait([asked], 120)
    assert asked.is_done
    later = pool.ask(request(device, "none"))
    pool.wait([later], 120)
    assert later.is_done


def test_how_many_there_are(device, monkeypatch):
    settings = Settings.from_environment()
    monkeypatch.setattr(compilers, "_cores", lambda: 16)
    large = dataclasses.replace(device.capabilities, global_memory=80 << 30)
    gpu = dataclasses.replace(device, device_type=DeviceType.GPU, capabilities=large)
    small = dataclasses.replace(gpu, capabilities=dataclasses.replace(large, global_memory=4 << 30))
    cpu = dataclasses.replace(device, device_type=DeviceType.CPU)
    assert [compilers.count_for(d, None, settings) for d in (gpu, small, cpu)] == [8, 2, 0]
    assert [compilers.count_for(d, 3, settings) for d in (gpu, cpu)] == [3, 3]
    assert compilers.count_for(gpu, 3, dataclasses.replace(settings, disk_cache=False)) == 0
    monkeypatch.setattr(compilers, "_cores", lambda: 1)
    assert compilers.count_for(gpu, None, settings) == 0


_ENDLESS = """
from portagpu import tuning
from planted_kernels import PLANTED
tuning.tune(PLANTED, {"n": 4096}, budget="600s", trial_limit="300s", strategy="random", seed=3, compilers=2)
"""


def children_of(pid):
    """Processes that a process started."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == pid:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


@pytest.mark.thorough
def test_ctrl_c_leaves_no_process_and_no_folder(device, tmp_path):
    (tmp_path / "temporary").mkdir()
    environment = {
        **os.environ,
        "PORTAGPU_DATA_DIR": str(tmp_path),
        "PORTAGPU_DEVICE": str(device.index),
        "TMPDIR": str(tmp_path / "temporary"),
        "PYTHONPATH": os.pathsep.join([str(Path(planted_kernels.__file__).parent), *filter(None, sys.path)]),
    }

    def left():
        return [path.name for path in (tmp_path / "temporary").iterdir()]

    store = Store(tmp_path / "tuning" / "planted.jsonl")
    child = subprocess.Popen([sys.executable, "-c", _ENDLESS], env=environment, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not any(
        isinstance(o, Measured) for task in store.tasks() for _, o in store.trials(task).values()
    ):
        time.sleep(0.05)
    pids = children_of(child.pid)
    assert len(pids) >= 2, "those that compile; the other one may just be replaced"
    assert any(name.startswith("portagpu-compiled-") for name in left())
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=60)
    assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors
    assert not any(is_running(pid) for pid in pids)
    assert not any(name.startswith("portagpu-compiled-") for name in left())
