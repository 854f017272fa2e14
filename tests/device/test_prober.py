"""Probing: on every device here, and with children that die."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from portagpu.backends.journal import Journal
from portagpu.backends.opencl.identity import DeviceIdentity, identity_of
from portagpu.backends.opencl.probing import prober
from portagpu.backends.opencl.probing.probe_child import CONTEXT_LOST, FOUND_NO_DEVICE
from portagpu.backends.opencl.probing.results import ProbeResults
from portagpu.backends.opencl.probing.trials import run_trials
from portagpu.backends.opencl.probing.workbench import ContextLostError, Workbench, kernel_source
from portagpu.device import DeviceRecord, devices, working_devices
from portagpu.settings import Settings

pytestmark = pytest.mark.opencl
_EVERY = pytest.mark.parametrize("record", working_devices(), ids=lambda record: f"{record.index}-{record.platform}")


@pytest.mark.in_turn(2)
@_EVERY
def test_a_second_start_builds_nothing(
    record: DeviceRecord, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = prober.probe(record.cl_device, 0, settings)
    assert first.problem is None
    monkeypatch.setattr(prober, "_probe_isolated", _must_not_be_called)
    monkeypatch.setattr(prober, "_probe_here", _must_not_be_called)
    assert prober.probe(record.cl_device, 0, settings) == first


@pytest.mark.in_turn(2)
@_EVERY
def test_files_in_the_working_folder_do_no_harm(
    record: DeviceRecord, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json.py", "numpy.py", "portagpu.py"):
        (tmp_path / name).write_text("raise RuntimeError('the wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(prober, "_probe_here", _must_not_be_called)
    assert prober.probe(record.cl_device, 0, settings).problem is None


@pytest.mark.in_turn(2)
@_EVERY
def test_probing_in_this_process_agrees_but_dares_less(record: DeviceRecord, tmp_path: Path) -> None:
    caps = record.capabilities
    assert caps is not None
    bench = Workbench(record.cl_device, identity_of(record.cl_device).hints)
    results = run_trials(bench, Journal(tmp_path / "journal"), isolated=False)
    assert results.problem is None and not results.inline_ptx and not results.printf
    assert 0 < results.local_memory_static <= max(caps.local_memory_static, 32 * 1024)
    for name in ("fp64", "fp16", "fp16_storage", "int64_atomics", "float_atomic_add_global", "subgroup_size"):
        assert getattr(results, name) == getattr(caps, name), name


def _must_not_be_called(*arguments: object) -> ProbeResults:
    raise AssertionError("the cache was not used")


_IDENTITY = DeviceIdentity(platform="P", name="D", vendor="V", driver_version="1", device_version="OpenCL 1.2")


class FakeChildren:
    """Stands for the probing processes: each call is one life, which writes its journal and ends with a status."""

    def __init__(self, *lives: tuple[list[str], int | None, ProbeResults | None]) -> None:
        self.lives = list(lives)

    def __call__(self, identity: DeviceIdentity, ordinal: int, folder: Path, log: Path) -> int | None:
        lines, status, results = self.lives.pop(0)
        log.write_text("some driver\nLLVM ERROR: cannot select\n")
        with (folder / "journal").open("a") as journal:
            journal.writelines(line + "\n" for line in lines)
        if results is not None:
            (folder / "result.json").write_text(json.dumps(results.to_json()))
        return status


def _isolated(monkeypatch: pytest.MonkeyPatch, children: FakeChildren) -> ProbeResults | None:
    monkeypatch.setattr(prober, "_run_child", children)
    found = prober._probe_isolated(_IDENTITY, 0)
    assert children.lives == []
    return found


def test_a_crashed_trial_is_left_out_by_the_next_process(monkeypatch: pytest.MonkeyPatch) -> None:
    good = ProbeResults(fp64=True)
    crash = (['{"begin": "basic"}', '{"end": "basic", "answer": ""}', '{"begin": "fp16"}'], -6, None)
    lost = (['{"begin": "static_65536"}'], CONTEXT_LOST, None)
    assert _isolated(monkeypatch, FakeChildren(crash, lost, ([], 0, good))) == good


def test_a_driver_that_dies_at_once_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _isolated(monkeypatch, FakeChildren(([], -11, None)))
    assert found is not None and found.problem is not None
    assert "signal 11" in found.problem and "LLVM ERROR: cannot select" in found.problem


def test_a_driver_that_dies_of_the_simplest_kernel_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    found = _isolated(monkeypatch, FakeChildren((['{"begin": "basic"}'], 1, None)))
    assert found is not None and found.problem is not None and "simplest kernel" in found.problem


@pytest.mark.parametrize("status", [None, FOUND_NO_DEVICE, 1])
def test_without_a_process_of_its_own(monkeypatch: pytest.MonkeyPatch, status: int | None) -> None:
    assert _isolated(monkeypatch, FakeChildren(([], status, None))) is None


def test_it_does_not_go_on_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    lives = [([f'{{"begin": "trial{n}"}}'], -6, None) for n in range(prober._ATTEMPTS)]
    found = _isolated(monkeypatch, FakeChildren(*lives))
    assert found is not None and found.problem is not None


def test_a_hanging_child_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    assert prober._wait(child, tmp_path / "journal", 0.3) < 0


@pytest.mark.parametrize(
    "damage",
    ["", "nonsense", "[1]", "{}", '{"schema": 3, "key": "x", "time": 0, "results": {}}', '{"results": {"fp64": 1}}'],
)
def test_a_damaged_entry_is_ignored_and_rewritten(
    damage: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = ProbeResults(fp64=True, local_memory_static=1024, language_option="-cl-std=CL3.0")
    monkeypatch.setattr(prober, "identity_of", lambda device: _IDENTITY)
    monkeypatch.setattr(prober, "_probe_isolated", lambda identity, ordinal: results)
    device: Any = object()
    assert prober.probe(device, 0, settings) == results
    (entry,) = (settings.cache_dir / "probes").iterdir()
    whole = json.loads(entry.read_text())
    for text in (damage, json.dumps({**whole, "results": {**whole["results"], "fp64": "yes"}})):
        entry.write_text(text)
        assert prober.probe(device, 0, settings) == results
        assert json.loads(entry.read_text())["results"] == whole["results"]


def test_a_broken_device_is_tried_again_after_a_while(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [ProbeResults(problem="broken"), ProbeResults(fp64=True)]
    monkeypatch.setattr(prober, "identity_of", lambda device: _IDENTITY)
    monkeypatch.setattr(prober, "_probe_isolated", lambda identity, ordinal: answers.pop(0))
    device: Any = object()
    assert prober.probe(device, 0, settings).problem == "broken"
    assert prober.probe(device, 0, settings).problem == "broken"
    monkeypatch.setattr(prober, "_BROKEN_MEMORY_S", -1.0)
    assert prober.probe(device, 0, settings).problem is None
    assert prober.probe(device, 0, settings).problem is None


def test_an_unwritable_cache_is_no_obstacle(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.cache_dir.write_text("a file where the folder should be")
    monkeypatch.setattr(prober, "identity_of", lambda device: _IDENTITY)
    monkeypatch.setattr(prober, "_probe_isolated", lambda identity, ordinal: ProbeResults(fp64=True))
    device: Any = object()
    assert prober.probe(device, 0, settings).fp64


def test_results_survive_the_disk() -> None:
    results = ProbeResults(problem="x", local_memory_static=5, measured_gflops=1.5, printf=True, language_option="o")
    assert ProbeResults.from_json(json.loads(json.dumps(results.to_json()))) == results
    for wrong in ({"fp64": 1}, {"local_memory_static": "5"}, {"new": True}):
        with pytest.raises(ValueError):
            ProbeResults.from_json({**results.to_json(), **wrong})


def test_a_lost_context_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    working = working_devices()
    if not working:
        return
    bench = Workbench(working[0].cl_device, identity_of(working[0].cl_device).hints)
    bench.check_alive()
    monkeypatch.setattr(bench, "basic_problem", lambda *options: "it cannot run a kernel: code -9999", raising=False)
    with pytest.raises(ContextLostError, match="-9999"):
        bench.check_alive()


def test_every_probe_kernel_is_shipped() -> None:
    for name in ("basic", "arithmetic", "half_storage", "divide_sqrt", "int64_atomics", "float_atomics", "inline_ptx"):
        assert f"__kernel void {name}(" in kernel_source(name)
    for name in ("subgroups", "printing", "local_static", "local_argument", "fma_rate"):
        assert f"__kernel void {name}(" in kernel_source(name)


def test_all_devices_have_capabilities_or_a_problem() -> None:
    for record in devices():
        assert (record.capabilities is None) == (record.problem is not None) == (record.remedy is not None)
