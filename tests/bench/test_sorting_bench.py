"""`python -m portagpu.bench.sorting`: a small run beside NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

from portagpu import primitives
from portagpu.bench import sorting

pytestmark = pytest.mark.one_device


@pytest.fixture(autouse=True)
def _few_turns(monkeypatch):
    monkeypatch.setattr(sorting, "_TURNS", 1)
    monkeypatch.setattr(sorting, "_TURN_SECONDS", 0.0)
    monkeypatch.setattr(sorting, "peer_of", lambda kind: np)


def test_a_run(device):
    result = CliRunner().invoke(sorting.main, ["--size", "200", "--dtype", "float32", str(device.index)])
    assert result.exit_code == 0, result.output
    assert "200 float32: sort" in result.output
    assert "argsort" in result.output


def test_a_wrong_result_is_an_error(device, monkeypatch):
    monkeypatch.setattr(primitives, "sort", lambda x: x)
    result = CliRunner().invoke(sorting.main, ["--size", "200", "--dtype", "int32", str(device.index)])
    assert result.exit_code == 1
    assert "sort of 200 elements of int32 is wrong" in result.output
