"""Rounds without pauses, too short to mean anything."""

from __future__ import annotations

import pytest
from short_method import SHORT

from portagpu.bench.method import turns
from portagpu.bench.running import session
from portagpu.bench.running.case import Options
from portagpu.settings import Settings


@pytest.fixture
def short_turns(monkeypatch):
    """Everything that measures with the rules as they come takes no time."""
    monkeypatch.setattr(turns, "_LEAST_SECONDS", 0.0)
    for name in ("FULL", "QUICK"):
        for module in ("portagpu.cli.bench.common", "portagpu.bench.own_kernels.benchmark"):
            monkeypatch.setattr(f"{module}.{name}", SHORT)
    monkeypatch.setattr(turns, "FULL", SHORT)
    monkeypatch.setattr("portagpu.bench.method.rounds.FULL", SHORT)
    monkeypatch.setattr(turns.take_turn, "__defaults__", (SHORT,))


@pytest.fixture
def measured(short_turns):
    """The cells of entries on a device, each measured for a moment."""

    def of(device, entries, options=None):
        jobs = [session.Job(number=0, device=device, entry=entry) for entry in entries]
        given = options or Options(small=True), SHORT, Settings.from_environment()
        return [cell for job in jobs for cell in session.measured(job, *given)]

    return of
