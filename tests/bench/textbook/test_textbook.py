"""Textbook kernels: right on every device, with both texts for each, and told in a file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from portagpu.bench.records.cell import Memory, Role, Status
from portagpu.bench.records.files import load
from portagpu.bench.running.case import Options
from portagpu.bench.suites import textbook
from portagpu.bench.textbook import cuda_texts, kernels
from portagpu.cli import cli
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device


def small(name):
    make, _, _, least = textbook.TASKS[name]
    return make(least)


def test_each_kernel_has_its_text_in_cuda():
    for name in textbook.TASKS:
        task = small(name)
        text = cuda_texts.program(task.kernel.__name__)
        head = text[text.index(f"__global__ void {task.kernel.__name__}(") :].split(")")[0]
        assert head.count(",") + 1 == len(task.arguments) + len(task.sizes), name
        assert "%" not in task.name and task.grid and task.block
    assert (kernels.TILE, kernels.SIDE, kernels.ROWS, kernels.BODIES) == (16, 32, 8, 128)  # numbers in those texts
    assert (kernels.BINS, kernels.THREADS, kernels.CHUNK, kernels.STEPS) == (64, 256, 512, 1024)
    assert set(cuda_texts.TEXTS) == {small(name).kernel.__name__ for name in textbook.TASKS}


@pytest.mark.thorough
def test_results_are_verified(device):
    """Right results pass each check, and a single wrong element fails it."""
    for name in textbook.TASKS:
        task = small(name)
        with Context.for_device(device) as context:
            call = textbook._ours(task, Memory.DEVICE, context).prepare()
            call.product()
            found = call.fetch()
        assert task.error(found) <= 1, name
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


def test_the_command_writes_cells(device, tmp_path, short_turns):
    file = tmp_path / "textbook.json"
    arguments = ["bench", "textbook", "--small", "--kernel", "saxpy", "--device", str(device.index), "-o", str(file)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    assert "saxpy" in done.output
    ours, *peers = load(file).cells
    assert ours.workload.path == "textbook/saxpy/1000" and ours.role is Role.OURS and len(ours.kernel) == 16
    assert ours.status is Status.MEASURED and ours.seconds > 0 and ours.device_seconds > 0 and 0 <= ours.error <= 1
    assert all(peer.status is Status.MEASURED for peer in peers)


def test_a_wrong_result_has_no_time(device, monkeypatch, measured):
    make, *sizes = textbook.TASKS["saxpy"]
    wrong = (lambda n: replace(make(n), error=lambda found: float("inf")), *sizes)
    monkeypatch.setitem(textbook.TASKS, "saxpy", wrong)
    entries = textbook.entries(device, Options(small=True), ["saxpy"])
    for cell in measured(device, entries):
        assert cell.status is Status.WRONG and cell.seconds is None and cell.error is None


@pytest.mark.parametrize("name", ["nothing", ""])
def test_other_kernels_are_refused(name):
    assert CliRunner().invoke(cli, ["bench", "textbook", "--kernel", name]).exit_code == 2
