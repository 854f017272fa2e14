"""Commands that are ended before their time, and output that cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import click
import planted_suite
import pytest
from click.testing import CliRunner

from portagpu.bench.ladder import measure
from portagpu.bench.records.cell import Status
from portagpu.bench.records.files import load, save
from portagpu.bench.running import session
from portagpu.cli import cli
from portagpu.cli import tune as tune_commands
from portagpu.cli.interruption import keep_in
from portagpu.interrupted import is_command
from portagpu.tuning import Store
from portagpu.tuning.trials import compilers
from portagpu.tuning.trials.temporary_folder import own_folder

pytestmark = pytest.mark.one_device(fast=True)

SLOW = """
import time
import numpy as np
from portagpu import tuning

def prepare(problem):
    return tuning.Case(outputs={"y": np.zeros(problem["n"])})

def run(data, point):
    time.sleep(0.3)

SLOW = tuning.Tunable(name="slow", space=tuning.SearchSpace.of(x=tuple(range(1000))), prepare=prepare, run=run)
"""


def interrupted(*arguments, **keywords):
    raise KeyboardInterrupt


@pytest.mark.thorough
def test_sigterm_ends_a_search_as_ctrl_c_does(device, tmp_path):
    (tmp_path / "slow.py").write_text(SLOW)
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path), "TMPDIR": str(tmp_path / "temporary")}
    command = [sys.executable, "-m", "portagpu", "tune", "kernel", f"{tmp_path / 'slow.py'}:SLOW", "n=8"]
    child = subprocess.Popen(
        [*command, "--budget", "5m", "--compilers", "1", "--device", str(device.index)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    store = Store(tmp_path / "tuning" / "slow.jsonl")
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not any(map(store.trials, store.tasks())):
        time.sleep(0.1)
    child.send_signal(signal.SIGTERM)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 143, output
    assert f"Terminated; what is measured is kept in {store.path}" in output and "Traceback" not in output
    assert not [path.name for path in (tmp_path / "temporary").iterdir() if "compiled" in path.name]


def test_folders_of_killed_processes_are_removed_and_those_of_others_stay(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    text = (
        "import os, signal, sys, tempfile\nfrom portagpu.tuning.trials.temporary_folder import own_folder\n"
        "with own_folder('portagpu-compiled-') as folder:\n"
        "    (folder / 'code').write_text('x')\n    print(folder, flush=True)\n    sys.stdin.read()"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", text],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        folder = Path(child.stdout.readline().strip())
        (tmp_path / "portagpu-compiled-by_somebody").mkdir()
        with own_folder("portagpu-compiled-") as mine:
            assert folder.is_dir() and mine.is_dir(), "its process lives"
        assert not mine.exists()
        child.kill()
        child.wait()
    with compilers.environment_for(1):
        assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == ["portagpu-compiled-by_somebody"]


def measured_until(times):
    """`session.measured` of the planted suite, interrupted after so many workloads."""
    measured, count = session.measured, iter(range(times))

    def measure(*arguments, **keywords):
        if next(count, None) is None:
            raise KeyboardInterrupt
        return measured(*arguments, **keywords)

    return measure


@pytest.fixture
def bench(device, tmp_path, monkeypatch):
    """`portagpu bench textbook` with workloads x, y and z in place of its kernels."""
    entries = partial(planted_suite.entries, folder=tmp_path, names=("x", "y", "z"))
    suite = SimpleNamespace(entries=lambda device, options, names: entries(device, options))
    monkeypatch.setattr("portagpu.cli.bench.textbook.suite", suite)
    monkeypatch.setattr("portagpu.cli.bench.common.QUICK", planted_suite.METHOD)
    command = ["bench", "textbook", "--quick", "--device", str(device.index), "-o", str(tmp_path / "b.json")]
    return lambda *more: CliRunner().invoke(cli, [*command, *more])


def statuses(path):
    return {cell.workload.name: cell.status for cell in load(path).cells}


def test_ctrl_c_in_a_benchmark_leaves_open_cells_which_another_run_fills(bench, tmp_path, monkeypatch):
    file = tmp_path / "b.json"
    with monkeypatch.context() as patch:
        patch.setattr(session, "measured", measured_until(0))
        done = bench()
    assert done.exit_code == 130 and "Interrupted\n" in done.output and not file.exists()
    with monkeypatch.context() as patch:
        patch.setattr(session, "measured", measured_until(1))
        done = bench()
    assert done.exit_code == 130 and f"Interrupted; what is measured is kept in {file}" in done.output
    assert statuses(file) == {"x": Status.MEASURED, "y": Status.OPEN, "z": Status.OPEN} and not load(file).finished
    (first,) = (cell for cell in load(file).cells if cell.samples)
    assert bench("--resume", "--filter", "z").exit_code == 0
    assert statuses(file) == {"x": Status.MEASURED, "y": Status.OPEN, "z": Status.MEASURED}
    assert not load(file).finished
    assert bench("--resume").exit_code == 0
    assert set(statuses(file).values()) == {Status.MEASURED} and load(file).finished
    assert first in load(file).cells and len(load(file).cells) == 3
    assert [len(note.read_text().split()) for note in tmp_path.glob("began-*")] == [1, 1, 1]


def test_a_run_of_another_kind_is_not_gone_on_with(bench, tmp_path):
    file = tmp_path / "b.json"
    assert bench("--filter", "x").exit_code == 0
    run = load(file)
    other = replace(run.devices[0], driver="another")
    machine = replace(run.machines[0], software={"numpy": "another"})
    for name, kept, options in (
        ("seed", run, ["--seed", "3"]),
        ("method", replace(run, method={**run.method, "target": 0.5}), []),
        ("devices", replace(run, devices=(other,)), []),
        ("devices", replace(run, devices=(*run.devices, other)), []),
        ("machines", replace(run, machines=(machine,)), []),
    ):
        save(file, kept)
        done = bench("--resume", *options)
        assert done.exit_code == 1 and f"its {name} and those of this run differ" in str(done.exception)
        assert load(file) == kept
    save(file, replace(run, devices=(replace(run.devices[0], capabilities={"measured_gflops": 1.0}),)))
    assert bench("--resume").exit_code == 0, "a probe's rates vary"
    (tmp_path / "b.json").unlink()
    assert bench("--resume").exit_code == 0 and len(load(file).cells) == 3


def test_ctrl_c_in_other_commands(device, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "run", interrupted)
    monkeypatch.setattr("portagpu.cli.bench.tuned.gains", interrupted)
    monkeypatch.setattr(tune_commands, "resolve", interrupted)
    where = ("--device", str(device.index))
    for command in (("bench", "ladder"), ("bench", "tuned", "--shape", "8x8x8"), ("tune", "kernel", "m:N", "n=1")):
        result = CliRunner().invoke(cli, [*command, *where])
        assert (result.exit_code, result.output.splitlines()[-1]) == (130, "Interrupted"), result.output
    kept = tmp_path / "kept.jsonl"

    @click.command("fails")
    def command():
        kept.write_text("x")
        keep_in(kept)
        raise KeyboardInterrupt

    monkeypatch.setattr(type(cli), "get_command", lambda *arguments: command)
    result = CliRunner().invoke(cli, ["fails"])
    assert result.exit_code == 130 and f"kept in {kept}" in result.output


AT_IMPORT = """
import os, signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
"""


@pytest.mark.in_turn(3)
@pytest.mark.parametrize(
    "module",
    ["portagpu.cuda", "numpy", "pyopencl", "portagpu.cli", "click", "portagpu.cli.devices", "rich.console"],
)
def test_ctrl_c_during_imports_is_one_line(tmp_path, module):
    (tmp_path / "sitecustomize.py").write_text(AT_IMPORT)
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "portagpu", "devices"],
        env={**os.environ, "PYTHONPATH": path, "INTERRUPT_AT": module},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert (done.stdout, done.stderr) == ("", "Interrupted\n")


def test_programs_of_users_keep_their_tracebacks():
    text = "import sys\nusual = sys.excepthook\nimport portagpu\nassert sys.excepthook is usual"
    subprocess.run([sys.executable, "-c", text], check=True)
    for original, program, mine in (
        (["python", "-m", "portagpu", "devices"], "-m", True),
        (["python", "/usr/bin/portagpu", "devices"], "/usr/bin/portagpu", True),
        (["python", "-m", "pytest", "portagpu"], "-m", False),
        (["python", "my_portagpu.py"], "my_portagpu.py", False),
        (["python", "-c", "import portagpu"], "-c", False),
    ):
        assert is_command(original, program) == mine


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no full device")
@pytest.mark.parametrize("command", ["devices", "--help"])
def test_a_full_output_ends_in_one_line(device, command):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "portagpu", command], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 1
    (line,) = [text for text in done.stderr.splitlines() if "Warning" not in text]
    assert line.startswith("error: the output cannot be written: ")
