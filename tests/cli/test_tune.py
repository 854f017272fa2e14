"""`portagpu tune`: interruption, export and import."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from click.testing import CliRunner

from portagpu.cli import cli
from portagpu.tuning import Measured, Store, TaskKey

TASK = TaskKey(device="d", kernel="gemm", kernel_version=1, dtype="float32", shape_class="8x8x8")


def test_ctrl_c_keeps_what_was_measured(device, tmp_path):
    environment = {**os.environ, "PORTAGPU_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "portagpu", "tune", "gemm", "--budget", "5m", "--size", "64", "--dtype", "float32"]
    child = subprocess.Popen(
        [*command, "--device", str(device.index)],
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
    assert "what was measured is kept" in " ".join(output.split())
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
