"""`portagpu bench blas`: right results pass each routine's check and wrong ones do not; cells, files, refusals."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from portagpu.bench.routines.results import Row, figures, summary

from portagpu.bench.records.cell import Memory
from portagpu.bench.routines import clblast, cublas, measure, task, tasks
from portagpu.cli import cli
from portagpu.runtime.execution.context import Context

ROW = Row(
    device="GPU",
    driver="1",
    routine="axpy",
    dtype="float32",
    size="9",
    memory="device",
    peer="X",
    work=6e9,
    unit="GB/s",
)


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


@pytest.mark.one_device(fast=True)
@pytest.mark.parametrize("family", [slice(0, 8), slice(8, 16), slice(16, 23), slice(23, None)])
def test_results_are_verified(device, family):
    """Ours on both kinds of memory and SciPy's are right; one wrong element, or NaN, is not."""
    with Context.for_device(device) as context:
        for name, entry in list(tasks.TASKS.items())[family]:
            made = entry.make(entry.sizes(device, small=True)[0], "float32")
            peers = [] if name == "epilogue" else [task.scipy_call(made)]
            for call in (*(measure.own_call(made, memory, context) for memory in Memory), *peers):
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
        assert name == "epilogue" or task.scipy_call(made).fetch is not None
    assert clblast.ROUTINES | set(cublas._MAKERS) <= set(tasks.TASKS)
    assert set(tasks.TASKS) - set(cublas._MAKERS) == {"epilogue"}


@pytest.mark.one_device(fast=True)
def test_the_command_writes_cells(device, tmp_path, short_turns, monkeypatch):
    monkeypatch.setattr(measure, "SHORT_ROUNDS", 2)
    monkeypatch.setattr(measure, "BACK_TO_BACK_ROUNDS", 2)
    file = tmp_path / "routines.json"
    chosen = ["--routine", "axpy", "--routine", "syrk", "--dtype", "float32"]
    options = ["--small", "--no-core-types", "--device", str(device.index), "-o", str(file)]
    done = CliRunner().invoke(cli, ["bench", "blas", *chosen, *options])
    assert done.exit_code == 0, done.output
    data = json.loads(file.read_text())
    assert data["kind"] == "BLAS routines" and data["machine"]["portagpu"]
    assert {(row["routine"], row["size"], row["unit"]) for row in data["rows"]} == {
        ("axpy", "1000", "GB/s"),
        ("syrk", "90", "GFLOP/s"),
    }
    for row in data["rows"]:
        assert 0 <= row["error"] <= 1
        if not row["problem"]:
            assert row["seconds"] > 0 and row["peer_seconds"] > 0
            if "memory" in row["peer"]:  # which computes nothing
                assert row["routine"] == "axpy" and row["peer_error"] is None
            else:
                assert 0 <= row["peer_error"] <= 1
            assert len(row["samples"]) == len(row["peer_samples"]) == 2
    assert any(row["peer_seconds"] for row in data["rows"])  # SciPy is a dependency of the tests


@pytest.mark.one_device
def test_wrong_results_have_no_time(device, monkeypatch):
    entry = tasks.TASKS["copy"]

    def make(n, dtype):
        return replace(entry.make(n, dtype), error=lambda found: float("nan"))

    monkeypatch.setitem(tasks.TASKS, "copy", replace(entry, make=make))
    for row in measure.rows(device, ["copy"], ("float32",), small=True):
        assert row.seconds is None and row.problem == "wrong result: inf" and row.error is None
    arguments = ["--routine", "copy", "--small", "--no-core-types", "--device", str(device.index)]
    done = CliRunner().invoke(cli, ["bench", "blas", *arguments])
    assert done.exit_code == 1 and "a result was wrong" in done.output


def test_figures():
    row = replace(ROW, seconds=0.1, peer_seconds=0.05, error=0.25)
    assert figures(row) == ("60", "120", "0.50", "0.25") and figures(ROW) == ("-", "-", "-", "-")
    assert summary([row, replace(row, routine="dot", peer_seconds=0.2)]) == "worst of 2: axpy float32 9: 0.50 of X"
    assert summary([ROW]) is None


@pytest.mark.parametrize("options", [["--routine", "axpby"], ["--dtype", "int8"]])
def test_others_are_refused(options):
    assert CliRunner().invoke(cli, ["bench", "blas", *options]).exit_code == 2
