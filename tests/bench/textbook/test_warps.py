"""Warp operations beside barriers and arrays: both forms are right on every device, and a wrong one is told."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner

from portagpu.bench import warps
from portagpu.runtime.execution.context import Context

pytestmark = pytest.mark.one_device(fast=True)  # each form has kernels of its own

N = 1 << 13


@pytest.mark.thorough
def test_both_forms_are_right(device, monkeypatch):
    monkeypatch.setattr(warps, "_TURN_SECONDS", 0.0)  # each is run, not timed
    with Context.for_device(device):
        for name in warps.PAIRS:
            found = warps.cost(name, N, rounds=1)
            assert not found.wrong and found.ratio > 0, name


def test_a_wrong_result_is_told(device, monkeypatch):
    make = warps.PAIRS["syncwarp"]
    monkeypatch.setitem(warps.PAIRS, "syncwarp", lambda n: replace(make(n), expected=make(n).expected + 1))
    done = CliRunner().invoke(warps.main, [str(device.index), "syncwarp", "--elements", str(N)])
    assert done.exit_code == 0 and "wrong result of mirror and mirror_array" in done.output
