"""`portagpu bench blas`: right results pass each routine's check and wrong ones do not; cells, files, refusals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from portagpu.bench.peers.cupy_kernels import cupy_for
from portagpu.bench.records.cell import Memory, Role, Status
from portagpu.bench.records.files import load
from portagpu.bench.routines import clblast, cublas, memory_rate, task, tasks
from portagpu.bench.running.case import Options
from portagpu.bench.suites import blas
from portagpu.cli import cli
from portagpu.device import DeviceType
from portagpu.runtime.execution.context import Context


def first(call):
    call.product()
    return call.fetch()


def spoilt(found, by):
    """The result with its lower left element, which all routines write, moved by ``by``; of a loop's the last one's."""
    if isinstance(found, list):
        return [*found[:-1], spoilt(found[-1], by)]
    if isinstance(found, tuple):
        return spoilt(found[0], by), *found[1:]
    wrong = np.array(found, copy=True)
    if wrong.ndim:
        wrong[{1: -1, 2: (-1, 0), 3: (-1, -1, 0)}[wrong.ndim]] += by
    else:
        wrong = wrong + by
    return wrong


@pytest.mark.in_turn(2)
@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("family", [slice(0, 8), slice(8, 16), slice(16, 23), slice(23, None)])
def test_results_are_verified(device, family):
    """Ours on both kinds of memory and SciPy's are right; one wrong element, or NaN, is not."""
    with Context.for_device(device) as context:
        for name, entry in list(tasks.TASKS.items())[family]:
            made = entry.make(entry.sizes(device, small=True)[0], "float32")
            for call in (*(blas.own_call(made, memory, context) for memory in Memory), task.scipy_call(made)):
                found = first(call)
                assert made.error(found) <= 1, name
            assert made.error(spoilt(found, 1)) > 1, name
            if name != "amax":
                assert not made.error(spoilt(found, np.float32("nan"))) <= 1, name


def test_tasks_and_peers_agree():
    """Each task is named after a function of ours and of SciPy's, and peers have makers for tasks that there are."""
    for name, entry in tasks.TASKS.items():
        assert max(entry.small) < min(entry.on_cpus) and len(entry.on_cpus) == len(entry.on_gpus)
        made = entry.make(8, entry.dtypes[-1])
        assert (made.name, made.n, made.dtype) == (name, 8, entry.dtypes[-1]) and made.work > 0
        assert task.scipy_call(made).fetch is not None
    assert clblast.ROUTINES | set(cublas._MAKERS) <= set(tasks.TASKS)
    assert set(tasks.TASKS) == set(cublas._MAKERS)


@pytest.mark.one_device
def test_paths_are_known_before_operands_are_made(device):
    for entry in blas.entries(device, Options(small=True), ["axpy", "gbmv", "potrf-batch"], ("float32",)):
        with Context.for_device(device) as context:
            assert {case.workload.path for case in entry.make(context)} == {entry.path}


@pytest.mark.one_device(fast=True)
def test_the_command_writes_cells(device, tmp_path, short_turns):
    file = tmp_path / "routines.json"
    chosen = ["--routine", "axpy", "--routine", "syrk", "--dtype", "float32"]
    options = ["--small", "--no-core-types", "--device", str(device.index), "-o", str(file)]
    done = CliRunner().invoke(cli, ["bench", "blas", *chosen, *options])
    assert done.exit_code == 0, done.output
    run = load(file)
    assert run.finished and run.machines[0].software["portagpu"] and run.devices[0].name == device.name
    assert {(c.workload.path, c.workload.unit.value) for c in run.cells} == {
        ("blas/axpy/float32/1000", "GB/s"),
        ("blas/syrk/float32/90", "GFLOP/s"),
    }
    for cell in run.cells:
        assert cell.status is Status.MEASURED, cell.reason
        assert cell.rate > 0 and len(cell.samples) == 3 and f"--size {cell.workload.size}" in cell.repeat
        assert 0 <= cell.error <= 1
    if device.device_type is DeviceType.CPU or cupy_for(device):  # SciPy is a dependency of the tests
        assert any(cell.role is Role.VENDOR for cell in run.cells)


@pytest.mark.parametrize("name", ["axpy", "copy", "scal", "dot"])
def test_the_memory_s_rate_is_of_bytes_that_were_moved(name, monkeypatch):
    made = tasks.TASKS[name].make(1000, "float64")
    call = memory_rate.prepare(made)
    call.product()
    assert call.fetch() is True
    monkeypatch.setattr(memory_rate, "_job", lambda kind, arrays: lambda: -1.0)  # moves nothing
    call = memory_rate.prepare(made)
    call.product()
    assert call.fetch() is False


@pytest.mark.one_device
def test_wrong_results_have_no_time(device, monkeypatch, short_turns, tmp_path):
    entry = tasks.TASKS["copy"]

    def make(n, dtype):
        return replace(entry.make(n, dtype), error=lambda found: float("nan"))

    monkeypatch.setitem(tasks.TASKS, "copy", replace(entry, make=make))
    file = tmp_path / "wrong.json"
    arguments = ["--routine", "copy", "--small", "--no-core-types", "--device", str(device.index), "-o", str(file)]
    done = CliRunner().invoke(cli, ["bench", "blas", *arguments])
    assert done.exit_code == 1 and "a result was wrong" in done.output
    for cell in load(file).cells:
        if cell.role is Role.OURS:
            assert cell.status is Status.WRONG and cell.seconds is None and cell.error is None


@pytest.mark.parametrize("options", [["--routine", "axpby"], ["--dtype", "int8"]])
def test_others_are_refused(options):
    assert CliRunner().invoke(cli, ["bench", "blas", *options]).exit_code == 2
