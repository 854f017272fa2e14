"""Textbook kernels: right on every device, with both texts for each, and told in a file and a table."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from portagpu.bench.textbook.results import Row, figures, summary

from portagpu.bench.textbook import cuda_texts, kernels, measure
from portagpu.cli import cli

pytestmark = pytest.mark.one_device


def test_each_kernel_has_its_text_in_cuda(device):
    for name in measure.TASKS:
        task = measure.task(name, device, small=True)
        text = cuda_texts.program(task.kernel.__name__)
        head = text[text.index(f"__global__ void {task.kernel.__name__}(") :].split(")")[0]
        assert head.count(",") + 1 == len(task.arguments) + len(task.sizes), name
        assert "%" not in task.name and task.grid and task.block
    assert (kernels.TILE, kernels.SIDE, kernels.ROWS, kernels.BODIES) == (16, 32, 8, 128)  # numbers in those texts
    assert (kernels.BINS, kernels.THREADS, kernels.CHUNK, kernels.STEPS) == (64, 256, 512, 1024)
    assert set(cuda_texts.TEXTS) == {measure.task(n, device, small=True).kernel.__name__ for n in measure.TASKS}


@pytest.mark.thorough
def test_results_are_verified(device):
    """Right results pass each check, and a single wrong element fails it."""
    for name in measure.TASKS:
        task = measure.task(name, device, small=True)
        ours = measure._Ours(task)
        assert ours.error() <= 1, name
        found = {n: array.copy_to_host() for n, array in ours._arrays.items()}
        written = [
            n for n, array in found.items() if not np.array_equal(array, task.arrays[n]) and not array.dtype.names
        ]
        for array in written:
            wrong = found[array].copy()
            wrong[...] = wrong + (1 if wrong.dtype.kind == "i" else 0.5)
            assert task.error({**found, array: wrong}) > 1, (name, array)
            if wrong.dtype.kind == "f":
                wrong[...] = np.nan
                assert task.error({**found, array: wrong}) > 1, (name, array)
        assert written, name


def test_the_command_writes_times_samples_and_the_missing_peer(device, tmp_path, short_turns):
    file = tmp_path / "textbook.json"
    arguments = ["bench", "textbook", "--small", "--kernel", "saxpy", "--device", str(device.index), "-o", str(file)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert "saxpy" in done.output
    data = json.loads(file.read_text())
    (row,) = data["rows"]
    assert data["kind"] == "textbook kernels" and data["machine"]["portagpu"]
    assert row["seconds"] > 0 and len(row["samples"]) > 1 and 0 <= row["error"] <= 1 and not row["problem"]
    assert row["peer_seconds"] is None or row["peer_seconds"] > 0
    assert row["peer"].startswith("CuPy" if row["peer_seconds"] else "no CuPy")


def test_the_longest_is_named():
    row = Row(device="GPU", driver="1", kernel="saxpy", size="9", peer="CuPy 1", seconds=2e-6, peer_seconds=4e-6)
    slow = replace(row, kernel="stencil", seconds=5e-6)
    assert figures(slow) == ("5.0", "4.0", "1.25", "-")
    assert summary([row, slow]) == "1 of 2 take no longer than the peer; the longest: stencil, 1.25 of CuPy 1"
    assert summary([replace(row, peer_seconds=None)]) is None


def test_a_wrong_result_has_no_time(device, monkeypatch):
    make, *sizes = measure.TASKS["saxpy"]
    monkeypatch.setitem(measure.TASKS, "saxpy", (lambda n: replace(make(n), error=lambda found: float("inf")), *sizes))
    (row,) = measure.rows(device, ["saxpy"], small=True)
    assert row.seconds is None and row.problem.startswith("wrong result of PortaGPU") and row.error is None


@pytest.mark.parametrize("name", ["nothing", ""])
def test_other_kernels_are_refused(name):
    assert CliRunner().invoke(cli, ["bench", "textbook", "--kernel", name]).exit_code == 2
