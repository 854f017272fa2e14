"""Plain NumPy programs give the same results accelerated, on every device."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

import portagpu
from portagpu.bench import accelerate
from portagpu.bench.numpy_programs import PROGRAMS, points

pytestmark = pytest.mark.one_device(fast=True)


@pytest.mark.in_turn(3)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_taken_over_and_gives_the_same(name, device, monkeypatch):
    monkeypatch.setattr(accelerate, "accelerate", lambda device: portagpu.accelerate(device=device, threshold=2e5))
    found = accelerate.measure(name, points(2000, 64), device, rounds=1)
    assert found.agrees and found.report.taken and not found.report.remarks
    assert all(
        row.taken or row.why in ("an operand is a vector", "less than 200000 operations") for row in found.report.rows
    )


def test_other_results_are_told(device, monkeypatch):
    turns = iter(range(1000))
    wrong = {"wrong": lambda x: x[:2, 0] * next(turns)}
    monkeypatch.setattr(accelerate, "PROGRAMS", wrong)
    done = CliRunner().invoke(accelerate.main, [str(device.index), "--rows", "1000", "--axes", "32", "--reports"])
    assert done.exit_code == 1 and "OTHER RESULTS" in done.output and "taken over: nothing" in done.output
