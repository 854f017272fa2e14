"""`python -m portagpu.bench.arrays`: operations on device arrays beside NumPy's, and what becomes of their results."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from short_method import SHORT

from portagpu.bench.arrays import cases, checks, command, library, table
from portagpu.bench.arrays.operations import LARGE, LITTLE, Operation, expected, operand
from portagpu.bench.method import turns
from portagpu.bench.records.cell import Cell, Memory, Role, Status
from portagpu.bench.records.files import load
from portagpu.bench.running.case import Options
from portagpu.bench.running.repeat import repetition
from portagpu.device import DeviceType

N = 300


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(command, "METHOD", SHORT)
    monkeypatch.setattr(turns, "_LEAST_SECONDS", 0.0)
    monkeypatch.setattr(cases, "peer", lambda device: library.numpy())


def run(device, *words):
    return CliRunner().invoke(command.main, ["--device", str(device.index), "--size", str(N), *words])


@pytest.mark.one_device
def test_all_operations_are_right(device, tmp_path):
    result = run(device, "--dtype", "float32", "-o", str(tmp_path / "arrays.json"))
    assert result.exit_code == 0, result.output
    cells = load(tmp_path / "arrays.json").cells
    assert len(cells) == 2 * len((*LARGE, *LITTLE))
    assert {cell.status for cell in cells} == {Status.MEASURED}, [(c.workload.path, c.reason) for c in cells]
    for one in (*LARGE, *LITTLE):
        assert f"| {one.name} " in result.output


@pytest.mark.one_device
def test_operations_are_chosen(device):
    result = run(device, "--dtype", "float64", "--operation", "sum axis 1", "--peers", "none")
    assert result.exit_code == 0, result.output
    assert "beside nobody" in result.output
    assert "float32" not in result.output
    assert result.output.count("sum axis 1") == 1


@pytest.mark.one_device
def test_a_wrong_result_has_no_time(device, monkeypatch):
    monkeypatch.setattr(library.xp, "sort", lambda x: x)
    result = run(device, "--dtype", "float32", "--operation", "sort")
    assert result.exit_code == 1
    assert "wrong results: arrays/sort/float32/300" in result.output
    assert "| wrong result: not numbers" in result.output


def test_a_cell_is_repeated_by_its_command(device):
    (problem,) = cases.problems(device, [N], ["float32"], ["a * b + c"])
    told = repetition(device, cases.entry(problem, Options(seed=3)), Options(seed=3))
    words = "python -m portagpu.bench.arrays --operation 'a * b + c' --dtype float32 --size 300 --device "
    assert told.startswith(words)
    assert told.endswith(" --seed 3")


def test_targets():
    fused, other, little = LARGE[0], LARGE[2], LITTLE[0]
    assert cases.target(fused, DeviceType.CPU, "NumPy 2.4") == 2.0
    assert cases.target(fused, DeviceType.GPU, "CuPy 14.2") == 1.0
    assert cases.target(other, DeviceType.CPU, "NumPy 2.4") == 1.0
    assert cases.target(little, DeviceType.CPU, "NumPy 2.4") is None
    assert cases.target(little, DeviceType.GPU, "CuPy 14.2") == 1.0


def cell(problem, role, seconds, name="NumPy 2.4"):
    return Cell(
        device=0,
        workload=problem.workload,
        implementation=name,
        role=role,
        memory=Memory.DEVICE,
        status=Status.MEASURED,
        samples=(seconds,),
    )


def test_rows_have_ratios_of_medians_and_of_the_least():
    problem = cases.Problem(operation=LARGE[2], n=N, dtype="float32")
    cells = [cell(problem, Role.OURS, (2e-6, 4e-6, 9e-6)), cell(problem, Role.VENDOR, (3e-6, 3e-6, 3e-6))]
    (row,) = table.rows([problem], cells, DeviceType.CPU)
    assert row == ("sum", "float32", "300", "4", "3", "0.75", "1.5", "1, missed")
    (row,) = table.rows([problem], cells[:1], DeviceType.CPU)
    assert row == ("sum", "float32", "300", "4", "-", "-", "-", "-")
    assert table.text([row]).splitlines()[1].startswith("| --------- | ------- | -------: |")


@pytest.mark.parametrize("one", [*LARGE, *LITTLE], ids=lambda one: one.name)
def test_checks_know_right_from_wrong(one: Operation):
    """NumPy's own result passes, and fails where one element is far off."""
    operands = tuple(operand(letter, N, "float32", 0) for letter in one.operands)
    right = expected(one, library.numpy(), operands)
    found = np.array(one.call(library.numpy(), *map(np.copy, operands)))
    assert one.check(one.seen(found, *operands), right, operands[0].size) <= 1
    if one.check is checks.normal:
        found *= 2
    elif found.dtype == bool:
        found[:] = ~found
    elif one.name == "argsort":
        found[0] = found[1]
    else:
        found.reshape(-1)[found.size // 2] += 999
    assert one.check(one.seen(found, *operands), right, operands[0].size) > 1


def test_shapes_count():
    for check in (checks.exact, checks.close, checks.running, checks.nearly, checks.normal):
        assert check(np.zeros(3, np.float32), np.zeros(4), 4) > 1
