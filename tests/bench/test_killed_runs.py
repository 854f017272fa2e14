"""Runs whose process is ended by a signal: the file has what was finished, is read by all, and is gone on with."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import planted_bench
import pytest
from click.testing import CliRunner
from planted_suite import began, hold

from portagpu.bench.records.cell import Caches, Status
from portagpu.bench.records.files import load
from portagpu.cli import cli

pytestmark = pytest.mark.one_device(fast=True)

HELPERS = Path(__file__).parents[1] / "helpers"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGKILL)
ALL = dict.fromkeys(planted_bench.NAMES, Status.MEASURED)


class Runs:
    """Runs of three planted workloads into one file: in processes of their own, and in this one."""

    def __init__(self, folder, device):
        self.folder, self.file = folder, folder / "b.json"
        self.words = ["--device", str(device.index), "-o", str(self.file)]

    def start(self, *, write=0, number=signal.SIGKILL):
        path = os.pathsep.join(map(str, [HELPERS, HELPERS.parents[1], os.environ.get("PYTHONPATH", "")]))
        given = [str(self.folder), str(write), str(int(number)), *self.words]
        return subprocess.Popen(
            [sys.executable, str(HELPERS / "planted_bench.py"), *given],
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def go_on(self, *more):
        for note in self.folder.glob("hold-*"):
            note.unlink()
        done = CliRunner().invoke(cli, ["bench", "textbook", "--quick", *self.words, "--resume", *more])
        assert done.exit_code == 0, f"{done.output} {done.exception}"
        return load(self.file)

    def shown(self):
        done = CliRunner().invoke(cli, ["matrix", str(self.file)])
        assert done.exit_code == 0, f"{done.output} {done.exception}"
        return done.output


@pytest.fixture
def runs(device, tmp_path, monkeypatch):
    planted_bench.plant(str(tmp_path), monkeypatch.setattr)
    return Runs(tmp_path, device)


def statuses(run):
    return {cell.workload.name: cell.status for cell in run.cells}


@pytest.mark.parametrize(
    "finished, number",
    [
        (1, signal.SIGTERM),
        (1, signal.SIGINT),
        (1, signal.SIGKILL),
        *(pytest.param(n, one, marks=pytest.mark.thorough) for n in (0, 2) for one in SIGNALS),
    ],
)
def test_a_run_that_is_ended_between_two_cells_goes_on(runs, finished, number):
    name = planted_bench.NAMES[finished]
    hold(runs.folder, "here", name)
    with runs.start() as process:
        began(runs.folder, "here", name)
        process.send_signal(number)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if number is signal.SIGINT else -number), output
    assert "Traceback" not in output
    assert runs.file.exists() == bool(finished)
    before = load(runs.file).cells if finished else ()
    if finished:
        measured, still = planted_bench.NAMES[:finished], planted_bench.NAMES[finished:]
        assert statuses(load(runs.file)) == {
            **dict.fromkeys(measured, Status.MEASURED),
            **dict.fromkeys(still, Status.OPEN),
        }
        assert f"planted/{measured[-1]}" in runs.shown()
    run = runs.go_on()
    assert statuses(run) == ALL and run.finished and len(run.cells) == 3
    assert [cell for cell in before if cell.samples] == list(run.cells[:finished])
    assert "planted/z" in runs.shown()


@pytest.mark.parametrize(
    "write, number",
    [
        (2, signal.SIGKILL),
        *(
            pytest.param(n, one, marks=pytest.mark.thorough)
            for n in (1, 2)
            for one in SIGNALS
            if (n, one) != (2, signal.SIGKILL)
        ),
    ],
)
def test_a_run_that_is_ended_while_it_writes_leaves_the_file_before(runs, write, number):
    with runs.start(write=write, number=number) as process:
        output, _ = process.communicate(timeout=60)
    assert process.returncode == (130 if number is signal.SIGINT else -number), output
    assert runs.file.exists() == (write > 1)
    if write > 1:
        assert statuses(load(runs.file)) == {"x": Status.MEASURED, "y": Status.OPEN, "z": Status.OPEN}
    run = runs.go_on()
    assert statuses(run) == ALL and run.finished


def test_cold_caches_are_added_to_workloads_that_are_done(runs):
    before = runs.go_on()
    run = runs.go_on("--cold", "--filter", "y")
    assert run.cells[:3] == before.cells and run.identity == before.identity
    assert [(cell.workload.name, cell.caches) for cell in run.cells[3:]] == [("y", Caches.COLD)]
    assert run.finished and "--cold" in run.cells[3].repeat and "--cold" not in run.cells[0].repeat
    run = runs.go_on("--cold")
    assert sorted(cell.workload.name for cell in run.cells) == ["x", "x", "y", "y", "z", "z"]
    assert runs.go_on("--cold") == run == runs.go_on()
    notes = {note.name[-1]: len(note.read_text().split()) for note in runs.folder.glob("began-*")}
    assert notes == {"x": 2, "y": 2, "z": 2}


@pytest.mark.parametrize("options", [["--peers", "none"], ["--peers", "all"], ["--no-core-types"]])
def test_other_peers_are_not_mixed_into_a_run(runs, options):
    before = runs.go_on()
    done = CliRunner().invoke(cli, ["bench", "textbook", "--quick", *runs.words, "--resume", *options])
    assert done.exit_code == 1 and "its peers and those of this run differ" in str(done.exception)
    assert load(runs.file) == before
