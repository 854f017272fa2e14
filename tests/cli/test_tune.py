"""`portagpu tune`: interruption, export and import."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from portagpu import cuda
from portagpu.blas.gemm.core.problem import Problem
from portagpu.blas.gemm.selection.registry import precisions
from portagpu.blas.gemm.tuning.tuner import TunedProblem
from portagpu.cli import cli
from portagpu.device.families import device_class
from portagpu.errors import TuningError, UnknownOptionError
from portagpu.tuning import Measured, SearchResult, Store, TaskKey, TimedOut

pytestmark = pytest.mark.one_device(fast=True)

TASK = TaskKey(device="d", kernel="gemm", kernel_version=1, dtype="float32", shape_class="8x8x8")


@pytest.mark.thorough
def test_ctrl_c_keeps_what_was_measured(device, tmp_path):
    environment = {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "portagpu", "tune", "gemm", "--budget", "5m", "--size", "64", "--dtype", "float32"]
    child = subprocess.Popen(
        [*command, "--device", str(device.index), "--compilers", "1"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    store = Store(tmp_path / "tuning" / "gemm.jsonl")
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline and not store.winners():
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 130, output
    assert "what is measured is kept" in " ".join(output.split())
    assert "Traceback" not in output
    assert store.winners()


def test_export_and_import(tmp_path):
    there = tmp_path / "there"
    Store(there / "tuning" / "gemm.jsonl").add_trial(TASK, {"x": 1}, Measured(0.5))
    Store(there / "tuning" / "gemm.jsonl").add_winner(TASK, {"x": 1}, 0.5)
    file = tmp_path / "results.jsonl"
    for command, folder in (("export", there), ("import", tmp_path / "here")):
        result = CliRunner().invoke(
            cli, ["tune", command, str(file)], env={"PORTAGPU_DATA_DIR": str(folder)}, catch_exceptions=False
        )
        assert result.exit_code == 0 and result.output.startswith("2 results")
    assert Store(tmp_path / "here" / "tuning" / "gemm.jsonl").winner(TASK) == ({"x": 1}, 0.5)


def test_imports_go_to_the_store_of_their_kernel(tmp_path):
    """Whatever it is called: in another store nobody would find them."""
    mine, file, here = dataclasses.replace(TASK, kernel="mine"), tmp_path / "results.jsonl", tmp_path / "here"
    Store(file).add_trial(mine, {"x": 1}, Measured(0.5))
    result = _invoke(here, "import", str(file))
    assert result.exit_code == 0 and Store(here / "tuning" / "mine.jsonl").tasks() == (mine,)
    assert not (here / "tuning" / "gemm.jsonl").exists()
    result = _invoke(here, "import", str(file), "--kernel", "gemm")
    assert result.exit_code != 0 and "has results of mine, none of gemm" in result.output
    Store(file).add_trial(TASK, {"x": 1}, Measured(0.5))
    result = _invoke(here, "import", str(file))
    assert result.exit_code != 0 and "--kernel NAME" in result.output
    assert _invoke(here, "import", str(file), "--kernel", "gemm").exit_code == 0
    assert Store(here / "tuning" / "gemm.jsonl").tasks() == (TASK,)


def test_options_before_a_subcommand_are_refused(tmp_path):
    for options in (["--device", "nosuchdevice"], ["--explain", "8x8x8"]):
        result = _invoke(tmp_path, *options, "gemm", "--explain", "64x64x64")
        assert result.exit_code == 2 and "behind 'gemm'" in result.output


def test_results_that_do_not_exist_are_not_compacted(tmp_path):
    result = _invoke(tmp_path, "compact", "--kernel", "typo")
    assert result.exit_code == 1 and "no results of typo" in result.output
    assert not (tmp_path / "tuning" / "typo.jsonl").exists()


def test_an_unwritable_data_folder_ends_in_one_message(device, tmp_path):
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "portagpu", "tune", "gemm", "--budget", "2s", "--size", "64", "--dtype", "float32"],
        env={**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path / "file"), "PORTAGPU_DEVICE": str(device.index)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "cannot be written" in done.stderr and "Traceback" not in done.stderr


def _invoke(folder, *arguments):
    return CliRunner().invoke(cli, ["tune", *arguments], env={"PORTAGPU_DATA_DIR": str(folder)}, catch_exceptions=False)


@pytest.mark.thorough
def test_explain_names_the_rule(device, tmp_path, monkeypatch):
    """Exactly the command line that the documents give, and what it says after tuning."""
    context = cuda.current_context()  # which the command finds already there
    monkeypatch.setattr(context, "settings", dataclasses.replace(context.settings, data_dir=tmp_path))
    where = ("--device", str(device.index))
    result = _invoke(tmp_path, "--explain", "4096x4096x128", *where)
    assert result.exit_code == 0
    assert f"4096 x 4096 x 128 float32 NN on {device.name}" in result.output
    assert "rule: model" in result.output and "limited by" in result.output and "parameters: kind=" in result.output
    result = _invoke(tmp_path, "gemm", "--budget", "4s", "--shape", "64", "64", "48", "--dtype", "float32", *where)
    assert result.exit_code == 0 and "of the roof" in result.output
    for sizes, rule in ((("64", "64", "48"), "the same class"), (("64", "64", "100"), "the nearest class")):
        text = _invoke(tmp_path, "--explain", *sizes, *where).output
        assert f"rule: stored result of {rule}" in text and "measured" in text
        assert "tuned for: 64 x 64 x 48 float32 NN (" in text and "batch" not in text
    text = _invoke(tmp_path, "gemm", "--explain", "64x64x48", "--dtype", "float32", "--layout", "TN", *where).output
    assert "0.5 octaves away" in text  # another layout


@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_explain_takes_the_precisions_that_products_take(device, tmp_path, dtype):
    """Where the device has none of them, they are leave that it makes no use of."""
    arguments = ("--explain", "64x64x64", "--dtype", dtype, "--device", str(device.index), "--precision")
    for precision in ("tf32", "f16x3"):
        result = _invoke(tmp_path, *arguments, precision)
        known = precision in precisions(Problem(m=1024, n=1024, k=1024, dtype="float32"), device.capabilities)
        assert result.exit_code == 0 and "rule: " in result.output
        assert (f"the device has no {precision}, and computes in {dtype}" in result.output) != known
    with pytest.raises(UnknownOptionError, match="does not exist for float64"):
        _invoke(tmp_path, "--explain", "64x64x64", "--dtype", "float64", "--precision", "tf32")


def test_shipped_results_and_compaction(device, tmp_path):
    store = Store(tmp_path / "tuning" / "gemm.jsonl")
    where = ("--device", str(device.index))
    with pytest.raises(TuningError, match="has no results of"):
        _invoke(tmp_path, "export", "--shipped", str(tmp_path / "shipped.jsonl"), *where)
    for x, seconds in ((1, 0.5), (2, 0.4), (3, 0.6), (2, 0.4), (1, 0.7)):
        store.add_winner(dataclasses.replace(TASK, device=device.key), {"x": x}, seconds)
    result = _invoke(tmp_path, "export", "--shipped", str(tmp_path / "shipped.jsonl"), *where)
    assert result.output.startswith("1 winners are in")
    ((task, winner),) = Store(tmp_path / "shipped.jsonl").winners().items()
    assert task.device == device_class(device) and winner == ({"x": 2}, 0.4)
    assert "bytes before" in _invoke(tmp_path, "compact").output
    assert Store(store.path).winner(dataclasses.replace(TASK, device=device.key)) == ({"x": 2}, 0.4)
    assert len(store.path.read_bytes().splitlines()) == 3  # of each point once


def test_an_own_kernel_from_the_command_line(device, tmp_path):
    example = str(Path(__file__).parents[2] / "examples" / "tuned_stencil.py")
    arguments = ("kernel", f"{example}:SMOOTH", "n=1000", "dtype=float32", "--device", str(device.index))
    result = _invoke(tmp_path, *arguments, "--budget", "5s")
    assert result.exit_code == 0 and "winner: block=" in result.output
    assert "rule: stored result of the same class" in _invoke(tmp_path, *arguments, "--explain").output


def test_options_that_would_be_lost_are_refused(tmp_path):
    for arguments, text in (
        (("gemm", "--layout", "TN"), "--layout needs --explain MxNxK"),
        (("--dtype", "float64"), "--dtype needs --explain MxNxK"),
        (("gemm", "--explain", "64x64x64", "--budget", "5s"), "--budget does not go with it"),
        (("kernel", "m:N", "--explain", "--trials", "1"), "--trials does not go with it"),
    ):
        result = _invoke(tmp_path, *arguments)
        assert result.exit_code == 2 and text in result.output, result.output


def test_explain_tells_of_each_dtype(device, tmp_path):
    arguments = ("gemm", "--explain", "64x64x48", "--device", str(device.index))
    result = _invoke(tmp_path, *arguments, "--dtype", "float32", "--dtype", "float16")
    assert "64 x 64 x 48 float32" in result.output and "64 x 64 x 48 float16" in result.output
    for dtype, read in (("int64", "uint64"), ("bool", "uint8")):  # as kernels read them
        result = _invoke(tmp_path, "--explain", "64", "64", "48", "--dtype", dtype, "--device", str(device.index))
        assert f"64 x 64 x 48 {read}" in result.output and "parameters: kind=" in result.output


LABELLED = """
import numpy as np
from portagpu import tuning

def prepare(problem):
    assert problem["label"] == "a b"
    return tuning.Case(outputs={"y": np.zeros(problem["n"])})

def run(data, point):
    pass

LABELLED = tuning.Tunable(name="labelled", space=tuning.SearchSpace.of(x=(1, 2, 3)), prepare=prepare, run=run)
"""


def test_problems_on_the_command_line(device, tmp_path):
    file = tmp_path / "labelled.py"
    file.write_text(LABELLED)
    command = ("kernel", f"{file}:LABELLED", "--device", str(device.index))
    with pytest.raises(TuningError, match="n is named twice"):
        _invoke(tmp_path, *command, "n=5", "n=6")
    with pytest.raises(TuningError, match="no NAME=VALUE was given"):
        _invoke(tmp_path, *command)
    result = _invoke(tmp_path, *command, "label=a b", "n=5", "--trials", "1", "--budget", "60s")
    assert result.exit_code == 0, result.output
    assert result.output.startswith("1 trial in ") and "nothing else was tried" in result.output


def test_remarks_and_skips_name_their_problem(device, tmp_path, monkeypatch):
    """Several problems share a budget: which of them it did not suffice for is what one wants to know."""

    def tuned(record, problems, **options):
        result = SearchResult(winner={"x": 1}, seconds=1.0, trials=1, failures=(({"x": 2}, TimedOut(2.0)),))
        return tuple(TunedProblem(problem=problem, result=result) for problem in problems)

    monkeypatch.setattr("portagpu.cli.tune.tune_gemm", tuned)
    where = ("--dtype", "float32", "--device", str(device.index))
    result = _invoke(tmp_path, "gemm", "--size", "32", "--shape", "33", "5", "77", *where)
    assert result.exit_code == 0, result.output
    for size in ("32", "33 x 5 x 77"):
        assert f"float32 {size}: nothing else was tried" in result.output
        assert f"float32 {size}: skipped: 1 TimedOut" in result.output
